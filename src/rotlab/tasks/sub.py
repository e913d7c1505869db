"""Subtraction (App. H.2): the last digit always borrows 10; if it was needed, the left rest pays 1; then the rests.

A worked trace:

    GO 432-216= GO 12-6=6 STOP GO 43-1=42 STOP GO 42-21=21 STOP 216 STOP
    GO 12-6=6 STOP
    GO 43-1= GO 13-1=12 STOP 42 STOP
    ...
"""

from __future__ import annotations

from collections.abc import Iterator

from rotlab.compiled import compiled
from rotlab.rng import Draw
from rotlab.tasks.draws import log_uniform, uniform_number
from rotlab.tasks.kit import (
    ANSWER,
    ASK,
    Span,
    View,
    answer,
    answers,
    ask,
    begin_question,
    compare,
    full,
    last,
    number,
    put,
    put_span,
    question,
    say_int,
    size,
    split,
    symbol_ids,
    token,
    value,
    without_last,
)  # fmt: skip
from rotlab.tasks.task import NUMBER, ProblemType, Task, is_less

MINUS = symbol_ids("-")


@compiled
def rule(v: View) -> int:
    """left - right, left >= right; base case: left <= 19 and right <= 9."""
    left, right = split(v, question(v), MINUS)
    if size(right) == 1 and (size(left) == 1 or (size(left) == 2 and token(v, left) == 1)):
        return say_int(v, value(v, left) - token(v, right))
    n = answers(v)
    if n == 0:
        put(v, 1)
        put_span(v, last(left))
        put(v, MINUS)
        put_span(v, last(right))
        return ASK
    units = answer(v, 0)
    borrowed = size(units) == 1
    if borrowed and n == 1:
        put_span(v, without_last(left))
        put(v, MINUS)
        put(v, 1)
        return ASK
    rest = answer(v, 1) if borrowed else without_last(left)
    if size(right) > 1:
        if n == 1 + borrowed:
            return ask(v, rest, MINUS, without_last(right))
        rest = answer(v, n - 1)
    put_span(v, number(v, rest))
    put_span(v, last(units))
    return ANSWER


@compiled
def put_larger_first(v: View, a: Span, b: Span) -> None:
    """The question of the larger minus the smaller."""
    if full(v):
        return
    begin_question(v)
    if compare(v, a, b) < 0:
        ask(v, b, MINUS, a)
    else:
        ask(v, a, MINUS, b)


@compiled
def sample(v: View, draw: Draw, digits: int) -> None:
    """Both operands from U_log(0, 10^digits, 3), the larger first."""
    a = log_uniform(v, draw, 0, digits, 3)
    b = log_uniform(v, draw, 0, digits, 3)
    put_larger_first(v, a, b)


@compiled
def sample_uniform(v: View, draw: Draw, digits: int) -> None:
    """Both operands uniform, the larger first, as Tables 3 and 5 were almost surely made."""
    a = uniform_number(v, draw, digits)
    b = uniform_number(v, draw, digits)
    put_larger_first(v, a, b)


def questions(digits: int) -> Iterator[str]:
    """Every question of at most `digits` digits."""
    return (f"{left}-{right}" for left in range(10**digits) for right in range(left + 1))


def _check(left: str, right: str) -> str | None:
    return "the first operand must not be less than the second" if is_less(left, right) else None


TYPES = (ProblemType("sub", "-", rule, symbols="-", pattern=rf"{NUMBER}-{NUMBER}", example="432-216", check=_check),)
TASK = Task(
    name="sub",
    summary="subtraction, the larger number first (App. H.2)",
    unit="digits",
    samplers={"log_uniform": sample, "uniform": sample_uniform},
    space=lambda digits: 10**digits * (10**digits + 1) // 2,
    questions=questions,
)
