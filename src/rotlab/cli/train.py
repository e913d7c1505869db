"""`rotlab train`: the twin of train.py for an installed wheel."""

from __future__ import annotations

from rotlab.config import Config
from rotlab.config.app import launch


def run_overrides(overrides: list[str]) -> int:
    """Train as the overrides say; the exit code."""
    return launch(_train, overrides)


def _train(config: Config) -> None:
    from rotlab.training.run import run  # not earlier: torch takes seconds, and a bad command fails before

    run(config)
