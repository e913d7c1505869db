from __future__ import annotations

import pytest

from rotlab.training.run import Outcome, run
from tests.training.configs import tiny_config


@pytest.fixture(scope="package")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One run that several tests look at."""
    return run(tiny_config(tmp_path_factory.mktemp("runs"), "task=sort", "difficulty=3", "recipe.max_steps=8"))
