"""What our loggers share, and how callbacks hear figures and speak."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from lightning.pytorch import Trainer
from lightning.pytorch.loggers import Logger


class QuietLogger(Logger):
    """The part of Lightning's Logger that ours leave empty: hyperparameters are the run's configuration.

    `finalize` does nothing either: Lightning calls it after each fit, validate and test; a run ends later.
    """

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def version(self) -> str:
        return ""

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        pass


class Listener(QuietLogger):
    """Hands what is logged to `hear(metrics, step)`: how a callback learns what another computes."""

    def __init__(self, hear: Callable[[Mapping[str, float], int], None]) -> None:
        super().__init__()
        self._hear = hear

    def attach(self, trainer: Trainer) -> None:
        """Listen from now on, as one more of the trainer's loggers."""
        self.detach(trainer)
        trainer.loggers = [*trainer.loggers, self]

    def detach(self, trainer: Trainer) -> None:
        trainer.loggers = [logger for logger in trainer.loggers if logger is not self]

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        assert step is not None, "metrics are logged with their optimizer step"
        self._hear(metrics, step)


def announce(line: str) -> None:
    """Print a line at once: the output may be a file that somebody follows, of a process that gets killed.

    Where nobody reads it any more (`| head`, a closed terminal) it goes nowhere: that must not cost a run.
    """
    try:
        print(line, flush=True)
    except OSError:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    except RuntimeError:
        pass  # a signal's line, while another line was being printed: that one is whole
