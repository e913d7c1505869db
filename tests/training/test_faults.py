"""What befalls runs: a second process, full disks, torn files, killed helpers, a loss that is no number."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rotlab.config import Config, ConfigError, RunFailed, run_directory
from rotlab.data.stream import TrainingStream
from rotlab.models.trained import FORMAT, checkpoint_path, load_checkpoint
from rotlab.training import lock, loggers
from rotlab.training.lock import locked
from rotlab.training.manifest import Manifest, read_manifest
from rotlab.training.module import RotModule
from rotlab.training.run import run
from tests.training.configs import series, tiny_config, tiny_overrides
from tests.training.sessions import session, stopped, text_of

ROOT = Path(__file__).parents[2]
LONG = ("recipe.max_steps=12", "trainer.save_every_n_steps=2", "evaluation.every_n_steps=50")


def manifest_of(directory: Path) -> Manifest:
    manifest = read_manifest(directory)
    assert manifest is not None
    return manifest


# --- one process at a time -----------------------------------------------------------------------------------------


def test_a_second_process_is_told_of_the_first(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom rotlab.training.lock import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(100)\n"
    )
    Manifest(name="x", config={}, max_steps=1, sessions=[{"pid": 77, "host": "here", "started": "noon"}]).write(
        tmp_path
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        said = r"is being trained by process 77 on here since noon: wait until it ends, or end it$"
        with pytest.raises(ConfigError, match=said), locked(tmp_path, wait=0.2):
            pass
        first.kill()
        first.wait()
        with locked(tmp_path, wait=5):
            assert (tmp_path / lock.NAME).exists()


# --- torn and foreign files ----------------------------------------------------------------------------------------


def test_a_torn_checkpoint_is_named_and_the_one_before_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    straight = run(tiny_config(tmp_path / "a", *LONG))
    config = tiny_config(tmp_path / "b", *LONG)
    directory = stopped(config, tmp_path / "log", after=6)
    last = checkpoint_path(directory, "last")
    os.truncate(last, last.stat().st_size // 2)
    capsys.readouterr()
    run(config)
    said = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(f"passed over: {last} can't be read as a checkpoint") for line in said) == 1
    assert "going on from step 4" in said
    ours, theirs = (load_checkpoint(one).backbone.state_dict() for one in (directory, straight.directory))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_where_all_are_torn_nothing_is_trained_anew_unasked(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, *LONG)
    directory = stopped(config, tmp_path / "log", after=6)
    for path in (directory / "checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ConfigError, match="can be read: add force=true to train again from the start"):
        run(config)


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 0}', "", '{"format": 1}'])
def test_a_manifest_that_cant_be_read_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    config = tiny_config(tmp_path, "recipe.max_steps=6", "trainer.save_every_n_steps=4")
    directory = stopped(config, tmp_path / "log", after=5)
    (directory / "manifest.json").write_text(content)
    run(config)
    assert "manifest.json can't be read" in capsys.readouterr().out
    manifest = manifest_of(directory)
    assert (manifest.status, [one["step"] for one in manifest.evaluations]) == ("finished", [3, 6])
    assert list(series(directory, "eval/problem")) == [3, 6]


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda content: content.update(vocabulary=["PAD", "GO"]), "trained on another vocabulary: PAD GO"),
        (lambda content: content["weights"].pop("output.bias"), "weights have another shape"),
        (lambda content: content.update(format=1), f"is of format 1; this version reads format {FORMAT}"),
    ],
    ids=["vocabulary", "shape", "format"],
)
def test_a_checkpoint_of_something_else_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], says: str
) -> None:
    config = tiny_config(tmp_path, *LONG)
    directory = stopped(config, tmp_path / "log", after=6)
    for which in ("last", "earlier"):
        changed(checkpoint_path(directory, which), change)
    with pytest.raises(ConfigError, match=says):
        run(config)


def test_rows_that_stand_are_kept_and_a_torn_one_is_cut(tmp_path: Path) -> None:
    straight = run(tiny_config(tmp_path / "a", *LONG))
    config = tiny_config(tmp_path / "b", *LONG)
    directory = stopped(config, tmp_path / "log", after=7)
    with (directory / "metrics.csv").open("a") as file:
        file.write("7,train/lo")
    before = (directory / "metrics.csv").read_text()
    run(config)
    after = (directory / "metrics.csv").read_text()
    assert after.startswith(before.removesuffix("7,train/lo"))
    names = [[line.rsplit(",", 1)[0] for line in (one / "metrics.csv").read_text().splitlines()]
             for one in (directory, straight.directory)]  # fmt: skip
    assert names[0] == names[1]


# --- what stops a run ----------------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(tmp_path, *LONG)
    steps = 0

    def poisoned(self: RotModule, optimizer: torch.optim.Optimizer) -> None:
        nonlocal steps
        steps += 1
        if steps == 5:
            next(self.backbone.parameters()).data.fill_(float("nan"))

    monkeypatch.setattr(RotModule, "on_before_optimizer_step", poisoned)
    with pytest.raises(RunFailed, match=r"^the loss is nan at step 6: the training has diverged; lower recipe\."):
        run(config)
    manifest = manifest_of(run_directory(config))
    assert (manifest.status, manifest.step) == ("failed", 4)
    assert manifest.reason is not None
    assert manifest.reason.startswith("RunFailed: the loss is nan at step 6")
    assert torch.isfinite(load_checkpoint(run_directory(config)).backbone.embedding.weight).all()


def test_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files stands in for it; afterwards the same command goes on."""
    overrides = tiny_overrides(tmp_path, *LONG)
    command = [sys.executable, str(ROOT / "train.py"), *overrides]
    # Torchmetrics imports matplotlib, which keeps a list of fonts at the first time.
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path / "matplotlib")}
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], env=environment, check=True)

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, preexec_fn=full, timeout=120, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1
    assert "File too large; the run stands at step 0, and the same command goes on once there is room" in done.stderr
    directory = run_directory(tiny_config(tmp_path, *LONG))
    assert manifest_of(directory).status == "failed"
    assert not list(directory.rglob("*.partial"))
    assert run(tiny_config(tmp_path, *LONG)).manifest.step == 12


