"""Merge sort (App. G.2.5, H.11): sort both halves, then a tail merges them; equal heads take the right one.

A worked trace:

    GO SORT 7,3,5= GO SORT 7,3= 3,7 STOP GO SORT 5= 5 STOP TAIL MERGE 3,7 SEP 5= THINK
    GO SORT 7,3= GO SORT 7= 7 STOP GO SORT 3= 3 STOP TAIL MERGE 7 SEP 3= THINK
    GO SORT 7= 7 STOP
    GO SORT 3= 3 STOP
    GO MERGE 7 SEP 3= GO 7 VS 3= GT STOP 3,7 STOP
    ...
    GO MERGE 3,7 SEP 5= GO 3 VS 5= LT STOP GO MERGE 7 SEP 5= 5,7 STOP 3,5,7 STOP
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from rotlab.compiled import compiled
from rotlab.rng import Draw, below
from rotlab.tasks.compare import COMMA, LT, VS
from rotlab.tasks.draws import log_uniform
from rotlab.tasks.kit import (
    ANSWER,
    ASK,
    ASK_TAIL,
    Span,
    View,
    answer,
    answers,
    ask,
    begin_question,
    count,
    put,
    put_span,
    question,
    size,
    split,
    symbol_ids,
    token,
    without_first,
)  # fmt: skip
from rotlab.tasks.task import ProblemType, Task

SORT, MERGE, SEP = symbol_ids("SORT MERGE SEP")


@compiled
def rule(v: View) -> int:
    """SORT terms: the terms in order. Base case: one term. The left half takes the odd one."""
    terms = without_first(question(v))
    commas = count(v, terms, COMMA)
    if commas == 0:
        put_span(v, terms)
        return ANSWER
    n = answers(v)
    if n == 2:
        put(v, MERGE)
        put_span(v, answer(v, 0))
        put(v, SEP)
        put_span(v, answer(v, 1))
        return ASK_TAIL
    middle = terms.lo
    for _ in range((commas + 2) // 2):
        while v.text[middle] != COMMA:
            middle += 1
        middle += 1
    put(v, SORT)
    put_span(v, Span(terms.lo, middle - 1) if n == 0 else Span(middle, terms.hi))
    return ASK


@compiled
def merge_rule(v: View) -> int:
    """MERGE terms SEP terms: by the heads, while neither side runs out."""
    left, right = split(v, without_first(question(v)), SEP)
    left_head, left_rest = split(v, left, COMMA)
    right_head, right_rest = split(v, right, COMMA)
    n = answers(v)
    if n == 0:
        return ask(v, left_head, VS, right_head)
    from_left = token(v, answer(v, 0)) == LT
    if n == 1 and size(left_rest if from_left else right_rest) > 0:
        put(v, MERGE)
        put_span(v, left_rest if from_left else left)
        put(v, SEP)
        put_span(v, right if from_left else right_rest)
        return ASK
    put_span(v, left_head if from_left else right_head)
    put(v, COMMA)
    put_span(v, answer(v, 1) if n == 2 else right if from_left else left)
    return ANSWER


@compiled
def sample(v: View, draw: Draw, most: int) -> None:
    """Between 2 and `most` terms, each from U_log(0, 1000, 5)."""
    begin_question(v)
    put(v, SORT)
    for i in range(2 + below(draw, most - 1)):
        if i > 0:
            put(v, COMMA)
        log_uniform(v, draw, 0, 3, 5)


def questions(most: int) -> Iterator[str]:
    """Every question of 2 to `most` terms."""
    for terms in range(2, most + 1):
        for numbers in product(range(1000), repeat=terms):
            yield "SORT" + ",".join(map(str, numbers))


_TERMS = r"((?:\d+,)*\d+)"


def _check(*sides: str) -> str | None:
    terms = [term for side in sides for term in side.split(",")]
    return "a term must not start with 0" if any(len(term) > 1 and term[0] == "0" for term in terms) else None


def _check_merge(left: str, right: str) -> str | None:
    for side in (left, right):
        terms = [(len(term), term) for term in side.split(",")]
        if terms != sorted(terms):
            return "both sides must be in order"
    return _check(left, right)


TYPES = (
    ProblemType(
        "sort", "SORT", rule, symbols="SORT ,", pattern=f"SORT{_TERMS}", example="SORT 139,160,41",
        asks=("merge",), check=_check,
    ),
    ProblemType(
        "merge", "MERGE", merge_rule, symbols="MERGE SEP ,", pattern=f"MERGE{_TERMS}SEP{_TERMS}",
        example="MERGE 3,7 SEP 5", asks=("compare",), check=_check_merge,
    ),
)  # fmt: skip
TASK = Task(
    name="sort",
    summary="merge sort of numbers below 1,000 (App. H.11)",
    unit="terms",
    samplers={"log_uniform": sample},
    space=lambda most: sum(1000**terms for terms in range(2, most + 1)),
    questions=questions,
    min_difficulty=2,
)
