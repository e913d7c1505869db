"""What an earlier process, another program or an editor has left over: files, variables, a pipe that nobody reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rotlab.config import ConfigError, run_directory
from rotlab.models.trained import checkpoint_path, load_checkpoint
from rotlab.training.loggers import MetricsCsv
from rotlab.training.manifest import Manifest, read_manifest
from rotlab.training.run import run
from tests.training.configs import series, tiny_config, tiny_overrides
from tests.training.sessions import Strike, session, stopped
from tests.training.test_devices import ENDLESS, training
from tests.wandb_reader import read_runs

ROOT = Path(__file__).parents[2]
LONG = ("recipe.max_steps=12", "trainer.save_every_n_steps=2", "evaluation.every_n_steps=3")
SLURM = {
    "SLURM_NTASKS": "1", "SLURM_JOB_ID": "77", "SLURM_JOB_NAME": "x", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0", "SLURM_NODELIST": "localhost", "SLURM_NNODES": "1",
}  # fmt: skip


def same_weights(one: Path, other: Path) -> bool:
    ours, theirs = (load_checkpoint(path).backbone.state_dict() for path in (one, other))
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def manifest_in(folder: Path) -> Manifest:
    [directory] = [path for path in folder.iterdir() if path.is_dir()]
    manifest = read_manifest(directory)
    assert manifest is not None
    return manifest


# --- the process's surroundings ------------------------------------------------------------------------------------


def test_slurm_s_warning_ends_the_run_where_its_state_is_whole(tmp_path: Path) -> None:
    """Lightning would write a checkpoint of its own, requeue the job, and load that checkpoint over ours."""
    with training(*tiny_overrides(tmp_path, *ENDLESS), **SLURM) as process:
        process.send_signal(signal.SIGUSR1)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read()
        assert (process.stderr.read(), process.wait(60)) == ("", 128 + signal.SIGUSR1)
    manifest = manifest_in(tmp_path)
    assert (manifest.status, manifest.reason) == ("interrupted", "SIGUSR1")
    assert manifest.step > 0
    assert not list(tmp_path.rglob("hpc_ckpt*"))


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """As under nohup."""
    command = f"trap '' HUP; exec {sys.executable} {ROOT / 'train.py'} " + " ".join(tiny_overrides(tmp_path, *ENDLESS))
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any(line.startswith("step ") for line in process.stdout)
        process.send_signal(signal.SIGHUP)
        assert any(line.startswith("step ") for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        assert process.wait(60) == 143


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_output_that_nobody_reads_costs_nothing(tmp_path: Path, number: int) -> None:
    with training(*tiny_overrides(tmp_path, *ENDLESS)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        time.sleep(1)
        process.send_signal(number)
        assert (process.stderr.read(), process.wait(60)) == ("", 128 + number)
    manifest = manifest_in(tmp_path)
    assert (manifest.status, manifest.reason) == ("interrupted", signal.Signals(number).name)
    assert manifest.step > 1


def test_variables_of_another_launcher_change_nothing(tmp_path: Path) -> None:
    left = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "1", "SLURM_NTASKS": ""}
    command = [sys.executable, str(ROOT / "train.py"), *tiny_overrides(tmp_path)]
    done = subprocess.run(command, env=os.environ | left, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    [directory] = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert list(series(directory, "eval/problem")) == [3, 6]
    assert (directory / "wrong_samples.jsonl").exists()


# --- files ---------------------------------------------------------------------------------------------------------


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x40
    path.write_bytes(content)


def without_weights(path: Path) -> None:
    content = torch.load(path, weights_only=True)
    del content["weights"]
    torch.save(content, path)


def without_optimizer(path: Path) -> None:
    content = torch.load(path, weights_only=True)
    del content["training"]["optimizer"]
    torch.save(content, path)


@pytest.mark.parametrize("spoil", [flipped, without_weights, without_optimizer])
def test_where_an_older_checkpoint_has_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], None]
) -> None:
    """Evaluations after it are taken again, and with them the best network: the end is that of a straight run."""
    straight = run(tiny_config(tmp_path / "a", *LONG))
    config = tiny_config(tmp_path / "b", *LONG)
    directory = stopped(config, tmp_path / "log", after=7)
    last = checkpoint_path(directory, "last")
    spoil(last)
    capsys.readouterr()
    ours = run(config)
    out = capsys.readouterr().out
    assert f"passed over: {last}" in out
    assert "going on from step 4" in out
    assert ours.manifest.evaluations == straight.manifest.evaluations
    assert same_weights(directory, straight.directory)
    for name in ("metrics.csv", "wrong_samples.jsonl"):
        keys = [[line.split(",")[:2] for line in (one / name).read_text().splitlines()]
                for one in (directory, straight.directory)]  # fmt: skip
        assert keys[0] == keys[1]


def test_without_its_checkpoints_a_run_begins_again(tmp_path: Path) -> None:
    straight = run(tiny_config(tmp_path / "a", *LONG))
    config = tiny_config(tmp_path / "b", *LONG)
    directory = stopped(config, tmp_path / "log", after=7)
    for path in (directory / "checkpoints").iterdir():
        path.unlink()
    ours = run(config)
    assert ours.manifest.evaluations == straight.manifest.evaluations
    assert checkpoint_path(directory, "best").exists()
    assert same_weights(directory, straight.directory)


@pytest.mark.parametrize("torn", ['{"step": 6, "question": "1+', '{"step": 6, "question": "1+1"}\n{"step": 6, "qu'])
def test_wrong_samples_that_were_half_written_are_written_again(tmp_path: Path, torn: str) -> None:
    straight = run(tiny_config(tmp_path / "a", *LONG))
    config = tiny_config(tmp_path / "b", *LONG)
    directory = stopped(config, tmp_path / "log", after=5)
    with (directory / "wrong_samples.jsonl").open("a") as file:
        file.write(torn)
    run(config)
    ours, theirs = ((one / "wrong_samples.jsonl").read_text() for one in (directory, straight.directory))
    assert ours == theirs


def test_a_metrics_file_that_is_deleted_is_begun_anew(tmp_path: Path) -> None:
    csv = MetricsCsv(tmp_path)
    csv.log_metrics({"train/loss": 1.0}, 1)
    csv.path.unlink()
    csv.log_metrics({"train/loss": 0.5}, 2)
    assert csv.path.read_text() == "step,name,value\n2,train/loss,0.5\n"
    assert MetricsCsv(tmp_path).known == {(2, "train/loss"): 0.5}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metrics.csv", "step,name,value\nhello\n1,train/loss,0.5\n"),
        ("metrics.csv", "step,name,value\n\n"),
        ("wrong_samples.jsonl", "\n"),
        ("wrong_samples.jsonl", "[]\n"),
    ],
)
def test_records_with_foreign_lines_are_refused_in_one(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=f"{name} is not a .*: move it away$"):
        MetricsCsv(tmp_path)
    assert (tmp_path / name).read_text() == text


@pytest.mark.parametrize(
    "change",
    [{"evaluations": "x"}, {"evaluations": [{"step": 3, "right": 0, "problems": 0}]}, {"sessions": None}, {}],
    ids=["text", "no-problems", "no-sessions", "brackets"],
)
def test_a_manifest_that_was_edited_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    config = tiny_config(tmp_path, *LONG)
    path = stopped(config, tmp_path / "log", after=5) / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change) if change else "[" * 100_000)
    assert [one["step"] for one in run(config).manifest.evaluations] == [3, 6, 9, 12]
    assert "manifest.json can't be read" in capsys.readouterr().out


@pytest.mark.parametrize("make", [lambda run: run.touch(), lambda run: (run / ".lock").mkdir(parents=True)])
def test_what_cant_be_a_runs_directory_is_said(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    config = tiny_config(tmp_path)
    make(run_directory(config))
    with pytest.raises(ConfigError, match="can't be a run's directory"):
        run(config)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="kills by /proc")
def test_wandb_has_what_a_killed_process_took_with_it(tmp_path: Path) -> None:
    # Long enough not to have ended when the signal comes.
    steps = ("recipe.max_steps=900", "evaluation.every_n_steps=30", "trainer.log_every_n_steps=1")
    overrides = tiny_overrides(tmp_path, *steps)
    overrides = [one for one in overrides if not one.startswith("logger.wandb")]
    command = [sys.executable, str(ROOT / "train.py"), *overrides, "logger.wandb.mode=offline"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any(line.startswith("evaluation at step 60") for line in process.stdout)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    sent = {step for one in read_runs(tmp_path) for step, _ in one.series("eval/problem")}
    assert sent == set(range(30, 901, 30))


def test_a_checkpoint_that_was_not_yet_named_last_becomes_it(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, *LONG)
    assert session(config, tmp_path / "log", Strike("evaluation", 7)) == -signal.SIGKILL  # probes count too
    directory = run_directory(config)
    last, fresh, earlier = (checkpoint_path(directory, which) for which in ("last", "fresh", "earlier"))
    assert load_checkpoint(directory).step == 12
    last.rename(fresh)
    earlier.rename(last)
    assert [one["step"] for one in run(config).manifest.evaluations] == [3, 6, 9, 12]
    assert load_checkpoint(directory).step == 12
    assert not fresh.exists()
