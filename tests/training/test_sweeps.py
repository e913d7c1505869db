"""Sweeps: a job is a process of its own; what fails is told, and what is done is not done again. All of it real."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.training.configs import series, tiny_overrides

ROOT = Path(__file__).resolve().parents[2]
# In a job's process, at step 2: what a seed says.
FAULTS = """
import os, signal, sys
if "rotlab.training.job_process" in sys.orig_argv and os.environ.get("FAULTS"):
    from rotlab.training.module import RotModule
    going_on = RotModule.on_before_optimizer_step

    def struck(self, optimizer):
        if self.trainer.global_step == 2:
            seed = self.trainer.default_root_dir.split("-s")[-1][0]
            if seed == "0":
                raise RuntimeError("out of luck")
            if seed == "1":
                sys.exit(5)
            if seed == "2":
                os.kill(os.getpid(), signal.SIGKILL)
        going_on(self, optimizer)

    RotModule.on_before_optimizer_step = struck
"""


class Sweep:
    """A command line that is given again and again, in a process of its own."""

    def __init__(self, folder: Path, *overrides: str) -> None:
        self.runs = folder / "runs"
        (folder / "sitecustomize.py").write_text(FAULTS, encoding="utf-8")
        path = os.pathsep.join([str(folder), str(ROOT / "src"), str(ROOT)])
        self.environment = {**os.environ, "PYTHONPATH": path}
        tiny = tiny_overrides(self.runs, "task=add", *overrides)
        self.command = [sys.executable, str(ROOT / "train.py"), "-m", *tiny]

    def __call__(self, faults: bool = False) -> tuple[int, str]:
        """The exit code, and what stands on both outputs."""
        environment = {**self.environment, **({"FAULTS": "1"} if faults else {})}
        done = subprocess.run(
            self.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400
        )
        return done.returncode, done.stdout

    def started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        )

    def directories(self) -> list[Path]:
        """In the order of their seeds."""
        found = [path for path in self.runs.iterdir() if path.name != ".sweep"]
        return sorted(found, key=lambda path: path.name.partition("-s")[2])

    def manifests(self) -> list[dict[str, object]]:
        return [json.loads((directory / "manifest.json").read_text()) for directory in self.directories()]


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_job_is_told_and_the_next_one_runs(tmp_path: Path) -> None:
    sweep = Sweep(tmp_path, "seed=2,3")
    code, text = sweep(faults=True)
    assert code == 1, text
    assert [(one["status"], one["reason"]) for one in sweep.manifests()] == [
        ("failed", "ended by SIGKILL"), ("finished", None)
    ]  # fmt: skip
    assert text.rstrip().endswith("2 jobs: 1 failed, 1 finished")


@pytest.mark.slow
def test_what_one_job_does_is_nothing_to_the_others(tmp_path: Path) -> None:
    """The first raises, the second calls sys.exit(5), the third is killed."""
    sweep = Sweep(tmp_path, "seed=0,1,2,3", "evaluation.every_n_steps=6")
    code, text = sweep(faults=True)
    assert code == 1, text
    assert [(one["status"], one["reason"]) for one in sweep.manifests()] == [
        ("failed", "RuntimeError: out of luck"),
        ("failed", "SystemExit: 5"),
        ("failed", "ended by SIGKILL"),
        ("finished", None),
    ]
    logs = [(directory / "job.log").read_text() for directory in sweep.directories()]
    assert "Traceback" in logs[0]
    assert logs[0].rstrip().endswith("RuntimeError: out of luck")
    rows = text[text.index("job  status") :].splitlines()[1:]
    names = [directory.name for directory in sweep.directories()]
    reasons = ["RuntimeError: out of luck", "SystemExit: 5", "ended by SIGKILL", "step 6: "]
    for number, (row, name, reason) in enumerate(zip(rows, names, reasons, strict=False)):
        status = "failed" if number < 3 else "finished"
        assert re.match(rf"{number} +{status} +{name} +{reason}", row), row
    assert rows[-1] == "4 jobs: 3 failed, 1 finished"

    code, text = sweep()
    assert code == 0, text
    assert [one["status"] for one in sweep.manifests()] == ["finished"] * 4
    assert len(sweep.directories()) == 4
    assert [len(one["sessions"]) for one in sweep.manifests()] == [2, 2, 2, 1]  # type: ignore[arg-type]
    assert re.search(rf"^3 +finished +{names[3]} +already, at step 6", text, flags=re.MULTILINE)


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    sweep = Sweep(tmp_path, "seed=range(0,6)", "recipe.max_steps=4000", "evaluation.every_n_steps=4000",
                  "evaluation.probe_every_n_steps=4000", "trainer.save_every_n_steps=50",
                  "trainer.log_every_n_steps=50", "recipe.batch_size=4")  # fmt: skip
    process = sweep.started()
    wait_until(lambda: sweep.runs.exists() and len(sweep.directories()) == 3, 400)
    third = sweep.directories()[2]
    wait_until(lambda: (third / "checkpoints" / "last.ckpt").exists())
    process.kill()
    process.wait()
    wait_until(lambda: json.loads((third / "manifest.json").read_text())["status"] == "interrupted")
    step = json.loads((third / "manifest.json").read_text())["step"]
    assert 0 < step < 4000
    code, text = sweep()
    assert code == 0, text
    assert text.count("already, at step") == 2
    assert f"going on from step {step:,}" in text
    assert [len(one["sessions"]) for one in sweep.manifests()] == [1, 1, 2, 1, 1, 1]  # type: ignore[arg-type]


def test_a_signal_ends_the_job_and_the_sweep(tmp_path: Path) -> None:
    sweep = Sweep(tmp_path, "seed=0,1", "recipe.max_steps=100000")
    process = sweep.started()
    wait_until(lambda: bool(list(sweep.runs.glob("*/checkpoints/last.ckpt"))))
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    [manifest] = sweep.manifests()
    assert (manifest["status"], manifest["reason"]) == ("interrupted", "SIGTERM")


def test_what_does_not_fit_is_noted_and_no_failure(tmp_path: Path) -> None:
    sweep = Sweep(tmp_path, "method=cot", "difficulty=30,2", "recipe.max_steps=1", "evaluation.every_n_steps=1")
    code, text = sweep()
    assert code == 0, text
    assert text.rstrip().endswith("2 jobs: 1 does not fit, 1 finished")
    [manifest] = [one for one in sweep.manifests() if one["status"] != "finished"]
    assert manifest["status"] == "does not fit"
    assert str(manifest["reason"]).startswith("add-30 does not fit under method=cot: a context has")


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[None]:
    """A SLURM of one node on this machine."""
    if shutil.which("slurmctld") is None or os.geteuid() != 0:
        pytest.skip("needs root, and slurm-wlm and munge installed")
    script = str(Path(__file__).with_name("slurm_one_node.sh"))
    subprocess.run([script, "start", str(tmp_path / "slurm")], check=True, timeout=60)
    yield
    subprocess.run([script, "stop", str(tmp_path / "slurm")], check=True, timeout=60)


def assert_alike(tmp_path: Path, launcher: str, *flags: str) -> None:
    """Four jobs give the same figures under Hydra's own launcher and another."""
    accuracies = []
    for name, own in (("basic", ()), (launcher, (f"hydra/launcher={launcher}", *flags))):
        folder = tmp_path / name
        folder.mkdir()
        sweep = Sweep(folder, "seed=0,1,2,3", *own)
        code, text = sweep()
        assert code == 0, text
        assert "4 jobs: 4 finished" in text
        figures = ("train/loss", "probe/context", "eval/context", "eval/problem")
        accuracies.append([[series(directory, one) for one in figures] for directory in sweep.directories()])
    assert accuracies[0] == accuracies[1]


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_other_launchers_come_to_the_same(tmp_path: Path, launcher: str) -> None:
    assert_alike(tmp_path, launcher)


@pytest.mark.slow
@pytest.mark.usefixtures("slurm")
def test_slurm_comes_to_the_same(tmp_path: Path) -> None:
    assert_alike(tmp_path, "submitit_slurm", "hydra.launcher.partition=main", "hydra.launcher.mem_gb=1")
