"""Comparison and equality (App. H.4, H.6), subroutines of other tasks.

Numbers of digits are compared at a glance; then first digits, then the rest without leading zeros. A worked trace:

    GO 153 VS 159= GO 1 VS 1= EQ STOP GO 53 VS 59= LT STOP LT STOP
    GO 1 VS 1= EQ STOP
    GO 53 VS 59= GO 5 VS 5= EQ STOP GO 3 VS 9= LT STOP LT STOP
    ...
"""

from __future__ import annotations

from rotlab.compiled import compiled
from rotlab.tasks.kit import (
    View,
    answer,
    answers,
    ask,
    compare,
    first,
    question,
    say_symbol,
    size,
    split,
    symbol_ids,
    token,
    without_first,
)  # fmt: skip
from rotlab.tasks.task import NUMBER, ProblemType

VS, LT, EQ, GT, COMMA, TRUE, FALSE = symbol_ids("VS LT EQ GT , TRUE FALSE")


@compiled
def rule(v: View) -> int:
    """left VS right: LT, EQ or GT."""
    left, right = split(v, question(v), VS)
    if size(left) != size(right) or size(left) == 1:
        order = compare(v, left, right)
        return say_symbol(v, LT if order < 0 else GT if order > 0 else EQ)
    n = answers(v)
    if n == 0:
        return ask(v, first(left), VS, first(right))
    if n == 1 and token(v, answer(v, 0)) == EQ:
        return ask(v, without_first(left), VS, without_first(right))
    return say_symbol(v, token(v, answer(v, n - 1)))


@compiled
def equal_rule(v: View) -> int:
    """EQUAL a , b of two digits: TRUE or FALSE."""
    left, right = split(v, without_first(question(v)), COMMA)
    return say_symbol(v, TRUE if token(v, left) == token(v, right) else FALSE)


TYPES = (
    ProblemType("compare", "VS", rule, symbols="VS LT EQ GT", pattern=rf"{NUMBER}VS{NUMBER}", example="153 VS 159"),
    ProblemType(
        "equal", "EQUAL", equal_rule, symbols="EQUAL , TRUE FALSE", pattern=r"EQUAL(\d),(\d)", example="EQUAL 3,4"
    ),
)
TASK = None
