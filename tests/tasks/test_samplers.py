"""What the samplers draw: the distributions of App. G, digit by digit, and the sizes of the spaces."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import pairwise, product

import pytest

from rotlab.contexts.driver import draw_questions, n_rows, sample_questions
from rotlab.data.cell import Cell
from rotlab.data.test_set import problem_set
from rotlab.rng import TRAIN
from rotlab.tasks import SAMPLERS, TASKS, parse_question
from rotlab.vocab import decode
from tests.chi_square import REJECTED, p_value, uniform
from tests.reference.exact import (
    exact_probabilities,
    mcm_size_probabilities,
    sort_length_probabilities,
    sort_term_probabilities,
)
from tests.reference.samplers import LARGEST

DRAWS = 50_000
SEED = 3
SIGN = {"add": "+", "sub": "-", "mul": "*", "div": "÷"}
EVERY_SAMPLER = [sampler for sampler in SAMPLERS if sampler[0] in LARGEST]

FLOAT_DIGITS = 12
"""From the digit after these on, a draw through a float would leave traces."""


@cache
def drawn(task: str, difficulty: int, sampling: str, draws: int = DRAWS) -> list[str]:
    """Questions without GO, `=` and blanks."""
    sampler = SAMPLERS[task, sampling]
    return ["".join(decode(one[1:-1])) for one in sample_questions(sampler, difficulty, SEED, draws)]


def operands(task: str, difficulty: int, sampling: str = "log_uniform", draws: int = DRAWS) -> list[tuple[int, int]]:
    pairs = (question.split(SIGN[task]) for question in drawn(task, difficulty, sampling, draws))
    return [(int(left), int(right)) for left, right in pairs]


def canonical(question: str) -> str:
    """A question of the reference, spelled as `drawn` does."""
    return "".join(decode(parse_question(question)[0][1:-1]))


@pytest.mark.parametrize(
    ("task", "difficulty", "sampling"),
    [
        *((task, 1, sampling) for task, sampling in EVERY_SAMPLER if task != "sort"),
        *((task, 2, sampling) for task, sampling in EVERY_SAMPLER if task not in ("sort", "knapsack", "mcm")),
        ("lps", 3, "uniform"),
    ],
)
def test_questions_have_their_exact_probabilities(task: str, difficulty: int, sampling: str) -> None:
    probabilities = exact_probabilities(task, difficulty, sampling)
    assert sum(probabilities.values()) == pytest.approx(1)
    expected = {canonical(question): probability for question, probability in probabilities.items()}
    assert p_value(Counter(drawn(task, difficulty, sampling)), expected) > REJECTED


@pytest.mark.parametrize("most", [2, 3, 7])
def test_the_number_of_terms_to_sort_is_uniform(most: int) -> None:
    lengths = Counter(len(question.split(",")) for question in drawn("sort", most, "log_uniform"))
    if most == 2:
        assert lengths == {2: DRAWS}
    else:
        assert p_value(lengths, sort_length_probabilities(most)) > REJECTED


def test_terms_to_sort_are_log_uniform_and_independent() -> None:
    probabilities = sort_term_probabilities()
    pairs = [tuple(map(int, q.removeprefix("SORT").split(","))) for q in drawn("sort", 2, "log_uniform")]
    for side in (0, 1):
        assert p_value(Counter(pair[side] for pair in pairs), probabilities) > REJECTED
    small = sum(probability for term, probability in probabilities.items() if term < 30)
    share = {True: small, False: 1 - small}
    both = Counter((left < 30, right < 30) for left, right in pairs)
    assert p_value(both, {(a, b): share[a] * share[b] for a, b in product(share, share)}) > REJECTED


def test_matrix_sizes_are_log_uniform_at_every_place() -> None:
    for place in range(4):
        matrices = (question.removeprefix("MCM").split(",") for question in drawn("mcm", 4, "log_uniform"))
        rows = Counter(int(chain[place].split("×")[0]) for chain in matrices)
        assert p_value(rows, mcm_size_probabilities()) > REJECTED


def test_items_are_uniform_and_so_is_the_capacity() -> None:
    numbers: Counter[int] = Counter()
    tenths: Counter[int] = Counter()
    expected = dict.fromkeys(range(10), 0.0)
    at_least, at_most = 0, 0
    for question in drawn("knapsack", 3, "uniform"):
        items, capacity = question.removeprefix("KNAPSACK").split("@")
        values, weights = zip(*(map(int, item.split("&")) for item in items.split(",")), strict=True)
        numbers.update((*values, *weights))
        low, span = min(weights), sum(weights) - min(weights) + 1
        above = int(capacity) - low
        assert 0 <= above < span
        at_least, at_most = at_least + (above == 0), at_most + (above == span - 1)
        tenths[10 * above // span] += 1
        edges = (math.ceil(tenth * span / 10) for tenth in range(11))
        for tenth, (start, end) in enumerate(pairwise(edges)):
            expected[tenth] += (end - start) / span / DRAWS
    assert p_value(numbers, uniform(range(1, 100))) > REJECTED
    assert p_value(tenths, expected) > REJECTED
    assert min(at_least, at_most) > 100


def log_uniform_lengths(digits: int) -> dict[int, float]:
    """P(number of digits) under U_log(0, 10^digits, 3)."""
    edges = [math.log10(3), *(math.log10(10.0**length + 3) for length in range(1, digits + 1))]
    return {length: (b - a) / (edges[-1] - edges[0]) for length, (a, b) in enumerate(pairwise(edges), start=1)}


@pytest.mark.parametrize("task", ["add", "sub", "mul"])
@pytest.mark.parametrize("digits", [20, 32])
def test_the_number_of_digits_is_that_of_a_log_uniform_number(task: str, digits: int) -> None:
    lengths = Counter(len(str(one)) for pair in operands(task, digits) for one in pair)
    assert p_value(lengths, log_uniform_lengths(digits)) > REJECTED
    leading = Counter(str(one)[0] for pair in operands(task, digits) for one in pair if one >= 10**6)
    assert p_value(leading, {str(d): math.log10(1 + 1 / d) for d in range(1, 10)}) > REJECTED


def assert_later_digits_uniform(numbers: list[int], places: int) -> None:
    """Every digit after a float's, counted from the leading one, and what they say together."""
    digits = [str(number) for number in numbers if number >= 10**FLOAT_DIGITS]
    for place in range(FLOAT_DIGITS, places):
        found = Counter(number[place] for number in digits if len(number) > place)
        assert p_value(found, uniform("0123456789")) > REJECTED, f"digit {place + 1}"
    odd = Counter(number % 2 for number in numbers if number >= 10**FLOAT_DIGITS)
    assert p_value(odd, uniform((0, 1))) > REJECTED
    # What goes through a float is a multiple of 16 from 18 digits on, often.
    rests = Counter(number % 10_000 % 16 for number in numbers if number >= 10 ** (FLOAT_DIGITS + 4))
    assert p_value(rests, uniform(range(16))) > REJECTED


