"""`rotlab solve RUN QUESTION ...`: a trained network answers by its own recursion, and shows how."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rotlab.inference.solver import Solution, Solver


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab solve`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory or a checkpoint file")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help='such as "408+351"; - reads standard input')
    parser.add_argument("--file", type=Path, help="a file with a question on each line")
    parser.add_argument("--checkpoint", choices=["last", "best"], default="last", help="of a directory (default: last)")
    parser.add_argument("--json", action="store_true", help="an object a line for each question, its contexts listed")
    parser.add_argument("--quiet", action="store_true", help="only the answers, no contexts")
    parser.add_argument("--most", type=int, default=40, help="contexts shown of a question (default: 40)")
    parser.add_argument("--no-memo", action="store_true", help="solve a question anew whenever it is asked")
    parser.add_argument("--slots", type=int, default=512, help="contexts that run at a time (default: 512)")
    parser.add_argument("--height", type=int, help="most contexts nested in one another (default: 1,000)")
    parser.add_argument("--reach", type=int, help="most different questions under one (default: 100,000)")
    parser.add_argument("--samples", type=int, default=1, help="answers drawn for each question (default: 1)")
    parser.add_argument("--temperature", type=float, default=0.0, help="0, the default, takes the likeliest token")
    parser.add_argument("--top-k", type=int, help="draw among so many of the likeliest tokens")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float64"], default="float32")


def run(arguments: argparse.Namespace) -> int:
    """Print the solutions; 0 if all are right, 1 if not. Raises ValueError for an unusable run, question or number."""
    from rotlab.inference.solver import LongerThanTrained

    questions = list(_questions(arguments))
    if not questions:
        raise ValueError('no question: write one, such as rotlab solve RUN "408+351", or --file, or - to read them')
    if arguments.temperature == 0 and (arguments.samples > 1 or arguments.top_k is not None):
        raise ValueError("without a temperature nothing is drawn: --samples and --top-k need it, write --temperature 1")
    solver = _solver(arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LongerThanTrained)
        solutions = solver.solve(questions, arguments.samples)
    for warning in caught:
        if issubclass(warning.category, LongerThanTrained):
            print(f"warning: {warning.message}", file=sys.stderr)
        else:
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    for solution in solutions:
        if arguments.json:
            print(json.dumps(as_dict(solution), ensure_ascii=False))
        else:
            _show(solution, solver.cell.method, arguments)
    if not arguments.json and len(solutions) > 1:
        right = sum(solution.right for solution in solutions)
        print(f"{right:,} of {len(solutions):,} right")
    return 0 if all(solution.right for solution in solutions) else 1


def _questions(arguments: argparse.Namespace) -> Iterator[str]:
    lines: list[str] = []
    for question in arguments.questions:
        lines += sys.stdin.read().splitlines() if question == "-" else [question]
    if arguments.file is not None:
        try:
            lines += arguments.file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{arguments.file} can't be read: {error}") from error
    yield from (line.strip() for line in lines if line.strip())


def _solver(arguments: argparse.Namespace) -> Solver:
    import torch

    from rotlab.inference.sampling import Sampling
    from rotlab.inference.solver import Solver

    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda, but no GPU is visible: write --device cpu")
    return Solver.from_run(
        arguments.run, arguments.checkpoint, device=arguments.device, dtype=getattr(torch, arguments.dtype),
        slots=arguments.slots, memo=not arguments.no_memo, height=arguments.height, reach=arguments.reach,
        sampling=Sampling(arguments.temperature, arguments.top_k, arguments.seed),
    )  # fmt: skip


def as_dict(solution: Solution) -> dict[str, Any]:
    """A solution in plain containers; what a context asks is given by places in the list of contexts."""
    from rotlab.inference.solver import contexts_of
    from rotlab.vocab import notation

    nodes = contexts_of(solution.top)
    places = {node: place for place, node in enumerate(nodes)}
    figures = {name: value for name, value in vars(solution).items() if name != "top"}
    contexts = [
        {
            "context": notation(node.context or node.question),
            "answer": None if node.answer is None else notation(node.answer[:-1]),
            "failure": node.failure if node.settled else "given up",
            "asks": [places[asked.node] for asked in node.asks],
            "tail": node.tailed,
        }
        for node in nodes
    ]
    return {**figures, "recursion": contexts}


def _show(solution: Solution, method: str, arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from rotlab.cli.recursion_tree import plural, tree
    from rotlab.inference.frame import FAILURES

    # In a file or a pipe nothing is cut or wrapped.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 1_000_000)
    number = f" (sample {solution.sample})" if arguments.samples > 1 else ""
    if solution.failure is not None:
        verdict = f"[red]no answer: {solution.failure}[/], {FAILURES[solution.failure]}"
    else:
        verdict = f"[bold]{solution.answer}[/]  " + ("[green]right[/]" if solution.right else "[red]wrong[/]")
    console.print(f"{solution.question}{number} = {verdict}")
    if not arguments.quiet:
        console.print(tree(solution, method, arguments.most, console.width))
        written, other = solution.tokens, f"{solution.tokens_unaided:,} without"
        if arguments.no_memo:
            written, other = solution.tokens_unaided, f"{solution.tokens:,} with"
        contexts = plural(solution.contexts, "context" if not arguments.no_memo else "different context")
        console.print(
            f"[dim]{contexts}, {solution.depth:,} deep; {plural(written, 'token')} written, {other} a memo[/]"
        )
