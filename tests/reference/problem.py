"""What a problem type of the reference offers, and how numbers are spelled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

# Python refuses to convert more than 4,300 digits at once between int and str.
_CHUNK_DIGITS = 4000
_CHUNK = 10**_CHUNK_DIGITS


class Problem(ABC):
    """A problem type; its arguments are integers or (nested) tuples of integers, never tokens."""

    name: ClassVar[str]

    @staticmethod
    @abstractmethod
    def thought(args: Any) -> list[Thought]:
        """The direct sub-problems in the order in which they are asked (the paper's `thought`)."""

    @staticmethod
    @abstractmethod
    def question(args: Any) -> list[str]:
        """The symbols of the question, without the leading GO or TAIL and the final `=`."""

    @staticmethod
    @abstractmethod
    def answer(args: Any) -> list[str]:
        """The symbols of the answer, without the final STOP."""


class Thought(NamedTuple):
    """A sub-problem; `tail` says that its answer is the answer of the problem that asks it."""

    kind: type[Problem]
    args: Any
    tail: bool = False


def digits(number: int) -> list[str]:
    """The decimal digits of a non-negative integer of any size, most significant first."""
    if number < _CHUNK:
        return list(str(number))
    chunks: list[str] = []
    while number >= _CHUNK:
        number, low = divmod(number, _CHUNK)
        chunks.append(str(low).rjust(_CHUNK_DIGITS, "0"))
    return list("".join([str(number), *reversed(chunks)]))


def integer(text: str) -> int:
    """The integer spelled by a string of decimal digits of any length; '' is 0."""
    value = 0
    for start in range(0, len(text), _CHUNK_DIGITS):
        part = text[start : start + _CHUNK_DIGITS]
        value = value * 10 ** len(part) + int(part)
    return value


def joined(parts: list[list[str]], separator: str) -> list[str]:
    """The parts one after another, with a separator symbol between neighbours."""
    symbols: list[str] = []
    for index, part in enumerate(parts):
        if index:
            symbols.append(separator)
        symbols += part
    return symbols
