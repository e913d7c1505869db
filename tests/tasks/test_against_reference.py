"""Every task against the independent reference: the same unique contexts in the same order, token by token."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest

import pytest

from rotlab.contexts import unfold
from rotlab.tasks import TASKS
from tests import reference
from tests.reference.samplers import LARGEST, edge_question, full_size_question, sample

SMALL = {
    "add": 8, "sub": 8, "mul": 3, "div": 3, "lcs": 4, "lps": 6, "knapsack": 3, "mcm": 3, "sort": 6,
}  # fmt: skip
COT_LIMIT = 2048
"""CoT contexts up to the Transformer's window are compared; longer ones have no use."""

Draw = Callable[[str, int, random.Random], str]


def drawn(task: str, largest: int, purpose: str, *draws: Draw) -> Iterator[str]:
    """Endlessly many questions of all difficulties up to `largest`, by each of `draws` in turn."""
    rng = random.Random(f"{purpose} {task}")
    smallest = TASKS[task].min_difficulty
    while True:
        for draw in draws:
            yield draw(task, rng.randint(smallest, largest), rng)


def largest_questions(task: str) -> Iterator[str]:
    """Endlessly many questions of the paper's largest difficulty."""
    rng = random.Random(f"largest {task}")
    while True:
        yield sample(task, LARGEST[task], rng)
        yield full_size_question(task, LARGEST[task], rng)


def assert_same(question: str, method: str, expected: list[reference.Context]) -> None:
    found = [(one.type, one.tokens, one.segments, one.targets) for one in unfold(question, method)]
    if found == expected:
        return
    for number, (ours, theirs) in enumerate(zip_longest(found, expected), start=1):
        assert ours is not None, f"{question} by {method}: X^{number} is missing: {theirs}"
        assert theirs is not None, f"{question} by {method}: X^{number} should not be: {ours}"
        for name, one, other in zip(reference.Context._fields, ours, theirs, strict=True):
            assert one == other, f"{question} by {method}: {name} of X^{number}"


def test_every_task_has_a_reference() -> None:
    assert set(LARGEST) <= set(TASKS)
    assert set(LARGEST) == set(SMALL)


@pytest.mark.parametrize("task", SMALL)
def test_small_problems(task: str) -> None:
    for question in islice(drawn(task, SMALL[task], "rot", sample, edge_question), 5000):
        assert_same(question, "rot", reference.rot_contexts(question))


@pytest.mark.parametrize("task", SMALL)
def test_small_problems_without_thought(task: str) -> None:
    for question in islice(drawn(task, SMALL[task], "wt", sample, edge_question), 1000):
        assert_same(question, "wt", [reference.wt_context(question)])


@pytest.mark.parametrize("task", SMALL)
def test_small_problems_as_chains(task: str) -> None:
    chains = drawn(task, SMALL[task], "cot", sample, edge_question)
    fitting = (question for question in chains if reference.cot_length(question) <= COT_LIMIT)
    for question in islice(fitting, 500):
        assert_same(question, "cot", [reference.cot_context(question)])


@pytest.mark.parametrize("task", LARGEST)
def test_largest_problems(task: str) -> None:
    for question in islice(largest_questions(task), 100):
        assert_same(question, "rot", reference.rot_contexts(question))
        assert_same(question, "wt", [reference.wt_context(question)])


@pytest.mark.slow
@pytest.mark.parametrize("task", LARGEST)
def test_many_large_problems(task: str) -> None:
    large = drawn(task, LARGEST[task], "large", sample, edge_question, full_size_question)
    for question in islice(large, 5000):
        assert_same(question, "rot", reference.rot_contexts(question))
        assert_same(question, "wt", [reference.wt_context(question)])
