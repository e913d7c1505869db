"""A job of a sweep in a process of its own: whatever happens there, the sweep goes on and the directory says what.

Nothing heavy is imported here: what is finished, or doesn't fit, is known within a second.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from rotlab.config import Config, ConfigError, run_directory, status
from rotlab.config.checks import DoesNotFit
from rotlab.config.sweep import FAILED, REFUSED, Ended
from rotlab.data.cell import require_cell_fits
from rotlab.training.lock import locked
from rotlab.training.manifest import Manifest, complete_run, read_manifest
from rotlab.training.signals import passed_on

# What the processes of a job printed, one after another, tracebacks included.
LOG = "job.log"


def train_apart(config: Config) -> Ended:
    """Train in a child process, unless the run is finished; how that ended, which its manifest then says too.

    A signal to this process is the child's to answer; once that has ended, SystemExit ends the sweep.
    """
    if (done := complete_run(config)) is not None:
        return Ended(status.FINISHED, f"already, at {done.summary()}")
    directory = run_directory(config)
    directory.mkdir(parents=True, exist_ok=True)
    try:
        require_cell_fits(config)
    except DoesNotFit as error:
        _noted(config, directory, status.DOES_NOT_FIT, str(error))
        raise
    code, last_error, heard = _child(config, directory / LOG)
    ended = _judged(config, directory, code, last_error)
    if heard is not None:
        raise SystemExit(128 + heard)
    return ended


def _child(config: Config, log: Path) -> tuple[int, str, int | None]:
    """Its exit code, as Popen has it; the last error that it printed in a line; the signal that came meanwhile."""
    last_error = ""
    with subprocess.Popen(
        [sys.executable, "-m", "rotlab.training.job_process"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    ) as child, passed_on(child.send_signal) as heard, log.open("a", encoding="utf-8") as kept:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        with suppress(BrokenPipeError):  # it has ended already, and its exit code tells
            child.stdin.write(json.dumps(config.to_dict()) + "\n")
            child.stdin.flush()
        for line in child.stdout:
            kept.write(line)
            kept.flush()
            print(line, end="", flush=True)
            if line.startswith("error: "):
                last_error = line.removeprefix("error: ").strip()
        code = child.wait()
    return code, last_error, heard[0] if heard else None


def _judged(config: Config, directory: Path, code: int, last_error: str) -> Ended:
    manifest = _manifest(directory)
    if code == 0:
        return Ended(status.FINISHED, manifest.summary() if manifest is not None else "")
    if code == REFUSED:
        # Another process may be at work there: it is its manifest then.
        return Ended(status.REFUSED, last_error, code)
    how, reason = status.FAILED, f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
    if manifest is not None and manifest.status == status.INTERRUPTED:
        how, reason = status.INTERRUPTED, manifest.reason or reason
    elif code > 0:
        noted = manifest.reason if manifest is not None and manifest.status == status.FAILED else None
        reason = last_error or noted or reason
    _noted(config, directory, how, reason)
    where = f"; see {directory / LOG}" if how == status.FAILED else ""
    return Ended(how, f"{reason}{where}", FAILED)


def _noted(config: Config, directory: Path, how: str, reason: str) -> None:
    """Have the manifest say how the job ended, unless somebody works on the run."""
    try:
        with locked(directory, wait=0):
            manifest = _manifest(directory) or Manifest.of(config)
            if manifest.status == status.RUNNING or not manifest.sessions:
                manifest.status, manifest.reason = how, reason
                manifest.write(directory)
    except ConfigError as error:
        print(f"note: {error}", file=sys.stderr)


def _manifest(directory: Path) -> Manifest | None:
    try:
        return read_manifest(directory)
    except ValueError as error:
        print(f"note: {error}", file=sys.stderr)
        return None
