"""The `rotlab` command. Each subcommand is one file, imported only when it is called: `contexts` needs no torch."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib import import_module

# name -> what it does; rotlab/cli/NAME.py has `add_arguments(parser)` and `run(arguments) -> int`.
COMMANDS = {
    "contexts": "print the contexts of a question: X^1, X^2, ... in order of creation",
    "sample": "print random problems of a task, as in Table 1 of the paper",
    "list": "list tasks, methods, architectures and recipes",
    "train": "train a network; takes the same overrides as train.py",
    "solve": "answer questions by the recursion of a trained network, and show it",
    "evaluate": "judge a trained network on a test set",
    "dashboard": "make a report and a workspace in a W&B project, or write them down",
    "report": "collect runs into tables, figures and a page, beside the paper's accuracies",
    "export": "copy a trained network without what resuming needs, in half the space",
    "bench": "measure how fast this machine makes data and evaluates",
    "warm": "compile everything once, so that later starts are fast",
}


def main(argv: list[str] | None = None) -> int:
    """Run a subcommand; the exit code. A ValueError, a user's mistake, is one line on standard error and code 2."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["train"]:
        return int(import_module("rotlab.cli.train").run_overrides(arguments[1:]))
    parser = argparse.ArgumentParser(prog="rotlab", description="Recursion of Thought experiments.")
    parser.add_argument("-V", "--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if arguments[:1] == [name]:
            import_module(f"rotlab.cli.{name}").add_arguments(sub)
    parsed = parser.parse_args(arguments)
    try:
        return int(import_module(f"rotlab.cli.{parsed.command}").run(parsed))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader (head, less) has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _version() -> str:
    from rotlab import __version__

    return f"rotlab {__version__}"
