"""`rotlab contexts`: what a model reads and is trained to write, for given questions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

from rotlab.contexts import lengths, unfold
from rotlab.contexts.render import readable_length
from rotlab.contexts.unfold import DEFAULT_LIMIT
from rotlab.tasks import METHODS, TASKS, parse_question, reached


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab contexts`."""
    questions = 'such as "34*5", "1234 LCS 2468"; - reads one a line from standard input'
    parser.add_argument("questions", nargs="+", help=questions)
    parser.add_argument("--task", choices=list(TASKS), help="refuse questions that this task never asks")
    parser.add_argument("--method", choices=list(METHODS), default="rot", help="default: rot")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one object a line: type, tokens, segments, targets")
    form.add_argument("--count", action="store_true", help="print only how many there are, and their lengths")
    longest = f"longest context in tokens (default: {DEFAULT_LIMIT:,})"
    parser.add_argument("--limit", type=int, default=DEFAULT_LIMIT, help=longest)


def run(arguments: argparse.Namespace) -> int:
    """Print the contexts of each question. Raises ValueError for what is no question of the task."""
    many = len(arguments.questions) > 1 or "-" in arguments.questions
    for question in _questions(arguments.questions):
        _check(question, arguments.task)
        if arguments.count:
            print(_counted(question, arguments.method))
            continue
        for context in unfold(question, arguments.method, arguments.limit):
            if arguments.json:
                named = {"question": question} if many else {}
                print(json.dumps({**named, **asdict(context)}, ensure_ascii=False))
            else:
                print(context)
    return 0


def _questions(given: list[str]) -> Iterator[str]:
    for question in given:
        if question == "-":
            yield from (line.rstrip("\n") for line in sys.stdin if line.strip())
        else:
            yield question


def _check(question: str, task: str | None) -> None:
    _, problem_type = parse_question(question)
    if task is not None and problem_type not in reached(task):
        raise ValueError(f"{question!r} is a {problem_type.name} question, which {task} never asks")


def _counted(question: str, method: str) -> str:
    found = lengths(question, method)
    if len(found) == 1:
        return f"{question}: 1 context of {readable_length(found[0])} tokens"
    mean = sum(found) / len(found)
    return f"{question}: {len(found):,} contexts, {sum(found):,} tokens, longest {max(found):,}, mean {mean:.1f}"
