"""`rotlab dashboard`: a report and a workspace of a W&B project, made there or written down."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SECONDS = 10  # that W&B may take to answer at all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab dashboard`."""
    parser.description = (
        "Make a report and a workspace in a W&B project: accuracy by task, difficulty and method, learning curves, "
        "throughput, free-running against teacher-forced, wrong samples. Each call makes new ones. Without a key, with "
        "WANDB_MODE=offline, or where W&B can't be reached, the specification is printed as JSON instead. What is sent "
        "is tested; that W&B shows it as meant is not."
    )
    parser.add_argument("--project", required=True, help="the project, as in logger.wandb.project")
    parser.add_argument("--entity", default="", help="the user or team that has it (default: that of the key)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the specification there, and ask W&B nothing")


def run(arguments: argparse.Namespace) -> int:
    """Make the pages, or write them down. 1 if W&B was asked and failed.

    Raises ValueError for a project's name that can't be, a file that can't be written, no wandb-workspaces.
    """
    from rotlab.report.dashboard import dashboard

    written = dashboard(arguments.project, arguments.entity).specification()
    if arguments.out is not None:
        try:
            arguments.out.write_text(written, encoding="utf-8")
        except OSError as error:
            raise ValueError(f"{arguments.out} can't be written: {error.strerror or error}") from error
        print(f"{arguments.out}: a report and a workspace of {arguments.project}, not sent")
        return 0

    from rotlab.training.wandb_run import wandb_mode

    mode, reason = wandb_mode("auto")
    if mode == "online":
        try:
            print("\n".join(_made(arguments.project, arguments.entity)))
            return 0
        except Exception as error:  # wandb raises whatever its service process, sockets and parsers raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"W&B: nothing was made ({reason}); the specification:", file=sys.stderr)
    print(written, end="")
    return 1 if mode == "online" else 0


def _made(project: str, entity: str) -> tuple[str, str]:
    """The addresses of a new report and a new workspace."""
    import wandb

    from rotlab.report.dashboard import dashboard

    # Asks W&B whether it is there and the key is good, in less time than the pages would.
    api = wandb.Api(timeout=SECONDS)
    return dashboard(project, entity or api.default_entity or "").save()
