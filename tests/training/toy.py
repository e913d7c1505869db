"""A tiny run in the manner of ours: manual optimization, one batch a step, callbacks that log flat dicts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.loggers import Logger
from torch.utils.data import DataLoader, TensorDataset

from rotlab.config.status import FINISHED
from rotlab.training.manifest import Manifest


class Toy(pl.LightningModule):
    """One weight that learns to double its input."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> dict[str, torch.Tensor]:
        (x,) = batch
        optimizer = self.optimizers()
        assert isinstance(optimizer, LightningOptimizer)
        loss = (self.layer(x) - 2 * x).square().mean()
        self.manual_backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        return {"loss": loss.detach()}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Recorder(pl.Callback):
    """Logs every `every` steps, and optionally an evaluation that takes `evaluation_seconds`."""

    def __init__(self, every: int = 5, evaluate_every: int = 0, evaluation_seconds: float = 0.0) -> None:
        self.every, self.evaluate_every, self.evaluation_seconds = every, evaluate_every, evaluation_seconds

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        step = trainer.global_step
        if step % self.every == 0:
            loss = float(outputs["loss"])
            log(trainer.loggers, {"train/loss": loss, "speed/contexts_per_s": 12345.6}, step)
        if self.evaluate_every and step % self.evaluate_every == 0:
            time.sleep(self.evaluation_seconds)
            log(trainer.loggers, {"probe/problem": 0.25, "probe/seconds": 0.0}, step)
            figures = {"eval/problem": 0.5, "eval/top": 0.75, "eval/context": 0.875, "eval/contexts": 1234}
            log(trainer.loggers, {**figures, "eval/seconds": self.evaluation_seconds}, step)


def log(loggers: Sequence[Logger], metrics: Mapping[str, float], step: int) -> None:
    for logger in loggers:
        logger.log_metrics(dict(metrics), step)


def fit(
    steps: int, callbacks: Sequence[pl.Callback], loggers: Sequence[Logger] = (), module: Toy | None = None
) -> pl.Trainer:
    """Train a toy for `steps` steps on the CPU."""
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=list(loggers),
        callbacks=list(callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    trainer.fit(module or Toy(), DataLoader(TensorDataset(torch.ones(4 * max(steps, 1), 1)), batch_size=4))
    return trainer


def config(csv: bool = True, **wandb: Any) -> SimpleNamespace:
    """What loggers read of a configuration."""
    chosen = {"enabled": True, "project": "rotlab-tests", "group": None, "tags": (), "mode": "auto", **wandb}
    plain = {"task": {"name": "add"}, "difficulty": 4, "recipe": {"name": "fast", "betas": [0.9, 0.999]}}
    kinds = {"task": "add", "method": "rot", "architecture": "transformer"}
    groups = {group: SimpleNamespace(name=name) for group, name in kinds.items()}
    logger = SimpleNamespace(csv=csv, wandb=SimpleNamespace(**chosen))
    return SimpleNamespace(difficulty=4, logger=logger, to_dict=lambda: plain, **groups)


def begun(wandb_id: str | None = None) -> Manifest:
    """The manifest of a run that begins, or goes on with what W&B has of it."""
    return Manifest(name="toy", config={}, max_steps=10, status=FINISHED, wandb_id=wandb_id)


def rows(run_dir: Path) -> list[tuple[int, str, float]]:
    """metrics.csv as (step, name, value)."""
    _, *lines = (run_dir / "metrics.csv").read_text().splitlines()
    return [(int(step), name, float(value)) for step, name, value in (line.split(",") for line in lines)]
