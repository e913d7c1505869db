"""Checkpoints are written whole or not at all, and found again."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import torch

from rotlab.config import Config, ConfigError
from rotlab.data.cell import cell_of
from rotlab.models import Backbone
from rotlab.models.trained import EARLIER, FORMAT, LAST, Damaged, checkpoint_path, read_checkpoint
from rotlab.training.files import write_whole
from rotlab.training.quiet_logger import announce

# What of it resuming needs beside the weights (see `state.training_state`).
_TRAINING = {"optimizer", "scaler", "random", "figures", "evaluations", "wandb_id"}
# Becomes `last` once it is written.
_FRESH = "fresh"


def save_checkpoint(
    path: Path, config: Config, step: int, backbone: Backbone, training: dict[str, Any] | None = None,
    dtype: torch.dtype | None = None,
) -> None:  # fmt: skip
    """Write `path` whole: the resolved configuration, the vocabulary, the step, the weights, and what resuming needs.

    training: plain containers of tensors, numbers and text, see `state.training_state`. dtype: of the weights in the
    file, their own by default.
    """
    content = {
        "format": FORMAT,
        "config": config.to_dict(),
        "vocabulary": list(cell_of(config).vocabulary.symbols),
        "step": step,
        "weights": {name: tensor.detach().to("cpu", dtype) for name, tensor in backbone.state_dict().items()},
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
