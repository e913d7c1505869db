"""What the figures show, as plain numbers: panels with lines, a panel for each task or cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rotlab.report.lengths import UNAIDED, WITH_MEMO, WITHOUT_THOUGHT, CellLengths
from rotlab.report.limits import largest_of_cot
from rotlab.report.paper import paper_results
from rotlab.report.runs import Run
from rotlab.report.statistics import CellStatistics
from rotlab.report.tables import Findings
from rotlab.tasks import METHODS, TASKS

LENGTH_LIMITS = {"LSTM": 512, "Transformer": 2048}
PROBLEM = "eval/problem"


@dataclass(frozen=True)
class Line:
    """One line. look: what is drawn alike in all panels (a method, ...); name: its entry in the legend; low, high: the
    band around y, where it has one; style: "solid", "dashed" or "paper".
    """

    look: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    style: str = "solid"


@dataclass(frozen=True)
class Panel:
    """Axes with lines. at_x, at_y: vertical and horizontal rules by name;
    share: whether y goes from 0 to 1, else it is logarithmic.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    task: str
    share: bool = False
    at_x: dict[str, float] = field(default_factory=dict)
    at_y: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """A figure of panels. name: of its files; network: empty where it shows no runs."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    network: str = ""


def plots(found: Findings) -> list[Plot]:
    """All figures that there are data for."""
    networks = sorted({run.architecture for run in found.runs})
    made = [_accuracy(found, network) for network in networks]
    made += [curve for network in networks for curve in _learning(found.runs, network)]
    if found.lengths:
        made += [_lengths(found.lengths), _tokens(found.lengths)]
    return [plot for plot in made if plot.panels]


def _tasks(names: Iterable[str]) -> list[str]:
    kept = set(names)
    return [task for task in TASKS if task in kept] + sorted(kept - set(TASKS))


def _unit(task: str) -> str:
    return f"difficulty ({TASKS[task].unit})" if task in TASKS else "difficulty"


def _accuracy(found: Findings, network: str) -> Plot:
    """Fig. 2: accuracy by difficulty, a panel for each task and settings."""
    cells = [cell for cell in found.cells if cell.key.architecture == network and cell.mean is not None]
    panels = []
    for task in _tasks(cell.key.task for cell in cells):
        of_task = [cell for cell in cells if cell.key.task == task]
        for settings in sorted({cell.key.settings for cell in of_task}):
            chosen = [cell for cell in of_task if cell.key.settings == settings]
            lines = [line for method in METHODS for line in _accuracy_lines(chosen, network, task, method)]
            largest = _cot_limit(found.runs, network, task)
            title = task if largest is None else f"{task} (CoT fits to {largest})"
            title += f"\n{settings}" if settings else ""
            at_x = {} if largest is None else {"largest of CoT": float(largest)}
            panels.append(Panel(title, _unit(task), "accuracy", tuple(lines), task, share=True, at_x=at_x))
    return Plot(f"accuracy-{network}", f"Accuracy of the {network} by difficulty", tuple(panels), network)


def _accuracy_lines(cells: Sequence[CellStatistics], network: str, task: str, method: str) -> list[Line]:
    ours = [cell for cell in cells if cell.key.method == method]
    if not ours:
        return []
    columns = [(cell.key.difficulty, cell.mean, cell.low, cell.high) for cell in ours]
    x, y, low, high = zip(*columns, strict=True)
    lines = [Line(method, method, x, y, low, high)]
    largest = max(x)
    paper = [
        (difficulty, result.mean)
        for (architecture, one, difficulty, other), result in paper_results().items()
        if (architecture, one, other) == (network, task, method) and difficulty <= largest
    ]
    if paper:
        x, y = zip(*sorted(paper), strict=True)
        lines.append(Line(method, f"{method}, paper", x, y, style="paper"))
    return lines


def _cot_limit(runs: Sequence[Run], network: str, task: str) -> int | None:
    of_task = [run for run in runs if (run.architecture, run.task) == (network, task)]
    one = of_task[0]
    return largest_of_cot(task, one.sampling, {run.difficulty for run in of_task}, one.context_limit)


def _learning(runs: Sequence[Run], network: str) -> list[Plot]:
    """Learning curves: a figure for each task, a panel for each difficulty, a line for each run."""
    made = []
    for task in _tasks(run.task for run in runs if run.architecture == network):
        chosen = [run for run in runs if (run.architecture, run.task) == (network, task) and PROBLEM in run.curves]
        panels = []
        for difficulty in sorted({run.difficulty for run in chosen}):
            lines = tuple(
                _curve(run)
                for method in METHODS
                for run in chosen
                if (run.difficulty, run.method) == (difficulty, method)
            )
            panels.append(Panel(f"{task}-{difficulty}", "step", "accuracy", lines, task, share=True))
        made.append(Plot(f"learning-{network}-{task}", f"Learning curves, {network}, {task}", tuple(panels), network))
    return made


def _curve(run: Run) -> Line:
    steps, shares = zip(*run.curves[PROBLEM], strict=True)
    return Line(run.method, run.method, steps, shares)


def _lengths(lengths: Sequence[CellLengths]) -> Plot:
    """Fig. 4: the mean and the longest of 10,000 contexts."""
    panels = []
    for task, cells in _by_task(lengths):
        x = tuple(float(cell.difficulty) for cell in cells)
        lines = []
        for method in METHODS:
            mean = tuple(cell.contexts[method].mean for cell in cells)
            longest = tuple(float(cell.contexts[method].most) for cell in cells)
            lines.append(Line(method, f"{method}, mean", x, mean))
            lines.append(Line(method, f"{method}, longest", x, longest, style="dashed"))
        limits = {f"limit of the {name}": float(limit) for name, limit in LENGTH_LIMITS.items()}
        panels.append(Panel(task, _unit(task), "tokens of a context", tuple(lines), task, at_y=limits))
    return Plot("context-lengths", "Context lengths", tuple(panels))


def _tokens(lengths: Sequence[CellLengths]) -> Plot:
    """Fig. 5: the mean of tokens written for a problem."""
    looks = {WITHOUT_THOUGHT: "wt", UNAIDED: "cot", WITH_MEMO: "rot"}
    panels = []
    for task, cells in _by_task(lengths):
        x = tuple(float(cell.difficulty) for cell in cells)
        lines = tuple(
            Line(look, count, x, tuple(cell.tokens[count].mean for cell in cells)) for count, look in looks.items()
        )
        panels.append(Panel(task, _unit(task), "tokens written for a problem", lines, task))
    return Plot("tokens", "Tokens per problem with and without the memo", tuple(panels))


def _by_task(lengths: Sequence[CellLengths]) -> list[tuple[str, list[CellLengths]]]:
    return [(task, [cell for cell in lengths if cell.task == task]) for task in _tasks(cell.task for cell in lengths)]
