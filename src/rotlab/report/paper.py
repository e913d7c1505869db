"""The paper's accuracies, Tables 2 to 5, as printed: three decimals, mean and deviation of eight runs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

# architecture, task, difficulty, method.
PaperKey = tuple[str, str, int, str]


@dataclass(frozen=True)
class PaperResult:
    """One printed accuracy. deviation: over eight runs; None where there was one (GPT-3)."""

    table: int
    mean: float
    deviation: float | None


@cache
def paper_results() -> MappingProxyType[PaperKey, PaperResult]:
    """All printed accuracies by (architecture, task, difficulty, method). The architecture of Table 2 is `gpt3`."""
    text = (files("rotlab.report") / "paper_results.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    found = {
        (row["architecture"], row["task"], int(row["difficulty"]), row["method"]): PaperResult(
            int(row["table"]), float(row["mean"]), float(row["deviation"]) if row["deviation"] else None
        )
        for row in rows
    }
    return MappingProxyType(found)


def paper_difficulties(task: str) -> tuple[int, ...]:
    """The difficulties of a task in Tables 2 to 5, of all networks, from small to large."""
    return tuple(sorted({difficulty for _, one, difficulty, _ in paper_results() if one == task}))
