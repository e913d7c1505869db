"""Addition (App. H.1): last digits first, then the carry, then the rest.

The carry is added to the left rest, even to 0. A worked trace:

    GO 317+65= GO 7+5=12 STOP GO 31+1=32 STOP GO 32+6=38 STOP 382 STOP
    GO 7+5=12 STOP
    GO 31+1= GO 1+1=2 STOP 32 STOP
    ...
"""

from __future__ import annotations

from collections.abc import Iterator

from rotlab.compiled import compiled
from rotlab.rng import Draw
from rotlab.tasks.draws import log_uniform, uniform_number
from rotlab.tasks.kit import (
    ANSWER,
    View,
    answer,
    answers,
    ask,
    begin_question,
    first,
    full,
    last,
    put_span,
    question,
    say_int,
    size,
    split,
    symbol_ids,
    token,
    without_last,
)  # fmt: skip
from rotlab.tasks.task import NUMBER, ProblemType, Task

PLUS = symbol_ids("+")


@compiled
def rule(v: View) -> int:
    """left + right: the last digits; with a carry, left rest + 1; the rests, unless one is 0."""
    left, right = split(v, question(v), PLUS)
    if size(left) == 1 and size(right) == 1:
        return say_int(v, token(v, left) + token(v, right))
    n = answers(v)
    if n == 0:
        return ask(v, last(left), PLUS, last(right))
    units = answer(v, 0)
    carry = size(units) == 2
    if carry and n == 1:
        return ask(v, without_last(left), PLUS, first(units))
    left_rest = answer(v, 1) if carry else without_last(left)
    right_rest = without_last(right)
    if size(left_rest) > 0 and size(right_rest) > 0:
        if n == 1 + carry:
            return ask(v, left_rest, PLUS, right_rest)
        put_span(v, answer(v, n - 1))
    else:
        put_span(v, left_rest if size(left_rest) > 0 else right_rest)
    put_span(v, last(units))
    return ANSWER


@compiled
def sample(v: View, draw: Draw, digits: int) -> None:
    """Both operands from U_log(0, 10^digits, 3), as Table 1 shows."""
    left = log_uniform(v, draw, 0, digits, 3)
    right = log_uniform(v, draw, 0, digits, 3)
    if full(v):
        return
    begin_question(v)
    ask(v, left, PLUS, right)


@compiled
def sample_uniform(v: View, draw: Draw, digits: int) -> None:
    """Both operands uniform, as Tables 3 and 5 were almost surely made."""
    left = uniform_number(v, draw, digits)
    right = uniform_number(v, draw, digits)
    if full(v):
        return
    begin_question(v)
    ask(v, left, PLUS, right)


def questions(digits: int) -> Iterator[str]:
    """Every question of at most `digits` digits."""
    return (f"{left}+{right}" for left in range(10**digits) for right in range(10**digits))


TYPES = (ProblemType("add", "+", rule, symbols="+", pattern=rf"{NUMBER}\+{NUMBER}", example="408+351"),)
TASK = Task(
    name="add",
    summary="addition of two numbers (App. H.1)",
    unit="digits",
    samplers={"log_uniform": sample, "uniform": sample_uniform},
    space=lambda digits: 10 ** (2 * digits),
    questions=questions,
)
