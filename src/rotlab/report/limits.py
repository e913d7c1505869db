"""Which cells fit into a network's context, as training would have found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rotlab.contexts.fit import fit, largest_fitting
from rotlab.report.runs import Run
from rotlab.report.statistics import CellKey, CellStatistics, settings_labels
from rotlab.tasks import METHODS, SAMPLERS


def unfit(task: str, sampling: str, difficulty: int, method: str, limit: int) -> bool:
    """Whether contexts of a cell are over the limit; False for a task that this installation doesn't have."""
    sampler = SAMPLERS.get((task, sampling))
    return sampler is not None and not fit(sampler, difficulty, method, limit).fits


def largest_of_cot(task: str, sampling: str, difficulties: Iterable[int], limit: int) -> int | None:
    """The largest difficulty whose chains of thought fit; None if those of all `difficulties` do, or not even the
    smallest.
    """
    for difficulty in sorted(difficulties):
        if unfit(task, sampling, difficulty, "cot", limit):
            return largest_fitting(SAMPLERS[task, sampling], difficulty, "cot", limit)
    return None


def without_runs(runs: Sequence[Run], cells: Sequence[CellStatistics]) -> dict[CellKey, bool]:
    """The cells beside those with runs that a table shows, and whether they fit.

    Each difficulty of a network and task has all methods; those that fit are shown only if the method has runs at
    another difficulty.
    """
    labels = settings_labels(runs)
    by_row = {(run.architecture, run.task, labels[run.label], run.difficulty): run for run in runs}
    trained = {(cell.key.architecture, cell.key.task, cell.key.method) for cell in cells}
    done = {(cell.key.architecture, cell.key.task, cell.key.difficulty, cell.key.method) for cell in cells}
    found = {}
    for (architecture, task, settings, difficulty), run in by_row.items():
        for method in METHODS:
            if (architecture, task, difficulty, method) in done:
                continue
            fits = not unfit(task, run.sampling, difficulty, method, run.context_limit)
            if not fits or (architecture, task, method) in trained:
                found[CellKey(architecture, task, settings, difficulty, method)] = fits
    return found


def overlong(runs: Iterable[Run]) -> set[tuple[str, str, int, str]]:
    """Network, task, difficulty and method of runs that were made although contexts are over the limit."""
    return {
        (run.architecture, run.task, run.difficulty, run.method)
        for run in runs
        if run.settings.get("method.allow_overlong")
        and unfit(run.task, run.sampling, run.difficulty, run.method, run.context_limit)
    }
