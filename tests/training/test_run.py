"""Whole runs, from a configuration to their files."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rotlab.cli import main
from rotlab.config import ConfigError, run_directory
from rotlab.data.stream import TrainingStream
from rotlab.evaluation import Evaluator, Report
from rotlab.tasks import TASKS
from rotlab.training import callbacks
from rotlab.training.checkpoint import load_checkpoint
from rotlab.training.run import Outcome, run
from tests.training.configs import tiny_config, tiny_overrides
from tests.wandb_reader import read_runs

ROOT = Path(__file__).parents[2]


def series(directory: Path, name: str) -> dict[int, float]:
    """The figures of one name in metrics.csv by step; none may stand there twice."""
    with (directory / "metrics.csv").open() as file:
        rows = [(int(row["step"]), float(row["value"])) for row in csv.DictReader(file) if row["name"] == name]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One run that several tests look at."""
    return run(tiny_config(tmp_path_factory.mktemp("runs"), "task=sort", "difficulty=3", "recipe.max_steps=8"))


def test_a_run_leaves_its_files(finished: Outcome) -> None:
    files = {path.relative_to(finished.directory).as_posix() for path in finished.directory.rglob("*")}
    assert files == {"checkpoints", "checkpoints/best.ckpt", "checkpoints/last.ckpt", "metrics.csv", "wrong_samples.jsonl"}
    samples = [json.loads(line) for line in (finished.directory / "wrong_samples.jsonl").read_text().splitlines()]
    assert {sample["step"] for sample in samples} == {3, 6, 8}
    assert set(samples[0]) == {"step", "type", "question", "expected", "got", "position", "context"}


def test_figures_are_logged_at_their_steps(finished: Outcome) -> None:
    for name in ("train/loss", "train/token_accuracy", "train/learning_rate", "speed/contexts_per_s",
                 "speed/tokens_per_s", "data/padding_share", "data/wait_share", "data/overlong"):  # fmt: skip
        assert list(series(finished.directory, name)) == [2, 4, 6, 8]
    for name in ("problem", "top", "context", "contexts", "tokens", "overlong", "seconds", "sort/problem",
                 "merge/context", "compare/contexts"):  # fmt: skip
        assert list(series(finished.directory, f"eval/{name}")) == [3, 6, 8]
        assert list(series(finished.directory, f"probe/{name}")) == [4, 8]
    assert finished.step == 8
    assert finished.report is not None
    assert finished.report.accuracy == series(finished.directory, "eval/problem")[8]
    shares = series(finished.directory, "data/padding_share") | series(finished.directory, "data/wait_share")
    assert all(0 <= share < 1 for share in shares.values())


@pytest.mark.parametrize("architecture", ["transformer", "lstm"])
def test_what_a_run_prints(tmp_path: Path, capfd: pytest.CaptureFixture[str], architecture: str) -> None:
    """Nothing but our lines, on standard output."""
    config = tiny_config(
        tmp_path, f"architecture={architecture}", "recipe.max_steps=22", "trainer.log_every_n_steps=11",
        "evaluation.every_n_steps=22", "evaluation.probe_every_n_steps=20",
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        run(config)
    assert [str(one.message) for one in shown] == []
    out, err = capfd.readouterr()
    assert err == ""
    starts = ["run: ", "parameters: ", "test problems: 20 (hash ", "step 11/22", "step 22/22", "expected time: ",
              "evaluation at step 22: ", "probe at step 20: ", "finished at step 22: "]  # fmt: skip
    for start in starts:
        assert sum(line.startswith(start) for line in out.splitlines()) == 1, start
    assert "epoch" not in out.lower()


def test_the_papers_network_has_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["architecture.d_model=128", "architecture.feedforward=256", "architecture.layers=4"]
    run(tiny_config(tmp_path, "task=sort", "recipe.max_steps=1", "recipe.batch_size=2", "data.test_problems=2", *sizes))
    assert "parameters: 536,088\n" in capsys.readouterr().out


@pytest.mark.parametrize("accumulation", [1, 4])
def test_evaluations_come_at_multiples_and_at_the_end(tmp_path: Path, accumulation: int) -> None:
    outcome = run(tiny_config(tmp_path, "recipe.max_steps=10", f"recipe.accumulation={accumulation}"))
    assert list(series(outcome.directory, "eval/problem")) == [3, 6, 9, 10]
    assert list(series(outcome.directory, "probe/problem")) == [4, 8]
    assert outcome.step == 10
    assert load_checkpoint(outcome.directory).step == 10


def test_the_last_step_is_evaluated_once(tmp_path: Path) -> None:
    outcome = run(tiny_config(tmp_path, "recipe.max_steps=6"))
    assert list(series(outcome.directory, "eval/problem")) == [3, 6]


def stubbed(rights: list[int]) -> Callable[..., Report]:
    """Stands in for the evaluations of a run: so many problems right of 20, one after another; its probes get all."""
    left = iter(rights)

    def judged(evaluator: Evaluator, module: Any) -> Report:
        right = next(left) if len(evaluator.problems) == 20 else 10
        return Report(len(evaluator.problems), right, right, contexts=50, contexts_right=40)

    return judged


def test_training_stops_when_everything_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "judged", stubbed([5, 19, 20]))
    outcome = run(tiny_config(tmp_path, "recipe.max_steps=100"))
    assert outcome.step == 9
    assert series(outcome.directory, "eval/problem") == {3: 0.25, 6: 0.95, 9: 1.0}
    assert load_checkpoint(outcome.directory).step == load_checkpoint(outcome.directory, "best").step == 9


