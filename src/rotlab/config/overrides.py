"""What a user typed, checked before Hydra composes it: Hydra itself would accept much that nobody meant.

It takes `+dificulty=3` for a new key, `08` and `'8'` for text, `1_000` for a number, and the list in
`task=[add,sub]` for its last name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_origin

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from hydra.errors import HydraException
from omegaconf import OmegaConf

from rotlab.config.build import cell_named
from rotlab.config.checks import (
    ConfigError,
    Section,
    checked,
    describe,
    field_kinds,
    listing,
    nearest,
    show,
    unknown,
)
from rotlab.config.command import Command, composed, parse, session
from rotlab.config.schema import ArchitectureConfig, Config, Size

_MOST_VALUES = 10_000  # of one sweep that are looked at; nobody launches more


def check_overrides(argv: list[str]) -> None:
    """Raise ConfigError for the first argument that can't be meant: its flag, key, sign, name or value.

    Overrides of Hydra's own settings and Hydra's flags are left to Hydra.
    """
    command = parse(argv)
    if command.completes:
        return
    with session(command):
        typed = [_Typed(text) for text in command.overrides if not _is_hydras(text)]
        groups = {group: command.options(group) for group in command.groups()}
        chosen = [item for item in typed if item.key in groups]
        for item in chosen:
            _check_choice(item, groups[item.key], command)
        _check_once(chosen)
        check_cell([item.key for item in typed])
        keys = _keys(command, chosen)
        for item in typed:
            if item not in chosen:
                _check_setting(item, keys, list(groups), command)


def _is_hydras(text: str) -> bool:
    return re.match(r"[+~]*hydra[./]", text) is not None


@dataclass
class _Typed:
    """One override: its sign (+, ++, ~ or none), key and raw value."""

    text: str

    def __post_init__(self) -> None:
        match = re.fullmatch(r"(\+\+|\+|~)?([^=]*)(=(.*))?", self.text, re.DOTALL)
        assert match is not None
        self.sign, self.key, assignment, self.raw = match[1] or "", match[2], match[3], match[4] or ""
        if not self.key or (assignment is None and self.sign != "~"):
            raise ConfigError(f"{self.text!r} is no setting: write KEY=VALUE without blanks, as difficulty=6")

    def parsed(self) -> Override:
        """As Hydra's grammar reads it, without the sign."""
        loader = GlobalHydra.instance().config_loader()
        try:
            return OverridesParser.create(loader).parse_overrides([f"{self.key}={self.raw}"])[0]
        except HydraException as error:
            lines = [line for line in str(error).splitlines() if line.strip(" ^") and "hydra.cc" not in line]
            reason = lines[-1]
            if reason.startswith("LexerNoViableAlt"):  # a character that is free within quotes only, such as ~
                reason = f"write \"{self.key}='{self.raw}'\", with both kinds of quotes"
            raise ConfigError(f"{self.text} can't be read: {reason}") from error

    def values(self, command: Command, kind: Any = None) -> list[Any]:
        """Every value that it stands for: one, or all of a sweep (none of a continuous one).

        kind: what the schema asks for, to tell somebody who meant a list how to write one.
        """
        override = self.parsed()
        if not override.is_sweep_override():
            return [override.value()]
        if not command.multirun:
            one = f", or write {self.key}=[{self.raw}] for a list" if get_origin(kind) is tuple else ""
            raise ConfigError(f"{self.text} gives several values: add --multirun for one run each{one}")
        if not override.is_discrete_sweep():
            return []
        values = list(islice(override.sweep_iterator(), _MOST_VALUES))
        if not values:
            raise ConfigError(f"{self.text} gives no value at all, and so no run")
        return [value.text if isinstance(value, QuotedString) else value for value in values]


def _check_sign(item: _Typed) -> None:
    if item.sign == "~":
        raise ConfigError(f"{item.text}: settings are never removed: leave it out, or write {item.key}=VALUE")
    if item.sign:
        raise ConfigError(f"{item.text}: settings are never added, only set: write {item.key}={item.raw}")


def _check_choice(item: _Typed, options: list[str], command: Command) -> None:
    """A group's name: one that there is, and one only."""
    _check_sign(item)
    if item.raw.startswith("["):
        names = item.raw.strip("[]")
        one = f"write {item.key}={names.split(',')[0]}, or -m {item.key}={names} for one run each"
        raise ConfigError(f"{item.text}: {item.key} takes one name: {one}")
    elsewhere = any(text.startswith("hydra.searchpath=") for text in command.overrides)
    for value in item.values(command):
        if value is None:
            names = listing(options)
            raise ConfigError(f"{item.text}: leave it out, or write {item.key}=NAME, one of {names}")
        if show(value) not in options and not elsewhere:
            raise ConfigError(unknown(item.key, show(value), options))


