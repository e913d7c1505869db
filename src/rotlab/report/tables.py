"""The report's tables: cells beside the paper's, what is solved, runs that don't count, lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rotlab.report.lengths import CellLengths, Spread
from rotlab.report.limits import overlong, without_runs
from rotlab.report.paper import paper_results
from rotlab.report.runs import Collection, Problem, Run
from rotlab.report.statistics import SOLVED, CellKey, CellStatistics, largest_solved, statistics
from rotlab.report.text import Section, Table
from rotlab.tasks import METHODS, TASKS

NO_RUN, NO_FIT, OVER = "no run", "does not fit", "some contexts are over the limit"
_CELL_COLUMNS = (
    "network", "task", "settings", "difficulty", "method", "accuracy", "n", "95 % interval", "paper", "difference",
    "remarks",
)  # fmt: skip
LEGEND = (
    "Accuracy: the share of test problems whose every context is right in a run's last evaluation; mean ± sample "
    "standard deviation over the n finished runs of a cell, one for each seed. Runs that are not finished don't count: "
    "the remarks say how many there are. 95 % interval of the mean: Student's t over seeds; Clopper-Pearson over test "
    "problems for one seed, or seeds that all agree.",
    "Paper: Tables 3 to 5, eight runs. Difference: our mean less the paper's; ‡ the paper's mean (to its three "
    "decimals) lies outside of our interval.",
    "† at least one run had not plateaued: it ended with wrong problems, and from its third last evaluation to its "
    "last the share of right ones rose by more than twice the standard error of that difference.",
    f"{NO_FIT}: contexts of the cell are longer than the network's context limit, so that it is refused. {NO_RUN}: "
    "it fits, and the method was trained at other difficulties.",
)
LENGTHS_LEGEND = (
    "Exact data, no training: the first 10,000 problems of each cell, one context drawn of each, its final STOP or "
    "THINK counted. Tokens: that a model writes to solve a problem, sub-questions, THINK and answers, in the mean; "
    "with the memo each different question is solved once. A ≥ stands where counts end at 2^60.",
)


@dataclass(frozen=True)
class Findings:
    """All that a report tells. others: cells without runs and whether they fit; lengths: None unless asked for."""

    collection: Collection
    cells: tuple[CellStatistics, ...]
    others: Mapping[CellKey, bool]
    overlong: frozenset[tuple[str, str, int, str]]
    lengths: tuple[CellLengths, ...] | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs that could be read."""
        return self.collection.runs


def findings(collection: Collection, lengths: Sequence[CellLengths] | None = None) -> Findings:
    """What the runs say, in the order of the tables."""
    # A job of a sweep that was refused for its length is a cell without runs.
    trained = [run for run in collection.runs if run.fits]
    cells = sorted(statistics(trained), key=lambda cell: order(cell.key))
    others = without_runs(collection.runs, cells)
    return Findings(
        collection, tuple(cells), others, frozenset(overlong(collection.runs)),
        None if lengths is None else tuple(lengths),
    )  # fmt: skip


def order(key: CellKey) -> tuple[object, ...]:
    """Where a cell stands."""
    return key.architecture, _place(TASKS, key.task), key.settings, key.difficulty, _place(METHODS, key.method)


def _place(known: Mapping[str, object], name: str) -> tuple[int, str]:
    names = list(known)
    return (names.index(name) if name in names else len(names), name)


def share(value: float) -> str:
    """A share with four decimals. What is less than all is never rounded up to all."""
    text = f"{value:.4f}"
    return "0.9999" if text == "1.0000" and value < 1 else text


def cell_table(found: Findings) -> Table:
    """A row for each cell."""
    rows = {cell.key: _cell_row(cell, found) for cell in found.cells}
    for key, fits in found.others.items():
        paper = paper_results().get((key.architecture, key.task, key.difficulty, key.method))
        printed = f"{paper.mean:.3f}" if paper else ""
        rows[key] = (*_named(key), NO_RUN if fits else NO_FIT, "0", "", printed, "", "")
    return Table("", _CELL_COLUMNS, tuple(rows[key] for key in sorted(rows, key=order)))


def _named(key: CellKey) -> tuple[str, ...]:
    return key.architecture, key.task, key.settings, str(key.difficulty), key.method


def _cell_row(cell: CellStatistics, found: Findings) -> tuple[str, ...]:
    accuracy = span = printed = difference = ""
    if cell.mean is not None and cell.low is not None and cell.high is not None:
        accuracy = share(cell.mean) + ("" if cell.deviation is None else f" ± {cell.deviation:.4f}")
        accuracy += " †" if cell.rising else ""
        span = f"{share(cell.low)} to {share(cell.high)}"
    if cell.paper is not None:
        printed = f"{cell.paper.mean:.3f}"
        printed += "" if cell.paper.deviation is None else f" ± {cell.paper.deviation:.3f}"
    if cell.difference is not None:
        difference = f"{cell.difference:+.4f}" + (" ‡" if cell.differs else "")
    return (*_named(cell.key), accuracy, str(cell.n), span, printed, difference, _remarks(cell, found))