def test_the_accuracy_that_ends_training_can_be_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "judged", stubbed([5, 19, 20]))
    assert run(tiny_config(tmp_path, "recipe.max_steps=100", "evaluation.stop_at=0.95")).step == 6


def test_the_best_network_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "judged", stubbed([5, 7, 7, 6]))
    outcome = run(tiny_config(tmp_path, "recipe.max_steps=11"))
    assert load_checkpoint(outcome.directory, "best").step == 6
    assert load_checkpoint(outcome.directory).step == 11


def weights(outcome: Outcome) -> dict[str, torch.Tensor]:
    return load_checkpoint(outcome.directory).backbone.state_dict()


def test_the_same_seed_gives_the_same_bits(tmp_path: Path) -> None:
    first, again = (weights(run(tiny_config(tmp_path / name))) for name in "ab")
    assert all(torch.equal(first[name], again[name]) for name in first)
    # Nor does it matter how often one looks.
    looking = weights(run(tiny_config(tmp_path / "c", "evaluation.every_n_steps=1", "evaluation.probe_every_n_steps=1")))
    assert all(torch.equal(first[name], looking[name]) for name in first)
    other = weights(run(tiny_config(tmp_path / "d", "seed=1")))
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_accumulation_changes_nothing_but_rounding(tmp_path: Path) -> None:
    whole, parts = (run(tiny_config(tmp_path / n, f"recipe.accumulation={n}")).directory for n in ("1", "4"))
    assert series(parts, "train/loss") == pytest.approx(series(whole, "train/loss"), rel=1e-4)