def _check_once(chosen: list[_Typed]) -> None:
    for item in chosen:
        same = [other.text for other in chosen if other.key == item.key]
        if len(same) > 1:
            raise ConfigError(f"{item.key} is chosen {len(same)} times ({', '.join(same)}): keep one")


def check_cell(keys: Iterable[str]) -> None:
    """Raise ConfigError where a cell is given beside what it says."""
    given = list(keys)
    beside = [key for key in given if key in ("task", "difficulty") or key.startswith("task.")]
    if "cell" in given and beside:
        raise ConfigError(f"cell says what {listing(beside, 'and')} would say again: give one or the other")


def _keys(command: Command, chosen: list[_Typed]) -> dict[str, bool]:
    """The keys that there are with every one of these choices, in order; true for a section of keys."""
    choices = {item.key: item.values(command) for item in chosen}
    first = {group: names[0] for group, names in choices.items() if names}
    others = [{**first, group: name} for group, names in choices.items() for name in names[1:]]
    found = [_flat(_unresolved(command, picked), "") for picked in (first, *others)]
    return {key: is_section for key, is_section in found[0].items() if all(key in keys for keys in found)}


def _unresolved(command: Command, picked: dict[str, Any]) -> dict[Any, Any]:
    config = composed(command, [f"{group}={name}" for group, name in picked.items()])
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    return plain


def _flat(node: dict[Any, Any], path: str) -> dict[str, bool]:
    keys: dict[str, bool] = {}
    for name, value in node.items():
        keys[f"{path}{name}"] = isinstance(value, dict)
        if isinstance(value, dict):
            keys.update(_flat(value, f"{path}{name}."))
    return keys


def _check_setting(item: _Typed, keys: dict[str, bool], groups: list[str], command: Command) -> None:
    """A single key: that it exists, and that each of its values is possible."""
    leaves = [key for key, is_section in keys.items() if not is_section]
    group, _, name = item.key.partition(".")
    if item.key not in keys:
        plain = "" if not item.sign else f"; settings are written without {item.sign!r}"
        raise ConfigError(f"{_unknown_key(item.key, leaves, groups)}{plain}")
    if group in groups and name == "name":
        raise ConfigError(f"{item.text}: write {group}={item.raw}, which brings what belongs to it")
    if keys[item.key]:
        inside = [key for key in leaves if key.startswith(f"{item.key}.")]
        raise ConfigError(f"{item.text}: {item.key} is a section: set its keys {listing(inside, 'and')}")
    _check_sign(item)
    kind = _kind(item.key)
    for value in item.values(command, kind):
        if "${" in show(value):
            continue  # resolved, and then checked, with the whole configuration
        if re.search(r"\d_\d", item.raw) and isinstance(value, (int, float)):
            meant = f"{item.key}={value}" if describe(kind)[:4] != "text" else f"\"{item.key}='{item.raw}'\""
            raise ConfigError(f"{item.text} would be read as the number {value}: write {meant}")
        if kind is not None:
            checked(item.key, value, kind)
        if item.key == "cell" and value is not None:
            cell_named(value)


def _unknown_key(key: str, leaves: list[str], groups: list[str]) -> str:
    group, at, _ = key.partition("@")
    if at and group in groups:
        return f"{key} can't be placed elsewhere: write {group}=NAME"
    candidates = leaves if "." in key else [*groups, *leaves]
    if nearest(key, candidates):
        return unknown("key", key, candidates)
    section = f"{key.rpartition('.')[0]}."
    inside = [leaf for leaf in leaves if leaf.startswith(section)] if section != "." else []
    top = [*groups, *(leaf for leaf in leaves if "." not in leaf)]
    return f"unknown key {key!r}: write one of {listing(inside or top)}; --cfg job shows all keys"


def _kind(key: str) -> Any:
    """What the schema says of a key; None where it says nothing."""
    kind: Any = Config
    for name in key.split("."):
        kinds = field_kinds(kind) if isinstance(kind, type) and issubclass(kind, Section) else {}
        if name not in kinds:
            return Size if kind is ArchitectureConfig else None
        kind = kinds[name]
    return kind
