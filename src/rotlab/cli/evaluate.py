"""`rotlab evaluate RUN`: memoised evaluation (App. K) of a trained network, at its own difficulty or another."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotlab.data.cell import Cell
    from rotlab.data.test_set import ProblemSet
    from rotlab.evaluation import Report
    from rotlab.models.trained import Trained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab evaluate`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory or a checkpoint file")
    parser.add_argument("--problems", type=int, help="how many test problems (default: as many as the run's)")
    several = "other difficulties than the trained one; of several, a table shows how far the network carries"
    parser.add_argument("--difficulty", type=int, nargs="+", help=several)
    free = "also solve the problems by the network's own recursion: eval/free"
    parser.add_argument("--free-running", action="store_true", help=free)
    reach = "different sub-questions that a problem may take run free (default: three times the most by the rules)"
    parser.add_argument("--reach", type=int, help=reach)
    parser.add_argument("--checkpoint", choices=["last", "best"], default="last", help="of a directory (default: last)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print what the evaluation finds. Raises ValueError for a run that can't be read or an impossible number."""
    from rotlab.data.test_set import problem_set
    from rotlab.models.trained import load_checkpoint

    trained = load_checkpoint(arguments.run, arguments.checkpoint)
    size = trained.config.data.test_problems if arguments.problems is None else arguments.problems
    if size < 1:
        raise ValueError("--problems must be at least 1")
    if arguments.reach is not None and not arguments.free_running:
        raise ValueError("--reach is for --free-running: add it")
    difficulties = arguments.difficulty or [trained.cell.difficulty]
    cells = [replace(trained.cell, difficulty=difficulty) for difficulty in difficulties]
    rows = []
    for cell in cells:
        problems = problem_set(cell, size, trained.config.data.test_seed)
        report, figures = judged(trained, cell, problems, arguments.free_running, arguments.reach)
        rows.append((cell.difficulty, len(problems), figures))
        if arguments.json:
            print(json.dumps({"difficulty": cell.difficulty, "problems": len(problems), **figures}))
        elif len(cells) == 1:
            announce(report, figures, problems, _named(trained, cell.difficulty))
    if not arguments.json and len(cells) > 1:
        print(table(rows, _named(trained, trained.cell.difficulty)))
    return 0


def judged(
    trained: Trained, cell: Cell, problems: ProblemSet, free_running: bool, reach: int | None
) -> tuple[Report, dict[str, float]]:  # fmt: skip
    """The network's report and figures, found on the GPU where there is one; tells on stderr how far it is."""
    import torch

    from rotlab.evaluation import Evaluator
    from rotlab.inference.free_running import FreeRunner

    evaluation = trained.config.evaluation
    evaluator = Evaluator(cell, problems, evaluation.tokens_per_batch, evaluation.wrong_samples)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = trained.backbone.to(device)
    print(f"judging some {evaluator.expected_contexts():,} contexts of {len(problems):,} problems", file=sys.stderr)
    report = evaluator.run(network, device, partial(_tell, len(problems), "judged"))
    figures = report.metrics()
    if free_running:
        print(f"solving {len(problems):,} problems by recursion", file=sys.stderr)
        runner = FreeRunner(cell, problems, len(problems), reach=reach)
        figures |= runner.run(network, device, partial(_tell, len(problems), "solved")).metrics()
    return report, figures


def _named(trained: Trained, difficulty: int) -> str:
    elsewhere = f", at difficulty {difficulty}" if difficulty != trained.cell.difficulty else ""
    return f"{trained.cell.name} {trained.cell.method}, step {trained.step:,}{elsewhere}"


def _tell(problems: int, what: str, done: int) -> None:
    if done < problems:
        print(f"{done:,} of {problems:,} problems {what}", file=sys.stderr)


def table(rows: list[tuple[int, int, dict[str, float]]], what: str) -> str:
    """A row for each difficulty; of failures those that occur."""
    from rotlab.inference.frame import FAILURES

    shown = {"eval/problem": "problems", "eval/top": "top contexts", "eval/context": "contexts"}
    shown |= {"eval/free": "free-running"} if "eval/free" in rows[0][2] else {}
    reasons = {f"eval/free/{reason}": reason for reason in ("wrong", *FAILURES)}
    reasons = {key: name for key, name in reasons.items() if any(figures.get(key) for _, _, figures in rows)}
    lines = [f"{what}; shares right" + (", then what free-running ended in" if reasons else "")]
    lines.append("".join(f"{name:>14}" for name in ("difficulty", "tested", *shown.values(), *reasons.values())))
    for difficulty, tested, figures in rows:
        shares = "".join(f"{figures[key]:>14.4f}" for key in shown)
        counts = "".join(f"{figures[key]:>14,.0f}" for key in reasons)
        lines.append(f"{difficulty:>14}{tested:>14,}{shares}{counts}")
    return "\n".join(lines)


def announce(report: Report, figures: dict[str, float], problems: ProblemSet, what: str) -> None:
    """Print the figures and a few mistakes."""
    print(f"{what}: {len(problems):,} problems, hash {problems.content_hash}")
    for name, figure in figures.items():
        print(f"{name:<28} {figure:,.0f}" if figure == int(figure) and figure > 1 else f"{name:<28} {figure:.4f}")
    if report.wrong_samples:
        print("the first wrong contexts, the mistake as [written|right]:")
    for sample in report.wrong_samples[:5]:
        print(f"wrong: {sample.context}")
