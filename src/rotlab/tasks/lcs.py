"""Longest common subsequence (App. G.2.1, H.6): by the last characters; a tie keeps B whole and shortens A.

A worked trace:

    GO 123 LCS 234= GO EQUAL 3,4= FALSE STOP GO 12 LCS 234=2;1 STOP GO 123 LCS 23=23;2 STOP GO 1 VS 2= LT STOP
        23;2 STOP
    GO EQUAL 3,4= FALSE STOP
    GO 12 LCS 234= GO EQUAL 2,4= FALSE STOP GO 1 LCS 234= ;0 STOP GO 12 LCS 23= 2;1 STOP GO 0 VS 1= LT STOP 2;1 STOP
    ...
    GO 123 LCS 23= GO EQUAL 3,3= TRUE STOP GO 12 LCS 2= 2;1 STOP 23;2 STOP
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from rotlab.compiled import compiled
from rotlab.rng import Draw, below
from rotlab.tasks.compare import COMMA, LT, TRUE, VS
from rotlab.tasks.kit import (
    ANSWER,
    ASK,
    View,
    answer,
    answers,
    ask,
    begin_question,
    last,
    put,
    put_int,
    put_span,
    question,
    size,
    split,
    symbol_ids,
    token,
    value,
    without_last,
)  # fmt: skip
from rotlab.tasks.task import ProblemType, Task

LCS, SEMICOLON, EQUAL = symbol_ids("LCS ; EQUAL")


@compiled
def rule(v: View) -> int:
    """A LCS B: subsequence ; length. Base case: a side is empty."""
    a, b = split(v, question(v), LCS)
    n = answers(v)
    if size(a) == 0 or size(b) == 0:
        put(v, SEMICOLON)
        put(v, 0)
        return ANSWER
    if n == 0:
        put(v, EQUAL)
        put_span(v, last(a))
        put(v, COMMA)
        put_span(v, last(b))
        return ASK
    same = token(v, answer(v, 0)) == TRUE
    if n < 2 if same else n < 3:
        put_span(v, without_last(a) if same or n == 1 else a)
        put(v, LCS)
        put_span(v, without_last(b) if same or n == 2 else b)
        return ASK
    subsequence, length = split(v, answer(v, 1), SEMICOLON)
    if same:
        put_span(v, subsequence)
        put_span(v, last(a))
        put(v, SEMICOLON)
        put_int(v, value(v, length) + 1)
        return ANSWER
    if n == 3:
        return ask(v, length, VS, split(v, answer(v, 2), SEMICOLON)[1])
    put_span(v, answer(v, 2 if token(v, answer(v, 3)) == LT else 1))
    return ANSWER


@compiled
def sample(v: View, draw: Draw, length: int) -> None:
    """Two sequences of `length` uniform digits."""
    begin_question(v)
    for _ in range(length):
        put(v, below(draw, 10))
    put(v, LCS)
    for _ in range(length):
        put(v, below(draw, 10))


def questions(length: int) -> Iterator[str]:
    """Every question of two sequences of `length` digits."""
    sequences = ["".join(digits) for digits in product("0123456789", repeat=length)]
    return (f"{a}LCS{b}" for a in sequences for b in sequences)


TYPES = (
    ProblemType(
        "lcs", "LCS", rule, symbols="LCS ;", pattern=r"(\d*)LCS(\d*)", example="1234 LCS 2468",
        asks=("equal", "compare"),
    ),
)  # fmt: skip
TASK = Task(
    name="lcs",
    summary="longest common subsequence of two digit sequences (App. H.6)",
    unit="length",
    samplers={"uniform": sample},
    space=lambda length: 10 ** (2 * length),
    questions=questions,
)
