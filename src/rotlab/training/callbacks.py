"""What happens beside the steps: running figures, memoised evaluation, the probe between evaluations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import lightning as L
import torch

from rotlab.config import RunFailed
from rotlab.data.step_batch import StepBatch
from rotlab.evaluation import Evaluator, Report
from rotlab.inference.free_running import FreeRunner
from rotlab.training.compiling import compilations
from rotlab.training.interruption import Interruption
from rotlab.training.loggers import log_wrong_samples
from rotlab.training.memory import memory_figures
from rotlab.training.module import COUNTED, RotModule
from rotlab.training.quiet_logger import announce

Found = TypeVar("Found", covariant=True)


class Judge(Protocol[Found]):
    """What looks at a network and reports."""

    def run(self, network: Any, device: torch.device) -> Found:
        """What it finds."""


# A share of waiting from which the model is said to wait for data, and in how many log intervals in a row.
LONG_WAIT, WAITING_INTERVALS = 0.1, 3


class Recorder(L.Callback):
    """Logs every `every_n_steps` optimizer steps: loss, accuracy, rate, speed, padding, and the share of data wait.

    Time in evaluations does not count. data/wait_share is the share of time that a step waited for its batch; a run
    that goes on waiting is told so, once. Raises RunFailed when the loss is no number any more.
    """

    def __init__(self, every_n_steps: int, workers: int = 0) -> None:
        self.every_n_steps, self._workers = every_n_steps, workers
        self._idle_since = self._step_since = 0.0
        self._waiting = 0
        self._forget()

    def _forget(self) -> None:
        self._sums = dict.fromkeys((*COUNTED, "waited", "worked"), 0.0)

    def state(self) -> dict[str, float]:
        """What was counted since the last row, for a checkpoint."""
        return dict(self._sums)

    def load(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        self._sums = {name: float(state[name]) for name in self._sums}

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Begin to count."""
        self._idle_since = time.perf_counter()

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """The batch is there: what passed since the last step was waiting."""
        self._step_since = time.perf_counter()
        self._sums["waited"] += self._step_since - self._idle_since

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: StepBatch, batch_idx: int
    ) -> None:
        """Count the step; log when it is time."""
        step = trainer.global_step
        due = step % self.every_n_steps == 0 or step == trainer.max_steps
        # Read before the clock: it waits for the device, whose work belongs to the steps.
        learnt = self._learnt(pl_module, step) if due else {}
        self._sums["worked"] += time.perf_counter() - self._step_since
        assert isinstance(pl_module, RotModule)
        for name, count in pl_module.counts.items():
            self._sums[name] += count
        if due:
            self._log(trainer, learnt, step)
            self._tell_of_waiting()
            self._forget()

    def resume_clock(self) -> None:
        """What passed since the end of the step was no waiting for data."""
        self._idle_since = time.perf_counter()

    def _learnt(self, module: L.LightningModule, step: int) -> dict[str, float]:
        """Mean loss and accuracy since the last call, and the gradient's norm."""
        assert isinstance(module, RotModule)
        means = {"train/loss": module.loss, "train/token_accuracy": module.token_accuracy}
        figures = {name: float(mean.compute()) for name, mean in means.items()}
        for mean in means.values():
            mean.reset()
        if not math.isfinite(figures["train/loss"]):
            raise RunFailed(
                f"the loss is {figures['train/loss']} at step {step:,}: the training has diverged; lower "
                f"recipe.learning_rate={module.recipe.learning_rate:g}, or set recipe.gradient_clip"
            )
        if module.compiled is not None:
            figures["speed/compilations"] = compilations()
        return {**figures, "train/gradient_norm": float(module.gradient_norm)}

    def _log(self, trainer: L.Trainer, learnt: dict[str, float], step: int) -> None:
        sums = self._sums
        seconds = sums["waited"] + sums["worked"]
        figures = {
            **learnt,
            "train/learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            "speed/contexts_per_s": sums["contexts"] / seconds,
            "speed/tokens_per_s": sums["tokens"] / seconds,
            "data/padding_share": 1 - sums["tokens"] / sums["area"],
            "data/wait_share": sums["waited"] / seconds,
            "data/overlong": sums["overlong"],
            **memory_figures(trainer.strategy.root_device),
        }
        for logger in trainer.loggers:
            logger.log_metrics(figures, step)

    def _tell_of_waiting(self) -> None:
        share = self._sums["waited"] / (self._sums["waited"] + self._sums["worked"])
        self._waiting = 0 if share < LONG_WAIT else self._waiting + 1
        if self._waiting == WAITING_INTERVALS:
            announce(
                f"the model waits for data {share:.0%} of the time: raise data.workers, which is {self._workers}, or "
                "give the run more CPU cores"
            )


