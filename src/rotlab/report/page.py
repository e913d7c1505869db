"""The report as one HTML page that needs nothing else: tables that sort and filter, figures, runs, wrong samples."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from rotlab.report.figures import drawn
from rotlab.report.panels import Plot
from rotlab.report.runs import Run
from rotlab.report.tables import (
    LEGEND,
    LENGTHS_LEGEND,
    Findings,
    cell_table,
    lengths_table,
    problem_table,
    share,
    solved_table,
)  # fmt: skip
from rotlab.report.text import Table, is_number
from rotlab.tasks import METHODS, TASKS

_FILTERED = ("network", "task", "method")
_WIDE = frozenset(("run", "directory", "remarks", "settings", "reason", "standing", "wrong samples"))
_MOST_SAMPLES = 50
# Nothing is fetched: what the page needs stands in it.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(found: Findings, plots: Sequence[Plot], out: Path) -> str:
    """The page that will lie in `out`, from where its links to runs go. plots: those whose files lie in figures/."""
    cells = cell_table(found)
    if cells.is_empty("settings"):
        cells = cells.without("settings")
    parts = [
        _section("Largest difficulty that is solved", _table(solved_table(found))),
        _section("Accuracy", *_paragraphs(LEGEND), _table(cells)),
        *(_section(plot.title, _figures(plot)) for plot in plots),
    ]
    if found.lengths:
        words = _paragraphs(LENGTHS_LEGEND)
        parts.append(_section("Context lengths and tokens of a problem", *words, _table(lengths_table(found.lengths))))
    mistakes = ("The first mistake in a wrong sample stands as [written|right].",)
    parts.append(_section("Runs", *_paragraphs(mistakes), _runs(found.runs, out)))
    if found.collection.problems:
        parts.append(_section("Left out", _table(problem_table(found.collection.problems))))
    return _document(found, parts)


def _document(found: Findings, parts: Sequence[str]) -> str:
    finished = sum(run.finished for run in found.runs)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>rotlab report</title>
<style>
{_packaged("page.css")}</style>
</head>
<body>
<h1>rotlab report</h1>
<p>{len(found.runs):,} runs, {finished:,} of them finished.</p>
{_filters(found.runs)}
<main>
{"".join(parts)}</main>
<script>
{_packaged("page.js")}</script>
</body>
</html>
"""


def _packaged(name: str) -> str:
    return (files("rotlab.report") / name).read_text(encoding="utf-8")


def _filters(runs: Sequence[Run]) -> str:
    """Choices of network, task and method, and a search."""
    choices: Mapping[str, Iterable[str]] = {
        "network": sorted({run.architecture for run in runs}),
        "task": sorted({*TASKS, *(run.task for run in runs)}),
        "method": METHODS,
    }
    parts = []
    for name, values in choices.items():
        options = "".join(f'<option value="{escape(value)}">{escape(value)}</option>' for value in values)
        parts.append(f'<label>{name}<select name="{name}"><option value="">all</option>{options}</select></label>')
    parts.append('<label>words in a row<input id="words" type="search"></label>')
    return f'<form class="filters" onsubmit="return false">{"".join(parts)}<output id="shown"></output></form>'


def _section(title: str, *content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(content)}</section>\n"


def _paragraphs(words: Iterable[str]) -> list[str]:
    return [f"<p>{escape(text)}</p>\n" for text in words]


def _table(table: Table) -> str:
    cells = [[escape(cell) for cell in row] for row in table.rows]
    return _html_table(table.columns, cells, [_attributes(table.columns, row) for row in table.rows])


def _attributes(columns: Sequence[str], row: Sequence[str]) -> str:
    """What a row is filtered by, and whether it is marked."""
    named = dict(zip(columns, row, strict=True))
    data = "".join(f' data-{name}="{escape(named[name])}"' for name in _FILTERED if name in named)
    return data + (' class="differs"' if "‡" in named.get("difference", "") else "")


def _html_table(columns: Sequence[str], cells: Sequence[Sequence[str]], attributes: Sequence[str]) -> str:
    """Cells are HTML; attributes go to the rows."""
    kinds = ["words" if one in _WIDE else "number" if is_number(one) else "name" for one in columns]
    heads = "".join(
        f'<th scope="col" class="{kind}"><button type="button">{escape(column)}</button></th>'
        for kind, column in zip(kinds, columns, strict=True)
    )
    rows = []
    for row, of_row in zip(cells, attributes, strict=True):
        # Where the page is narrow a row's cells stand below each other, each with its label.
        content = "".join(
            f'<td class="{kind}" data-label="{escape(column)}">{cell}</td>'
            for kind, column, cell in zip(kinds, columns, row, strict=True)
        )
        rows.append(f"<tr data-filtered{of_row}>{content}</tr>\n")
    head = f"<thead><tr>{heads}</tr></thead>"
    region = '<div class="scroll" tabindex="0" role="region" aria-label="table">'
    return f"{region}<table>{head}<tbody>\n{''.join(rows)}</tbody></table></div>\n"


def _figures(plot: Plot) -> str:
    """Each panel for itself, so that they stand below each other where the page is narrow."""
    parts = []
    for panel in plot.panels:
        picture = base64.b64encode(drawn([panel], "", "svg")).decode()
        described = escape(f"{plot.title}: {' '.join(panel.title.split())}")
        data = f' data-task="{escape(panel.task)}"' + (f' data-network="{plot.network}"' if plot.network else "")
        image = f'<img alt="{described}" src="data:image/svg+xml;base64,{picture}">'
        parts.append(f"<figure data-filtered{data}>{image}</figure>\n")
    name = escape(quote(plot.name))
    links = f'<p>As files: <a href="figures/{name}.svg">SVG</a>, <a href="figures/{name}.png">PNG</a></p>\n'
    return f'{links}<div class="panels">\n{"".join(parts)}</div>\n'


def _runs(runs: Sequence[Run], out: Path) -> str:
    columns = ("run", "network", "task", "method", "difficulty", "seed", "accuracy", "standing", "wrong samples")
    rows, attributes = [], []
    for run in runs:
        link = quote(Path(os.path.relpath(run.directory.resolve(), out.resolve())).as_posix())
        accuracy = "" if run.manifest.accuracy is None else share(run.manifest.accuracy)
        texts = (run.architecture, run.task, run.method, str(run.difficulty), str(run.seed), accuracy, run.standing)
        name = f'<a href="{escape(link)}/">{escape(run.manifest.name)}</a>'
        rows.append((name, *map(escape, texts), _samples(run)))
        attributes.append(_attributes(columns[1:4], texts[:3]))
    return _html_table(columns, rows, attributes)


def _samples(run: Run) -> str:
    if not run.samples:
        return ""
    items = "".join(f"<li>{_sample(sample)}</li>" for sample in run.samples[:_MOST_SAMPLES])
    step = escape(run.samples[0].get("step", ""))
    return f"<details><summary>{len(run.samples)} of step {step}</summary><ol>{items}</ol></details>"


def _sample(sample: Mapping[str, str]) -> str:
    kind = f"{escape(sample['type'])}: " if "type" in sample else ""
    return f"{kind}<code>{escape(sample.get('context', sample.get('question', '')))}</code>"
