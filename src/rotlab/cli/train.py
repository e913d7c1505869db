"""`rotlab train` and train.py: a command line of Hydra overrides in, one run or a sweep of runs out."""

from __future__ import annotations

from rotlab.config import Config, run_directory
from rotlab.config.app import launch
from rotlab.config.sweep import Ended


def run_overrides(overrides: list[str] | None = None) -> int:
    """Train as the overrides (default: the process's arguments) say; the exit code."""
    return launch(train, overrides, job)


def job(config: Config) -> Ended:
    """One run of a sweep."""
    from rotlab.training.apart import train_apart

    return train_apart(config)


def train(config: Config) -> None:
    """One run, from its configuration to its last evaluation."""
    from rotlab.training.manifest import complete_run

    done = complete_run(config)
    if done is not None:
        print(f"{done.name} is finished already, at {done.summary()}; force=true trains it again from the start")
        if config.evaluation.free_running != done.config.get("evaluation", {}).get("free_running", 0):
            print(f"rotlab evaluate {run_directory(config)} --free-running has it solve problems by its own recursion")
        return
    from rotlab.data.cell import require_cell_fits

    require_cell_fits(config)
    from rotlab.training import launch  # not earlier: torch takes seconds, and what can't be trained fails before

    launch.train(config)