class Clock(L.Callback):
    """Stands last: what the callbacks between the recorder and itself did was no waiting for data."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        """Tell the recorder."""
        self._recorder.resume_clock()


class Evaluation(L.Callback):
    """Memoised evaluation every `every_n_steps` optimizer steps and at the last step, never at step 0.

    Stops training when the share of right problems reaches `stop_at`. A signal ends it at once: the step before it is
    saved. `found(module, step, report)` is called before the figures are logged, `logged(step, report)` after. With a
    `free_runner`, problems are also solved by the network's own recursion; eval/seconds counts both.
    """

    def __init__(
        self, evaluator: Evaluator, free_runner: FreeRunner | None, every_n_steps: int, stop_at: float,
        interruption: Interruption, found: Callable[[RotModule, int, Report], None],
        logged: Callable[[int, Report], None],
    ) -> None:  # fmt: skip
        self.evaluator, self.free_runner = evaluator, free_runner
        self.every_n_steps, self.stop_at = every_n_steps, stop_at
        self._interruption, self._found, self._logged = interruption, found, logged
        # A step whose evaluation an earlier process has left to us.
        self.owed: int | None = None

    def on_fit_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Make up for what an earlier process has left."""
        if self.owed is not None:
            self.evaluate(trainer, pl_module.to(trainer.strategy.root_device), self.owed)

    def due(self, step: int, max_steps: int) -> bool:
        """Whether a step is followed by an evaluation."""
        return step > 0 and (step % self.every_n_steps == 0 or step == max_steps)

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Evaluate when it is time."""
        if self.due(trainer.global_step, trainer.max_steps):
            self.evaluate(trainer, pl_module, trainer.global_step)

    def evaluate(self, trainer: L.Trainer, module: L.LightningModule, step: int) -> None:
        """Judge the network and log what is found."""
        assert isinstance(module, RotModule)
        with self._interruption.at_once():
            report = judged(self.evaluator, module)
            figures = report.metrics()
            if self.free_runner is not None:
                free = judged(self.free_runner, module)
                figures |= free.metrics()
                figures["eval/seconds"] += free.seconds
        self._found(module, step, report)
        for logger in trainer.loggers:
            logger.log_metrics(figures, step)
        log_wrong_samples(trainer.loggers, report.wrong_samples, step, len(report.wrong_samples))
        self._logged(step, report)
        if report.accuracy >= self.stop_at:
            trainer.should_stop = True


class Probe(L.Callback):
    """A look at a small problem set of its own between evaluations."""

    def __init__(self, evaluator: Evaluator, every_n_steps: int) -> None:
        self.evaluator, self.every_n_steps = evaluator, every_n_steps

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Probe when it is time."""
        if trainer.global_step % self.every_n_steps != 0:
            return
        figures = judged(self.evaluator, pl_module).metrics("probe")
        for logger in trainer.loggers:
            logger.log_metrics(figures, trainer.global_step)


def judged(evaluator: Judge[Found], module: L.LightningModule) -> Found:
    """What an evaluator or a free runner finds of a module's backbone, in float32 whatever the training precision."""
    assert isinstance(module, RotModule)
    module.backbone.eval()
    try:
        return evaluator.run(module.backbone, module.device)
    finally:
        module.backbone.train()
