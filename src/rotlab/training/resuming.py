"""What a run directory holds already, and going on from there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import lightning as L

from rotlab.config import Config, ConfigError
from rotlab.data.cell import Cell
from rotlab.models import Backbone
from rotlab.models.trained import load_weights
from rotlab.training import lock
from rotlab.training.callbacks import Recorder
from rotlab.training.checkpoint import newest_checkpoint
from rotlab.training.manifest import Manifest, read_manifest
from rotlab.training.module import RotModule
from rotlab.training.quiet_logger import announce
from rotlab.training.state import restore


def emptied(directory: Path) -> None:
    """Delete what a run directory holds, but for its lock."""
    for path in directory.iterdir():
        if path.name == lock.NAME:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def standing(config: Config, directory: Path) -> tuple[Manifest, dict[str, Any] | None]:
    """The run's manifest, new or as an earlier process left it, and the checkpoint's content to go on from, if any.

    A manifest that can't be read is replaced, with what the checkpoint knows of it. Raises ConfigError for
    checkpoints that can't be used, or for fewer steps than the run has taken.
    """
    manifest = Manifest.of(config)
    content = newest_checkpoint(directory)
    try:
        earlier = read_manifest(directory)
    except ValueError as error:
        announce(f"passed over: {error}; a new manifest is begun")
        earlier = None
    if earlier is not None:
        manifest.evaluations, manifest.wandb_id = earlier.evaluations, earlier.wandb_id
        manifest.sessions = earlier.sessions
        manifest.status, manifest.reason = earlier.status, earlier.reason
    elif content is not None:
        manifest.evaluations, manifest.wandb_id = content["training"]["evaluations"], content["training"]["wandb_id"]
    manifest.step = 0 if content is None else content["step"]
    # Where an older checkpoint had to do, later evaluations are taken again, and with them the best network.
    manifest.evaluations = [one for one in manifest.evaluations if one["step"] <= manifest.step]
    if manifest.step > config.recipe.max_steps:
        raise ConfigError(
            f"{directory} has taken {manifest.step:,} steps: write recipe.max_steps={manifest.step} or more to go on, "
            "or force=true to train again from the start"
        )
    return manifest, content


def give_weights(backbone: Backbone, cell: Cell, content: dict[str, Any], directory: Path) -> None:
    """Have the backbone go on from a checkpoint's weights. Raises ConfigError for those of another network."""
    try:
        load_weights(backbone, content, cell)
    except ValueError as error:
        raise ConfigError(
            f"the checkpoint in {directory} doesn't fit: {error}; add force=true to train again from the start"
        ) from error


class Resume(L.Callback):
    """The first of a run's callbacks: before anything is counted, it sets the trainer to where the run stands."""

    def __init__(self, content: dict[str, Any], recorder: Recorder) -> None:
        self._step, self._state, self._recorder = content["step"], content["training"], recorder

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Restore what the checkpoint holds beside the weights."""
        assert isinstance(pl_module, RotModule)
        restore(trainer, pl_module, self._recorder, self._step, self._state)
