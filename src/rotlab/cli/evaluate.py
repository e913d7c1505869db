"""`rotlab evaluate RUN`: memoised evaluation (App. K) of a trained network, at its own difficulty or another."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotlab.data.test_set import ProblemSet
    from rotlab.evaluation import Evaluator, Report
    from rotlab.models.trained import Trained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab evaluate`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory or a checkpoint file")
    parser.add_argument("--problems", type=int, help="how many test problems (default: as many as the run's)")
    parser.add_argument("--difficulty", type=int, help="another difficulty than the trained one")
    parser.add_argument("--checkpoint", choices=["last", "best"], default="last", help="of a directory (default: last)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print what the evaluation finds. Raises ValueError for a run that can't be read or an impossible number."""
    from rotlab.data.test_set import problem_set
    from rotlab.evaluation import Evaluator
    from rotlab.models.trained import load_checkpoint

    trained = load_checkpoint(arguments.run, arguments.checkpoint)
    cell = trained.cell
    if arguments.difficulty is not None:
        cell = replace(cell, difficulty=arguments.difficulty)
    size = trained.config.data.test_problems if arguments.problems is None else arguments.problems
    if size < 1:
        raise ValueError("--problems must be at least 1")
    problems = problem_set(cell, size, trained.config.data.test_seed)
    evaluation = trained.config.evaluation
    report = judged(Evaluator(cell, problems, evaluation.tokens_per_batch, evaluation.wrong_samples), trained)
    if arguments.json:
        print(json.dumps(report.metrics()))
        return 0
    announce(report, problems, f"{cell.name} {cell.method}, step {trained.step:,}")
    return 0


def judged(evaluator: Evaluator, trained: Trained) -> Report:
    """The network's report, found on the GPU where there is one; tells on stderr how far it is."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    problems = len(evaluator.problems)
    print(f"judging some {evaluator.expected_contexts():,} contexts of {problems:,} problems", file=sys.stderr)

    def told(done: int) -> None:
        if done < problems:
            print(f"{done:,} of {problems:,} problems judged", file=sys.stderr)

    return evaluator.run(trained.backbone.to(device), device, told)


def announce(report: Report, problems: ProblemSet, what: str) -> None:
    """Print the figures and a few mistakes."""
    print(f"{what}: {len(problems):,} problems, hash {problems.content_hash}")
    for name, figure in report.metrics().items():
        print(f"{name:<28} {figure:,.0f}" if figure == int(figure) and figure > 1 else f"{name:<28} {figure:.4f}")
    if report.wrong_samples:
        print("the first wrong contexts, the mistake as [written|right]:")
    for sample in report.wrong_samples[:5]:
        print(f"wrong: {sample.context}")
