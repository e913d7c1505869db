"""The reference against the paper, and against answers found in other ways. Nothing here imports rotlab."""

from __future__ import annotations

import random
from itertools import combinations, pairwise, product

import pytest

from tests.reference import cot_context, cot_length, notation, parse, rot_contexts, wt_context
from tests.reference.contexts import Context, all_contexts
from tests.reference.exact import exact_probabilities
from tests.reference.optimisation import best_load, best_order
from tests.reference.paper import (
    COT_READINGS,
    EXAMPLES,
    LPS_COUNTING_REPEATS,
    PREFIXES,
    WT_READINGS,
    Example,
    Reading,
    symbols,
)
from tests.reference.problem import digits, integer
from tests.reference.samplers import LARGEST, edge_question, full_size_question, log_uniform, sample
from tests.reference.sequences import longest_common, longest_palindrome

TASKS = list(LARGEST)


def named(entry: Example | Reading) -> str:
    return f"{entry.source}: {entry.question}"


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_contexts_of_the_paper(example: Example) -> None:
    contexts = rot_contexts(example.question)
    for number, text in example.contexts.items():
        assert contexts[number - 1].tokens == symbols(text), number
    assert not example.complete or len(contexts) == len(example.contexts)


def test_two_numbers_of_the_paper_count_repeated_contexts() -> None:
    contexts = list(all_contexts(LPS_COUNTING_REPEATS.question))
    for number, text in LPS_COUNTING_REPEATS.contexts.items():
        assert contexts[number - 1].tokens == symbols(text), number


@pytest.mark.parametrize("reading", COT_READINGS, ids=named)
def test_cot_of_the_paper(reading: Reading) -> None:
    assert cot_context(reading.question).tokens == symbols(reading.context)


@pytest.mark.parametrize("reading", WT_READINGS, ids=named)
def test_answers_of_the_paper(reading: Reading) -> None:
    assert wt_context(reading.question).tokens == symbols(reading.context)


@pytest.mark.parametrize("reading", PREFIXES, ids=named)
def test_prompts_of_the_paper(reading: Reading) -> None:
    expected = symbols(reading.context)
    assert rot_contexts(reading.question)[0].tokens[: len(expected)] == expected


def test_targets_of_appendix_i() -> None:
    context = rot_contexts("408+351")[2]
    assert context.tokens == symbols("GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP")
    assert context.targets == ["PAD"] * 7 + symbols("GO 0+5= THINK PAD GO 4+3= THINK PAD 75 STOP")


def small_questions(task: str, count: int) -> list[str]:
    rng = random.Random(f"small {task}")
    difficulties = [rng.randint(2, 4) for _ in range(count)]
    return [rng.choice((sample, edge_question))(task, difficulty, rng) for difficulty in difficulties]


@pytest.mark.parametrize("task", TASKS)
def test_length_without_unravelling(task: str) -> None:
    for question in small_questions(task, 60):
        assert cot_length(question) == len(cot_context(question).tokens), question


@pytest.mark.parametrize("task", TASKS)
def test_a_question_is_one_problem(task: str) -> None:
    """Equal text and equal problem are the same thing, so that either is a safe key."""
    for question in small_questions(task, 60):
        contexts = rot_contexts(question)
        texts = [tuple(asked(context)) for context in contexts]
        assert len(set(texts)) == len(texts), question
        for context in contexts:
            kind, arguments = parse(notation(asked(context)))
            assert kind.name == context.type
            assert ["GO", *kind.question(arguments), "="] == asked(context)


@pytest.mark.parametrize("task", TASKS)
def test_contexts_fit_each_other(task: str) -> None:
    """Every pasted answer is what the sub-question's own context, or the end of its tails, answers."""
    for question in small_questions(task, 60):
        contexts = {tuple(asked(context)): context for context in rot_contexts(question)}
        for context in contexts.values():
            for sub_question, pasted in pasted_answers(context):
                assert pasted in (["THINK"], final_answer(sub_question, contexts)), (question, context)


def asked(context: Context) -> list[str]:
    return [token for token, segment in zip(context.tokens, context.segments, strict=True) if segment == "Q"]


def pasted_answers(context: Context) -> list[tuple[tuple[str, ...], list[str]]]:
    pairs: list[tuple[list[str], list[str]]] = []
    for token, segment in zip(context.tokens, context.segments, strict=True):
        if segment == "Q_sub" and token in ("GO", "TAIL"):
            pairs.append((["GO"], []))
        elif segment == "Q_sub":
            pairs[-1][0].append(token)
        elif segment == "A_sub":
            pairs[-1][1].append(token)
    return [(tuple(sub_question), pasted) for sub_question, pasted in pairs]


def final_answer(question: tuple[str, ...], contexts: dict[tuple[str, ...], Context]) -> list[str]:
    context = contexts[question]
    while context.tokens[-1] == "THINK":
        context = contexts[pasted_answers(context)[-1][0]]
    return [token for token, segment in zip(context.tokens, context.segments, strict=True) if segment == "A"]


def is_subsequence(short: tuple[int, ...], long: tuple[int, ...]) -> bool:
    remaining = iter(long)
    return all(number in remaining for number in short)