def test_a_killed_loader_process(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, *LONG, "data.workers=1")
    straight = run(tiny_config(tmp_path / "straight", *LONG))

    def dying(config: Config, output: Path) -> int:
        with pytest.MonkeyPatch.context() as patch:
            get, main = TrainingStream.__getitem__, os.getpid()

            def struck(self: TrainingStream, step: int) -> Any:
                if step == 7 and os.getppid() != main:
                    os.kill(os.getpid(), signal.SIGKILL)
                return get(self, step)

            patch.setattr(TrainingStream, "__getitem__", struck)
            return session(config, output)

    output = tmp_path / "log"
    assert dying(config, output) == 1
    assert "a process that prepares batches ended" in text_of(output)
    directory = run_directory(config)
    manifest = manifest_of(directory)
    assert manifest.status == "failed"
    assert manifest.step <= 7  # torch may tell of it amid a step, which is lost then
    assert session(config, output) == 0
    ours, theirs = (load_checkpoint(one).backbone.state_dict() for one in (directory, straight.directory))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_signals_at_the_command_line(tmp_path: Path) -> None:
    """A signal from outside to the command itself: its exit code, its last words, and what stands then."""
    overrides = tiny_overrides(tmp_path, "recipe.max_steps=100000", "evaluation.every_n_steps=100000")
    command = [sys.executable, str(ROOT / "train.py"), *overrides]
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert any(line.startswith("step ") for line in process.stdout)
            process.send_signal(number)
            out, err = process.stdout.read(), process.stderr.read()
            assert (process.wait(60), err) == (code, ""), err
        assert f"interrupted by {signal.Signals(number).name} at step " in out
    [directory] = [path for path in tmp_path.iterdir() if path.is_dir()]
    manifest = manifest_of(directory)
    assert (manifest.status, manifest.reason, len(manifest.sessions)) == ("interrupted", "SIGINT", 2)
    assert 0 < manifest.sessions[1]["from_step"] < manifest.step == load_checkpoint(directory).step


