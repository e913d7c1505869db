"""What happens beside the steps: running figures, memoised evaluation, the probe between evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lightning as L

from rotlab.data.stream import StepBatch
from rotlab.evaluation import Evaluator, Report
from rotlab.training.loggers import log_wrong_samples
from rotlab.training.module import RotModule


class Recorder(L.Callback):
    """Logs every `every_n_steps` optimizer steps: loss, accuracy, rate, speed, padding, and the share of data wait.

    Time in evaluations does not count. data/wait_share is the share of time that a step waited for its batch.
    """

    def __init__(self, every_n_steps: int) -> None:
        self.every_n_steps = every_n_steps
        self._idle_since = self._step_since = 0.0
        self._forget()

    def _forget(self) -> None:
        self._contexts = self._tokens = self._area = self._overlong = 0
        self._waited = self._worked = 0.0

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Begin to count."""
        self._idle_since = time.perf_counter()

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """The batch is there: what passed since the last step was waiting."""
        self._step_since = time.perf_counter()
        self._waited += self._step_since - self._idle_since

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: StepBatch, batch_idx: int
    ) -> None:
        """Count the step; log when it is time."""
        step = trainer.global_step
        due = step % self.every_n_steps == 0 or step == trainer.max_steps
        # Read before the clock: it waits for the device, whose work belongs to the steps.
        learnt = self._learnt(pl_module) if due else {}
        self._worked += time.perf_counter() - self._step_since
        self._contexts += batch.contexts
        self._tokens += batch.tokens
        self._area += batch.area
        self._overlong += batch.overlong
        if due:
            self._log(trainer, learnt, step)
            self._forget()

    def resume_clock(self) -> None:
        """What passed since the end of the step was no waiting for data."""
        self._idle_since = time.perf_counter()

    def _learnt(self, module: L.LightningModule) -> dict[str, float]:
        """Mean loss and accuracy since the last call."""
        assert isinstance(module, RotModule)
        means = {"train/loss": module.loss, "train/token_accuracy": module.token_accuracy}
        figures = {name: float(mean.compute()) for name, mean in means.items()}
        for mean in means.values():
            mean.reset()
        return figures

    def _log(self, trainer: L.Trainer, learnt: dict[str, float], step: int) -> None:
        seconds = self._waited + self._worked
        figures = {
            **learnt,
            "train/learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            "speed/contexts_per_s": self._contexts / seconds,
            "speed/tokens_per_s": self._tokens / seconds,
            "data/padding_share": 1 - self._tokens / self._area,
            "data/wait_share": self._waited / seconds,
            "data/overlong": float(self._overlong),
        }
        for logger in trainer.loggers:
            logger.log_metrics(figures, step)


class Clock(L.Callback):
    """Stands last: what the callbacks between the recorder and itself did was no waiting for data."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        """Tell the recorder."""
        self._recorder.resume_clock()


class Evaluation(L.Callback):
    """Memoised evaluation every `every_n_steps` optimizer steps and at the last step, never at step 0.

    Stops training when the share of right problems reaches `stop_at`; `kept(step, report)` is called after each.
    """

    def __init__(
        self, evaluator: Evaluator, every_n_steps: int, stop_at: float, kept: Callable[[int, Report], None]
    ) -> None:
        self.evaluator, self.every_n_steps, self.stop_at, self._kept = evaluator, every_n_steps, stop_at, kept
        self.last: Report | None = None

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Evaluate when it is time."""
        step = trainer.global_step
        if step % self.every_n_steps != 0 and step != trainer.max_steps:
            return
        report = judged(self.evaluator, pl_module)
        for logger in trainer.loggers:
            logger.log_metrics(report.metrics(), step)
        log_wrong_samples(trainer.loggers, report.wrong_samples, step, len(report.wrong_samples))
        self.last = report
        self._kept(step, report)
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


def judged(evaluator: Evaluator, module: L.LightningModule) -> Report:
    """What an evaluator finds of a module's backbone, in float32 whatever the training precision."""
    assert isinstance(module, RotModule)
    module.backbone.eval()
    try:
        return evaluator.run(module.backbone, module.device)
    finally:
        module.backbone.train()
