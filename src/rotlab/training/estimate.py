"""How long a run will take: said once, after its first steps, so that nobody learns it the hard way."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import lightning.pytorch as pl
import torch

from rotlab.training.quiet_logger import Listener, announce

TIMED_STEPS = 20
# Where steps are slow fewer must do: nobody waits longer than this for the rest of them.
PATIENCE = 60.0
FEWEST_TIMED = 3
LONG_ON_A_CPU = 3600.0
# Judging a context is a forward pass; a training step adds a backward pass of twice that arithmetic.
JUDGING_SHARE = 1 / 3


@dataclass(frozen=True)
class Schedule:
    """When training stops to evaluate (also at the last step) and to probe, in optimizer steps; 0: never."""

    evaluate_every: int = 0
    probe_every: int = 0

    def evaluations_left(self, step: int, max_steps: int) -> int:
        """Evaluations after `step`, up to and including the one at max_steps."""
        if not self.evaluate_every or step >= max_steps:
            return 0
        return -(-max_steps // self.evaluate_every) - step // self.evaluate_every

    def probes_left(self, step: int, max_steps: int) -> int:
        return max_steps // self.probe_every - step // self.probe_every if self.probe_every else 0


def expected_seconds(step_seconds: float, steps_left: int, evaluations_left: int, evaluation_seconds: float) -> float:
    """Seconds for what is left of a run."""
    return step_seconds * steps_left + evaluation_seconds * evaluations_left


def judging_seconds(contexts: float, step_seconds: float, batch_size: int) -> float:
    """A first guess of an evaluation's seconds, from a training step of `batch_size` contexts."""
    return contexts * JUDGING_SHARE * step_seconds / batch_size


def readable(seconds: float) -> str:
    """A duration in its two largest units: 45 s, 12 min 30 s, 3 h 20 min, 2 d 4 h."""
    rest = max(0, round(seconds))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        parts.append((count, unit))
    while len(parts) > 1 and parts[0][0] == 0:
        parts.pop(0)
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count or unit == "s")


class Estimate(pl.Callback):
    """Prints the expected time of the run after TIMED_STEPS optimizer steps or, of slow ones, fewer.

    Evaluations and probes are included. The step time is the median of those steps' times, so that compiling and
    warming up don't count; what is logged as eval/seconds or probe/seconds is taken out. `evaluation_seconds` and
    `probe_seconds` take the step time and guess the seconds of one evaluation and one probe (see `judging_seconds`);
    without the first, the line says that evaluations aren't counted. On a CPU, a long run is told what takes less.
    """

    def __init__(
        self,
        schedule: Schedule,
        evaluation_seconds: Callable[[float], float] | None = None,
        probe_seconds: Callable[[float], float] | None = None,
    ) -> None:
        self._schedule = schedule
        self._evaluation_seconds = evaluation_seconds
        self._probe_seconds = probe_seconds
        self._listener = Listener(self._hear)
        self._first_step = 0
        self._since = 0.0
        self._told = False
        self._step_seconds: list[float] = []

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._first_step = trainer.global_step
        self._step_seconds = []
        self._told = False
        self._listener.attach(trainer)
        self._since = time.monotonic()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._told:
            return
        if pl_module.device.type == "cuda":
            torch.cuda.synchronize(pl_module.device)
        now = time.monotonic()
        self._step_seconds.append(max(0.0, now - self._since))
        self._since = now
        left = TIMED_STEPS - len(self._step_seconds)
        if left == 0 or (left <= TIMED_STEPS - FEWEST_TIMED and left * self._step_seconds[-1] > PATIENCE):
            self._told = True
            self._listener.detach(trainer)
            if trainer.is_global_zero:
                self._report(trainer.max_steps, pl_module.device.type)

    def _hear(self, metrics: Mapping[str, float], step: int) -> None:
        self._since += metrics.get("eval/seconds", 0.0) + metrics.get("probe/seconds", 0.0)

    def _report(self, max_steps: int, device: str) -> None:
        first, steps = self._first_step, max_steps - self._first_step
        if max_steps < 0 or steps <= len(self._step_seconds):
            return
        step_seconds = statistics.median(self._step_seconds)
        evaluations, evaluation = self._schedule.evaluations_left(first, max_steps), 0.0
        each = f"{step_seconds * 1000:.3g} ms" if step_seconds < 1 else f"{step_seconds:.3g} s"
        parts = [f"{steps:,} steps of {each}"]
        if self._evaluation_seconds is not None:
            evaluation = self._evaluation_seconds(step_seconds)
            parts.append(f"{evaluations:,} evaluations of some {readable(evaluation)}")
        elif evaluations:
            parts.append(f"the {evaluations:,} evaluations not counted")
        seconds = expected_seconds(step_seconds, steps, evaluations, evaluation)
        if self._probe_seconds is not None:
            seconds += self._schedule.probes_left(first, max_steps) * self._probe_seconds(step_seconds)
        announce(f"expected time: {readable(seconds)} ({', '.join(parts)})")
        if device == "cpu" and seconds > LONG_ON_A_CPU:
            announce("long for a CPU: try recipe=fast, a smaller difficulty, or experiment=quickstart")
