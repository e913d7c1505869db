"""Commands that train, judge and list, as they are typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rotlab.cli import main
from rotlab.config import run_directory
from rotlab.models.trained import checkpoint_path
from rotlab.tasks import TASKS
from rotlab.training.module import RotModule
from rotlab.training.run import Outcome, run
from tests.training.configs import series, tiny_config, tiny_overrides
from tests.wandb_reader import read_runs

ROOT = Path(__file__).parents[2]


class TestEvaluate:
    def test_it_finds_what_the_last_evaluation_of_the_run_found(
        self, finished: Outcome, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["evaluate", str(finished.directory), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        del found["eval/seconds"]
        assert (found.pop("difficulty"), found.pop("problems")) == (3, 20)
        assert "eval/sort/problem" in found
        assert found == {name: series(finished.directory, name)[8] for name in found}

    def test_it_prints_figures_and_wrong_samples(self, finished: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["evaluate", str(finished.directory / "checkpoints" / "best.ckpt")]) == 0
        first, *lines = capsys.readouterr().out.splitlines()
        assert first.startswith("sort-3 rot, step ")
        assert "20 problems" in first
        figures = dict(line.split() for line in lines if line.startswith("eval/"))
        assert figures["eval/problem"] == f"{finished.manifest.accuracy:.4f}"
        assert sum(line.startswith("wrong: GO ") for line in lines) == 5

    def test_other_problems(self, finished: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["evaluate", str(finished.directory), "--difficulty", "5", "--problems", "7"]) == 0
        assert "7 problems" in (text := capsys.readouterr().out)
        assert text.startswith("sort-3 rot, step 8, at difficulty 5: 7 problems")

    def test_it_tells_how_far_it_is(
        self, finished: Outcome, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("rotlab.evaluation.evaluator._ROWS_PER_SHARD", 100)
        assert main(["evaluate", str(finished.directory)]) == 0
        first, *lines = capsys.readouterr().err.splitlines()
        assert first.startswith("judging some ")
        assert first.endswith(" contexts of 20 problems")
        done = [int(line.split()[0]) for line in lines if line.endswith("of 20 problems judged")]
        assert done == sorted(set(done))
        assert done

    @pytest.mark.parametrize("flags", [["--difficulty", "1"], ["--problems", "0"]])
    def test_impossible_ones(self, finished: Outcome, capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
        assert main(["evaluate", str(finished.directory), *flags]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    groups = [line for line in lines if not line.startswith(" ")]
    assert groups == ["tasks", "problem types", "methods", "architectures", "recipes"]
    named = {name: text for name, _, text in (line.strip().partition(" ") for line in lines if line.startswith(" "))}
    assert set(named) >= {*TASKS, "wt", "cot", "rot", "transformer", "lstm", "paper", "fast"}
    assert all(text.strip() for text in named.values())


def test_a_sweep_is_three_runs_in_every_respect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two of which end well; the third diverges at once. What is finished isn't trained again."""
    wandb = ("logger.wandb.enabled=true", "logger.wandb.group=both")
    assert main(["train", "--multirun", *tiny_overrides(tmp_path, "task=add,sort", *wandb)]) == 0
    rates = "recipe.learning_rate=1e-3,1e30"
    assert main(["train", "--multirun", *tiny_overrides(tmp_path, "task=add", rates, *wandb)]) == 1
    text, errors = capsys.readouterr()
    assert text.count("W&B: offline (no key)") == 3
    assert text.count("finished at step 6") == 2
    assert text.count("already, at step 6") == 1
    assert errors.count("the loss is nan at step 2: the training has diverged") == 1
    directories = {path.name: path for path in tmp_path.iterdir() if path.name != ".sweep"}
    runs = {one.name: one for one in read_runs(tmp_path)}
    assert set(runs) == set(directories)
    assert sorted(name.partition("-s0-")[0] for name in runs) == [
        "add-4-rot-transformer", "add-4-rot-transformer", "sort-4-rot-transformer",
    ]  # fmt: skip
    [failed] = [one for one in runs.values() if one.exit_code != 0]
    assert failed.config["recipe"]["learning_rate"] == 1e30
    assert json.loads((directories[failed.name] / "manifest.json").read_text())["status"] == "failed"
    del runs[failed.name]
    for one in runs.values():
        directory, task = directories[one.name], one.name.partition("-")[0]
        assert directory in one.path.parents
        assert one.offline
        assert (one.exit_code, one.group, one.project) == (0, "both", "rotlab")
        assert (one.config["task"]["name"], one.config["architecture"]["d_model"]) == (task, 16)
        assert dict(one.series("eval/problem")) == series(directory, "eval/problem")
        assert [step for step, _ in one.series("train/loss")] == [2, 4, 6]
        assert len(one.tables) == 2


