"""0-1 knapsack (App. G.2.3, H.8): the best without the first item against the best with it; a tie leaves it out.

An item is value&weight. A worked trace:

    GO KNAPSACK 4&2,9&5@10= GO KNAPSACK 9&5@10= 9&5$9 STOP GO 2 VS 10= LT STOP GO 10-2=8 STOP
        GO KNAPSACK 9&5@8= 9&5$9 STOP GO 9+4=13 STOP GO 13 VS 9= GT STOP 4&2,9&5$13 STOP
    GO KNAPSACK 9&5@10= GO 5 VS 10= LT STOP 9&5$9 STOP
    ...
"""

from __future__ import annotations

from collections.abc import Iterator

from rotlab.compiled import compiled
from rotlab.rng import Draw, below
from rotlab.tasks.add import PLUS
from rotlab.tasks.compare import COMMA, GT, VS
from rotlab.tasks.kit import (
    ANSWER,
    ASK,
    Span,
    View,
    answer,
    answers,
    ask,
    begin_question,
    put,
    put_int,
    put_span,
    question,
    size,
    split,
    symbol_ids,
    token,
    without_first,
)  # fmt: skip
from rotlab.tasks.sub import MINUS
from rotlab.tasks.task import ProblemType, Task

KNAPSACK, AND, AT, DOLLAR = symbol_ids("KNAPSACK & @ $")


@compiled
def rule(v: View) -> int:
    """KNAPSACK items @ capacity: chosen items $ total value. Base case: one item, after one comparison."""
    items, capacity = split(v, without_first(question(v)), AT)
    item, rest = split(v, items, COMMA)
    item_value, weight = split(v, item, AND)
    n = answers(v)
    if size(rest) == 0:
        return _one_item(v, item, item_value, weight, capacity, n)
    if n == 0:
        return _ask_knapsack(v, rest, capacity)
    if n == 1:
        return ask(v, weight, VS, capacity)
    without = answer(v, 0)
    if token(v, answer(v, 1)) == GT:
        put_span(v, without)
        return ANSWER
    if n == 2:
        return ask(v, capacity, MINUS, weight)
    if n == 3:
        return _ask_knapsack(v, rest, answer(v, 2))
    chosen, chosen_value = split(v, answer(v, 3), DOLLAR)
    if n == 4:
        return ask(v, chosen_value, PLUS, item_value)
    if n == 5:
        return ask(v, answer(v, 4), VS, split(v, without, DOLLAR)[1])
    if token(v, answer(v, 5)) != GT:
        put_span(v, without)
        return ANSWER
    put_span(v, item)
    if size(chosen) > 0:
        put(v, COMMA)
    put_span(v, chosen)
    put(v, DOLLAR)
    put_span(v, answer(v, 4))
    return ANSWER


@compiled
def _ask_knapsack(v: View, items: Span, capacity: Span) -> int:
    put(v, KNAPSACK)
    put_span(v, items)
    put(v, AT)
    put_span(v, capacity)
    return ASK


@compiled
def _one_item(v: View, item: Span, item_value: Span, weight: Span, capacity: Span, n: int) -> int:
    if n == 0:
        return ask(v, weight, VS, capacity)
    fits = token(v, answer(v, 0)) != GT
    if fits:
        put_span(v, item)
    put(v, DOLLAR)
    if fits:
        put_span(v, item_value)
    else:
        put(v, 0)
    return ANSWER


@compiled
def sample(v: View, draw: Draw, items: int) -> None:
    """Values and weights uniform in 1..99; capacity uniform from the lightest to the total weight."""
    begin_question(v)
    put(v, KNAPSACK)
    lightest, total = 99, 0
    for i in range(items):
        if i > 0:
            put(v, COMMA)
        put_int(v, 1 + below(draw, 99))
        put(v, AND)
        weight = 1 + below(draw, 99)
        put_int(v, weight)
        lightest = min(lightest, weight)
        total += weight
    put(v, AT)
    put_int(v, lightest + below(draw, total - lightest + 1))


def questions(items: int) -> Iterator[str]:
    """Every question of one item (the capacity is then its weight); two are too many to list."""
    assert items == 1
    return (f"KNAPSACK{value}&{weight}@{weight}" for value in range(1, 100) for weight in range(1, 100))


def space(items: int) -> int:
    """The number of questions: pairs of values and weights, times the capacities from lightest to total weight."""
    sum_of_totals = items * 99 ** (items - 1) * sum(range(1, 100))
    # A sum of minima counts, for each w, how many lists of weights have none below w.
    sum_of_lightest = sum((100 - weight) ** items for weight in range(1, 100))
    return 99**items * (sum_of_totals - sum_of_lightest + 99**items)


TYPES = (
    ProblemType(
        "knapsack", "KNAPSACK", rule, symbols="KNAPSACK & , @ $", asks=("compare", "sub", "add"),
        pattern=r"KNAPSACK((?:[1-9]\d*&[1-9]\d*,)*[1-9]\d*&[1-9]\d*)@(0|[1-9]\d*)",
        example="KNAPSACK 5&12,25&15@40",
    ),
)  # fmt: skip
TASK = Task(
    name="knapsack",
    summary="0-1 knapsack (App. H.8)",
    unit="items",
    samplers={"uniform": sample},
    space=space,
    questions=questions,
)