class TestCheckpoints:
    def test_they_hold_plain_containers(self, finished: Outcome) -> None:
        content = torch.load(finished.directory / "checkpoints" / "last.ckpt", weights_only=True)
        assert content["config"]["task"] == {"name": "sort", "sampling": "log_uniform"}
        assert content["step"] == 8
        assert "THINK" in content["vocabulary"]
        weights = content.pop("weights")
        assert {type(tensor) for tensor in weights.values()} == {torch.Tensor}
        assert json.loads(json.dumps(content)) == content

    def test_a_file_or_a_directory_gives_the_network(self, finished: Outcome) -> None:
        of_directory = load_checkpoint(finished.directory)
        of_file = load_checkpoint(finished.directory / "checkpoints" / "last.ckpt")
        tokens_BT = torch.ones(2, 5, dtype=torch.int64)
        assert torch.equal(of_directory.backbone(tokens_BT), of_file.backbone(tokens_BT))
        assert not of_directory.backbone.training
        assert (of_directory.cell.name, of_directory.step) == ("sort-3", 8)

    @pytest.mark.parametrize(
        ("damage", "says"),
        [
            (lambda path: path.write_bytes(path.read_bytes()[:1000]), "can't be read as a checkpoint"),
            (lambda path: path.write_text("weights"), "can't be read as a checkpoint"),
            (lambda path: path.unlink(), "no checkpoint at"),
            (lambda path: torch.save({"state_dict": {}, "global_step": 3}, path), "is no checkpoint of format 1"),
            (lambda path: torch.save([1, 2], path), "is no checkpoint of format 1"),
            (lambda path: torch.save({"format": 1}, path), "can't be used by this version"),
            (lambda path: changed(path, vocabulary=["PAD", "GO"]), "another vocabulary: PAD GO"),
            (lambda path: changed(path, weights={"x": torch.ones(1)}), "can't be used by this version"),
            (lambda path: changed(path, config={}), "can't be used by this version"),
        ],
        ids=["cut", "text", "missing", "foreign", "list", "empty", "vocabulary", "weights", "configuration"],
    )
    def test_another_file_is_refused_in_one_line(
        self, finished: Outcome, tmp_path: Path, capsys: pytest.CaptureFixture[str],
        damage: Callable[[Path], object], says: str,
    ) -> None:  # fmt: skip
        path = tmp_path / "last.ckpt"
        path.write_bytes((finished.directory / "checkpoints" / "last.ckpt").read_bytes())
        damage(path)
        assert main(["evaluate", str(path)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert says in err
        assert str(path) in err

    def test_a_directory_without_one_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="no checkpoint at"):
            load_checkpoint(tmp_path)


def changed(path: Path, **values: object) -> None:
    """Give entries of a checkpoint other values."""
    torch.save(torch.load(path, weights_only=True) | values, path)


class TestRefusals:
    def test_a_directory_that_holds_the_run(self, tmp_path: Path) -> None:
        config = tiny_config(tmp_path)
        outcome = run(config)
        before = {path: path.read_bytes() for path in outcome.directory.rglob("*") if path.is_file()}
        with pytest.raises(ConfigError, match=r"holds this run already: add force=true"):
            run(config)
        assert before == {path: path.read_bytes() for path in outcome.directory.rglob("*") if path.is_file()}
        (outcome.directory / "old").touch()
        assert run(tiny_config(tmp_path, "force=true")).directory == outcome.directory
        assert not (outcome.directory / "old").exists()

    @pytest.mark.parametrize(
        ("overrides", "says"),
        [
            (["method=cot", "architecture.context_limit=60"], "does not fit under method=cot"),
            (["method=cot", "architecture.context_limit=4", "method.allow_overlong=true"], "could be drawn"),
            (["trainer.devices=2", "recipe.batch_size=16"], "write trainer.devices=1"),
            (["architecture.d_model=18"], "must be a multiple of"),
            (["logger.wandb.enabled=true", "logger.wandb.mode=online"], "no key"),
        ],
        ids=["fit", "overlong", "devices", "shape", "key"],
    )
    def test_what_cant_be_trained_leaves_the_directory_free(
        self, tmp_path: Path, overrides: list[str], says: str
    ) -> None:
        config = tiny_config(tmp_path, *overrides)
        for _ in range(2):
            with pytest.raises(ConfigError, match=says):
                run(config)
        written = [path for path in run_directory(config).rglob("*") if path.is_file()]
        assert [path.name for path in written] in ([], ["metrics.csv"])

    def test_a_refused_command_keeps_the_earlier_run(self, tmp_path: Path) -> None:
        outcome = run(tiny_config(tmp_path))
        with pytest.raises(ConfigError, match="trainer.devices=1"):
            run(tiny_config(tmp_path, "trainer.devices=2", "force=true"))
        assert load_checkpoint(outcome.directory).step == 6


def test_chains_over_the_limit_are_left_out_and_counted_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = []
    get = TrainingStream.__getitem__

    def measured(self: TrainingStream, step: int) -> Any:
        batch = get(self, step)
        longest.append(max(group.inputs_BT.shape[1] for group in batch.groups))
        return batch

    monkeypatch.setattr(TrainingStream, "__getitem__", measured)
    outcome = run(
        tiny_config(tmp_path, "method=cot", "architecture.context_limit=60", "method.allow_overlong=true")
    )
    assert max(longest) <= 59
    assert sum(series(outcome.directory, "data/overlong").values()) > 0
    assert outcome.report is not None
    assert 0 < outcome.report.overlong < outcome.report.contexts == outcome.report.problems == 20


class TestEvaluate:
    def test_it_finds_what_the_last_evaluation_of_the_run_found(
        self, finished: Outcome, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["evaluate", str(finished.directory), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        del found["eval/seconds"]
        assert "eval/sort/problem" in found
        assert found == {name: series(finished.directory, name)[8] for name in found}

    def test_it_prints_figures_and_wrong_samples(
        self, finished: Outcome, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["evaluate", str(finished.directory / "checkpoints" / "best.ckpt")]) == 0
        first, *lines = capsys.readouterr().out.splitlines()
        assert first.startswith("sort-3 rot, step ")
        assert "20 problems" in first
        figures = dict(line.split() for line in lines if line.startswith("eval/"))
        assert figures["eval/problem"] == f"{finished.report.accuracy if finished.report else 1:.4f}"
        assert sum(line.startswith("wrong: GO ") for line in lines) == 5

    def test_other_problems(self, finished: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["evaluate", str(finished.directory), "--difficulty", "5", "--problems", "7"]) == 0
        assert "7 problems" in (text := capsys.readouterr().out)
        assert text.startswith("sort-5 rot")

    @pytest.mark.parametrize("flags", [["--difficulty", "1"], ["--problems", "0"]])
    def test_impossible_ones(
        self, finished: Outcome, capsys: pytest.CaptureFixture[str], flags: list[str]
    ) -> None:
        assert main(["evaluate", str(finished.directory), *flags]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    groups = [line for line in lines if not line.startswith(" ")]
    assert groups == ["tasks", "methods", "architectures", "recipes"]
    named = {name: text for name, _, text in (line.strip().partition(" ") for line in lines if line.startswith(" "))}
    assert set(named) >= {*TASKS, "wt", "cot", "rot", "transformer", "lstm", "paper", "fast"}
    assert all(text.strip() for text in named.values())


def test_a_sweep_is_two_runs_in_every_respect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overrides = tiny_overrides(tmp_path, "task=add,sort", "logger.wandb.enabled=true", "logger.wandb.group=both")
    assert main(["train", "--multirun", *overrides]) == 0
    text = capsys.readouterr().out
    assert text.count("W&B: offline (no key)") == text.count("finished at step 6") == 2
    directories = sorted(path for path in tmp_path.iterdir() if path.name != ".sweep")
    runs = sorted(read_runs(tmp_path), key=lambda one: one.name)
    assert [one.name for one in runs] == [path.name for path in directories]
    assert [path.name.partition("-s0-")[0] for path in directories] == [
        "add-4-rot-transformer", "sort-4-rot-transformer",
    ]  # fmt: skip
    for one, directory, task in zip(runs, directories, ("add", "sort"), strict=True):
        assert directory in one.path.parents
        assert one.offline
        assert (one.exit_code, one.group, one.project) == (0, "both", "rotlab")
        assert (one.config["task"]["name"], one.config["architecture"]["d_model"]) == (task, 16)
        assert dict(one.series("eval/problem")) == series(directory, "eval/problem")
        assert [step for step, _ in one.series("train/loss")] == [2, 4, 6]
        assert len(one.tables) == 2


def train(*overrides: str) -> subprocess.CompletedProcess[str]:
    """`python train.py` in a process of its own."""
    return subprocess.run(
        [sys.executable, str(ROOT / "train.py"), *overrides, "trainer.accelerator=cpu", "difficulty=2"],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip


SMALL = ("architecture.d_model=32", "architecture.feedforward=32", "architecture.layers=2")


class TestProcess:
    def test_four_steps_of_everything(self, tmp_path: Path) -> None:
        done = train("debug=fdr", f"runs_dir={tmp_path}", *SMALL)
        assert (done.returncode, done.stderr) == (0, "")
        [directory] = tmp_path.iterdir()
        assert list(series(directory, "eval/problem")) == [2, 4]
        [only] = read_runs(tmp_path)
        assert only.offline
        assert only.exit_code == 0
        assert done.stdout.splitlines()[-1].startswith("finished at step 4")

    def test_one_batch_again_and_again(self, tmp_path: Path) -> None:
        done = train("debug=overfit", f"runs_dir={tmp_path}", "recipe.learning_rate=5e-3", *SMALL)
        assert (done.returncode, done.stderr) == (0, "")
        [directory] = tmp_path.iterdir()
        losses = series(directory, "train/loss")
        assert losses[300] < 0.1 < 1 < losses[10]

    def test_where_the_time_goes(self, tmp_path: Path) -> None:
        done = train("debug=profiler", f"runs_dir={tmp_path}", "recipe.batch_size=32", *SMALL)
        assert done.returncode == 0
        assert "RotModule" in done.stderr or "training_step" in done.stderr
        assert "finished at step 50" in done.stdout
