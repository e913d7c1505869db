"""Two devices, here two CPU processes: one run, the same figures, one directory; who fails, ends all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from rotlab.config import ConfigError, run_directory
from rotlab.models.trained import load_checkpoint
from rotlab.training import launch
from rotlab.training.manifest import read_manifest
from tests.training.configs import series, tiny_config, tiny_overrides
from tests.wandb_reader import read_runs

ROOT = Path(__file__).parents[2]
FIFTY = (
    "task=mul", "difficulty=3", "recipe=fast", "recipe.max_steps=50", "recipe.warmup_steps=10", "recipe.batch_size=32",
    "data.test_problems=101", "evaluation.every_n_steps=20", "evaluation.probe_every_n_steps=25",
    "trainer.log_every_n_steps=1", "data.tokens_per_pass=200", "evaluation.free_running=33",
)  # fmt: skip
ENDLESS = ("recipe.max_steps=100000", "evaluation.every_n_steps=100000", "trainer.log_every_n_steps=1")
TWO = "trainer.devices=2"
# Far more than any of these runs takes; a hang ends here.
LIMIT = 120


def command(*overrides: str) -> list[str]:
    return [sys.executable, str(ROOT / "train.py"), *overrides]


def train(*overrides: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment}
    return subprocess.run(
        command(*overrides), capture_output=True, text=True, timeout=LIMIT, env=variables, check=False
    )  # fmt: skip


@contextmanager
def training(*overrides: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs, once it has taken steps; it's gone afterwards."""
    pipe = subprocess.PIPE
    variables = {**os.environ, **environment}
    with subprocess.Popen(command(*overrides), stdout=pipe, stderr=pipe, text=True, env=variables) as process:
        assert process.stdout is not None
        try:
            assert any(line.startswith("step 3/") for line in process.stdout)
            yield process
        finally:
            process.kill()


def ranks_of(launcher: int) -> list[int]:
    """The process ids of the ranks, first to last."""
    return [int(pid) for pid in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()]


def is_gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")


