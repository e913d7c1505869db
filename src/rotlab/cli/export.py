"""`rotlab export RUN TO`: a trained network to give to others."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `rotlab export`."""
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory or a checkpoint file")
    parser.add_argument("to", type=Path, metavar="TO", help="a directory to make, which solve and evaluate take as RUN")
    parser.add_argument("--checkpoint", choices=["last", "best"], default="last", help="of a directory (default: last)")
    parser.add_argument("--dtype", choices=["float16", "float32"], default="float16", help="of the weights in the file")


def run(arguments: argparse.Namespace) -> int:
    """Write the copy. Raises ValueError for what can't be read or written."""
    import torch

    from rotlab.models.trained import LAST, checkpoint_path, load_checkpoint
    from rotlab.training.checkpoint import save_checkpoint

    trained = load_checkpoint(arguments.run, arguments.checkpoint)
    path = checkpoint_path(arguments.to, LAST)
    if path.exists():
        raise ValueError(f"{path} is there already: name another directory")
    try:
        save_checkpoint(path, trained.config, trained.step, trained.backbone, dtype=getattr(torch, arguments.dtype))
    except OSError as error:
        raise ValueError(f"{path} can't be written: {error.strerror or error}") from error
    print(f"{path}: {trained.cell.name} {trained.cell.method}, step {trained.step:,}, {path.stat().st_size:,} bytes")
    return 0
