"""One experiment has one directory however it was spelled, and every change of the result has another."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rotlab.config import from_dict, run_directory, run_name
from rotlab.config.identity import NOT_IDENTITY
from tests.config.compose import build, leaves

# Another value for each key of the default configuration, and what else must change for it to be possible.
OTHER: dict[str, dict[str, object]] = {
    "task.name": {"task.name": "sub"},
    "task.sampling": {"task.sampling": "uniform"},
    "difficulty": {"difficulty": 5},
    "method.name": {"method.name": "wt"},
    "method.allow_overlong": {"method.allow_overlong": True},
    "architecture.name": {"architecture.name": "other"},
    "architecture.context_limit": {"architecture.context_limit": 512},
    "architecture.d_model": {"architecture.d_model": 64},
    "architecture.heads": {"architecture.heads": 4},
    "architecture.feedforward": {"architecture.feedforward": 64},
    "architecture.layers": {"architecture.layers": 2},
    "architecture.paper_schedule.max_steps": {"architecture.paper_schedule.max_steps": 9},
    "architecture.paper_schedule.halve_every": {"architecture.paper_schedule.halve_every": 9},
    "recipe.name": {"recipe.name": "mine"},
    "recipe.optimizer": {"recipe.optimizer": "adamw"},
    "recipe.learning_rate": {"recipe.learning_rate": 2e-3},
    "recipe.betas": {"recipe.betas": [0.9, 0.98]},
    "recipe.weight_decay": {"recipe.weight_decay": 0.1},
    "recipe.batch_size": {"recipe.batch_size": 128},
    "recipe.accumulation": {"recipe.accumulation": 2},
    "recipe.gradient_clip": {"recipe.gradient_clip": 1.0},
    "recipe.embedding_scale": {"recipe.embedding_scale": 0.5},
    "recipe.max_steps": {"recipe.max_steps": 9},
    "recipe.schedule": {
        "recipe.schedule": "warmup_decay",
        "recipe.halve_every": None,
        "recipe.warmup_steps": 0,
        "recipe.decay_to": 1.0,
    },
    "recipe.halve_every": {"recipe.halve_every": 9},
    "data.test_problems": {"data.test_problems": 9},
    "data.test_seed": {"data.test_seed": 2},
    "data.holdout": {"data.holdout": True},
    "data.workers": {"data.workers": 2},
    "architecture.group_overhead.cpu": {"architecture.group_overhead.cpu": 9},
    "architecture.group_overhead.gpu": {"architecture.group_overhead.gpu": 9},
    "data.tokens_per_pass": {"data.tokens_per_pass": 9},
    "data.overfit": {"data.overfit": True},
    "evaluation.every_n_steps": {"evaluation.every_n_steps": 9},
    "evaluation.stop_at": {"evaluation.stop_at": 0.9},
    "evaluation.probe_problems": {"evaluation.probe_problems": 9},
    "evaluation.probe_every_n_steps": {"evaluation.probe_every_n_steps": 9},
    "evaluation.tokens_per_batch": {"evaluation.tokens_per_batch": 9},
    "evaluation.wrong_samples": {"evaluation.wrong_samples": 9},
    "evaluation.free_running": {"evaluation.free_running": 9},
    "trainer.accelerator": {"trainer.accelerator": "cpu"},
    "trainer.devices": {"trainer.devices": 2},
    "trainer.precision": {"trainer.precision": "bf16"},
    "trainer.log_every_n_steps": {"trainer.log_every_n_steps": 9},
    "trainer.save_every_n_steps": {"trainer.save_every_n_steps": 9},
    "trainer.profiler": {"trainer.profiler": "simple"},
    "trainer.progress": {"trainer.progress": "plain"},
    "trainer.threads": {"trainer.threads": 2},
    "trainer.compile": {"trainer.compile": "code"},
    "logger.csv": {"logger.csv": False},
    "logger.wandb.enabled": {"logger.wandb.enabled": False},
    "logger.wandb.project": {"logger.wandb.project": "other"},
    "logger.wandb.group": {"logger.wandb.group": "other"},
    "logger.wandb.tags": {"logger.wandb.tags": ["other"]},
    "logger.wandb.mode": {"logger.wandb.mode": "offline"},
    "seed": {"seed": 1},
    "runs_dir": {"runs_dir": "elsewhere"},
    "force": {"force": True},
}
OF_ANOTHER_SCHEDULE = {"recipe.warmup_steps", "recipe.decay_to"}


@cache
def default() -> dict[str, Any]:
    """The plain default configuration, composed once; copy it before a change."""
    return build().to_dict()


def unimportant(key: str) -> bool:
    """Under recipe=paper, whose rate is halved, a run of more steps is the same run, gone on."""
    if key == "recipe.max_steps":
        return True
    return any(key == other or key.startswith(f"{other}.") for other in NOT_IDENTITY)


def with_keys(changes: dict[str, object]) -> str:
    """The run's name with these keys set in the default configuration."""
    plain = deepcopy(default())
    for key, value in changes.items():
        *sections, name = key.split(".")
        node = plain
        for section in sections:
            node = node[section]
        node[name] = value
    return run_name(from_dict(plain))


def test_each_key_is_decided_about() -> None:
    assert set(leaves(default())) == set(OTHER) | OF_ANOTHER_SCHEDULE


@pytest.mark.parametrize("key", OTHER)
def test_the_name_changes_where_the_result_does(key: str) -> None:
    assert (with_keys(OTHER[key]) == with_keys({})) == unimportant(key)


def test_one_experiment_however_it_is_spelled() -> None:
    same = ("recipe.max_steps=20", "recipe.learning_rate=0.0030")
    spelled = [
        build("experiment=quickstart", "recipe.max_steps=20", "recipe.learning_rate=3e-3"),
        build("task=add", "difficulty=4", "method=rot", "recipe=fast", *same),
        build("recipe=fast", "recipe.betas=[0.9,0.98]", *same),
        build("recipe=fast", "difficulty=${recipe.accumulation}", "recipe.accumulation=4", *same),
        build("experiment=quickstart", "trainer.devices=2", "data.workers=0", "logger.wandb.enabled=false", *same),
    ]
    assert len({run_name(config) for config in spelled}) == 1


def test_the_name_is_a_short_file_name() -> None:
    name = run_name(build("task=knapsack", "difficulty=10000", "architecture=lstm", "seed=4294967295"))
    assert re.fullmatch(r"knapsack-10000-rot-lstm-s4294967295-[0-9a-f]{8}", name)


def test_the_directory_lies_under_runs_dir() -> None:
    config = build("runs_dir=some/where")
    assert run_directory(config) == Path("some/where") / run_name(config)
    assert run_directory(build("runs_dir='~/runs'")).parent == Path.home() / "runs"
