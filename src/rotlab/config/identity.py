"""What makes two runs the same experiment, and the directory's name that follows from it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rotlab.config.schema import Config

# Keys that may differ between two runs of one experiment: labels, hardware, how a batch is cut, how often one
# looks and what is shown, places. They change the numbers of a step by rounding at most.
NOT_IDENTITY = (
    "architecture.paper_schedule",
    "architecture.group_overhead",
    "recipe.name",
    "recipe.accumulation",
    "data.workers",
    "data.tokens_per_pass",
    "evaluation.every_n_steps",
    "evaluation.probe_problems",
    "evaluation.probe_every_n_steps",
    "evaluation.tokens_per_batch",
    "evaluation.wrong_samples",
    "evaluation.free_running",
    "trainer.accelerator",
    "trainer.devices",
    "trainer.log_every_n_steps",
    "trainer.save_every_n_steps",
    "trainer.profiler",
    "trainer.progress",
    "trainer.threads",
    "trainer.compile",
    "logger",
    "runs_dir",
    "force",
)


def identity(config: Config) -> dict[str, Any]:
    """The plain configuration without the keys that don't change the result."""
    kept = config.to_dict()
    for key in NOT_IDENTITY:
        *sections, name = key.split(".")
        node = kept
        for section in sections:
            node = node[section]
        del node[name]
    if config.recipe.schedule == "halving":
        # Such a schedule looks no further than the step: a run of more steps is this run, gone on.
        del kept["recipe"]["max_steps"]
    return kept


def config_hash(config: Config) -> str:
    """Eight hex digits of the identity; equal for the same experiment however it was spelled."""
    return hashlib.sha256(json.dumps(identity(config), sort_keys=True).encode()).hexdigest()[:8]


def cell_name(config: Config) -> str:
    """What runs of several seeds have in common: add-4-rot-transformer."""
    return f"{config.task.name}-{config.difficulty}-{config.method.name}-{config.architecture.name}"


def run_name(config: Config) -> str:
    """A short, valid file name: add-4-rot-transformer-s0-1a2b3c4d."""
    return f"{cell_name(config)}-s{config.seed}-{config_hash(config)}"


def run_directory(config: Config) -> Path:
    """Where the run lives: its name under `runs_dir`, a leading ~ expanded."""
    return Path(config.runs_dir).expanduser() / run_name(config)
