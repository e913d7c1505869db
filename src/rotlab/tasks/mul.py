"""Multiplication (App. H.3): by the last digit, by the rest, and a tail that adds the two.

A worked trace:

    GO 43*21= GO 43*1=43 STOP GO 43*2=86 STOP TAIL 860+43= THINK
    GO 43*1=43 STOP
    GO 43*2= GO 3*2=6 STOP GO 4*2=8 STOP TAIL 80+6= THINK
    ...
"""

from __future__ import annotations

from collections.abc import Iterator

from rotlab.compiled import compiled
from rotlab.rng import Draw
from rotlab.tasks.draws import log_uniform
from rotlab.tasks.kit import (
    ASK_TAIL,
    View,
    answer,
    answers,
    ask,
    begin_question,
    full,
    last,
    number,
    put,
    put_span,
    question,
    say_int,
    say_number,
    size,
    split,
    symbol_ids,
    token,
    without_last,
)  # fmt: skip
from rotlab.tasks.task import NUMBER, ProblemType, Task

TIMES, PLUS = symbol_ids("* +")


@compiled
def rule(v: View) -> int:
    """left * right; base cases: an operand is 0 or 1, or both have one digit."""
    left, right = split(v, question(v), TIMES)
    if size(left) == 1 and size(right) == 1:
        return say_int(v, token(v, left) * token(v, right))
    if size(left) == 1 and token(v, left) <= 1:
        return say_number(v, right) if token(v, left) == 1 else say_int(v, 0)
    if size(right) == 1 and token(v, right) <= 1:
        return say_number(v, left) if token(v, right) == 1 else say_int(v, 0)
    n = answers(v)
    if n < 2 and size(right) == 1:
        return ask(v, last(left) if n == 0 else without_last(left), TIMES, right)
    if n < 2:
        return ask(v, left, TIMES, last(right) if n == 0 else without_last(right))
    put_span(v, number(v, answer(v, 1)))
    put(v, 0)
    put(v, PLUS)
    put_span(v, answer(v, 0))
    return ASK_TAIL


@compiled
def sample(v: View, draw: Draw, digits: int) -> None:
    """Both operands from U_log(0, 10^digits, 3)."""
    left = log_uniform(v, draw, 0, digits, 3)
    right = log_uniform(v, draw, 0, digits, 3)
    if full(v):
        return
    begin_question(v)
    ask(v, left, TIMES, right)


def questions(digits: int) -> Iterator[str]:
    """Every question of at most `digits` digits."""
    return (f"{left}*{right}" for left in range(10**digits) for right in range(10**digits))


TYPES = (ProblemType("mul", "*", rule, symbols="*", pattern=rf"{NUMBER}\*{NUMBER}", example="34*5", asks=("add",)),)
TASK = Task(
    name="mul",
    summary="multiplication (App. H.3)",
    unit="digits",
    samplers={"log_uniform": sample},
    space=lambda digits: 10 ** (2 * digits),
    questions=questions,
)
