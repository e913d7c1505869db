"""Longest palindromic subsequence (App. G.2.2, H.7): by both ends; a tie drops the last character.

A worked trace:

    GO LPS 1232= GO EQUAL 1,2= FALSE STOP GO LPS 123= 1;1 STOP GO LPS 232= 232;3 STOP GO 1 VS 3= LT STOP 232;3 STOP
    ...
    GO LPS 232= GO EQUAL 2,2= TRUE STOP GO LPS 3= 3;1 STOP GO 1+2=3 STOP 232;3 STOP
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from rotlab.compiled import compiled
from rotlab.rng import Draw, below
from rotlab.tasks.add import PLUS
from rotlab.tasks.compare import COMMA, LT, TRUE, VS
from rotlab.tasks.kit import (
    ANSWER,
    ASK,
    Span,
    View,
    answer,
    answers,
    ask,
    begin_question,
    first,
    last,
    put,
    put_span,
    question,
    size,
    split,
    symbol_ids,
    token,
    without_first,
    without_last,
)  # fmt: skip
from rotlab.tasks.task import ProblemType, Task

LPS, SEMICOLON, EQUAL = symbol_ids("LPS ; EQUAL")


@compiled
def rule(v: View) -> int:
    """LPS digits: palindrome ; length. Base cases: one character, or two after comparing them."""
    s = without_first(question(v))
    n = answers(v)
    if size(s) == 1:
        return _say(v, s, 1)
    if n == 0:
        put(v, EQUAL)
        put_span(v, first(s))
        put(v, COMMA)
        put_span(v, last(s))
        return ASK
    same = token(v, answer(v, 0)) == TRUE
    if size(s) == 2:
        return _say(v, s if same else first(s), 2 if same else 1)
    return _by_inner(v, s, n) if same else _by_shorter(v, s, n)


@compiled
def _say(v: View, palindrome: Span, length: int) -> int:
    put_span(v, palindrome)
    put(v, SEMICOLON)
    put(v, length)
    return ANSWER


@compiled
def _ask_lps(v: View, s: Span) -> int:
    put(v, LPS)
    put_span(v, s)
    return ASK


@compiled
def _by_inner(v: View, s: Span, n: int) -> int:
    """Equal ends: the palindrome between them, its length + 2."""
    if n == 1:
        return _ask_lps(v, without_first(without_last(s)))
    palindrome, length = split(v, answer(v, 1), SEMICOLON)
    if n == 2:
        put_span(v, length)
        put(v, PLUS)
        put(v, 2)
        return ASK
    put_span(v, first(s))
    put_span(v, palindrome)
    put_span(v, last(s))
    put(v, SEMICOLON)
    put_span(v, answer(v, 2))
    return ANSWER


@compiled
def _by_shorter(v: View, s: Span, n: int) -> int:
    """Unequal ends: the better one without the last and without the first character."""
    if n == 1:
        return _ask_lps(v, without_last(s))
    if n == 2:
        return _ask_lps(v, without_first(s))
    if n == 3:
        return ask(v, split(v, answer(v, 1), SEMICOLON)[1], VS, split(v, answer(v, 2), SEMICOLON)[1])
    put_span(v, answer(v, 2 if token(v, answer(v, 3)) == LT else 1))
    return ANSWER


@compiled
def sample(v: View, draw: Draw, length: int) -> None:
    """A sequence of `length` uniform digits."""
    begin_question(v)
    put(v, LPS)
    for _ in range(length):
        put(v, below(draw, 10))


def questions(length: int) -> Iterator[str]:
    """Every question of `length` digits."""
    return ("LPS" + "".join(digits) for digits in product("0123456789", repeat=length))


TYPES = (
    ProblemType(
        "lps", "LPS", rule, symbols="LPS ;", pattern=r"LPS(\d+)", example="LPS 41253261",
        asks=("equal", "compare", "add"),
    ),
)  # fmt: skip
TASK = Task(
    name="lps",
    summary="longest palindromic subsequence of a digit sequence (App. H.7)",
    unit="length",
    samplers={"uniform": sample},
    space=lambda length: 10**length,
    questions=questions,
)
