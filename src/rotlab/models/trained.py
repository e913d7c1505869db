"""Trained networks from checkpoints: plain containers that say what they are."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rotlab.config import Config, from_dict
from rotlab.data.cell import Cell, cell_of
from rotlab.models.backbone import Backbone, build_backbone
from rotlab.vocab import Vocabulary

FORMAT = 3
# Of a run directory; `earlier` is what `last` was before, in case that is damaged.
LAST, EARLIER, BEST = "last", "earlier", "best"
# What a checkpoint holds.
_CONTENT = {"format", "config", "vocabulary", "step", "weights", "training"}


def checkpoint_path(run: Path, which: str) -> Path:
    """Where a run directory keeps a checkpoint."""
    return run / "checkpoints" / f"{which}.ckpt"


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
