"""What a value may be, written as a type, and the one-line error that names what to write instead."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints


class ConfigError(ValueError):
    """A setting that can't be used. The message is one line that says what to write instead."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class DoesNotFit(ConfigError):
    """Contexts of a cell are longer than the window."""


class RunFailed(RuntimeError):
    """A run that can't go on. The message is one line that says why and what to do; its state is in its directory."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


# No count of anything here is larger.
MOST = 10**9


@dataclass(frozen=True)
class Bounds:
    """low <= value <= high; with `above` low itself is excluded, with `below` high is."""

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def admit(self, value: float) -> bool:
        low = value > self.low if self.above else value >= self.low
        return low and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"above {self.low}" if self.above else f"of at least {self.low}"
        if self.high == MOST:
            return f"from {self.low} to 10^9"
        if self.above:
            return f"above {self.low} and at most {self.high}"
        return f"from {self.low} to {'below ' if self.below else ''}{self.high}"


@dataclass(frozen=True)
class Spelling:
    """Text that matches `pattern` as a whole; `meaning` says in words what that is."""

    pattern: str
    meaning: str

    def admit(self, value: str) -> bool:
        return re.fullmatch(self.pattern, value) is not None

    def __str__(self) -> str:
        return f"that is {self.meaning}"


Count = Annotated[int, Bounds(1, MOST)]
Natural = Annotated[int, Bounds(0, MOST)]
Positive = Annotated[float, Bounds(0, above=True)]
NonNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
Beta = Annotated[float, Bounds(0, 1, below=True)]
Filled = Annotated[str, Spelling(r"(?s).*\S.*", "not empty")]
Name = Annotated[str, Spelling(r"[a-z][a-z0-9_-]{0,39}", "a short name of a-z, 0-9, '_' and '-'")]


class _Mismatch(Exception):
    """The value isn't of the kind; never leaves this file."""


class Section:
    """A frozen dataclass of settings, each checked against its annotation; ints become floats where asked.

    `path` is where the section stands in the configuration, "" at its root. `check` holds what concerns
    several fields at once.
    """

    path: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, kind in field_kinds(type(self)).items():
            object.__setattr__(self, name, checked(self.key(name), getattr(self, name), kind))
        self.check()

    def check(self) -> None:
        """Raise ConfigError where fields contradict each other."""

    @classmethod
    def key(cls, name: str) -> str:
        """The full key of a field, as one writes it on the command line."""
        return f"{cls.path}.{name}" if cls.path else name


def field_kinds(section: type[Any]) -> dict[str, Any]:
    """The fields of a dataclass, each with its resolved annotation."""
    hints = get_type_hints(section, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(section)}


def checked(key: str, value: Any, kind: Any) -> Any:
    """`value` as `kind` wants it; ConfigError naming `key` and what to write instead, if it isn't one."""
    try:
        return _match(value, kind)
    except _Mismatch:
        raise ConfigError(f"{key}={show(value)}: write {describe(kind)}{_hint(key, value, kind)}") from None


def _match(value: Any, kind: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        value = _match(value, arguments[0])
        return _require(value, all(rule.admit(value) for rule in arguments[1:]))
    if origin in (Union, UnionType):
        return _match_any(value, arguments)
    if origin is Literal:
        return _require(value, any(value == option and type(value) is type(option) for option in arguments))
    if origin is tuple:
        return _match_tuple(value, arguments)
    if origin is dict:
        return dict(_require(value, isinstance(value, dict)))  # its section knows its keys, and checks them
    if kind is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        return float(_require(value, number))
    if kind is str and isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # runs_dir=2024 reaches us as a number
    return _require(value, isinstance(value, kind) and not (kind is int and isinstance(value, bool)))


def _require(value: Any, good: bool) -> Any:
    if not good:
        raise _Mismatch
    return value


def _match_any(value: Any, kinds: tuple[Any, ...]) -> Any:
    for kind in kinds:
        try:
            return _match(value, kind)
        except _Mismatch:
            continue
    raise _Mismatch


def _match_tuple(value: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    _require(value, isinstance(value, (list, tuple)))
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    _require(value, len(value) == len(kinds))
    return tuple(_match(item, kind) for item, kind in zip(value, kinds, strict=True))


def describe(kind: Any) -> str:
    """`kind` in words, to follow "write "."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return " ".join([describe(arguments[0]), *map(str, arguments[1:])])
    if origin in (Union, UnionType):
        return listing([describe(kind) for kind in arguments])
    if origin is Literal:
        return listing([show(option) for option in arguments])
    if origin is tuple and arguments[-1] is Ellipsis:
        return f"a list, [A,B,...], each {describe(arguments[0])}"
    if origin is tuple:
        places = ",".join("ABCDEFGH"[: len(arguments)])
        return f"a list of {len(arguments)}, [{places}], each {describe(arguments[0])}"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false", NoneType: "null"}
    return words.get(kind, "a section of keys")


def _hint(key: str, value: Any, kind: Any) -> str:
    """What the user probably meant: the number within a text, a whole number written as 1e5."""
    if isinstance(value, str):
        guess: Any = _number_in(value)
    else:
        guess = int(value) if isinstance(value, float) and value.is_integer() else None
    if guess is None:
        return ""
    try:
        return f", here {key}={show(_match(guess, kind))}"
    except _Mismatch:
        return ""


def _number_in(text: str) -> float | None:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return None


def show(value: Any) -> str:
    """`value` as one writes it on the command line; text that looks like a number in quotes."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, str):
        return f"'{value}'" if not value or _number_in(value) is not None else value
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(show, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{show(item)}' for key, item in value.items())}}}"
    return str(value)


def listing(names: Iterable[str], last: str = "or") -> str:
    """'a, b or c'."""
    *rest, final = list(names)
    return f"{', '.join(rest)} {last} {final}" if rest else final


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Those of `names` that somebody who wrote `name` may have meant, the likeliest first."""
    known = list(names)
    tail = name.rpartition(".")[2]
    by_tail = {key.rpartition(".")[2]: key for key in known}
    same_tail = [key for key in known if key.rpartition(".")[2] == tail]
    same_tail.sort(key=lambda key: key.count("."))
    whole = difflib.get_close_matches(name, known, n=3, cutoff=0.7)
    tails = [by_tail[match] for match in difflib.get_close_matches(tail, by_tail, n=2, cutoff=0.75)]
    return list(dict.fromkeys([*same_tail, *whole, *tails]))[:3]


def unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """The line for a name that isn't among `names`: the nearest ones, or all of them."""
    known = list(names)
    near = nearest(name, known)
    choose = f"did you mean {listing(near)}?" if near else ""
    if not near or len(known) <= 12:
        choose = f"{choose} choose {listing(known)}".strip()
    return f"unknown {kind} {name!r}: {choose}"