def test_a_project_groups_cells_and_seeds_by_itself(tmp_path: Path) -> None:
    """From the command line to what W&B has: groups, tags and the settings that panels group and filter by."""
    preset = tmp_path / "conf" / "experiment" / "paper" / "tiny.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("# @package _global_\nevaluation: {free_running: 3}\n")
    options = tiny_overrides(tmp_path / "runs", "task=add,sort", "seed=0,1", "method=wt", "logger.wandb.enabled=true")
    chosen = ["experiment=paper/tiny", "logger.wandb.tags=[mine]"]
    assert main(["train", "--multirun", "--config-dir", str(tmp_path / "conf"), *options, *chosen]) == 0
    assert main(["train", *tiny_overrides(tmp_path / "alone", "logger.wandb.enabled=true")]) == 0
    *swept, alone = sorted(read_runs(tmp_path), key=lambda one: tmp_path / "alone" in one.path.parents)
    cells = {f"{task}-4-wt-transformer": [0, 1] for task in ("add", "sort")}
    assert {group: sorted(one.config["seed"] for one in swept if one.group == group) for group in cells} == cells
    for one in swept:
        assert one.name.startswith(f"{one.group}-s{one.config['seed']}-")
        assert sorted(one.tags) == sorted(["mine", "paper/tiny", one.config["task"]["name"], "wt", "transformer"])
        assert (one.config["method"]["name"], one.config["architecture"]["name"]) == ("wt", "transformer")
        assert (one.config["difficulty"], one.config["evaluation"]["free_running"]) == (4, 3)
        assert 0 <= one.summary["eval/problem"] <= 1
        assert {"eval/free", "probe/problem", "speed/contexts_per_s", "data/wait_share"} <= one.summary.keys()
        assert "eval/wrong_samples" in one.summary
    assert (alone.group, sorted(alone.tags)) == ("add-4-rot-transformer", ["add", "rot", "transformer"])


def test_a_run_that_goes_on_is_one_run_of_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(tmp_path, "logger.wandb.enabled=true", "trainer.save_every_n_steps=1")
    ended, kill = RotModule.on_before_optimizer_step, [signal.SIGTERM]

    def struck(self: RotModule, optimizer: Any) -> None:
        if self.trainer.global_step == 4 and kill:
            os.kill(os.getpid(), kill.pop())
        ended(self, optimizer)

    monkeypatch.setattr(RotModule, "on_before_optimizer_step", struck)
    with pytest.raises(SystemExit) as caught:
        run(config)
    assert caught.value.code == 143
    # Rows of a step that is trained again: as if the process had been killed before it could save more.
    directory = run_directory(config)
    os.replace(checkpoint_path(directory, "earlier"), checkpoint_path(directory, "last"))
    outcome = run(config)
    first, second = read_runs(tmp_path)
    assert first.id == second.id == outcome.manifest.wandb_id
    assert (first.exit_code, second.exit_code) == (1, 0)
    for name in ("train/loss", "eval/problem", "probe/problem"):
        both = first.series(name) + second.series(name)
        assert dict(both) == series(directory, name)
        assert len(both) == len(dict(both))


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
