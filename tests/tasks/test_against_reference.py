"""Every task against the independent reference: the same unique contexts, in order, token by token."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest

import pytest

from rotlab.contexts import lengths, unfold
from rotlab.tasks import TASKS
from tests import reference
from tests.reference.samplers import LARGEST, edge_question, full_size_question, sample

SMALL = {
    "add": 8, "sub": 8, "mul": 3, "div": 3, "lcs": 4, "lps": 6, "knapsack": 3, "mcm": 3, "sort": 6,
}  # fmt: skip

COT_LIMIT = 2048
"""CoT contexts up to the Transformer's window are compared; longer ones have no use."""

SATURATED = 2**62
"""Lengths from here on may be cut off: LCS-32 unravelled can exceed a 64-bit integer."""

Draw = Callable[[str, int, random.Random], str]


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Millions of short-lived lists and no cycle: looking for cycles would take a fifth of the time."""
    gc.disable()
    yield
    gc.enable()


def drawn(task: str, difficulties: range, purpose: str, *draws: Draw) -> Iterator[str]:
    """Endlessly many questions of all the difficulties, by each of `draws` in turn."""
    rng = random.Random(f"{purpose} {task}")
    while True:
        for draw in draws:
            yield draw(task, rng.choice(difficulties), rng)


def small_questions(task: str, purpose: str) -> Iterator[str]:
    """Endlessly many questions of small difficulties, every other one of a rare shape."""
    return drawn(task, range(TASKS[task].min_difficulty, SMALL[task] + 1), purpose, sample, edge_question)


def largest_questions(task: str) -> Iterator[str]:
    """Endlessly many questions of the paper's largest difficulty, every fourth one as long as it allows."""
    largest = LARGEST[task]
    return drawn(task, range(largest, largest + 1), "largest", sample, sample, sample, full_size_question)


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
    for question in islice(small_questions(task, "rot"), 5000):
        assert_same(question, "rot", reference.rot_contexts(question))


@pytest.mark.parametrize("task", SMALL)
def test_small_problems_without_thought(task: str) -> None:
    for question in islice(small_questions(task, "wt"), 1000):
        assert_same(question, "wt", [reference.wt_context(question)])


@pytest.mark.parametrize("task", SMALL)
def test_small_problems_as_chains(task: str) -> None:
    chains = small_questions(task, "cot")
    fitting = (question for question in chains if reference.cot_length(question) <= COT_LIMIT)
    for question in islice(fitting, 500):
        assert_same(question, "cot", [reference.cot_context(question)])


@pytest.mark.parametrize("task", LARGEST)
def test_largest_problems(task: str) -> None:
    for question in islice(largest_questions(task), 100):
        assert_same(question, "rot", reference.rot_contexts(question))
        assert_same(question, "wt", [reference.wt_context(question)])


@pytest.mark.parametrize("task", LARGEST)
def test_lengths(task: str) -> None:
    small = islice(small_questions(task, "lengths"), 200)
    for question in [*small, *islice(largest_questions(task), 6)]:
        assert lengths(question, "rot") == [len(one.tokens) for one in reference.rot_contexts(question)]
        assert lengths(question, "wt") == [len(reference.wt_context(question).tokens)]
        [found], expected = lengths(question, "cot"), reference.cot_length(question)
        assert found == expected or (min(found, expected) >= SATURATED), question


def test_a_chain_beyond_the_limit_is_refused_before_it_is_built() -> None:
    question = f"{'0123456789' * 3} LCS {'9876543210' * 3}"
    assert reference.cot_length(question) > 10**12
    with pytest.raises(ValueError, match=r"1,000,000|1000000"):
        unfold(question, "cot")
    short = "34*5"
    assert unfold(short, "cot", limit=reference.cot_length(short))
    with pytest.raises(ValueError, match=str(reference.cot_length(short))):
        unfold(short, "cot", limit=reference.cot_length(short) - 1)


@pytest.mark.parametrize(
    "question",
    [
        f"{'9' * 1200}+1",
        f"1{'0' * 300}-{'9' * 300}",
        f"{'7' * 300} VS {'7' * 300}",
        f"{'1' * 150}*{'2' * 3}",
        f"{'1' * 60}/{'3' * 30}",
        f"LPS {'4' * 300}",
        f"{'1' * 300} LCS {'1' * 300}",
        f"SORT {','.join(map(str, range(200)))}",
        "KNAPSACK " + ",".join(["123456789012345678901&98765432109876543210"] * 3) + f"@{'2' * 20}",
        "MCM 1234567890123x9876543210987,9876543210987x5555555555555,5555555555555x1",
    ],
    ids=lambda question: question[:20],
)
def test_sizes_far_beyond_the_paper(question: str) -> None:
    """Nothing bounds a problem: neither 64 bits nor Python's recursion limit."""
    assert_same(question, "rot", reference.rot_contexts(question))


def test_more_digits_than_python_converts_at_once() -> None:
    question = f"{'9' * 4400}+1"
    assert_same(question, "wt", [reference.wt_context(question)])


@pytest.mark.slow
@pytest.mark.parametrize("task", LARGEST)
def test_many_large_problems(task: str) -> None:
    difficulties = range(LARGEST[task] // 2, LARGEST[task] + 1)
    large = drawn(task, difficulties, "large", sample, edge_question, full_size_question)
    for question in islice(large, 5000):
        assert_same(question, "rot", reference.rot_contexts(question))
        assert_same(question, "wt", [reference.wt_context(question)])
