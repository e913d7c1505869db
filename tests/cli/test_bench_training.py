"""The benches of training measure what they say; how fast that is, no test says."""

from __future__ import annotations

import re

import pytest
import torch

from rotlab.cli.bench import gpu, grouping, loader, speedrun, training
from rotlab.cli.bench.speedrun import Race, median, race, speedrun_config
from rotlab.data.cell import cell_of
from rotlab.data.ranks import Ranks
from rotlab.training.setup import data_module
from tests.cli.test_commands import printed, refused

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")


@pytest.fixture(autouse=True)
def one_small_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    for bench in (training, grouping, loader):
        monkeypatch.setattr(bench, "CELLS", (("add", 2),))
    monkeypatch.setattr(training, "_STEPS", 1)
    monkeypatch.setattr(training, "_ROUNDS", 1)


def test_rows_of_training(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, *rows = printed(capsys, "bench", "training")
    assert [row.split()[:2] for row in rows] == [["add-2", "transformer"], ["add-2", "lstm"]]
    for row in rows:
        plain, ours, ratio, whole, padding = re.findall(r"[\d.]+", row.split("m", 1)[1] if "lstm" in row else row[22:])[
            :5
        ]
        assert float(ratio) == pytest.approx(int(plain) / int(ours), rel=0.6)
        assert float(whole) == pytest.approx(1 / (1 - int(padding) / 100), abs=0.05)


def test_the_plain_side_trains_on_the_same_contexts_padded_as_a_whole() -> None:
    ours = training.bench_config("mul", 3, "transformer")
    whole = training.bench_config("mul", 3, "transformer", *training.WHOLE)
    mine, plain = (data_module(one, cell_of(one), "cpu", Ranks()).stream(0, 1)[0] for one in (ours, whole))
    [group] = plain.groups
    assert len(mine.groups) > 1
    assert (plain.contexts, plain.tokens) == (mine.contexts, mine.tokens) == (256, mine.tokens)
    assert plain.area == group.inputs_BT.numel() == 256 * max(one.inputs_BT.shape[1] for one in mine.groups)


def test_a_row_of_grouping(capsys: pytest.CaptureFixture[str]) -> None:
    _, transformer, lstm = printed(capsys, "bench", "grouping")
    for row, name in ((transformer, "transformer"), (lstm, "lstm")):
        assert re.fullmatch(rf"add-2 +{name}( +[\d,]+){{{len(grouping.OVERHEADS)}}} +[\d,]+", row), row


def test_a_row_of_the_loader(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "_SECONDS", 0.0)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    _, alone, fed = printed(capsys, "bench", "loader")
    assert [alone.split()[:2], fed.split()[:2]] == [["add-2", "0"], ["add-2", "1"]]


@pytest.mark.skipif(torch.cuda.is_available(), reason="it takes minutes on a GPU")
def test_without_a_gpu_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "bench", "gpu") == ["no GPU is visible: skipped"]


def test_what_is_compared_on_a_gpu_can_be_asked_for() -> None:
    for way in gpu.WAYS.values():
        training.bench_config("add", 2, "transformer", *way)


# --- speedrun ------------------------------------------------------------------------------------------------------


def test_a_race_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    found = race(speedrun_config("add-1", "paper", 0, None, 100), every=2, goal=1.0, most_seconds=0.0)
    assert found.steps == 2
    assert not found.reached
    assert found.told(0.99).startswith("no (0.")


def test_a_race_ends_at_its_last_step_or_when_all_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    config = speedrun_config("add-1", "fast", 0, None, 3)
    assert race(config, every=2, goal=1.0, most_seconds=None).steps == 3
    found = race(config, every=2, goal=0.0, most_seconds=None)
    assert (found.steps, found.reached) == (2, {})


def test_rows_of_a_speedrun(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedrun, "STEPS", {"add-1": (3, 5)})
    monkeypatch.setattr(speedrun, "_LOOKS", 1)
    sprint, long_run, paper, _, *_, of_fast, of_paper = printed(capsys, "bench", "speedrun", "--seeds", "1")
    assert re.match(r"add-1 fast seed 0: 0.99: no \(0.\d+ in 3 steps", sprint)
    assert re.search(r"; 1.0: no \(0.\d+ in 5 steps", long_run)
    assert paper.startswith("add-1 paper seed 0: 0.99: no (0.")
    assert of_fast.startswith("| add-1 | fast | not in ")
    assert of_paper.startswith("| add-1 | paper | not in ")


def test_the_middle_of_three() -> None:
    races = [Race({0.99: (10, 5.0)}), Race(best=0.5, steps=9, seconds=9.0), Race({0.99: (30, 7.0), 1.0: (40, 8.0)})]
    assert median(races, 0.99) == "30 steps, 7 s"
    assert median(races, 1.0).startswith("not in ")


def test_speedruns_that_do_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no speedrun of 'add-5'" in refused(capsys, "bench", "speedrun", "add-5")
    assert "--seeds must be at least 1" in refused(capsys, "bench", "speedrun", "add-4", "--seeds", "0")
