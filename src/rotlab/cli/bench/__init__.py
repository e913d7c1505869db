"""`rotlab bench`: how fast this machine is, as figures of one run."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

# rotlab/cli/bench/NAME.py has `run(arguments) -> int`.
BENCHES = {
    "data": "problems/s, one context drawn from all unique contexts of each",
    "evaluation": "30,000 problems solved, rendered and aggregated with a stub network; contexts/s with a real one",
    "loader": "whether loader processes keep a step of 10 ms fed",
    "training": "time of an optimizer step and contexts/s, against a plain reference on the same batches",
    "grouping": "step time by how finely a batch is cut into groups of similar lengths",
    "inference": "problems/s of a trained network's free-running recursion, against plain recursion",
    "gpu": "data, evaluation and training on a GPU: precisions, grouping, compiled code, memory; nothing without one",
    "speedrun": "steps and seconds to 0.99 and to 1.0 of 1,000 problems, recipe fast against paper; takes hours",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab bench`."""
    benches = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, summary in BENCHES.items():
        bench = benches.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == "inference":
            bench.add_argument("run", type=Path, metavar="RUN", help="a run of method=rot, or a checkpoint file")
        if name == "speedrun":
            bench.add_argument("cells", nargs="*", metavar="CELL", help="such as add-4 mul-3 (default: all of them)")
            bench.add_argument("--seeds", type=int, default=3, help="how many, from 0 on (default: 3)")
            bench.add_argument("--threads", type=int, default=None, help="CPU threads (default: all cores)")
            within = "give the paper's recipe so many times the fast one's time to 0.99 (default: 10)"
            bench.add_argument("--within", type=float, default=10.0, metavar="TIMES", help=within)


def run(arguments: argparse.Namespace) -> int:
    """Print the figures of one bench."""
    return int(import_module(f"rotlab.cli.bench.{arguments.what}").run(arguments))
