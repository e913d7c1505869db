"""`rotlab bench speedrun`: how soon recipe=fast and recipe=paper solve a cell, in one run on one machine."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import lightning as L

from rotlab.cli.bench.training import bare_trainer
from rotlab.config import Config
from rotlab.config.app import configured
from rotlab.data.cell import cell_of
from rotlab.data.ranks import Ranks
from rotlab.evaluation import Evaluator
from rotlab.training.callbacks import judged
from rotlab.training.module import RotModule
from rotlab.training.run import only_our_lines
from rotlab.training.setup import data_module, evaluator, fresh_backbone, prepare_device

# Steps of recipe=fast, whose rate falls to nearly nothing at the last of them: a few more than the slowest seed needs.
STEPS = {"add-4": 600, "add-8": 1_000, "mul-3": 1_500, "lcs-8": 1_000, "knapsack-3": 1_500, "sort-8": 1_500}
GOALS = (0.99, 1.0)
_LOOKS = 24


@dataclass
class Race:
    """One training. reached: by goal, the step and the seconds of training after which it stood first."""

    reached: dict[float, tuple[int, float]] = field(default_factory=dict)
    best: float = 0.0
    steps: int = 0
    seconds: float = 0.0

    def told(self, goal: float) -> str:
        """When the goal was reached, or how far it got."""
        if goal in self.reached:
            step, seconds = self.reached[goal]
            return f"{step:,} steps, {seconds:,.0f} s"
        return f"no ({self.best:.3f} in {self.steps:,} steps, {self.seconds:,.0f} s)"


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each training, and a row of medians for each cell. Raises ValueError for an unknown cell."""
    for cell in arguments.cells:
        if cell not in STEPS:
            raise ValueError(f"there is no speedrun of {cell!r}; there are {', '.join(STEPS)}")
    if arguments.seeds < 1:
        raise ValueError("--seeds must be at least 1")
    rows = []
    for cell in arguments.cells or STEPS:
        fast, paper = [], []
        for seed in range(arguments.seeds):
            fast.append(_told(cell, "fast", seed, arguments.threads, None))
            most = arguments.within * fast[-1].reached.get(GOALS[0], (0, fast[-1].seconds))[1]
            paper.append(_told(cell, "paper", seed, arguments.threads, most))
        rows += [(cell, "fast", fast), (cell, "paper", paper)]
    print(f"\n| cell | recipe | to {GOALS[0]} | to {GOALS[1]} |\n|---|---|---|---|")
    for cell, recipe, races in rows:
        print(f"| {cell} | {recipe} | {' | '.join(median(races, goal) for goal in GOALS)} |")
    return 0


def median(races: Sequence[Race], goal: float) -> str:
    """Steps and seconds of the middle one; a race that never got there comes last."""
    middle = sorted(races, key=lambda race: race.reached.get(goal, (0, float("inf")))[1])[len(races) // 2]
    if goal not in middle.reached:
        most = statistics.median(race.seconds for race in races)
        return f"not in {most:,.0f} s ({', '.join(f'{race.best:.3f}' for race in races)})"
    return middle.told(goal)


def _told(cell: str, recipe: str, seed: int, threads: int | None, most_seconds: float | None) -> Race:
    found = race(speedrun_config(cell, recipe, seed, threads), _every(cell), most_seconds)
    line = "; ".join(f"{goal}: {found.told(goal)}" for goal in GOALS)
    print(f"{cell} {recipe} seed {seed}: {line}", flush=True)
    return found


def speedrun_config(cell: str, recipe: str, seed: int, threads: int | None) -> Config:
    """A cell of the speedrun under one of the two recipes."""
    task, difficulty = cell.rsplit("-", 1)
    own = [f"recipe.max_steps={STEPS[cell]}"] if recipe == "fast" else []
    known = [f"task={task}", f"difficulty={difficulty}", f"recipe={recipe}", f"seed={seed}", "data.test_problems=1000"]
    return configured(*known, *own, f"trainer.threads={'null' if threads is None else threads}")


def _every(cell: str) -> int:
    return STEPS[cell] // _LOOKS


def race(config: Config, every: int, most_seconds: float | None) -> Race:
    """Train until all of the test problems are right, the steps are done, or the time is up."""
    device, cell = prepare_device(config), cell_of(config)
    data = data_module(config, cell, device, Ranks())
    watch = _Watch(evaluator(config, cell, data.test_problems, Ranks()), every, most_seconds)
    with only_our_lines():
        bare_trainer(config, watch).fit(RotModule(fresh_backbone(config, cell), config.recipe), datamodule=data)
    return watch.race


class _Watch(L.Callback):
    """Judges every so many steps, and stops its clock meanwhile."""

    def __init__(self, evaluator: Evaluator, every: int, most_seconds: float | None) -> None:
        self.race = Race()
        self._evaluator, self._every, self._most = evaluator, every, most_seconds
        self._since = 0.0

    def on_train_start(self, *_: Any) -> None:
        """The clock starts."""
        self._since = time.perf_counter()

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *_: Any) -> None:
        """Judge when it is time."""
        step = trainer.global_step
        if step % self._every and step != trainer.max_steps:
            return
        race, self.race.steps = self.race, step
        race.seconds += time.perf_counter() - self._since
        accuracy = judged(self._evaluator, pl_module).accuracy
        race.best = max(race.best, accuracy)
        for goal in GOALS:
            if accuracy >= goal:
                race.reached.setdefault(goal, (step, race.seconds))
        if GOALS[-1] in race.reached or (self._most is not None and race.seconds > self._most):
            trainer.should_stop = True
        self._since = time.perf_counter()
