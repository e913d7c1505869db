"""Questions as one writes them on a command line, to problems and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.reference.arithmetic import Add, Compare, Div, Mul, Sub, TernaryAdd, TernaryMul
from tests.reference.optimisation import MCM, Group, Knapsack, MCMFrom, Order
from tests.reference.problem import Problem, integer
from tests.reference.sequences import LCS, LPS, Equal, Merge, MergeSort

Parsed = tuple[type[Problem], Any]

_BINARY: dict[str, type[Problem]] = {"+": Add, "-": Sub, "*": Mul, "/": Div, "÷": Div, "VS": Compare}
_TERNARY: dict[str, type[Problem]] = {"+": TernaryAdd, "*": TernaryMul}


def parse(question: str) -> Parsed:
    """The problem type and arguments of a question of any type, with or without GO and `=`."""
    text = re.sub(r"\s|GO|=", "", question)
    if "LCS" in text:
        left, right = text.split("LCS")
        return LCS, (_numbers(list(left)), _numbers(list(right)))
    word = re.match(r"[A-Z]+", text)
    if word is not None:
        return _WORDS[word[0]](text[word.end() :])
    first, *rest = re.split(r"([-+*/÷]|VS)", text)
    operator, numbers = rest[0], (integer(first), *map(integer, rest[1::2]))
    return (_BINARY if len(numbers) == 2 else _TERNARY)[operator], numbers


def notation(symbols: list[str]) -> str:
    """A question's symbols (`GO 7 ÷ 3 =`) as the samplers here write it (`7/3`)."""
    words = [f" {symbol} " if symbol.isalpha() else symbol for symbol in symbols if symbol not in ("GO", "=")]
    return "".join(words).replace("÷", "/").replace("×", "x").strip()


def _numbers(texts: list[str]) -> tuple[int, ...]:
    return tuple(map(integer, texts))


def _pair(text: str, separator: str) -> tuple[int, int]:
    first, second = re.split(separator, text)
    return integer(first), integer(second)


def _merge(text: str) -> Parsed:
    left, right = text.split("SEP")
    return Merge, (_numbers(left.split(",")), _numbers(right.split(",")))


def _knapsack(text: str) -> Parsed:
    items, capacity = text.split("@")
    return Knapsack, (tuple(_pair(item, "&") for item in items.split(",")), integer(capacity))


def _matrices(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(_pair(matrix, "[x×]") for matrix in text.split(","))


def _mcm(text: str) -> Parsed:
    if "ACC" not in text:
        return MCM, _matrices(text)
    sides, best = text.split("ACC")
    left, right = sides.split("|")
    order, cost = best.split(";")
    return MCMFrom, (_matrices(left), _matrices(right), _order(order), integer(cost))


def _order(text: str) -> Order:
    """An order of multiplication: `4x2`, or two groups around the one comma outside all parentheses."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            left, right = text[:index], text[index + 1 :]
            return Group(*(_order(side[1:-1] if side[0] == "(" else side) for side in (left, right)))
    return _pair(text, "[x×]")


_WORDS: dict[str, Callable[[str], Parsed]] = {
    "LPS": lambda text: (LPS, _numbers(list(text))),
    "KNAPSACK": _knapsack,
    "MCM": _mcm,
    "SORT": lambda text: (MergeSort, _numbers(text.split(","))),
    "EQUAL": lambda text: (Equal, _numbers(text.split(","))),
    "MERGE": _merge,
}
