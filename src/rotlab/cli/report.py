"""`rotlab report DIR...`: tables, figures and a page of all runs below some directories, beside the paper's."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab report`."""
    where = "directories that hold runs, at any depth, such as multirun"
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=where)
    parser.add_argument("--out", type=Path, default=Path("report"), help="where the report goes (default: report)")
    lengths = "add context lengths and tokens of problems (Fig. 4 and 5) of all tasks; takes minutes"
    parser.add_argument("--lengths", action="store_true", help=lengths)


def run(arguments: argparse.Namespace) -> int:
    """Write the report; print its files, and on stderr what is left out. Raises ValueError where there is no run."""
    from rotlab.report.figures import MISSING, available
    from rotlab.report.lengths import lengths, paper_cells
    from rotlab.report.runs import collect
    from rotlab.report.tables import findings
    from rotlab.report.write import write_report

    collection = collect(arguments.directories)
    measured = None
    if arguments.lengths:
        cells = paper_cells()
        print(f"measuring 10,000 problems of each of {len(cells)} cells, which takes minutes", file=sys.stderr)
        measured = lengths(cells, processes=os.cpu_count() or 1)
    written = write_report(findings(collection, measured), arguments.out)
    for problem in collection.problems:
        print(f"left out: {problem.label}: {problem.reason}", file=sys.stderr)
    for one in collection.runs:
        if one.fits and not one.finished:
            print(f"not counted: {one.label}: {one.standing}", file=sys.stderr)
    if not available():
        print(MISSING, file=sys.stderr)
    finished = sum(one.finished for one in collection.runs)
    print(f"{len(collection.runs):,} runs, {finished:,} of them finished")
    for path in written:
        print(path)
    return 0
