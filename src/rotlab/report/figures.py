"""Panels drawn with matplotlib, an optional extra: SVG and PNG, the same bytes from the same numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotlab.report.panels import Line, Panel, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MISSING = "no figures: they need matplotlib (pip install 'rotlab[report]')"
# Colours of Okabe and Ito, which colour-blind people tell apart; markers and dashes tell the same. Where lines lie on
# each other, the thicker and more solid one is below: the last number is the width.
_LOOKS = {
    "wt": ("#D55E00", "s", (0, (1, 1)), 1.4),
    "cot": ("#0072B2", "^", (0, (3, 3)), 1.6),
    "rot": ("#009E73", "o", "solid", 2.2),
}
_GREY = "#555555"
_WIDTH, _HEIGHT, _COLUMNS = 3.6, 2.9, 3
# Inches for the legend's line, and for titles.
_LEGEND, _TITLE = 0.35, 0.35
_SETTINGS: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "rotlab", "font.family": "DejaVu Sans", "font.size": 9,
    "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
}  # fmt: skip


def available() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def write_figures(plots: Sequence[Plot], folder: Path) -> list[Path]:
    """NAME.svg and NAME.png of each plot; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for plot in plots:
        for form in ("svg", "png"):
            path = folder / f"{plot.name}.{form}"
            path.write_bytes(drawn(plot.panels, plot.title, form))
            written.append(path)
    return written


def drawn(panels: Sequence[Panel], title: str, form: str) -> bytes:
    """A figure of panels side by side as "svg" or "png"; an empty title for none."""
    import matplotlib

    # No date and no version in the file: the same numbers give the same bytes.
    metadata: dict[str, Any] = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    with matplotlib.rc_context(_SETTINGS):
        out = io.BytesIO()
        _figure(panels, title).savefig(out, format=form, metadata=metadata, dpi=160)
    return out.getvalue()


def _figure(panels: Sequence[Panel], title: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    names = _legend_names(panels)
    # So many entries of a legend stand beside each other.
    legend_columns = min(len(names), 2 * columns)
    bottom = _LEGEND * math.ceil(len(names) / legend_columns) * 0.7 + 0.1
    top = _TITLE if title else 0.05
    height = rows * _HEIGHT + top + bottom
    layout = ConstrainedLayoutEngine(rect=(0, bottom / height, 1, 1 - (top + bottom) / height))
    figure = Figure(figsize=(columns * _WIDTH, height), layout=layout)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    entries: dict[str, Any] = {}
    for one, panel in zip(axes, panels, strict=False):
        entries |= _draw(one, panel)
    for unused in axes[len(panels) :]:
        unused.set_axis_off()
    if title:
        figure.suptitle(title, y=1 - 0.05 / height, va="top", fontsize=12)
    figure.legend(
        [entries[name] for name in names], names, loc="lower center", ncols=legend_columns,
        bbox_to_anchor=(0.5, 0.02 / height), handlelength=3,
    )  # fmt: skip
    return figure


def _legend_names(panels: Sequence[Panel]) -> list[str]:
    names = [line.name for panel in panels for line in panel.lines]
    return list(dict.fromkeys(names + [name for panel in panels for name in (*panel.at_x, *panel.at_y)]))


def _draw(axes: Axes, panel: Panel) -> dict[str, Any]:
    """Draw a panel; what stands in the legend by name."""
    from matplotlib.ticker import MaxNLocator

    entries = {line.name: _draw_line(axes, line, panel.share) for line in panel.lines}
    for name, x in panel.at_x.items():
        entries[name] = axes.axvline(x, color=_GREY, linewidth=1, linestyle=(0, (2, 2)))
    for (name, y), dashes in zip(panel.at_y.items(), ((0, (1, 3)), (0, (6, 3))), strict=False):
        entries[name] = axes.axhline(y, color=_GREY, linewidth=1, linestyle=dashes)
    axes.set_title(panel.title, fontsize=8 if "\n" in panel.title else 10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 4, 5, 10], integer=True))
    axes.grid(alpha=0.25, linewidth=0.5)
    if panel.share:
        axes.set_ylim(-0.04, 1.04)
    else:
        axes.set_yscale("log")
    return entries


def _draw_line(axes: Axes, line: Line, share: bool) -> Any:
    colour, marker, dashes, width = _LOOKS[line.look]
    # A marker at each of many evaluations would hide the curve.
    every = max(1, len(line.x) // 8)
    look: dict[str, Any] = {"color": colour, "marker": marker, "markevery": every, "markersize": 4, "linewidth": width}
    look["zorder"] = 3 - width / 10
    if line.style == "paper":
        look |= {"markerfacecolor": "white", "markersize": 6, "linewidth": 0, "linestyle": "none", "zorder": 2}
    elif line.style == "dashed":
        look |= {"linewidth": width / 2, "markerfacecolor": "white", "linestyle": dashes}
    else:
        look |= {"linestyle": dashes}
    (drawn_line,) = axes.plot(line.x, line.y, **look)
    if line.low:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
    return drawn_line