def _remarks(cell: CellStatistics, found: Findings) -> str:
    key, remarks = cell.key, []
    if cell.rising:
        remarks.append(f"{cell.rising} of {cell.n} had not plateaued")
    if cell.unclear:
        remarks.append(f"{cell.unclear} of {cell.n} with too few evaluations to tell a plateau")
    if cell.uncounted:
        remarks.append("not counted: " + ", ".join(f"{n} {status}" for status, n in cell.uncounted.items()))
    if cell.trainings:
        remarks.append(f"not the paper's training ({'; '.join(cell.trainings)})")
    if (key.architecture, key.task, key.difficulty, key.method) in found.overlong:
        remarks.append(OVER)
    return "; ".join(remarks)


def solved_table(found: Findings) -> Table:
    """The largest difficulty that each method solves, here and in the paper."""
    methods = [method for method in METHODS if any(cell.key.method == method for cell in found.cells)]
    means: dict[tuple[str, str, str], dict[str, dict[int, float]]] = {}
    for cell in found.cells:
        if cell.mean is not None:
            by_method = means.setdefault((cell.key.architecture, cell.key.task, cell.key.settings), {})
            by_method.setdefault(cell.key.method, {})[cell.key.difficulty] = cell.mean
    rows = []
    for (architecture, task, settings), by_method in means.items():
        row = [architecture, task, settings]
        for method in methods:
            row += [_largest(by_method.get(method, {})), _largest(_paper_means(architecture, task, method))]
        rows.append(tuple(row))
    columns = [column for method in methods for column in (method, f"{method}, paper")]
    table = Table("", ("network", "task", "settings", *columns), tuple(rows))
    return table.without("settings") if table.is_empty("settings") else table


def _paper_means(architecture: str, task: str, method: str) -> dict[int, float]:
    return {
        difficulty: result.mean
        for (*network_and_task, difficulty, one), result in paper_results().items()
        if [*network_and_task, one] == [architecture, task, method]
    }


def _largest(means: Mapping[int, float]) -> str:
    if not means:
        return ""
    largest, gap = largest_solved(means)
    if largest is None:
        return "none"
    return str(largest) + ("" if gap is None else f" (not {gap})")


def unfinished_table(runs: Sequence[Run]) -> Table:
    """The runs that don't count, and how far they are."""
    rows = tuple((run.label, run.standing) for run in runs if run.fits and not run.finished)
    return Table("", ("run", "standing"), rows)


def problem_table(problems: Sequence[Problem]) -> Table:
    """The directories that are left out."""
    return Table("", ("directory", "reason"), tuple((one.label, one.reason) for one in problems))


def lengths_table(lengths: Sequence[CellLengths]) -> Table:
    """Context lengths and tokens of problems, a row for each cell."""
    methods, counts = list(lengths[0].contexts), list(lengths[0].tokens)
    names = [f"{method} {what}" for method in methods for what in ("mean", "longest")]
    columns = ("task", "difficulty", *names, *(f"tokens, {count}" for count in counts))
    rows = []
    for cell in lengths:
        contexts = [text for method in methods for text in _spread(cell.contexts[method])]
        tokens = [_spread(cell.tokens[count])[0] for count in counts]
        rows.append((cell.task, str(cell.difficulty), *contexts, *tokens))
    return Table("", columns, tuple(rows))


def _spread(spread: Spread) -> tuple[str, str]:
    if spread.saturated:
        return f"≥ {spread.mean:.1e}", f"≥ {float(spread.most):.1e}"
    mean = f"{spread.mean:,.1f}" if spread.mean < 1e6 else f"{spread.mean:.3e}"
    return mean, f"{spread.most:,}" if spread.most < 10**9 else f"{float(spread.most):.3e}"


def sections(found: Findings) -> list[Section]:
    """The report in the order in which it is read."""
    finished = sum(run.finished for run in found.runs)
    counted = f"{len(found.runs):,} runs, {finished:,} of them finished; {len(found.collection.problems):,} "
    counted += "directories or files left out"
    parts = [Section("Runs", (counted + ".", *LEGEND), ())]
    parts.append(Section(f"Largest difficulty that is solved (mean ≥ {SOLVED})", (), (solved_table(found),)))
    tables: dict[str, list[Table]] = {}
    for table in cell_table(found).split(2, lambda network, task: f"{network}, {task}"):
        network = table.title.partition(",")[0]
        tables.setdefault(network, []).append(table.without("settings") if table.is_empty("settings") else table)
    parts += [Section(f"Accuracy of the {network}", (), tuple(of_network)) for network, of_network in tables.items()]
    parts += _left_out(found)
    if found.lengths:
        table = lengths_table(found.lengths)
        parts.append(Section("Context lengths and tokens of a problem", LENGTHS_LEGEND, (table,)))
    return parts


def _left_out(found: Findings) -> list[Section]:
    unfinished, problems = unfinished_table(found.runs), problem_table(found.collection.problems)
    parts = [Section("Runs that don't count", (), (unfinished,))] if unfinished.rows else []
    return parts + ([Section("Left out", (), (problems,))] if problems.rows else [])
