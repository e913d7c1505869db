"""A report's files from its findings: the same runs give the same bytes."""

from __future__ import annotations

from pathlib import Path

from rotlab.report.figures import available, write_figures
from rotlab.report.page import page
from rotlab.report.panels import plots
from rotlab.report.tables import Findings, sections
from rotlab.report.text import latex, markdown

_TITLE = "rotlab report"


def write_report(found: Findings, out: Path) -> list[Path]:
    """Write report.md, report.tex, index.html and, where matplotlib is installed, figures/; the paths written."""
    out.mkdir(parents=True, exist_ok=True)
    shown = plots(found) if available() else []
    written = write_figures(shown, out / "figures")
    parts = sections(found)
    documents = {
        "report.md": markdown(_TITLE, parts, {plot.title: f"figures/{plot.name}.svg" for plot in shown}),
        "report.tex": latex(_TITLE, parts),
        "index.html": page(found, shown, out),
    }
    for name, content in documents.items():
        (out / name).write_text(content, encoding="utf-8", newline="\n")
    return [*(out / name for name in documents), *written]
