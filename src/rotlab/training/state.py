"""What a run must remember beside its weights to go on as if it had never stopped."""

from __future__ import annotations

from typing import Any

import lightning as L
import torch
from lightning.pytorch.plugins.precision import MixedPrecision

from rotlab.training.callbacks import Recorder
from rotlab.training.module import RotModule


def training_state(trainer: L.Trainer, module: RotModule, recorder: Recorder) -> dict[str, Any]:
    """Plain containers, for between two optimizer steps: optimizer, gradient scaler, random state, running figures.

    The data need nothing but the step; the rate follows from the step as well.
    """
    scaler = _scaler(trainer)
    return {
        "optimizer": module.inner_optimizer.state_dict(),
        "scaler": None if scaler is None else scaler.state_dict(),
        "random": torch.get_rng_state(),
        "figures": recorder.state() | module.figures(),
    }


def restore(trainer: L.Trainer, module: RotModule, recorder: Recorder, step: int, state: dict[str, Any]) -> None:
    """Bring a trainer that is about to take its first step to `step` optimizer steps."""
    module.inner_optimizer.load_state_dict(state["optimizer"])
    scaler = _scaler(trainer)
    if scaler is not None and state["scaler"]:
        scaler.load_state_dict(state["scaler"])
    torch.set_rng_state(state["random"])
    recorder.load(state["figures"])
    module.load_figures(state["figures"])
    begin_at(trainer, step)


def begin_at(trainer: L.Trainer, step: int) -> None:
    """Have `trainer.global_step` count from `step`, also its way to max_steps.

    Not by Lightning's own resuming, which restores its loops: they would expect the loader to start at 0 again.
    """
    trainer.fit_loop.epoch_loop.manual_optimization.optim_step_progress.total.completed = step
    assert trainer.global_step == step


def _scaler(trainer: L.Trainer) -> Any:
    plugin = trainer.precision_plugin
    return plugin.scaler if isinstance(plugin, MixedPrecision) else None
