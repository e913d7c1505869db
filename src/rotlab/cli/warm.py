"""`rotlab warm`: compile everything that training and evaluation need, once."""

from __future__ import annotations

import argparse
import time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`rotlab warm` takes no flags."""


def run(arguments: argparse.Namespace) -> int:
    """Compile, and say how long it took and where the compiled code is kept."""
    started = time.perf_counter()
    from rotlab.compiled import CACHE_FOLDER
    from rotlab.contexts import lengths, unfold
    from rotlab.contexts.measured import measure
    from rotlab.data.cell import Cell
    from rotlab.data.stream import TrainingStream
    from rotlab.data.test_set import overlap, problem_set
    from rotlab.evaluation import Evaluator
    from rotlab.inference import Solver
    from rotlab.models import build_backbone
    from rotlab.rng import FIT

    cell = Cell("sort", 2, "rot", "log_uniform", 64)
    unfold("34*5"), lengths("34*5")
    measure(cell.sampler, 2, 0, FIT, 1)
    TrainingStream(cell, seed=0, batch_size=2, steps=1)[0]
    problems = problem_set(cell, 2, 0)
    overlap(cell, problems, 0)
    shape = {"d_model": 4, "heads": 1, "feedforward": 4, "layers": 1}
    Evaluator(cell, problems).run(build_backbone("transformer", len(cell.vocabulary), 64, shape))
    Solver(build_backbone("transformer", len(cell.vocabulary), 64, shape), cell).solve(["SORT 2,1"])
    print(f"compiled in {time.perf_counter() - started:.1f} s, kept in {CACHE_FOLDER}")
    return 0
