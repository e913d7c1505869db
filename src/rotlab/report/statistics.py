"""What the runs of each cell say together: mean, deviation, interval, and whether they were done rising."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rotlab.config.identity import NOT_IDENTITY
from rotlab.report.intervals import count_interval, deviation, student_interval
from rotlab.report.paper import PaperResult, paper_results
from rotlab.report.runs import Run

# A mean from which on a method solves a cell.
SOLVED = 0.99
# The evaluations at the end of a run over which it must not rise, and standard errors that count as noise.
_LAST, _NOISE = 3, 2.0
# Half of the last decimal that the paper prints.
_PRINTED = 0.0005
_KEY = ("task.name", "difficulty", "method.name", "architecture.name", "seed")


@dataclass(frozen=True)
class CellKey:
    """What runs are averaged over has all of this in common. settings: whatever else tells this network's and task's
    runs apart, as on a command line; empty where they differ in nothing else.
    """

    architecture: str
    task: str
    settings: str
    difficulty: int
    method: str


@dataclass(frozen=True)
class CellStatistics:
    """The finished runs of a cell. deviation: None for one run. low, high: the 95 % interval, see `interval`.

    rising: how many had not plateaued; unclear: of how many that can't be told; trainings: those that aren't
    the paper's; uncounted: other runs by status.
    """

    key: CellKey
    shares: tuple[float, ...]
    mean: float | None = None
    deviation: float | None = None
    low: float | None = None
    high: float | None = None
    rising: int = 0
    unclear: int = 0
    trainings: tuple[str, ...] = ()
    uncounted: Mapping[str, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of finished runs, one for each seed."""
        return len(self.shares)

    @property
    def paper(self) -> PaperResult | None:
        """The paper's accuracy of the same network, task, difficulty and method."""
        key = self.key
        return paper_results().get((key.architecture, key.task, key.difficulty, key.method))

    @property
    def difference(self) -> float | None:
        """Our mean less the paper's."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper.mean

    @property
    def differs(self) -> bool:
        """Whether the paper's mean, which is rounded to three decimals, lies outside of the interval."""
        if self.paper is None or self.low is None or self.high is None:
            return False
        return self.paper.mean + _PRINTED < self.low or self.paper.mean - _PRINTED > self.high


def plateaued(evaluations: Sequence[Mapping[str, int]]) -> bool | None:
    """Whether a run was done rising; None where too few evaluations tell.

    It was if all problems were right in the end, or if from the third last evaluation to the last the share of right
    problems rose by no more than twice the standard error of that difference.
    """
    last = evaluations[-1]
    if last["right"] == last["problems"]:
        return True
    if len(evaluations) < _LAST:
        return None
    return _rise(evaluations[-_LAST], last) <= _NOISE * math.hypot(_error(evaluations[-_LAST]), _error(last))


def _rise(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    return other["right"] / other["problems"] - one["right"] / one["problems"]


def _error(evaluation: Mapping[str, int]) -> float:
    share = evaluation["right"] / evaluation["problems"]
    return math.sqrt(share * (1 - share) / evaluation["problems"])


def interval(shares: Sequence[float], right: int, problems: int) -> tuple[float, float]:
    """The 95 % interval of the mean: Student's t over seeds, none of which is to be assumed normal, but it is usual.

    One seed has the exact interval of `right` of `problems`; so have seeds that all agree, of which Student's t would
    say that the mean is known exactly. right, problems: of the first run.
    """
    if min(shares) == max(shares):
        return count_interval(right, problems)
    return student_interval(shares)


def statistics(runs: Iterable[Run]) -> list[CellStatistics]:
    """One entry for each cell that has runs, in the order of tables: network, task, settings, difficulty, method."""
    runs = list(runs)
    labels = settings_labels(runs)
    cells: dict[CellKey, list[Run]] = {}
    for run in runs:
        key = CellKey(run.architecture, run.task, labels[run.label], run.difficulty, run.method)
        cells.setdefault(key, []).append(run)
    return [_of_cell(key, of_cell) for key, of_cell in cells.items()]


def _of_cell(key: CellKey, runs: Sequence[Run]) -> CellStatistics:
    counted = sorted((run for run in runs if run.finished), key=lambda run: (run.seed, run.label))
    uncounted = dict(sorted(Counter(run.manifest.status for run in runs if not run.finished).items()))
    if not counted:
        return CellStatistics(key, (), uncounted=uncounted)
    ends = [run.manifest.evaluations[-1] for run in counted]
    shares = tuple(end["right"] / end["problems"] for end in ends)
    low, high = interval(shares, ends[0]["right"], ends[0]["problems"])
    plateaus = [plateaued(run.manifest.evaluations) for run in counted]
    return CellStatistics(
        key, shares, math.fsum(shares) / len(shares), deviation(shares) if len(shares) > 1 else None, low, high,
        rising=plateaus.count(False), unclear=plateaus.count(None),
        trainings=tuple(sorted({run.training for run in counted} - {""})), uncounted=uncounted,
    )  # fmt: skip


def settings_labels(runs: Sequence[Run]) -> dict[str, str]:
    """For each run, by label, the settings in which it differs from others of its network and task, and that matter.

    A recipe is named; its settings only where runs of that recipe differ in them.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.architecture, run.task), []).append(run)
    labels = {}
    for group in groups.values():
        recipes: dict[str, list[Run]] = {}
        for run in group:
            recipes.setdefault(str(run.settings.get("recipe.name")), []).append(run)
        for recipe, of_recipe in recipes.items():
            named = [f"recipe={recipe}"] if len(recipes) > 1 else []
            differing = _differing([run.settings for run in of_recipe])
            for run in of_recipe:
                labels[run.label] = " ".join(named + [f"{key}={_shown(run.settings.get(key))}" for key in differing])
    return labels


def _differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = sorted({key for one in settings for key in one})
    return [key for key in keys if _matters(key) and len({_shown(one.get(key)) for one in settings}) > 1]


def _matters(key: str) -> bool:
    return key not in _KEY and not any(key == one or key.startswith(f"{one}.") for one in NOT_IDENTITY)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def largest_solved(means: Mapping[int, float]) -> tuple[int | None, int | None]:
    """Of means by difficulty: the largest that is solved, None if none is; and the smallest under it that isn't."""
    solved = [difficulty for difficulty, mean in means.items() if mean >= SOLVED]
    if not solved:
        return None, None
    gaps = [difficulty for difficulty, mean in means.items() if mean < SOLVED and difficulty < max(solved)]
    return max(solved), min(gaps, default=None)
