"""Configurations of runs that take a second, and their figures."""

from __future__ import annotations

import csv
from pathlib import Path

from rotlab.config import Config
from tests.config.compose import build

SHAPES = {
    "transformer": {"d_model": 16, "heads": 2, "feedforward": 16, "layers": 1},
    "lstm": {"embedding": 8, "hidden": 40, "layers": 2},
}

TINY = (
    "recipe.max_steps=6", "recipe.batch_size=16", "data.test_problems=20", "data.workers=0",
    "evaluation.every_n_steps=3", "evaluation.probe_problems=10", "evaluation.probe_every_n_steps=4",
    "trainer.accelerator=cpu", "trainer.threads=1", "trainer.log_every_n_steps=2", "trainer.progress=plain",
    "logger.wandb.enabled=false",
)  # fmt: skip


def tiny_overrides(runs_dir: Path, *overrides: str) -> list[str]:
    """The command line of a run of a few steps of a tiny network; `overrides` win."""
    chosen = {override.partition("=")[0]: override.partition("=")[2] for override in overrides}
    shape = SHAPES[chosen.get("architecture", "transformer")]
    defaults = [*TINY, *(f"architecture.{name}={size}" for name, size in shape.items()), f"runs_dir={runs_dir}"]
    return [*(one for one in defaults if one.partition("=")[0] not in chosen), *overrides]


def tiny_config(runs_dir: Path, *overrides: str) -> Config:
    """Its configuration, composed from conf/."""
    return build(*tiny_overrides(runs_dir, *overrides))


def series(directory: Path, name: str) -> dict[int, float]:
    """The figures of one name in metrics.csv by step; none may stand there twice."""
    with (directory / "metrics.csv").open() as file:
        rows = [(int(row["step"]), float(row["value"])) for row in csv.DictReader(file) if row["name"] == name]
    assert len(dict(rows)) == len(rows)
    return dict(rows)
