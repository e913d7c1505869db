"""`rotlab sample`: a Table 1 of our own."""

from __future__ import annotations

import argparse

from rotlab.contexts.driver import sample_questions
from rotlab.tasks import SAMPLERS, TASKS
from rotlab.vocab import notation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab sample`."""
    parser.add_argument("--task", choices=list(TASKS), required=True)
    parser.add_argument("--difficulty", type=int, required=True, help="digits, length, items, matrices or terms")
    parser.add_argument("-n", type=int, default=40, help="how many problems (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="problem i of seed s is that of training example i")
    parser.add_argument("--sampling", help="a sampler of the task other than its default: uniform, for add and sub")


def run(arguments: argparse.Namespace) -> int:
    """Print the problems, one a line. Raises ValueError for an impossible difficulty, number or sampling."""
    task = TASKS[arguments.task]
    sampling = task.samplings[0] if arguments.sampling is None else arguments.sampling
    if sampling not in task.samplings:
        raise ValueError(f"{task.name} has no sampling {sampling!r}; it has {', '.join(task.samplings)}")
    task.require_difficulty(arguments.difficulty)
    if arguments.n < 1 or not 0 <= arguments.seed < 2**32:
        raise ValueError("-n must be at least 1, and --seed from 0 to 2^32 - 1")
    for tokens in sample_questions(SAMPLERS[task.name, sampling], arguments.difficulty, arguments.seed, arguments.n):
        print(notation(tokens[1:-1]))
    return 0
