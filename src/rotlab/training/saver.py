"""Keeps a run's checkpoints and its manifest in step with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lightning as L
import torch

from rotlab.config import Config, RunFailed
from rotlab.data.ranks import Ranks
from rotlab.evaluation import Report
from rotlab.training.callbacks import Recorder
from rotlab.training.checkpoint import BEST, checkpoint_path, save_checkpoint, save_last
from rotlab.training.interruption import Interruption
from rotlab.training.manifest import Manifest
from rotlab.training.module import RotModule
from rotlab.training.state import training_state

# Steps between which several ranks ask each other whether one was asked to end.
ASK_EVERY = 10


class Saver(L.Callback):
    """Stands between the probe and the evaluation, at the end of a step, where the state is whole.

    Saves every trainer.save_every_n_steps steps, before an evaluation, and when a signal asks the run to end, which it
    then does.
    """

    def __init__(
        self, config: Config, directory: Path, manifest: Manifest, recorder: Recorder, interruption: Interruption,
        ranks: Ranks,
    ) -> None:  # fmt: skip
        self._config, self._directory, self._manifest = config, directory, manifest
        self._recorder, self._interruption, self._ranks = recorder, interruption, ranks
        self._saved = -1
        self._whole = False

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """From here on signals wait for the end of a step."""
        self._interruption.listen()
        self._interruption.hold()
        self._whole = True

    def on_train_batch_start(self, *_: object) -> None:
        """From here to its end a step is not whole."""
        self._whole = False

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *_: object) -> None:
        """Save when it is time; end the run if that was asked for."""
        step, recipe, evaluation = trainer.global_step, self._config.recipe, self._config.evaluation
        due = any(step % every == 0 for every in (self._config.trainer.save_every_n_steps, evaluation.every_n_steps))
        asked = self._is_asked(step, pl_module.device)
        if due or asked or step == recipe.max_steps:
            self.save(trainer, pl_module)
        self._whole = True
        if asked:
            self._interruption.end()

    def _is_asked(self, step: int, device: torch.device) -> bool:
        """Whether any rank was asked to end. Several ask each other now and then, as that makes a GPU wait."""
        if self._ranks.size == 1:
            return self._interruption.asked
        if step % ASK_EVERY != 0:
            return False
        return bool(self._ranks.add(torch.tensor([float(self._interruption.asked)], device=device)) > 0)

    def save(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """The last checkpoint and the manifest, unless this step is saved already."""
        assert isinstance(module, RotModule)
        step = trainer.global_step
        if step == self._saved:
            return
        known = {"evaluations": self._manifest.evaluations, "wandb_id": self._manifest.wandb_id}
        if self._ranks.first:
            state = training_state(trainer, module, self._recorder) | known
            save_last(self._directory, self._config, step, module.backbone, state)
        self._saved = self._manifest.step = step
        self._write_manifest()

    @contextmanager
    def saving(self, trainer: L.Trainer, module: RotModule) -> Iterator[None]:
        """Around a fit: what stops it between two steps costs no step."""
        try:
            yield
        except Exception as error:
            if self._whole:
                self._whole = False
                self.save(trainer, module)
                self._interruption.check()
            if "DataLoader worker" in str(error):
                raise RunFailed(
                    f"a process that prepares batches ended ({' '.join(str(error).split())}); the same command goes on "
                    f"from step {self._manifest.step:,}; less memory is taken by a smaller data.workers"
                ) from error
            raise

    def keep_best(self, module: L.LightningModule, step: int, report: Report) -> None:
        """The network of an evaluation that is better than any before."""
        assert isinstance(module, RotModule)
        if self._ranks.first and report.accuracy > self._manifest.best:
            save_checkpoint(checkpoint_path(self._directory, BEST), self._config, step, module.backbone)

    def evaluated(self, step: int, report: Report) -> None:
        """An evaluation whose figures are logged: it is not repeated."""
        found = {"step": step, "right": report.problems_right, "problems": report.problems}
        self._manifest.evaluations.append(found)
        self._write_manifest()

    def _write_manifest(self) -> None:
        if self._ranks.first:
            self._manifest.write(self._directory)