def subsequences(sequence: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [chosen for length in range(len(sequence) + 1) for chosen in combinations(sequence, length)]


def test_common_subsequences_are_longest() -> None:
    rng = random.Random(0)
    for _ in range(200):
        left, right = (tuple(rng.choices(range(3), k=rng.randint(1, 6))) for _ in range(2))
        found = longest_common(left, right)
        assert is_subsequence(found, left)
        assert is_subsequence(found, right)
        assert len(found) == max(len(one) for one in subsequences(left) if is_subsequence(one, right))


def test_palindromes_are_longest() -> None:
    rng = random.Random(0)
    for _ in range(200):
        sequence = tuple(rng.choices(range(3), k=rng.randint(1, 8)))
        found = longest_palindrome(sequence)
        assert found == found[::-1]
        assert is_subsequence(found, sequence)
        assert len(found) == max(len(one) for one in subsequences(sequence) if one == one[::-1])


def test_loads_are_best() -> None:
    rng = random.Random(0)
    for _ in range(200):
        items = tuple((rng.randint(1, 9), rng.randint(1, 9)) for _ in range(rng.randint(1, 6)))
        capacity = rng.randint(0, 30)
        chosen, value = best_load(items, capacity)
        assert sum(value for value, _ in chosen) == value
        assert sum(weight for _, weight in chosen) <= capacity
        loads = (load for count in range(len(items) + 1) for load in combinations(items, count))
        assert value == max(
            sum(value for value, _ in load) for load in loads if sum(weight for _, weight in load) <= capacity
        )


def cheapest(sizes: tuple[int, ...]) -> int:
    if len(sizes) < 3:
        return 0
    return min(
        cheapest(sizes[: split + 1]) + cheapest(sizes[split:]) + sizes[0] * sizes[split] * sizes[-1]
        for split in range(1, len(sizes) - 1)
    )


def test_orders_are_cheapest() -> None:
    rng = random.Random(0)
    for _ in range(100):
        sizes = tuple(rng.randint(1, 9) for _ in range(rng.randint(2, 7)))
        assert best_order(tuple(pairwise(sizes)))[1] == cheapest(sizes)


def test_numbers_beyond_the_limit_of_str() -> None:
    for length in (1, 3999, 4000, 4001, 9000):
        text = "7" + "0" * (length - 1)
        assert digits(integer(text)) == list(text)
    assert wt_context(f"{'9' * 5000}+1").tokens[-5002:] == ["1", *"0" * 5000, "STOP"]


@pytest.mark.parametrize(
    ("task", "difficulty", "size"),
    [
        ("add", 1, 100), ("sub", 1, 55), ("mul", 1, 100), ("div", 1, 90), ("lcs", 1, 100), ("lps", 2, 100),
        ("lps", 3, 1000), ("knapsack", 1, 9801), ("mcm", 1, 9801), ("div", 2, 9900), ("sub", 2, 5050),
    ],
)  # fmt: skip
def test_exact_probabilities(task: str, difficulty: int, size: int) -> None:
    """They cover the space, sum to one, and fit the sampler (chi-square at five standard deviations)."""
    probabilities = exact_probabilities(task, difficulty)
    assert len(probabilities) == size
    assert min(probabilities.values()) > 0
    assert sum(probabilities.values()) == pytest.approx(1)
    draws = 4000
    rng = random.Random(0)
    counts = dict.fromkeys(probabilities, 0)
    for _ in range(draws):
        counts[sample(task, difficulty, rng)] += 1
    expected = {question: draws * p for question, p in probabilities.items() if draws * p >= 5}
    statistic = sum((counts[question] - mean) ** 2 / mean for question, mean in expected.items())
    assert statistic <= len(expected) + 5 * (2 * len(expected)) ** 0.5


def test_log_uniform_is_exact_for_large_numbers() -> None:
    rng = random.Random(0)
    draws = [log_uniform(0, 10**32, 3, rng) for _ in range(2000)]
    large = [str(draw) for draw in draws if draw >= 10**20]
    for place in (-1, -2, 15):
        counts = [sum(text[place] == digit for text in large) for digit in "0123456789"]
        assert max(abs(count - len(large) / 10) for count in counts) < 5 * (len(large) / 10) ** 0.5
    halves = sum(draw < 10**16 for draw in draws)
    assert abs(halves - 1000) < 130


@pytest.mark.parametrize("task", TASKS)
def test_the_largest_sizes_are_quick(task: str) -> None:
    rng = random.Random(0)
    question = full_size_question(task, LARGEST[task], rng)
    assert len(rot_contexts(question)) > 100
    assert cot_length(question) > 5000


def test_exhaustive_small_divisions() -> None:
    for dividend, divisor in product(range(40), range(1, 12)):
        answer = [*digits(dividend // divisor), "R", *digits(dividend % divisor), "STOP"]
        contexts = {tuple(asked(context)): context for context in rot_contexts(f"{dividend}/{divisor}")}
        assert final_answer(("GO", *digits(dividend), "÷", *digits(divisor), "="), contexts) == answer
