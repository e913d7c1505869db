"""The typed configuration: plain to write down, exact to read back, strict about its keys."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from omegaconf import OmegaConf

from rotlab.config import Config, ConfigError, from_dict, from_hydra
from tests.config.compose import build, leaves


@pytest.fixture(scope="module")
def config() -> Config:
    return build()


def changed(config: Config, key: str, value: Any) -> dict[str, Any]:
    """The plain configuration with one key set, or added."""
    plain = config.to_dict()
    *sections, name = key.split(".")
    node = plain
    for section in sections:
        node = node[section]
    node[name] = value
    return plain


def test_it_is_frozen(config: Config) -> None:
    with pytest.raises(FrozenInstanceError):
        config.seed = 3  # type: ignore[misc]


@pytest.mark.parametrize("argv", [[], ["architecture=lstm", "recipe=fast", "logger.wandb.tags=[a,b]"]])
def test_to_dict_is_plain_and_comes_back(argv: list[str]) -> None:
    config = build(*argv)
    plain = config.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert {type(value) for value in leaves(plain).values()} <= {str, int, float, bool, list, type(None)}
    assert from_dict(plain) == config


def test_an_architecture_has_sizes_of_its_own() -> None:
    transformer, lstm = build().architecture, build("architecture=lstm").architecture
    assert transformer.shape == {"d_model": 128, "heads": 2, "feedforward": 256, "layers": 4}
    assert lstm.shape == {"embedding": 64, "hidden": 256, "layers": 4}
    assert (transformer.context_limit, lstm.context_limit) == (2048, 512)


def test_a_third_architecture_needs_no_change_here(config: Config) -> None:
    plain = config.to_dict()
    plain["architecture"] = {
        "name": "gru",
        "context_limit": 99,
        "group_overhead": {"cpu": 5, "gpu": 6},
        "width": 7,
        "paper_schedule": {"max_steps": 1, "halve_every": 1},
    }
    third = from_dict(plain)
    assert third.architecture.shape == {"width": 7}
    assert third.to_dict() == plain


def test_whole_numbers_become_floats_where_asked(config: Config) -> None:
    built = from_dict(changed(config, "recipe.learning_rate", 1))
    assert isinstance(built.recipe.learning_rate, float)
    assert isinstance(replace(config.recipe, gradient_clip=1).gradient_clip, float)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("difficulty", True, "difficulty=true: write a whole number"),
        ("seed", 1.0, "here seed=1"),
        ("recipe.max_steps", "20", "recipe.max_steps='20': write a whole number from 1 to 10^9, here"),
        ("recipe.learning_rate", math.nan, "write a number above 0"),
        ("recipe.betas", 0.9, "write a list of 2"),
        ("recipe.name", "Über/../fast", "write text that is a short name"),
        ("task.name", "gdc", "unknown task 'gdc'"),
        ("method.name", "tot", "unknown method 'tot'"),
        ("architecture.d_model", 1.5, "architecture.d_model=1.5: write a whole number"),
        ("architecture.heads", True, "architecture.heads=true: write a whole number"),
        ("evaluation.every", 3, "unknown key 'evaluation.every': did you mean evaluation.every_n_steps"),
        ("logger.wandb.projet", "x", "did you mean logger.wandb.project"),
        ("task", None, "task has no keys: choose what it is by name"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(config: Config, key: str, value: Any, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_dict(changed(config, key, value))
    assert says in str(refused.value)


def test_a_missing_key_is_named(config: Config) -> None:
    plain = config.to_dict()
    del plain["logger"]["wandb"]["mode"]
    with pytest.raises(ConfigError, match=r"logger\.wandb\.mode has no value"):
        from_dict(plain)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("???", "data.test_problems has no value: write data.test_problems=VALUE"),
        (
            "${nowhere.at_all}",
            "data.test_problems can't be resolved: Interpolation key 'nowhere.at_all' not found",
        ),
        ("${oc.env:ROTLAB_UNSET}", "data.test_problems can't be resolved: "),
        ("${data.test_problems}", "can't be resolved: "),
    ],
)
def test_everything_is_resolved_at_once(config: Config, value: str, says: str) -> None:
    composed = OmegaConf.create(changed(config, "data.test_problems", value))
    with pytest.raises(ConfigError) as refused:
        from_hydra(composed)
    assert says in str(refused.value)
