"""Checkpoints: plain containers that say what they are, written whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rotlab.config import Config, from_dict
from rotlab.data.cell import Cell, cell_of
from rotlab.models import Backbone, build_backbone
from rotlab.vocab import Vocabulary

FORMAT = 1


def save_checkpoint(path: Path, config: Config, step: int, backbone: Backbone) -> None:
    """Write `path` atomically: the resolved configuration, the vocabulary, the step and the weights."""
    content = {
        "format": FORMAT,
        "config": config.to_dict(),
        "vocabulary": list(cell_of(config).vocabulary.symbols),
        "step": step,
        "weights": {name: tensor.detach().cpu() for name, tensor in backbone.state_dict().items()},
    }
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


@dataclass(frozen=True)
class Trained:
    """A network from a checkpoint, and what it was trained on."""

    config: Config
    cell: Cell
    step: int
    backbone: Backbone


def load_checkpoint(run: Path, which: str = "last") -> Trained:
    """The network of a checkpoint file, or of a run directory's checkpoint `last` or `best`.

    Raises ValueError where there is none, or where it can't be used.
    """
    path = run / "checkpoints" / f"{which}.ckpt" if run.is_dir() else run
    if not path.is_file():
        raise ValueError(f"no checkpoint at {path}: give a run directory with one, or a checkpoint file")
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path} can't be read as a checkpoint ({type(error).__name__}): is it damaged?") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is no checkpoint of format {FORMAT}")
    try:
        return _restored(content)
    except (KeyError, RuntimeError, ValueError) as error:
        raise ValueError(f"{path} can't be used by this version of rotlab: {' '.join(str(error).split())}") from error


def _restored(content: dict[str, Any]) -> Trained:
    config = from_dict(content["config"])
    cell = cell_of(config)
    if Vocabulary(content["vocabulary"]) != cell.vocabulary:
        raise ValueError(f"it was trained on another vocabulary: {' '.join(content['vocabulary'])}")
    backbone = backbone_of(config, cell)
    backbone.load_state_dict(content["weights"])
    return Trained(config, cell, content["step"], backbone.eval())


def backbone_of(config: Config, cell: Cell) -> Backbone:
    """A backbone with fresh weights for a configuration's cell."""
    architecture = config.architecture
    return build_backbone(architecture.name, len(cell.vocabulary), architecture.context_limit, architecture.shape)
