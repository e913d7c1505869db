"""manifest.json: what a run directory holds, how far it is, and by what it was made."""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rotlab.config import Config, run_directory, run_name
from rotlab.config.status import RUNNING
from rotlab.training.files import write_whole

FORMAT = 1
NAME = "manifest.json"
_PACKAGES = ("rotlab", "torch", "lightning", "hydra-core", "omegaconf", "wandb", "numba", "numpy")


@dataclass
class Manifest:
    """One run. Written anew at each change, whole; `read` gives what stands in a directory.

    status: see `config.status`; reason: why, where it didn't finish.
    step: the last that is saved; max_steps: where it ends. evaluations: step, right and problems of each. sessions: one
    entry for each process that worked on it: when, where, from which step, with which versions and git state.
    """

    name: str
    config: dict[str, Any]
    max_steps: int
    status: str = RUNNING
    reason: str | None = None
    step: int = 0
    evaluations: list[dict[str, int]] = field(default_factory=list)
    wandb_id: str | None = None
    sessions: list[dict[str, Any]] = field(default_factory=list)
    format: int = FORMAT

    @classmethod
    def of(cls, config: Config) -> Manifest:
        """The manifest of a run that begins."""
        return cls(name=run_name(config), config=config.to_dict(), max_steps=config.recipe.max_steps)

    @property
    def accuracy(self) -> float | None:
        """The share of problems that were right in the last evaluation."""
        return _share(self.evaluations[-1]) if self.evaluations else None

    @property
    def best(self) -> float:
        """The highest share so far; -1 before any evaluation."""
        return max(map(_share, self.evaluations), default=-1.0)

    @property
    def steps_evaluated(self) -> frozenset[int]:
        """The steps whose evaluation is done."""
        return frozenset(one["step"] for one in self.evaluations)

    def evaluated(self, step: int) -> bool:
        """Whether the evaluation after a step is done."""
        return step in self.steps_evaluated

    def is_complete(self, config: Config) -> bool:
        """Whether nothing is left to do: everything was right, or the last step was evaluated."""
        if not self.evaluations:
            return False
        last = self.evaluations[-1]
        return last["step"] >= config.recipe.max_steps or _share(last) >= config.evaluation.stop_at

    def summary(self) -> str:
        """How far it came, in a few words."""
        if not self.evaluations:
            return f"step {self.step:,}, not evaluated"
        last = self.evaluations[-1]
        return (
            f"step {last['step']:,}: {last['right']:,} of {last['problems']:,} test problems right ({_share(last):.4f})"
        )

    def begin_session(self) -> None:
        """Note who works on the run from now on."""
        self.status, self.reason = RUNNING, None
        self.sessions.append(
            {
                "started": _now(),
                "from_step": self.step,
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "versions": versions(),
                "git": git_state(),
            }
        )

    def write(self, directory: Path) -> None:
        """Replace the directory's manifest."""
        best = self.best if self.evaluations else None
        shown = {**asdict(self), "accuracy": self.accuracy, "best_accuracy": best, "updated": _now()}
        text = json.dumps(shown, indent=2, ensure_ascii=False) + "\n"
        write_whole(directory / NAME, text.encode())


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest of a run directory, None where there is none. Raises ValueError for one that can't be read."""
    path = directory / NAME
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']}, not {FORMAT}")
        manifest = Manifest(**{one.name: content[one.name] for one in fields(Manifest)})
        for one in manifest.evaluations:
            if not all(isinstance(one[key], int) for key in ("step", "right", "problems")) or one["problems"] < 1:
                raise ValueError(f"{one} is no evaluation")
        if not all(isinstance(session, dict) for session in manifest.sessions):
            raise ValueError("its sessions are none")
        return manifest
    except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        raise ValueError(f"{path} can't be read ({type(error).__name__}: {error})") from error


def complete_run(config: Config) -> Manifest | None:
    """The manifest of the run that a configuration describes if nothing is left to do, and it isn't to be redone."""
    if config.force:
        return None
    try:
        manifest = read_manifest(run_directory(config))
    except ValueError:
        return None
    return manifest if manifest is not None and manifest.is_complete(config) else None


def versions() -> dict[str, str]:
    """Versions of Python and of what the results depend on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def git_state() -> dict[str, Any] | None:
    """The commit that the package lies in and whether anything was changed since; None outside a git checkout."""
    package = Path(__file__).resolve().parents[1]

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        # An installed package may lie within somebody else's repository.
        git("ls-files", "--error-unmatch", __file__)
        return {"commit": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain", "."))}
    except (OSError, subprocess.SubprocessError):
        return None


def _share(evaluation: dict[str, int]) -> float:
    return evaluation["right"] / evaluation["problems"]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
