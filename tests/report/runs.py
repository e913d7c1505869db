"""Run directories as training leaves them, written by its own manifest, without a training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from rotlab.config import run_name
from rotlab.config.status import FINISHED
from rotlab.training.manifest import Manifest
from tests.config.compose import build

PROBLEMS = 1000
# Composing one takes a while, and tests share them.
_config = cache(build)


def make_run(
    folder: Path,
    *overrides: str,
    seed: int = 0,
    right: Sequence[int] = (500, 1000),
    status: str = FINISHED,
    name: str | None = None,
) -> Path:
    """A run of some steps that got so many of 1000 test problems right at its evaluations; its directory."""
    config = replace(_config(*overrides), seed=seed)
    manifest = Manifest.of(config)
    manifest.evaluations = [{"step": 100 * (i + 1), "right": one, "problems": PROBLEMS} for i, one in enumerate(right)]
    manifest.step, manifest.status = 100 * len(right), status
    directory = folder / (name or run_name(config))
    directory.mkdir(parents=True)
    manifest.write(directory)
    rows = [f"{100 * (i + 1)},eval/problem,{one / PROBLEMS!r}" for i, one in enumerate(right)]
    (directory / "metrics.csv").write_text("\n".join(["step,name,value", "50,train/loss,1.5", *rows]) + "\n")
    sample = {
        "step": 100, "type": "add", "question": "GO 8+1=", "expected": "9", "got": "<7>", "position": 5,
        "context": "GO 8+1=[<7>|9]",
    }  # fmt: skip
    (directory / "wrong_samples.jsonl").write_text(json.dumps(sample) + "\n")
    return directory