@pytest.fixture(scope="module")
def one_and_two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The directories of the same run on one device and on two."""
    found = []
    for devices in ("1", "2"):
        folder = tmp_path_factory.mktemp(f"devices{devices}")
        overrides = tiny_overrides(folder, *FIFTY, f"trainer.devices={devices}", "logger.wandb.enabled=true")
        done = train(*overrides)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout.count("finished at step 50") == 1
        [directory] = folder.iterdir()
        found.append(directory)
    return found[0], found[1]


def test_the_same_losses_and_counts(one_and_two: tuple[Path, Path]) -> None:
    one, two = one_and_two
    assert one.name == two.name
    for name in ("train/loss", "train/token_accuracy", "train/gradient_norm"):
        losses, others = series(one, name), series(two, name)
        assert list(losses) == list(others) == list(range(1, 51))
        assert others == pytest.approx(losses, rel=2e-3)
    assert series(two, "train/loss") == pytest.approx(series(one, "train/loss"), rel=1e-4)
    for name in ("data/overlong", "train/learning_rate"):
        assert series(one, name) == series(two, name)


def test_the_same_evaluations(one_and_two: tuple[Path, Path]) -> None:
    """101 problems are no multiple of two."""
    one, two = one_and_two
    for name in ("eval/problem", "eval/contexts", "eval/tokens", "eval/mul/contexts", "probe/contexts"):
        assert list(series(one, name)) == ([25, 50] if name.startswith("probe") else [20, 40, 50])
        assert series(one, name) == series(two, name)
    samples = [(directory / "wrong_samples.jsonl").read_text().count("\n") for directory in one_and_two]
    assert samples[0] == samples[1] > 0


def test_free_running_is_shared(one_and_two: tuple[Path, Path]) -> None:
    """Each problem is solved once, and counted once."""
    reasons = ("wrong", "overflow", "height", "reach", "cycle", "malformed")
    for directory in one_and_two:
        free = series(directory, "eval/free")
        ended = [series(directory, f"eval/free/{reason}") for reason in reasons]
        assert [33 * free[step] + sum(counts[step] for counts in ended) for step in free] == [33, 33, 33]
    assert series(one_and_two[0], "eval/free") == series(one_and_two[1], "eval/free")


def test_one_process_writes(one_and_two: tuple[Path, Path]) -> None:
    one, two = one_and_two
    assert {path.name for path in one.iterdir()} == {path.name for path in two.iterdir()}
    [logged] = read_runs(two)
    assert dict(logged.series("eval/problem")) == series(two, "eval/problem")
    manifest = read_manifest(two)
    assert manifest is not None
    assert (manifest.status, len(manifest.sessions), manifest.wandb_id) == ("finished", 1, logged.id)
    ours, theirs = (load_checkpoint(path).backbone.state_dict() for path in one_and_two)
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-3) for name in ours)


@needs_proc
def test_a_rank_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    with training(*tiny_overrides(tmp_path, *ENDLESS, TWO)) as process:
        ranks = ranks_of(process.pid)
        assert len(ranks) == 2
        os.kill(ranks[1], signal.SIGKILL)
        assert process.wait(60) not in (0, None)
        assert process.stderr is not None
        said = process.stderr.read()
        assert "the process of device 1 was ended by SIGKILL" in said
        assert "Traceback" not in said
        assert all(is_gone(rank) for rank in ranks)


@needs_proc
@pytest.mark.slow
def test_a_launcher_that_is_gone_ends_the_ranks(tmp_path: Path) -> None:
    with training(*tiny_overrides(tmp_path, *ENDLESS, TWO)) as process:
        ranks = ranks_of(process.pid)
        process.kill()
        process.wait()
        # Both ends of their pipes are held by the ranks alone: reading ends when they have.
        assert process.stdout is not None
        process.stdout.read()
    directory = run_directory(tiny_config(tmp_path, *ENDLESS))
    manifest = read_manifest(directory)
    assert manifest is not None
    assert (manifest.status, manifest.reason) == ("interrupted", "SIGTERM")
    assert all(is_gone(rank) for rank in ranks)


def test_a_signal_stops_both_and_the_same_command_goes_on(tmp_path: Path) -> None:
    overrides = tiny_overrides(tmp_path, "recipe.max_steps=300", "evaluation.every_n_steps=300", TWO, *ENDLESS[2:])
    with training(*overrides) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    config = tiny_config(tmp_path, "recipe.max_steps=300")
    manifest = read_manifest(run_directory(config))
    assert manifest is not None
    assert (manifest.status, manifest.step % 10) == ("interrupted", 0)
    assert 0 < manifest.step < 300
    # One device may go on with what two have begun.
    done = train(*(one for one in overrides if one != TWO))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"going on from step {manifest.step}" in done.stdout
    assert list(series(run_directory(config), "train/loss")) == list(range(1, 301))


@needs_proc
@pytest.mark.slow
def test_a_signal_to_one_in_an_evaluation_stops_both(tmp_path: Path) -> None:
    """Its fellow, which waits for it there, is not said to have failed."""
    many = ("data.test_problems=5000", "difficulty=8", "evaluation.every_n_steps=20")
    overrides = tiny_overrides(tmp_path, "recipe.max_steps=1000", "trainer.log_every_n_steps=1", *many, TWO)
    with training(*overrides) as process:
        assert process.stdout is not None
        assert any(line.startswith("step 20/") for line in process.stdout)
        time.sleep(0.3)
        os.kill(ranks_of(process.pid)[1], signal.SIGTERM)
        assert process.wait(60) == 143
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    manifest = read_manifest(run_directory(tiny_config(tmp_path, "recipe.max_steps=1000", "difficulty=8", *many[:1])))
    assert manifest is not None
    assert (manifest.status, manifest.step) == ("interrupted", 20)


@pytest.mark.parametrize("tasks", ["1", "4", "2(x1)"])
def test_slurm_that_contradicts_is_an_error(tmp_path: Path, tasks: str) -> None:
    done = train(*tiny_overrides(tmp_path, TWO), SLURM_NTASKS=tasks)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: SLURM_NTASKS={tasks} contradicts trainer.devices=2: ")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_slurm_that_agrees_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "1")
    launch.require_slurm_agrees(1)
    with pytest.raises(ConfigError):
        launch.require_slurm_agrees(2)
    monkeypatch.setenv("SLURM_JOB_NAME", "interactive")
    launch.require_slurm_agrees(2)


def test_devices_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.devices_of(tiny_config(tmp_path, "trainer.devices=auto")) == 1
    assert launch.devices_of(tiny_config(tmp_path, TWO)) == 2
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert launch.devices_of(tiny_config(tmp_path, "trainer.devices=auto", "trainer.accelerator=gpu")) == 3
    with pytest.raises(ConfigError, match=r"3 GPUs are visible: write trainer\.devices=3"):
        launch.devices_of(tiny_config(tmp_path, "trainer.devices=4", "trainer.accelerator=auto"))


@pytest.mark.slow
def test_a_sweep_on_two_devices(tmp_path: Path) -> None:
    done = train("-m", "seed=0,1", *tiny_overrides(tmp_path, TWO))
    assert (done.returncode, done.stderr) == (0, "")
    directories = [path for path in tmp_path.iterdir() if path.name != ".sweep"]
    assert len(directories) == 2
    for directory in directories:
        manifest = read_manifest(directory)
        assert manifest is not None
        assert (manifest.status, manifest.step) == ("finished", 6)


@pytest.mark.slow
def test_a_refusal_is_said_once(tmp_path: Path) -> None:
    done = train(*tiny_overrides(tmp_path, TWO, "architecture.d_model=18"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "must be a multiple of" in done.stderr
