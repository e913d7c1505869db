"""Whole runs, from a configuration to their files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch.trainer.connectors import data_connector

from rotlab.cli.train import train
from rotlab.config import ConfigError, run_directory
from rotlab.data.stream import TrainingStream
from rotlab.evaluation import Evaluator, Report
from rotlab.models.trained import load_checkpoint
from rotlab.training import callbacks
from rotlab.training.run import Outcome, run
from tests.training.configs import series, tiny_config


def test_a_run_leaves_its_files(finished: Outcome) -> None:
    files = {path.relative_to(finished.directory).as_posix() for path in finished.directory.rglob("*")}
    checkpoints = {"checkpoints", *(f"checkpoints/{which}.ckpt" for which in ("last", "earlier", "best"))}
    assert files == {*checkpoints, ".lock", "manifest.json", "metrics.csv", "wrong_samples.jsonl"}
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
    assert finished.manifest.step == 8
    assert finished.manifest.accuracy == series(finished.directory, "eval/problem")[8]
    shares = series(finished.directory, "data/padding_share") | series(finished.directory, "data/wait_share")
    assert all(0 <= share < 1 for share in shares.values())


@pytest.mark.parametrize("architecture", ["transformer", "lstm"])
def test_what_a_run_prints(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    architecture: str,
) -> None:
    """Nothing but our lines, on standard output, on a machine with many cores too."""
    monkeypatch.setattr(data_connector, "suggested_max_num_workers", lambda devices: 8)
    config = tiny_config(
        tmp_path, f"architecture={architecture}", "recipe.max_steps=22", "trainer.log_every_n_steps=11",
        "evaluation.every_n_steps=22", "evaluation.probe_every_n_steps=20",
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        run(config)
    assert [str(one.message) for one in shown] == []
    assert [record.message for record in caplog.records] == []
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
    assert outcome.manifest.step == 10
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
    assert outcome.manifest.step == 9
    assert series(outcome.directory, "eval/problem") == {3: 0.25, 6: 0.95, 9: 1.0}
    assert load_checkpoint(outcome.directory).step == load_checkpoint(outcome.directory, "best").step == 9


def test_the_accuracy_that_ends_training_can_be_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "judged", stubbed([5, 19, 20]))
    assert run(tiny_config(tmp_path, "recipe.max_steps=100", "evaluation.stop_at=0.95")).manifest.step == 6


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
    often = ("evaluation.every_n_steps=1", "evaluation.probe_every_n_steps=1")
    looking = weights(run(tiny_config(tmp_path / "c", *often)))
    assert all(torch.equal(first[name], looking[name]) for name in first)
    other = weights(run(tiny_config(tmp_path / "d", "seed=1")))
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_accumulation_changes_nothing_but_rounding(tmp_path: Path) -> None:
    whole, parts = (run(tiny_config(tmp_path / n, f"recipe.accumulation={n}")).directory for n in ("1", "4"))
    assert series(parts, "train/loss") == pytest.approx(series(whole, "train/loss"), rel=1e-4)


class TestRefusals:
    def test_a_finished_run_is_left_alone(self, tmp_path: Path) -> None:
        config = tiny_config(tmp_path)
        outcome = run(config)
        before = {path: path.read_bytes() for path in outcome.directory.rglob("*") if path.is_file()}
        assert run(config).manifest == outcome.manifest
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
        assert written == []

    def test_a_refused_command_keeps_the_earlier_run(self, tmp_path: Path) -> None:
        outcome = run(tiny_config(tmp_path))
        for impossible in (["trainer.devices=2"], ["logger.wandb.enabled=true", "logger.wandb.mode=online"]):
            with pytest.raises(ConfigError):
                run(tiny_config(tmp_path, "force=true", *impossible))
        assert load_checkpoint(outcome.directory).step == 6


def test_chains_over_the_limit_are_left_out_and_counted_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = []
    get = TrainingStream.__getitem__

    def measured(self: TrainingStream, step: int) -> Any:
        batch = get(self, step)
        longest.append(max(group.inputs_BT.shape[1] for group in batch.groups))
        return batch

    monkeypatch.setattr(TrainingStream, "__getitem__", measured)
    outcome = run(tiny_config(tmp_path, "method=cot", "architecture.context_limit=60", "method.allow_overlong=true"))
    assert max(longest) <= 59
    assert sum(series(outcome.directory, "data/overlong").values()) > 0
    overlong, contexts = (series(outcome.directory, f"eval/{name}")[6] for name in ("overlong", "contexts"))
    assert 0 < overlong < contexts == 20


class TestFreeRunning:
    def test_it_stands_beside_the_teacher_forced_figures(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        directory = run(tiny_config(tmp_path, "task=add", "difficulty=2", "evaluation.free_running=10")).directory
        free = series(directory, "eval/free")
        assert list(free) == [3, 6]
        reasons = ("wrong", "overflow", "height", "reach", "cycle", "malformed")
        for step, accuracy in free.items():
            ended = [series(directory, f"eval/free/{reason}")[step] for reason in reasons]
            assert 10 * accuracy + sum(ended) == 10
            assert series(directory, "eval/seconds")[step] >= series(directory, "eval/free/seconds")[step]
        assert "free-running 0.0000" in capsys.readouterr().out
        train(tiny_config(tmp_path, "task=add", "difficulty=2", "evaluation.free_running=10"))
        assert "--free-running" not in capsys.readouterr().out
        train(tiny_config(tmp_path, "task=add", "difficulty=2", "evaluation.free_running=11"))
        assert f"rotlab evaluate {directory} --free-running has it solve" in capsys.readouterr().out

    def test_a_backbone_without_a_cache_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr("rotlab.models.lstm.Model.new_cache")
        with pytest.raises(ConfigError, match=r"evaluation\.free_running=5: .* give it new_cache, or write evaluation"):
            run(tiny_config(tmp_path, "task=add", "architecture=lstm", "evaluation.free_running=5"))
