"""Division with remainder (App. H.5): subtract while the quotient has one digit, else divide all but the last digit.

A worked trace:

    GO 76÷29= GO 76 VS 29= GT STOP GO 76 VS 290= LT STOP GO 76-29=47 STOP GO 47÷29=1 R 18 STOP 2 R 18 STOP
    GO 76 VS 29= GO 7 VS 2= GT STOP GT STOP
    ...
"""

from __future__ import annotations

from collections.abc import Iterator

from rotlab.compiled import compiled
from rotlab.rng import Draw
from rotlab.tasks.compare import GT, LT, VS
from rotlab.tasks.draws import log10_of_sum, log10_plus, log_uniform, put_log_uniform
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
    cursor,
    full,
    last,
    number,
    put,
    put_difference,
    put_next,
    put_number,
    put_product,
    put_span,
    put_sum,
    question,
    rewind,
    size,
    split,
    symbol_ids,
    token,
    without_last,
)  # fmt: skip
from rotlab.tasks.task import NUMBER, ProblemType, Task

OVER, R, MINUS = symbol_ids("÷ R -")


@compiled
def rule(v: View) -> int:
    """a ÷ b, b >= 1: quotient R remainder; base case: a <= b."""
    a, b = split(v, question(v), OVER)
    n = answers(v)
    if n == 0:
        return ask(v, a, VS, b)
    order = token(v, answer(v, 0))
    if order != GT:
        put(v, 0 if order == LT else 1)
        put(v, R)
        put_number(v, a if order == LT else Span(a.hi, a.hi))
        return ANSWER
    if n == 1:
        put_span(v, a)
        put(v, VS)
        put_span(v, b)
        put(v, 0)
        return ASK
    if token(v, answer(v, 1)) != GT:
        return _by_subtraction(v, a, b, n)
    return _by_digits(v, a, b, n)


@compiled
def _by_subtraction(v: View, a: Span, b: Span, n: int) -> int:
    """b < a <= 10b: one more than the quotient of a - b."""
    if n == 2:
        return ask(v, a, MINUS, b)
    if n == 3:
        return ask(v, answer(v, 2), OVER, b)
    quotient, remainder = split(v, answer(v, 3), R)
    put_next(v, quotient)
    put(v, R)
    put_span(v, remainder)
    return ANSWER


@compiled
def _by_digits(v: View, a: Span, b: Span, n: int) -> int:
    """a > 10b: divide all but the last digit, then the remainder followed by that digit."""
    if n == 2:
        return ask(v, without_last(a), OVER, b)
    quotient, remainder = split(v, answer(v, 2), R)
    if n == 3:
        remainder = number(v, remainder)
        put_span(v, remainder)
        put_span(v, last(a))
        put(v, OVER)
        put_span(v, b)
        return ASK
    put_span(v, quotient)
    put_span(v, answer(v, 3))
    return ANSWER


@compiled
def sample(v: View, draw: Draw, digits: int) -> None:
    """Divisor b, quotient c and remainder r, so that a = bc + r < 10^digits and every pair (a, b) is reachable."""
    b = log_uniform(v, draw, 1, digits, 3)
    if full(v):
        return
    bound = digits - log10_plus(v, b, 0)
    product = _draw_product(v, draw, b, digits, log10_of_sum(bound, 3))
    power = cursor(v)
    put(v, 1)
    for _ in range(digits):
        put(v, 0)
    room = put_difference(v, Span(power, cursor(v)), product)
    if full(v):
        return
    limit = b if compare(v, b, room) < 0 else room
    remainder = _draw_below(v, draw, limit)
    a = put_sum(v, product, remainder)
    if full(v):
        return
    begin_question(v)
    ask(v, a, OVER, b)


@compiled
def _draw_product(v: View, draw: Draw, b: Span, digits: int, upper: float) -> Span:
    """b * c for c from U_log(0, 10^digits / b, 3), accepted below 10^digits; empty when the arena is full."""
    start = cursor(v)
    while True:
        c = put_log_uniform(v, draw, 0, int(upper), upper - int(upper), 3)
        product = put_product(v, b, c)
        if full(v):
            return Span(0, 0)
        if size(number(v, product)) <= digits:
            return product
        rewind(v, start)


@compiled
def _draw_below(v: View, draw: Draw, limit: Span) -> Span:
    """A number from U_log(0, limit, 3), limit >= 1; empty when the arena is full."""
    upper = log10_plus(v, limit, 3)
    start = cursor(v)
    while True:
        drawn = put_log_uniform(v, draw, 0, int(upper), upper - int(upper), 3)
        if full(v):
            return Span(0, 0)
        if compare(v, drawn, limit) < 0:
            return drawn
        rewind(v, start)


def questions(digits: int) -> Iterator[str]:
    """Every question of at most `digits` digits."""
    return (f"{a}÷{b}" for a in range(10**digits) for b in range(1, 10**digits))


def _check(dividend: str, divisor: str) -> str | None:
    return "the divisor must not be 0" if divisor == "0" else None


TYPES = (
    ProblemType(
        "div", "÷", rule, symbols="÷ R", pattern=rf"{NUMBER}÷{NUMBER}", example="76÷29", asks=("compare", "sub"),
        check=_check,
    ),
)  # fmt: skip
TASK = Task(
    name="div",
    summary="division with remainder (App. H.5)",
    unit="digits",
    samplers={"log_uniform": sample},
    space=lambda digits: 10**digits * (10**digits - 1),
    questions=questions,
)