@pytest.mark.parametrize("task", ["add", "sub", "mul"])
@pytest.mark.parametrize("digits", [20, 32])
def test_digits_beyond_a_float_are_uniform(task: str, digits: int) -> None:
    assert_later_digits_uniform([one for pair in operands(task, digits) for one in pair], digits)


@pytest.mark.parametrize("digits", [20, 32])
def test_digits_of_a_division_beyond_a_float_are_uniform(digits: int) -> None:
    """Of divisor, quotient and remainder, which are drawn; the dividend is made of them."""
    pairs = operands("div", digits)
    assert_later_digits_uniform([b for _, b in pairs], digits)
    assert_later_digits_uniform([a // b for a, b in pairs], digits - 4)
    assert_later_digits_uniform([a % b for a, b in pairs], digits - 4)


@pytest.mark.parametrize("task", ["add", "sub"])
def test_uniform_operands_have_uniform_digits(task: str) -> None:
    """Every digit of the larger and smaller together, leading zeros included."""
    numbers = [f"{one:020}" for pair in operands(task, 20, "uniform") for one in pair]
    for place in range(20):
        assert p_value(Counter(number[place] for number in numbers), uniform("0123456789")) > REJECTED, place


@pytest.mark.parametrize("task", ["add", "mul", "div"])
def test_a_draw_of_400_digits(task: str) -> None:
    pairs = operands(task, 400, draws=2000)
    numbers = [one for pair in pairs for one in pair]
    assert max(numbers) < 10**400
    assert max(numbers) > 10**390
    if task == "div":
        numbers = [one for a, b in pairs for one in (b, a // b, a % b)]
    else:
        hundreds = Counter((len(str(number)) - 1) // 100 for number in numbers)
        assert p_value(hundreds, dict(enumerate([0.24833, 0.25056, 0.25056, 0.25055]))) > REJECTED
    assert_later_digits_uniform(numbers, 300)


@pytest.mark.parametrize("digits", [1, 2])
def test_every_division_can_be_drawn(digits: int) -> None:
    memo = draw_questions(SAMPLERS["div", "log_uniform"], digits, SEED, TRAIN, TASKS["div"].space(digits), 10**7)
    assert n_rows(memo) == 10**digits * (10**digits - 1)


def in_range(task: str, difficulty: int, question: str) -> bool:
    """Whether the sampler may draw this."""
    if task in SIGN:
        left, right = map(int, question.split(SIGN[task]))
        ordered = {"sub": left >= right, "div": right >= 1}.get(task, True)
        return max(left, right) < 10**difficulty and ordered
    if task == "lcs":
        return {len(side) for side in question.split("LCS")} == {difficulty}
    if task == "lps":
        return len(question.removeprefix("LPS")) == difficulty
    if task == "knapsack":
        items, capacity = question.removeprefix("KNAPSACK").split("@")
        values, weights = zip(*(map(int, item.split("&")) for item in items.split(",")), strict=True)
        numbers = len(values) == difficulty and {*values, *weights} <= set(range(1, 100))
        return numbers and min(weights) <= int(capacity) <= sum(weights)
    if task == "mcm":
        sizes = [tuple(map(int, matrix.split("×"))) for matrix in question.removeprefix("MCM").split(",")]
        joined = all(a[1] == b[0] for a, b in pairwise(sizes))
        return joined and len(sizes) == difficulty and {one for pair in sizes for one in pair} <= set(range(1, 100))
    terms = question.removeprefix("SORT").split(",")
    return 2 <= len(terms) <= difficulty and all(0 <= int(term) < 1000 for term in terms)


@pytest.mark.parametrize(("task", "sampling"), EVERY_SAMPLER)
def test_every_draw_is_a_question_of_its_difficulty(task: str, sampling: str) -> None:
    smallest, largest = TASKS[task].min_difficulty, LARGEST[task]
    for difficulty in sorted({smallest, 2, 3, 13, 16, largest // 2, largest}):
        for question in drawn(task, difficulty, sampling, 300):
            assert parse_question(question)[1].name == task
            assert in_range(task, difficulty, question), question


def test_samplings_are_named_with_the_default_first() -> None:
    both, log_uniform, even = ("log_uniform", "uniform"), ("log_uniform",), ("uniform",)
    expected = {
        "add": both, "sub": both, "mul": log_uniform, "div": log_uniform, "lcs": even, "lps": even, "knapsack": even,
        "mcm": log_uniform, "sort": log_uniform,
    }  # fmt: skip
    assert {name: TASKS[name].samplings for name in expected} == expected


# DESIGN section 5.
SMALL_SPACES = {
    ("add", 1): 100, ("mul", 1): 100, ("lcs", 1): 100, ("sub", 1): 55, ("add", 2): 10_000, ("mul", 2): 10_000,
    ("lcs", 2): 10_000, ("lps", 4): 10_000, ("sub", 2): 5_050, ("div", 1): 90, ("div", 2): 9_900,
    ("knapsack", 1): 9_801, ("mcm", 1): 9_801, ("lps", 3): 1_000,
}  # fmt: skip


@pytest.mark.parametrize(("task", "difficulty"), SMALL_SPACES)
def test_a_small_space_is_the_whole_test_set(task: str, difficulty: int) -> None:
    """Of exactly the problems that the sampler can draw."""
    cell = Cell(task, difficulty, "rot", TASKS[task].samplings[0], 2048)
    problems = problem_set(cell, 30_000, seed=1)
    assert problems.whole_space
    assert len(problems) == SMALL_SPACES[task, difficulty] == TASKS[task].space(difficulty)
    drawable = {canonical(question) for question in exact_probabilities(task, difficulty, TASKS[task].samplings[0])}
    assert {canonical(problems.question(i)) for i in range(len(problems))} == drawable


def test_a_space_of_exactly_the_asked_size_is_whole() -> None:
    cell = Cell("sub", 1, "rot", "log_uniform", 2048)
    assert problem_set(cell, 55, seed=1).whole_space
    smaller = problem_set(cell, 54, seed=1)
    assert (len(smaller), smaller.whole_space) == (54, False)


def test_larger_spaces_are_counted_right() -> None:
    spans = (sum(weights) - min(weights) + 1 for weights in product(range(1, 100), repeat=2))
    assert TASKS["knapsack"].space(2) == 99**2 * sum(spans)
    spans = (sum(weights) - min(weights) + 1 for weights in product(range(1, 100), repeat=3))
    assert TASKS["knapsack"].space(3) == 99**3 * sum(spans)
    assert TASKS["mcm"].space(3) == 99**4
    assert TASKS["sort"].space(3) == 1000**2 + 1000**3
    assert TASKS["div"].space(30) == 10**30 * (10**30 - 1)
