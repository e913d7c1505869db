"""`rotlab bench data`: how fast exact training data are made on this machine, on one core."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Sized
from importlib import import_module
from pathlib import Path

from rotlab.contexts.driver import Drawer, sample_questions
from rotlab.contexts.stream import UNIQUE, Batch
from rotlab.rng import TRAIN
from rotlab.tasks import SAMPLERS, Sampler
from rotlab.vocab import notation

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
HASHED = 1_000
_SECONDS, _REFERENCE_SECONDS = 2.0, 0.7
_CHUNK = 100


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each cell."""
    reference = _reference()
    print(
        f"{'cell':<20}{'problems/s':>12}{'ns/context':>12}{'contexts':>10}{'reference':>11}  "
        f"hash of the first {HASHED:,} examples"
    )
    for task, difficulty, sampling in CELLS:
        sampler = SAMPLERS[task, sampling]
        drawer = Drawer(sampler, difficulty, "rot", 2**31)
        digest = digest_of(drawer.batch(0, TRAIN, 0, HASHED)[0])
        speed, contexts = _measured(drawer)
        ratio = "-" if reference is None else f"{speed / _reference_speed(reference, sampler, difficulty):,.0f} x"
        name = f"{task}-{difficulty} {sampling}"
        each = 1e9 / speed / contexts
        print(f"{name:<20}{speed:>12,.0f}{each:>12,.0f}{contexts:>10,.1f}{ratio:>11}  {digest}", flush=True)
    if reference is None:
        print("reference: only where rotlab runs from its repository, whose tests hold it")
    return 0


def digest_of(batch: Batch) -> str:
    """Sixteen hex digits of contexts, in order, without padding."""
    end = batch.offsets[-1]
    return hashlib.sha256(batch.offsets.tobytes() + batch.tokens[:end].tobytes()).hexdigest()[:16]


def _measured(drawer: Drawer) -> tuple[float, float]:
    """Problems/s and mean unique contexts of the first problems of seed 0."""
    problems, contexts, started, seconds = 0, 0, time.perf_counter(), 0.0
    while seconds < _SECONDS:
        _, job = drawer.batch(0, TRAIN, problems, problems + _CHUNK)
        contexts += int(job[UNIQUE])
        problems += _CHUNK
        seconds = time.perf_counter() - started
    return problems / seconds, contexts / problems


def _reference() -> Callable[[str], Sized] | None:
    """All unique contexts of a question by the tests' plain Python; None without a checkout."""
    root = Path(__file__).resolve().parents[4]
    if not (root / "tests" / "reference" / "contexts.py").exists():
        return None
    sys.path.insert(0, str(root))
    found: Callable[[str], Sized] = import_module("tests.reference.contexts").rot_contexts
    return found


def _reference_speed(reference: Callable[[str], Sized], sampler: Sampler, difficulty: int) -> float:
    """Its problems/s, on the same problems."""
    problems, seconds = 0, 0.0
    for question in sample_questions(sampler, difficulty, 0, HASHED):
        text = notation(question)
        started = time.perf_counter()
        reference(text)
        seconds += time.perf_counter() - started
        problems += 1
        if seconds > _REFERENCE_SECONDS:
            break
    return problems / seconds
