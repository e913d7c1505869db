"""`rotlab bench`: how fast this machine is, as figures of one run."""

from __future__ import annotations

import argparse
from importlib import import_module

# rotlab/cli/bench/NAME.py has `run() -> int`.
BENCHES = {
    "data": "problems/s, one context drawn from all unique contexts of each",
    "evaluation": "30,000 problems solved, rendered and aggregated with a stub network; contexts/s with a real one",
    "training": "time of an optimizer step and contexts/s, against a plain reference on the same batches",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab bench`."""
    parser.add_argument("what", choices=BENCHES, help="; ".join(f"{name}: {what}" for name, what in BENCHES.items()))


def run(arguments: argparse.Namespace) -> int:
    """Print the figures of one bench."""
    return int(import_module(f"rotlab.cli.bench.{arguments.what}").run())
