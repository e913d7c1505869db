"""Checkpoints: plain containers that say what they are, written whole or not at all."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rotlab.config import Config, ConfigError, from_dict
from rotlab.data.cell import Cell, cell_of
from rotlab.models import Backbone, build_backbone
from rotlab.training.files import write_whole
from rotlab.training.quiet_logger import announce
from rotlab.vocab import Vocabulary

FORMAT = 3
# Of a run directory; `earlier` is what `last` was before, in case that is damaged.
LAST, EARLIER, BEST = "last", "earlier", "best"
# What a checkpoint holds, and what of it resuming needs beside the weights (see `state.training_state`).
_CONTENT = {"format", "config", "vocabulary", "step", "weights", "training"}
_TRAINING = {"optimizer", "scaler", "random", "figures", "evaluations", "wandb_id"}
# Becomes `last` once it is written.
_FRESH = "fresh"


def checkpoint_path(run: Path, which: str) -> Path:
    """Where a run directory keeps a checkpoint."""
    return run / "checkpoints" / f"{which}.ckpt"


def save_checkpoint(
    path: Path, config: Config, step: int, backbone: Backbone, training: dict[str, Any] | None = None
) -> None:
    """Write `path` whole: the resolved configuration, the vocabulary, the step, the weights, and what resuming needs.

    training: plain containers of tensors, numbers and text, see `state.training_state`.
    """
    content = {
        "format": FORMAT,
        "config": config.to_dict(),
        "vocabulary": list(cell_of(config).vocabulary.symbols),
        "step": step,
        "weights": {name: tensor.detach().cpu() for name, tensor in backbone.state_dict().items()},
        "training": training,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not into the file: torch reports a disk that is full as an error of its own.
    archive = io.BytesIO()
    torch.save(content, archive)
    write_whole(path, archive.getbuffer())


def save_last(run: Path, config: Config, step: int, backbone: Backbone, training: dict[str, Any]) -> None:
    """Write a run's last checkpoint and keep the one before as `earlier`."""
    save_checkpoint(checkpoint_path(run, _FRESH), config, step, backbone, training)
    _fresh_becomes_last(run)


def _fresh_becomes_last(run: Path) -> None:
    last = checkpoint_path(run, LAST)
    if last.exists():
        os.replace(last, checkpoint_path(run, EARLIER))
    os.replace(checkpoint_path(run, _FRESH), last)


def settle(run: Path, step: int) -> None:
    """Where the process that wrote the checkpoint of `step` ended before that became the last one, make it that."""
    fresh = checkpoint_path(run, _FRESH)
    try:
        newest = fresh.exists() and read_checkpoint(fresh)["step"] == step
    except ValueError:
        return  # torn: it was passed over
    if newest:
        _fresh_becomes_last(run)


class Damaged(ValueError):
    """A checkpoint file that can't be read."""


def read_checkpoint(path: Path) -> dict[str, Any]:
    """What `save_checkpoint` wrote. Raises Damaged for a file that is torn, ValueError for another format."""
    try:
        # torch compares no checksums: a flipped bit would be trained on.
        with zipfile.ZipFile(path) as archive:
            if (torn := archive.testzip()) is not None:
                raise zipfile.BadZipFile(f"the checksum of {torn}")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise Damaged(f"{path} can't be read as a checkpoint ({type(error).__name__}): is it damaged?") from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        known = f"is of format {found}" if isinstance(found, int) else "is no checkpoint of rotlab"
        raise ValueError(f"{path} {known}; this version reads format {FORMAT}")
    if not isinstance(content.get("step"), int) or not content.keys() >= _CONTENT:
        raise Damaged(f"{path} lacks what a checkpoint holds: was it edited?")
    return content


def newest_checkpoint(run: Path) -> dict[str, Any] | None:
    """The content of a run's intact checkpoint with the most steps, to go on from; None where there is no checkpoint.

    A damaged one is named and passed over. Raises ConfigError where all are damaged, or one is of another format.
    """
    paths = [path for which in (LAST, EARLIER, _FRESH) if (path := checkpoint_path(run, which)).exists()]
    found = []
    for path in paths:
        try:
            content = read_checkpoint(path)
            if not isinstance(content["training"], dict) or not content["training"].keys() >= _TRAINING:
                raise Damaged(f"{path} lacks what resuming needs: was it edited?")
            found.append(content)
        except Damaged as error:
            announce(f"passed over: {error}")
        except ValueError as error:
            raise ConfigError(f"{error}: add force=true to train again from the start") from error
    if paths and not found:
        raise ConfigError(f"no checkpoint of {run} can be read: add force=true to train again from the start")
    return max(found, key=lambda content: int(content["step"]), default=None)


@dataclass(frozen=True)
class Trained:
    """A network from a checkpoint, and what it was trained on."""

    config: Config
    cell: Cell
    step: int
    backbone: Backbone


def load_checkpoint(run: Path, which: str = LAST) -> Trained:
    """The network of a checkpoint file, or of a run directory's checkpoint `last` or `best`.

    Raises ValueError where there is none, or where it can't be used.
    """
    path = checkpoint_path(run, which) if run.is_dir() else run
    if not path.is_file():
        raise ValueError(f"no checkpoint at {path}: give a run directory with one, or a checkpoint file")
    content = read_checkpoint(path)
    try:
        config = from_dict(content["config"])
        backbone = backbone_of(config, cell_of(config))
        load_weights(backbone, content, cell_of(config))
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{path} can't be used by this version of rotlab: {' '.join(str(error).split())}") from error
    return Trained(config, cell_of(config), content["step"], backbone.eval())


def load_weights(backbone: Backbone, content: dict[str, Any], cell: Cell) -> None:
    """Give a backbone a checkpoint's weights. Raises ValueError for another vocabulary or shape."""
    if Vocabulary(content["vocabulary"]) != cell.vocabulary:
        raise ValueError(f"it was trained on another vocabulary: {' '.join(content['vocabulary'])}")
    try:
        backbone.load_state_dict(content["weights"])
    except RuntimeError as error:
        raise ValueError(f"its weights have another shape: {' '.join(str(error).split())}") from error


def backbone_of(config: Config, cell: Cell) -> Backbone:
    """A backbone with fresh weights for a configuration's cell."""
    architecture = config.architecture
    return build_backbone(architecture.name, len(cell.vocabulary), architecture.context_limit, architecture.shape)