# --- records -------------------------------------------------------------------------------------------------------


def test_what_a_manifest_says(tmp_path: Path) -> None:
    outcome = run(tiny_config(tmp_path))
    found = json.loads((outcome.directory / "manifest.json").read_text())
    assert (found["status"], found["step"], found["max_steps"], found["reason"]) == ("finished", 6, 6, None)
    assert found["name"] == outcome.directory.name
    assert found["config"]["task"]["name"] == "add"
    assert [one["step"] for one in found["evaluations"]] == [3, 6]
    assert found["accuracy"] == series(outcome.directory, "eval/problem")[6]
    assert found["best_accuracy"] == max(series(outcome.directory, "eval/problem").values())
    [session_] = found["sessions"]
    assert session_["pid"] == os.getpid()
    assert session_["versions"]["torch"] == torch.__version__
    assert set(session_["git"] or {"commit", "changed"}) == {"commit", "changed"}


def test_waiting_for_data_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    get = TrainingStream.__getitem__

    def slow(self: TrainingStream, step: int) -> Any:
        time.sleep(0.1)
        return get(self, step)

    monkeypatch.setattr(TrainingStream, "__getitem__", slow)
    outcome = run(tiny_config(tmp_path, "recipe.max_steps=12"))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("the model waits for data")]
    assert len(lines) == 1
    assert lines[0].endswith("of the time: raise data.workers, which is 0, or give the run more CPU cores")
    assert min(list(series(outcome.directory, "data/wait_share").values())[1:]) > 0.3
    assert min(series(outcome.directory, "train/gradient_norm").values()) > 0
    if Path("/proc/self/statm").exists():
        assert min(series(outcome.directory, "memory/process_mib").values()) > 50


def test_a_run_without_metrics_csv_can_be_resumed(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, "logger.csv=false", "trainer.save_every_n_steps=4")
    directory = stopped(config, tmp_path / "log", after=5)
    assert run(config).manifest.status == "finished"
    assert not (directory / "metrics.csv").exists()
    assert loggers.build_loggers(config, directory, manifest_of(directory)) == []


def test_a_session_without_wandb_keeps_its_id(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, *LONG)
    directory = stopped(config, tmp_path / "log", after=6)
    manifest = manifest_of(directory)
    manifest.wandb_id = "1a2b3c4d"
    manifest.write(directory)
    assert run(config).manifest.wandb_id == "1a2b3c4d"


@pytest.mark.slow
def test_memory_is_flat(tmp_path: Path) -> None:
    """Over 5,000 steps and 20 evaluations a run grows by less than a twentieth; the slope is printed."""
    config = tiny_config(
        tmp_path, "recipe.max_steps=5000", "evaluation.every_n_steps=250", "data.test_problems=200",
        "trainer.log_every_n_steps=50", "evaluation.probe_every_n_steps=100", "trainer.save_every_n_steps=100",
        "trainer.progress=off",
    )  # fmt: skip
    output = tmp_path / "log"
    assert session(config, output) == 0, text_of(output)
    held = series(run_directory(config), "memory/process_mib")
    late = {step: mib for step, mib in held.items() if step > 500}
    middle = sum(late) / len(late)
    slope = sum((step - middle) * mib for step, mib in late.items()) / sum((step - middle) ** 2 for step in late)
    first, last = late[550], held[5000]
    print(f"memory: {first:.0f} MiB at step 550, {last:.0f} MiB at step 5,000, {slope * 1024:.2f} KiB a step")
    assert last < first * 1.05
    assert len(series(run_directory(config), "eval/problem")) == 20
