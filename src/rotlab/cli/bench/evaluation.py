"""`rotlab bench evaluation`: what a memoised evaluation costs beside the network's own work, and with it."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rotlab.config.app import configured
from rotlab.data.batches import Group
from rotlab.data.cell import Cell
from rotlab.data.test_set import problem_set
from rotlab.evaluation import Evaluator
from rotlab.evaluation.evaluator import Network
from rotlab.models import build_backbone

PROBLEMS = 30_000
CELLS = (
    ("mul", 16, "log_uniform"),
    ("knapsack", 8, "uniform"),
    ("lcs", 16, "uniform"),
    ("mcm", 8, "log_uniform"),
    ("lcs", 32, "uniform"),
)
Result = TypeVar("Result")
CONTEXT_LIMIT = 2048
_REAL_PROBLEMS = 20
# What ru_maxrss counts in.
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class _Stubbed(Evaluator):
    """Everything but the network: contexts are found, rendered, padded, remembered and aggregated."""

    @staticmethod
    def judge(network: Network, group: Group, device: torch.device | None) -> tuple[NDArray[np.bool_], Tensor]:
        return np.ones(len(group.inputs_BT), np.bool_), group.targets_BT


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each cell, each measured in a process of its own, so that peaks of memory are its own."""
    print(
        f"{'cell':<18}{'problems':>9}{'contexts':>12}{'problem set':>13}{'stub network':>14}{'peak memory':>13}"
        f"{'Transformer':>22}"
    )
    for task, difficulty, sampling in CELLS:
        cell = Cell(task, difficulty, "rot", sampling, CONTEXT_LIMIT)
        contexts, drawing, seconds, peak = _alone(stubbed, cell, PROBLEMS)
        speed = _alone(real, cell, _REAL_PROBLEMS)
        print(
            f"{cell.name:<18}{PROBLEMS:>9,}{contexts:>12,}{drawing:>11.1f} s{seconds:>12.1f} s{peak / 2**30:>9.2f} GiB"
            f"{speed:>11,.0f} contexts/s",
            flush=True,
        )
    return 0


def stubbed(cell: Cell, problems: int) -> tuple[int, float, float, int]:
    """Unique contexts, seconds to draw the problem set, seconds to evaluate it, and the peak of memory in bytes."""
    started = time.perf_counter()
    drawn = problem_set(cell, problems, seed=0)
    judged = time.perf_counter()
    report = _Stubbed(cell, drawn).run(torch.nn.Identity())
    ended = time.perf_counter()
    assert report.problems_right == problems
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
    return report.contexts, judged - started, ended - judged, peak


def real(cell: Cell, problems: int) -> float:
    """Contexts/s that the paper's Transformer is judged by, on the CPU or a GPU."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    shape = configured("architecture=transformer").architecture.shape
    network = build_backbone("transformer", len(cell.vocabulary), cell.context_limit, shape).to(device).eval()
    evaluator = Evaluator(cell, problem_set(cell, problems, seed=0))
    evaluator.run(network, device)
    report = evaluator.run(network, device)
    return report.contexts / report.seconds


def _alone(measure: Callable[[Cell, int], Result], cell: Cell, problems: int) -> Result:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, cell, problems).result()
