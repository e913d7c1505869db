"""A table of text, and how Markdown and LaTeX write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

# Columns of words, to the left; all others hold numbers.
_WORDS = frozenset(("network", "task", "method", "settings", "remarks", "run", "standing", "directory", "reason"))
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "†": r"\dag{}", "‡": r"\ddag{}", "≥": r"$\geq$",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), self.title

    def without(self, *names: str) -> Table:
        """The table without some columns."""
        kept = [i for i, column in enumerate(self.columns) if column not in names]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return Table(self.title, tuple(self.columns[i] for i in kept), rows)

    def is_empty(self, name: str) -> bool:
        """Whether a column holds nothing."""
        at = self.columns.index(name)
        return not any(row[at] for row in self.rows)

    def split(self, n: int, title: Callable[..., str]) -> list[Table]:
        """A table for each run of rows that agree in the first n columns, which it lacks; named by them."""
        parts: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for row in self.rows:
            parts.setdefault(row[:n], []).append(row[n:])
        return [Table(title(*first), self.columns[n:], tuple(rows)) for first, rows in parts.items()]


@dataclass(frozen=True)
class Section:
    """A heading with words and tables."""

    title: str
    words: tuple[str, ...]
    tables: tuple[Table, ...]


def is_number(column: str) -> bool:
    """Whether a column's cells stand to the right."""
    return column not in _WORDS


def _parts(
    sections: Sequence[Section], heading: Callable[[str], str], subheading: Callable[[str], str],
    words: Callable[[str], str], table: Callable[[Table], str],
) -> Iterator[str]:  # fmt: skip
    """Headings, words and tables in a document's order, each as its language writes it."""
    for section in sections:
        yield heading(section.title)
        yield from map(words, section.words)
        for one in section.tables:
            if one.title:
                yield subheading(one.title)
            yield table(one)


def markdown(title: str, sections: Sequence[Section], figures: Mapping[str, str]) -> str:
    """A document with pipe tables; figures: their files by title."""
    headings = (lambda name: f"## {name}"), (lambda name: f"### {name}")
    parts = [f"# {title}", *_parts(sections, *headings, _markdown_text, _markdown_table)]
    for name, path in figures.items():
        parts += [f"## {_markdown_text(name)}", f"![{_markdown_text(name)}]({path})"]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    rule = ["--:" if is_number(column) else ":--" for column in table.columns]
    rows = [table.columns, rule, *([_markdown_text(cell) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", text)


def latex(title: str, sections: Sequence[Section]) -> str:
    """Tables to \\input into a document that uses booktabs and longtable."""
    headings = (
        (lambda name: f"\\section*{{{_latex_text(name)}}}"),
        (lambda name: f"\\subsection*{{{_latex_text(name)}}}"),
    )
    parts = [f"% {title}. In the preamble: \\usepackage{{booktabs,longtable}}"]
    parts += _parts(sections, *headings, _latex_text, _latex_table)
    return "\n\n".join(parts) + "\n"


def _latex_table(table: Table) -> str:
    # What may be long is broken into lines.
    alignment = "".join(
        "r" if is_number(column) else "p{5cm}" if column in ("remarks", "standing", "reason", "settings") else "l"
        for column in table.columns
    )
    lines = [f"\\begin{{longtable}}{{{alignment}}}", "\\toprule", _latex_row(table.columns)]
    lines += ["\\midrule", "\\endhead", *map(_latex_row, table.rows), "\\bottomrule", "\\end{longtable}"]
    return "\n".join(lines)


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(_latex_text, cells))} \\\\"


def _latex_text(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)
