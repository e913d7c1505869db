"""Keeps a run's checkpoints and its manifest in step with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import lightning as L
import torch

from rotlab.config import RunFailed
from rotlab.evaluation import Report
from rotlab.models.trained import BEST, checkpoint_path
from rotlab.training.callbacks import Recorder
from rotlab.training.checkpoint import save_checkpoint, save_last
from rotlab.training.job import Job
from rotlab.training.loggers import MetricsCsv
from rotlab.training.manifest import Manifest
from rotlab.training.module import RotModule
from rotlab.training.state import training_state

# Steps between which several ranks ask each other whether one was asked to end.
ASK_EVERY = 10
# So long a signal may take that a fellow was ended by, in seconds.
_SOON = 3.0


class Saver(L.Callback):
    """Stands between the probe and the evaluation, at the end of a step, where the state is whole.

    Saves every trainer.save_every_n_steps steps, before an evaluation, and when a signal asks the run to end, which it
    then does.
    """

    def __init__(self, job: Job, manifest: Manifest, recorder: Recorder) -> None:
        self._job, self._manifest, self._recorder = job, manifest, recorder
        self._saved = -1
        self._whole = False

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """From here on signals wait for the end of a step."""
        self._job.interruption.listen()
        self._job.interruption.hold()
        self._whole = True

    def on_train_batch_start(self, *_: object) -> None:
        """From here to its end a step is not whole."""
        self._whole = False

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *_: object) -> None:
        """Save when it is time; end the run if that was asked for."""
        step, config = trainer.global_step, self._job.config
        due = any(step % every == 0 for every in (config.trainer.save_every_n_steps, config.evaluation.every_n_steps))
        asked = self._is_asked(step, pl_module.device)
        if due or asked or step == config.recipe.max_steps:
            self.save(trainer, pl_module)
        self._whole = True
        if asked:
            self._job.interruption.end()

    def _is_asked(self, step: int, device: torch.device) -> bool:
        """Whether any rank was asked to end. Several ask each other now and then, as that makes a GPU wait."""
        if self._job.ranks.size == 1:
            return self._job.interruption.asked
        if step % ASK_EVERY != 0:
            return False
        return bool(self._job.ranks.add(torch.tensor([float(self._job.interruption.asked)], device=device)) > 0)

    def save(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """The last checkpoint and the manifest, unless this step is saved already."""
        assert isinstance(module, RotModule)
        step = trainer.global_step
        if step == self._saved:
            return
        known = {"evaluations": self._manifest.evaluations, "wandb_id": self._manifest.wandb_id}
        if self._job.ranks.first:
            for logger in trainer.loggers:
                if isinstance(logger, MetricsCsv):
                    logger.sync()
            state = training_state(trainer, module, self._recorder) | known
            save_last(self._job.directory, self._job.config, step, module.backbone, state)
        self._saved = self._manifest.step = step
        self._job.write(self._manifest)

    @contextmanager
    def saving(self, trainer: L.Trainer, module: RotModule) -> Iterator[None]:
        """Around a fit: what stops it between two steps costs no step."""
        try:
            yield
        except Exception as error:
            whole, self._whole = self._whole, False
            if whole:
                self.save(trainer, module)
            if self._job.ranks.size > 1 and isinstance(error, RuntimeError) and not isinstance(error, RunFailed):
                # A fellow is gone, who was asked to end perhaps, as this process is soon.
                self._job.interruption.wait(_SOON)
                whole = True
            if whole:
                self._job.interruption.check()
            if "DataLoader worker" in str(error):
                raise RunFailed(
                    f"a process that prepares batches ended ({' '.join(str(error).split())}); the same command goes on "
                    f"from step {self._manifest.step:,}; less memory is taken by a smaller data.workers"
                ) from error
            raise

    def keep_best(self, module: L.LightningModule, step: int, report: Report) -> None:
        """The network of an evaluation that is better than any before."""
        assert isinstance(module, RotModule)
        if self._job.ranks.first and report.accuracy > self._manifest.best:
            save_checkpoint(checkpoint_path(self._job.directory, BEST), self._job.config, step, module.backbone)

    def evaluated(self, step: int, report: Report) -> None:
        """An evaluation whose figures are logged: it is not repeated."""
        found = {"step": step, "right": report.problems_right, "problems": report.problems}
        self._manifest.evaluations.append(found)
        self._job.write(self._manifest)
