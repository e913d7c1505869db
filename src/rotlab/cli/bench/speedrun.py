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
from rotlab.data.test_set import problem_set
from rotlab.evaluation import Evaluator
from rotlab.training.callbacks import judged
from rotlab.training.module import RotModule
from rotlab.training.run import only_our_lines
from rotlab.training.setup import data_module, evaluator, fresh_backbone, prepare_device

GOALS = (0.99, 1.0)
# Steps of recipe=fast for each goal: its rate falls to nearly nothing at the last of them, so that each goal has a
# training of its own, a little longer than the slowest seed needs.
STEPS = {
    "add-4": (480, 1_400),
    "add-8": (1_100, 4_000),
    "mul-3": (2_000, 4_500),
    "lcs-8": (1_500, 4_000),
    "knapsack-3": (2_000, 4_000),
    "sort-8": (800, 2_000),
}
_LOOKS = 24
# A glance at a few problems tells whether it is worth while to judge all: it may fall so much short of the goal.
_GLANCE, _SHORT = 100, 0.05


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
        sprints, long_runs, paper = [], [], []
        for seed in range(arguments.seeds):
            sprints.append(_told(cell, "fast", seed, arguments.threads, 0, None))
            long_runs.append(_told(cell, "fast", seed, arguments.threads, 1, None))
            most = arguments.within * sprints[-1].reached.get(GOALS[0], (0, sprints[-1].seconds))[1]
            paper.append(_told(cell, "paper", seed, arguments.threads, 1, most))
        rows += [(cell, "fast", (sprints, long_runs)), (cell, "paper", (paper, paper))]
    print(f"\n| cell | recipe | to {GOALS[0]} | to {GOALS[1]} |\n|---|---|---|---|")
    for cell, recipe, both in rows:
        figures = [median(races, goal) for races, goal in zip(both, GOALS, strict=True)]
        print(f"| {cell} | {recipe} | {' | '.join(figures)} |")
    return 0


def median(races: Sequence[Race], goal: float) -> str:
    """Steps and seconds of the middle one; a race that never got there comes last."""
    middle = sorted(races, key=lambda race: race.reached.get(goal, (0, float("inf")))[1])[len(races) // 2]
    if goal not in middle.reached:
        most = statistics.median(race.seconds for race in races)
        return f"not in {most:,.0f} s ({', '.join(f'{race.best:.3f}' for race in races)})"
    return middle.told(goal)


def _told(cell: str, recipe: str, seed: int, threads: int | None, goal: int, most_seconds: float | None) -> Race:
    config = speedrun_config(cell, recipe, seed, threads, STEPS[cell][goal])
    found = race(config, STEPS[cell][0] // _LOOKS, GOALS[goal], most_seconds)
    line = "; ".join(f"{one}: {found.told(one)}" for one in GOALS[: goal + 1])
    print(f"{cell} {recipe} seed {seed}: {line}", flush=True)
    return found


def speedrun_config(cell: str, recipe: str, seed: int, threads: int | None, steps: int) -> Config:
    """A cell of the speedrun under one of the two recipes; the paper's has steps of its own."""
    task, difficulty = cell.rsplit("-", 1)
    own = [f"recipe.max_steps={steps}"] if recipe == "fast" else []
    known = [f"task={task}", f"difficulty={difficulty}", f"recipe={recipe}", f"seed={seed}", "data.test_problems=1000"]
    return configured(*known, *own, f"trainer.threads={'null' if threads is None else threads}")


def race(config: Config, every: int, goal: float, most_seconds: float | None) -> Race:
    """Train until that share of the test problems is right, the steps are done, or the time is up; look at times."""
    device, cell = prepare_device(config), cell_of(config)
    data = data_module(config, cell, device, Ranks())
    few = problem_set(cell, _GLANCE, config.data.test_seed)
    judges = [evaluator(config, cell, problems, Ranks()) for problems in (few, data.test_problems)]
    watch = _Watch(judges, every, goal, most_seconds)
    with only_our_lines():
        bare_trainer(config, watch).fit(RotModule(fresh_backbone(config, cell), config.recipe), datamodule=data)
    return watch.race


class _Watch(L.Callback):
    """Judges every so many steps, and stops its clock meanwhile."""

    def __init__(self, judges: list[Evaluator], every: int, goal: float, most_seconds: float | None) -> None:
        self.race = Race()
        self._judges, self._every, self._goal, self._most = judges, every, goal, most_seconds
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
        for judge in self._judges:
            accuracy = judged(judge, pl_module).accuracy
            if accuracy < GOALS[0] - _SHORT:
                break
        race.best = max(race.best, accuracy)
        for goal in GOALS:
            if accuracy >= goal:
                race.reached.setdefault(goal, (step, race.seconds))
        if accuracy >= self._goal or (self._most is not None and race.seconds > self._most):
            trainer.should_stop = True
        self._since = time.perf_counter()
