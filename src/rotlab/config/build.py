"""From what Hydra composed, or a checkpoint kept, to the typed configuration."""

from __future__ import annotations

import re
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rotlab.config.checks import ConfigError, Section, field_kinds, unknown
from rotlab.config.schema import ArchitectureConfig, Config
from rotlab.tasks import TASKS


def from_hydra(composed: DictConfig) -> Config:
    """The typed configuration of a composed one, every interpolation resolved.

    Raises ConfigError naming the key that is missing, unknown, unresolvable or impossible.
    """
    try:
        for key in sorted(OmegaConf.missing_keys(composed)):
            raise ConfigError(f"{key} has no value: write {key}=VALUE")
        plain = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = error.full_key or "configuration"
        raise ConfigError(f"{key} can't be resolved: {first_line(error)}") from error
    assert isinstance(plain, dict)
    if (cell := plain.pop("cell", None)) is not None:
        task, plain["difficulty"] = cell_named(cell)
        plain["task"] = task
    return from_dict(plain)


def cell_named(cell: Any) -> tuple[dict[str, str], int]:
    """The task and the difficulty of a cell such as mul-4, or add-8-uniform with a sampling of its own."""
    match = re.fullmatch(r"([a-z][a-z_]*)-(\d+)(?:-([a-z_]+))?", cell) if isinstance(cell, str) else None
    if match is None:
        raise ConfigError(f"cell={cell}: write TASK-DIFFICULTY, such as mul-4, or add-8-uniform with a sampling")
    name, difficulty, sampling = match.groups()
    if name not in TASKS:
        raise ConfigError(unknown(f"cell={cell}: task", name, list(TASKS)))
    return {"name": name, "sampling": sampling or TASKS[name].samplings[0]}, int(difficulty)


def from_dict(plain: dict[Any, Any]) -> Config:
    """The inverse of `Config.to_dict`. Raises ConfigError as `from_hydra` does."""
    try:
        return _section(Config, plain)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _section(section: type[Section], node: Any) -> Any:
    if not isinstance(node, dict):
        raise ConfigError(f"{section.path} has no keys: choose what it is by name, as in {section.path}=NAME")
    kinds = field_kinds(section)
    if section is ArchitectureConfig:
        node = _with_shape(node, kinds)
    for name in node:
        if name not in kinds:
            known = [section.key(field) for field in kinds]
            raise ConfigError(unknown("key", section.key(str(name)), known))
    for name in kinds:
        if name not in node:
            raise ConfigError(f"{section.key(name)} has no value: write {section.key(name)}=VALUE")
    return section(**{name: _value(kind, node[name]) for name, kind in kinds.items()})


def _value(kind: Any, value: Any) -> Any:
    return _section(kind, value) if isinstance(kind, type) and issubclass(kind, Section) else value


def _with_shape(node: dict[str, Any], kinds: dict[str, Any]) -> dict[str, Any]:
    """The sizes that only this architecture has, gathered under `shape`."""
    fixed = {name: value for name, value in node.items() if name in kinds and name != "shape"}
    return {**fixed, "shape": {name: value for name, value in node.items() if name not in fixed}}


def first_line(error: BaseException) -> str:
    """The first line of a message of Hydra or OmegaConf, which says what is wrong; details follow it."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
