"""Runs in processes of their own that are struck by a signal at a chosen place: forks, so that a start is cheap."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rotlab.config import Config, run_directory
from rotlab.data.stream import TrainingStream
from rotlab.training import callbacks, files
from rotlab.training.module import RotModule
from rotlab.training.run import run

PLACES = ("data", "step", "after", "evaluation", "checkpoint")


@dataclass(frozen=True)
class Strike:
    """The `count`-th time (from 1) that a run comes by `place`, it sends itself `number`.

    data: a batch is made; step: amid an optimizer step; after: at its end; evaluation: amid one; checkpoint: amid
    writing one (or a manifest).
    """

    place: str
    count: int
    number: int = signal.SIGKILL


def session(config: Config, output: Path, strike: Strike | None = None) -> int:
    """Run `config` in a fork, which may be struck; its exit code, negative for a signal that it didn't survive."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os._exit(_in_the_fork(config, output, strike))
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _in_the_fork(config: Config, output: Path, strike: Strike | None) -> int:
    torch.set_num_threads(1)
    with output.open("a", encoding="utf-8") as file, redirect_stdout(file), redirect_stderr(file):
        try:
            if strike is not None:
                _prepare(strike)
            run(config)
            return 0
        except SystemExit as ended:
            return int(str(ended.code))
        except BaseException:
            traceback.print_exc(file=file)
            return 1


def _prepare(strike: Strike) -> None:
    target: Any
    target, name = {
        "data": (TrainingStream, "__getitem__"),
        "step": (RotModule, "on_before_optimizer_step"),
        "after": (callbacks.Clock, "on_train_batch_end"),
        "evaluation": (callbacks, "judged"),
        "checkpoint": (files.os, "fsync"),
    }[strike.place]
    setattr(target, name, _struck(getattr(target, name), strike))


def _struck(function: Callable[..., Any], strike: Strike) -> Callable[..., Any]:
    left = strike.count

    def called(*given: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), strike.number)
        return function(*given, **named)

    return called


def stopped(config: Config, output: Path, after: int) -> Path:
    """The directory of a run that was killed after so many steps."""
    assert session(config, output, Strike("after", after)) == -signal.SIGKILL
    return run_directory(config)


def text_of(output: Path) -> str:
    """What the sessions wrote to `output` so far."""
    return output.read_text(encoding="utf-8") if output.exists() else ""
