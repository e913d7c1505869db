"""Sums and products of three numbers (App. H.9), subroutines of matrix chains: the first two, then a tail.

A worked trace:

    GO 3*9*5= GO 3*9=27 STOP TAIL 27*5= THINK
    GO 3*9=27 STOP
    GO 27*5= GO 7*5=35 STOP GO 2*5=10 STOP TAIL 100+35= THINK
    ...
"""

from __future__ import annotations

from rotlab.compiled import compiled
from rotlab.tasks.add import PLUS
from rotlab.tasks.kit import View, answer, answers, ask, ask_tail, question, split
from rotlab.tasks.mul import TIMES
from rotlab.tasks.task import NUMBER, ProblemType


@compiled
def _of_three(v: View, operator: int) -> int:
    a, others = split(v, question(v), operator)
    b, c = split(v, others, operator)
    if answers(v) == 0:
        return ask(v, a, operator, b)
    return ask_tail(v, answer(v, 0), operator, c)


@compiled
def add_rule(v: View) -> int:
    """a + b + c."""
    return _of_three(v, PLUS)


@compiled
def mul_rule(v: View) -> int:
    """a * b * c."""
    return _of_three(v, TIMES)


TYPES = (
    ProblemType(
        "ternary_add", "+", add_rule, symbols="+", pattern=rf"{NUMBER}\+{NUMBER}\+{NUMBER}", example="0+180+135",
        asks=("add",), twice=True,
    ),
    ProblemType(
        "ternary_mul", "*", mul_rule, symbols="*", pattern=rf"{NUMBER}\*{NUMBER}\*{NUMBER}", example="3*9*5",
        asks=("mul",), twice=True,
    ),
)  # fmt: skip
TASK = None
