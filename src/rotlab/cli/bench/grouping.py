"""`rotlab bench grouping`: what `architecture.group_overhead` should be on this device."""

from __future__ import annotations

import argparse

from rotlab.cli.bench.training import ARCHITECTURES, CELLS, bench_config, of_training

# From one group for nearly every length to the whole batch in one.
OVERHEADS = (0, 32, 256, 1_024, 4_096, 1_000_000)


def run(arguments: argparse.Namespace) -> int:
    """Print milliseconds a step for each cell and backbone, by overhead in tokens."""
    print(f"{'cell':<9}{'backbone':<13}" + "".join(f"{overhead:>11,}" for overhead in OVERHEADS) + "   best")
    for task, difficulty in CELLS:
        for architecture in ARCHITECTURES:
            seconds = {overhead: _seconds(task, difficulty, architecture, overhead) for overhead in OVERHEADS}
            best = min(seconds, key=lambda overhead: seconds[overhead])
            row = "".join(f"{1e3 * one:>11,.0f}" for one in seconds.values())
            print(f"{task}-{difficulty:<{8 - len(task)}}{architecture:<13}{row}   {best:,}", flush=True)
    return 0


def _seconds(task: str, difficulty: int, architecture: str, overhead: int) -> float:
    both = [f"architecture.group_overhead.{device}={overhead}" for device in ("cpu", "gpu")]
    return of_training(bench_config(task, difficulty, architecture, *both)).seconds
