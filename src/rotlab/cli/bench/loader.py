"""`rotlab bench loader`: whether loader processes keep a step of 10 ms fed with batches of the paper's size."""

from __future__ import annotations

import argparse
import os
import time

from rotlab.cli.bench.training import quick_config
from rotlab.data.cell import cell_of
from rotlab.data.module import RotDataModule
from rotlab.data.ranks import Ranks
from rotlab.training.setup import data_module

CELLS = (("add", 32), ("mul", 16), ("lcs", 16), ("lcs", 32))
_STEP_SECONDS = 0.010
_SECONDS, _MOST_STEPS, _HEAD_START = 2.0, 1_000, 0.3


def run(arguments: argparse.Namespace) -> int:
    """Print the waiting for each cell and number of processes, up to one a core."""
    print(f"{'cell':<9}{'processes':>10}{'waited, ms a step':>19}{'share of time':>15}{'own work, ms':>14}")
    for task, difficulty in CELLS:
        for workers in range((os.cpu_count() or 1) + 1):
            config = quick_config(_MOST_STEPS, f"task={task}", f"difficulty={difficulty}", f"data.workers={workers}")
            waited, share, work = fed(data_module(config, cell_of(config), "cpu", Ranks()))
            name = f"{task}-{difficulty}"
            print(f"{name:<9}{workers:>10}{1e3 * waited:>19.1f}{share:>15.1%}{1e3 * work:>14.1f}", flush=True)
    return 0


def fed(data: RotDataModule) -> tuple[float, float, float]:
    """Seconds that a step waited for its batch, their share of all time, and seconds of this process's own work."""
    batches = iter(data.train_dataloader())
    next(batches)
    time.sleep(_HEAD_START)
    waited, steps, started, work = 0.0, 0, time.perf_counter(), time.process_time()
    while steps == 0 or (time.perf_counter() - started < _SECONDS and steps < _MOST_STEPS - 1):
        asked = time.perf_counter()
        next(batches)
        waited += time.perf_counter() - asked
        steps += 1
        time.sleep(_STEP_SECONDS)
    return waited / steps, waited / (time.perf_counter() - started), (time.process_time() - work) / steps
