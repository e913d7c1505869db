"""`rotlab bench gpu`: the benches that a GPU changes, and what to choose on one: precision, grouping, compiled code."""

from __future__ import annotations

import argparse

import torch

from rotlab.cli.bench import data, evaluation, grouping, training
from rotlab.cli.bench.training import CELLS, bench_config, of_training
from rotlab.data.cell import Cell

_REAL_PROBLEMS = 1_000
# What is compared, by the overrides that ask for it.
WAYS = {
    "fp32": (),
    "bf16": ("trainer.precision=bf16",),
    "fp16": ("trainer.precision=fp16",),
    "code": ("trainer.compile=code",),
    "graphs": ("trainer.compile=graphs",),
    "graphs bf16": ("trainer.compile=graphs", "trainer.precision=bf16"),
}


def run(arguments: argparse.Namespace) -> int:
    """Print all tables, or that there is nothing to measure."""
    if not torch.cuda.is_available():
        print("no GPU is visible: skipped")
        return 0
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n\ntraining data")
    data.run(arguments)
    print("\nevaluation, contexts/s of the paper's Transformer")
    for task, difficulty, sampling in evaluation.CELLS[:3]:
        cell = Cell(task, difficulty, "rot", sampling, evaluation.CONTEXT_LIMIT)
        print(f"{cell.name:<18}{evaluation.real(cell, _REAL_PROBLEMS):>11,.0f}", flush=True)
    print("\ntraining against the plain reference")
    training.run(arguments)
    print("\nms a step by how finely batches are cut")
    grouping.run(arguments)
    print(f"\n{'cell':<12}{'Transformer':<14}{'ms a step':>10}{'MiB at most':>13}")
    for task, difficulty in CELLS:
        for way in WAYS:
            seconds, mebibytes = measured(task, difficulty, *WAYS[way])
            print(
                f"{task}-{difficulty:<{11 - len(task)}}{way:<14}{1e3 * seconds:>10,.1f}{mebibytes:>13,.0f}", flush=True
            )
    return 0


def measured(task: str, difficulty: int, *overrides: str) -> tuple[float, float]:
    """Seconds of a step, and the most memory that the device has held for it, in MiB."""
    torch.cuda.reset_peak_memory_stats()
    speed = of_training(bench_config(task, difficulty, "transformer", *overrides))
    return speed.seconds, torch.cuda.max_memory_allocated() / 2**20
