"""Matrix chain multiplication (App. G.2.4, H.10): every split in turn, the best so far handed on in a tail.

A question is the matrices, or a split L | R with the best order and cost of the splits before it. A worked trace:

    GO MCM 3×9,9×4,4×5= GO MCM 3×9= 3×9;0 STOP GO MCM 9×4,4×5= 9×4,4×5;180 STOP GO 3*9*5=135 STOP GO 0+180+135=315 STOP
        TAIL MCM 3×9,9×4|4×5 ACC 3×9,(9×4,4×5);315= THINK
    ...
    GO MCM 3×9,9×4|4×5 ACC 3×9,(9×4,4×5);315= GO MCM 3×9,9×4= 3×9,9×4;108 STOP GO MCM 4×5= 4×5;0 STOP
        GO 3*4*5=60 STOP GO 108+0+60=168 STOP GO 168 VS 315= LT STOP (3×9,9×4),4×5;168 STOP
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from rotlab.compiled import compiled
from rotlab.rng import Draw
from rotlab.tasks.add import PLUS
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
    find,
    full,
    last,
    put,
    put_span,
    question,
    size,
    split,
    symbol_ids,
    token,
    without_first,
)  # fmt: skip
from rotlab.tasks.mul import TIMES
from rotlab.tasks.task import ProblemType, Task

MCM, BY, OPEN, CLOSE, SEMICOLON, BAR, ACC = symbol_ids("MCM × ( ) ; | ACC")


@compiled
def rule(v: View) -> int:
    """MCM matrices, or MCM L | R ACC order ; cost: best order ; cost. Base case: a single matrix."""
    asked, best = split(v, without_first(question(v)), ACC)
    first_split = size(best) == 0
    left, right = split(v, asked, COMMA if first_split else BAR)
    if size(right) == 0:
        put_span(v, asked)
        put(v, SEMICOLON)
        put(v, 0)
        return ANSWER
    n = answers(v)
    if n < 2:
        put(v, MCM)
        put_span(v, left if n == 0 else right)
        return ASK
    if n == 2:
        return _ask_product(v, left, right)
    _, left_cost = split(v, answer(v, 0), SEMICOLON)
    _, right_cost = split(v, answer(v, 1), SEMICOLON)
    if n == 3:
        return _ask_three(v, left_cost, right_cost, answer(v, 2), PLUS)
    if n == 4 and not first_split:
        return ask(v, answer(v, 3), VS, split(v, best, SEMICOLON)[1])
    better = first_split or token(v, answer(v, 4)) == LT
    following, rest = split(v, right, COMMA)
    if size(rest) == 0:
        _put_best(v, best, better)
        return ANSWER
    put(v, MCM)
    put_span(v, left)
    put(v, COMMA)
    put_span(v, following)
    put(v, BAR)
    put_span(v, rest)
    put(v, ACC)
    _put_best(v, best, better)
    return ASK_TAIL


@compiled
def _ask_three(v: View, a: Span, b: Span, c: Span, operator: int) -> int:
    put_span(v, a)
    put(v, operator)
    put_span(v, b)
    put(v, operator)
    put_span(v, c)
    return ASK


@compiled
def _ask_product(v: View, left: Span, right: Span) -> int:
    """Rows of the first matrix, rows of the first on the right, columns of the last."""
    rows = Span(left.lo, find(v, left, BY))
    inner = Span(right.lo, find(v, right, BY))
    columns = last(right)
    while v.text[columns.lo - 1] < 10:
        columns = Span(columns.lo - 1, columns.hi)
    return _ask_three(v, rows, inner, columns, TIMES)


@compiled
def _put_best(v: View, best: Span, better: bool) -> None:
    """The order and cost of this split if it is better, else the best so far."""
    if not better:
        put_span(v, best)
        return
    for side in range(2):
        order, _ = split(v, answer(v, side), SEMICOLON)
        group = count(v, order, BY) > 1
        if side == 1:
            put(v, COMMA)
        if group:
            put(v, OPEN)
        put_span(v, order)
        if group:
            put(v, CLOSE)
    put(v, SEMICOLON)
    put_span(v, answer(v, 3))


@compiled
def sample(v: View, draw: Draw, matrices: int) -> None:
    """Sizes from U_log(1, 100, 3), neighbours sharing one."""
    sizes_at = v.frame[0]
    for _ in range(matrices + 1):
        log_uniform(v, draw, 1, 2, 3)
        put(v, COMMA)
    if full(v):
        return
    begin_question(v)
    put(v, MCM)
    rows, sizes = split(v, Span(sizes_at, v.frame[1]), COMMA)
    for i in range(matrices):
        columns, sizes = split(v, sizes, COMMA)
        if i > 0:
            put(v, COMMA)
        put_span(v, rows)
        put(v, BY)
        put_span(v, columns)
        rows = columns


def questions(matrices: int) -> Iterator[str]:
    """Every question of `matrices` matrices."""
    for sizes in product(range(1, 100), repeat=matrices + 1):
        yield "MCM" + ",".join(f"{rows}×{columns}" for rows, columns in pairwise(sizes))


def _check(asked: str, *_: str) -> str | None:
    sizes = [matrix.split("×") for matrix in asked.replace("|", ",").split(",")]
    return None if all(a[1] == b[0] for a, b in pairwise(sizes)) else "neighbouring matrices must share a size"


_MATRIX = r"[1-9]\d*×[1-9]\d*"
TYPES = (
    ProblemType(
        "mcm", "MCM", rule, symbols="MCM × , ( ) ;", inner_symbols="| ACC",
        asks=("ternary_mul", "ternary_add", "compare"),
        pattern=rf"MCM((?:{_MATRIX},)*{_MATRIX}(?:\|(?:{_MATRIX},)*{_MATRIX}(?=ACC)|(?!ACC)))(?:ACC([\d×,()]+;\d+))?",
        example="MCM 4x2,2x8,8x3", check=_check,
    ),
)  # fmt: skip
TASK = Task(
    name="mcm",
    summary="best order to multiply a chain of matrices (App. H.10)",
    unit="matrices",
    samplers={"log_uniform": sample},
    space=lambda matrices: 99 ** (matrices + 1),
    questions=questions,
)
