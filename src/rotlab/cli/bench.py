"""`rotlab bench data`: how fast exact training data are made on this machine, on one core."""

from __future__ import annotations

import argparse
import hashlib
import time

from rotlab.contexts.driver import Drawer, n_rows, sample_questions, solve_question
from rotlab.rng import TRAIN
from rotlab.tasks import SAMPLERS

# Cells of the paper's tables, with the sampler that they were made with.
CELLS = (
    ("add", 32, "log_uniform"),
    ("add", 32, "uniform"),
    ("mul", 16, "log_uniform"),
    ("div", 16, "log_uniform"),
    ("sort", 32, "log_uniform"),
    ("lcs", 16, "uniform"),
    ("lcs", 32, "uniform"),
    ("lps", 40, "uniform"),
    ("knapsack", 8, "uniform"),
    ("mcm", 8, "log_uniform"),
)
_SECONDS = 1.5
_CHUNK = 100
_HASHED = 1_000
_COUNTED = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab bench`."""
    parser.add_argument("what", choices=["data"], help="data: problems/s, one context drawn from each")


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each cell: problems/s, ns per unique context, unique contexts a problem, and a hash."""
    print(f"{'cell':<22}{'problems/s':>12}{'ns/context':>12}{'contexts':>10}  hash of the first 1,000 examples")
    for task, difficulty, sampling in CELLS:
        sampler = SAMPLERS[task, sampling]
        drawer = Drawer(sampler, difficulty, "rot", 2**31)
        first, _ = drawer.batch(0, TRAIN, 0, _HASHED)
        digest = hashlib.sha256(first.offsets.tobytes() + first.tokens[: first.offsets[-1]].tobytes()).hexdigest()[:16]
        problems, started, seconds = 0, time.perf_counter(), 0.0
        while seconds < _SECONDS:
            drawer.batch(0, TRAIN, problems, problems + _CHUNK)
            problems += _CHUNK
            seconds = time.perf_counter() - started
        questions = sample_questions(sampler, difficulty, 0, _COUNTED)
        contexts = sum(n_rows(solve_question(question)[0]) for question in questions) / _COUNTED
        speed = problems / seconds
        name = f"{task}-{difficulty} {sampling}"
        print(f"{name:<22}{speed:>12,.0f}{1e9 / speed / contexts:>12,.0f}{contexts:>10,.1f}  {digest}", flush=True)
    return 0
