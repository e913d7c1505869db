"""Train one network, or a sweep of them: `python train.py --help` tells how."""

from __future__ import annotations

import sys

from rotlab.config import Config
from rotlab.config.app import launch


def train(config: Config) -> None:
    """One run, from its configuration to its last evaluation."""
    from rotlab.training.run import run  # not earlier: torch takes seconds, and a bad command fails before

    run(config)


if __name__ == "__main__":
    sys.exit(launch(train))
