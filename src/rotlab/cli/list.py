"""`rotlab list`: what can be trained, and how."""

from __future__ import annotations

import argparse

from rotlab.config import conf_dir
from rotlab.tasks import METHODS, TASKS, TYPES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`rotlab list` takes no flags."""


def run(arguments: argparse.Namespace) -> int:
    """Print every task, problem type, method, architecture and recipe with a line each."""
    print("tasks")
    for task in TASKS.values():
        samplings = f"; sampling {' or '.join(task.samplings)}" if len(task.samplings) > 1 else ""
        print(f"  {task.name:<12} {task.summary}; difficulty in {task.unit}{samplings}")
    print("problem types")
    for one in TYPES:
        print(f"  {one.name:<12} {one.example}")
    print("methods")
    for name, summary in METHODS.items():
        print(f"  {name:<12} {summary}")
    for group in ("architecture", "recipe"):
        print(f"{group}s")
        for file in sorted((conf_dir() / group).glob("*.yaml")):
            print(f"  {file.stem:<12} {_first_comment(file.read_text(encoding='utf-8'))}")
    return 0


def _first_comment(text: str) -> str:
    comments = (line[1:].strip() for line in text.splitlines() if line.startswith("#") and "@package" not in line)
    return next(comments, "")
