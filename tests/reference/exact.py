"""Exact probabilities of Appendix G's distributions at small difficulties, for tests of the samplers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, product


def log_uniform_probabilities(low: int, high: int | Fraction, offset: int) -> dict[int, float]:
    """P(value) under U_log(low, high, offset) of App. G.1, for every value in [low, high)."""
    bound = math.ceil(high)
    if bound <= low + 1:
        return {low: 1.0}
    edges = [math.log(min(value, high) + offset) for value in range(low, bound + 1)]
    total = edges[-1] - edges[0]
    return {low + index: (after - before) / total for index, (before, after) in enumerate(pairwise(edges))}


def exact_probabilities(task: str, difficulty: int, sampling: str = "log_uniform") -> dict[str, float]:
    """P(question) for every question (in the notation of `samplers`) that a sampler of the task can draw.

    Feasible for add, sub, mul and div up to 2 digits, lcs up to 2 and lps up to 4 digits,
    knapsack and mcm of one item or matrix, sort of two terms (10^6 questions; see `sort_term_probabilities`).
    """
    return dict(_QUESTIONS[task](difficulty, sampling))


def sort_length_probabilities(difficulty: int) -> dict[int, float]:
    """P(number of terms) of a sorting question of at most `difficulty` terms."""
    return dict.fromkeys(range(2, difficulty + 1), 1 / (difficulty - 1))


def sort_term_probabilities() -> dict[int, float]:
    """P(term): the marginal of any single term of a sorting question."""
    return log_uniform_probabilities(0, 1000, 5)


def mcm_size_probabilities() -> dict[int, float]:
    """P(size): the marginal of any single row or column count of a matrix chain."""
    return log_uniform_probabilities(1, 100, 3)


def knapsack_capacity_probabilities(weights: list[int]) -> dict[int, float]:
    """P(capacity) given the weights: uniform from the lightest to the total."""
    span = range(min(weights), sum(weights) + 1)
    return dict.fromkeys(span, 1 / len(span))


def _operands(difficulty: int, sampling: str) -> dict[int, float]:
    end = 10**difficulty
    if sampling == "uniform":
        return dict.fromkeys(range(end), 1 / end)
    return log_uniform_probabilities(0, end, 3)


def _commutative(sign: str) -> Callable[[int, str], Iterator[tuple[str, float]]]:
    def questions(difficulty: int, sampling: str) -> Iterator[tuple[str, float]]:
        operands = _operands(difficulty, sampling)
        for left, right in product(operands, repeat=2):
            yield f"{left}{sign}{right}", operands[left] * operands[right]

    return questions


def _sub(difficulty: int, sampling: str) -> Iterator[tuple[str, float]]:
    operands = _operands(difficulty, sampling)
    for left in operands:
        for right in range(left + 1):
            both_orders = 1 if left == right else 2
            yield f"{left}-{right}", both_orders * operands[left] * operands[right]


def _div(difficulty: int, _: str) -> Iterator[tuple[str, float]]:
    end = 10**difficulty
    for divisor, p_divisor in log_uniform_probabilities(1, end, 3).items():
        for quotient, p_quotient in log_uniform_probabilities(0, Fraction(end, divisor), 3).items():
            remainders = log_uniform_probabilities(0, min(divisor, end - divisor * quotient), 3)
            for remainder, p_remainder in remainders.items():
                yield f"{divisor * quotient + remainder}/{divisor}", p_divisor * p_quotient * p_remainder


def _lcs(difficulty: int, _: str) -> Iterator[tuple[str, float]]:
    for sequence in product("0123456789", repeat=2 * difficulty):
        left, right = "".join(sequence[:difficulty]), "".join(sequence[difficulty:])
        yield f"{left} LCS {right}", 10.0 ** (-2 * difficulty)


def _lps(difficulty: int, _: str) -> Iterator[tuple[str, float]]:
    for sequence in product("0123456789", repeat=difficulty):
        yield f"LPS {''.join(sequence)}", 10.0**-difficulty


def _knapsack(difficulty: int, _: str) -> Iterator[tuple[str, float]]:
    for numbers in product(range(1, 100), repeat=2 * difficulty):
        values, weights = numbers[::2], numbers[1::2]
        items = ",".join(f"{value}&{weight}" for value, weight in zip(values, weights, strict=True))
        for capacity, probability in knapsack_capacity_probabilities(list(weights)).items():
            yield f"KNAPSACK {items}@{capacity}", probability / 99 ** (2 * difficulty)


def _mcm(difficulty: int, _: str) -> Iterator[tuple[str, float]]:
    sizes = mcm_size_probabilities()
    for chain in product(sizes, repeat=difficulty + 1):
        matrices = ",".join(f"{rows}x{columns}" for rows, columns in pairwise(chain))
        yield f"MCM {matrices}", math.prod(sizes[size] for size in chain)


def _sort(difficulty: int, _: str) -> Iterator[tuple[str, float]]:
    terms = sort_term_probabilities()
    for length, p_length in sort_length_probabilities(difficulty).items():
        for chosen in product(terms, repeat=length):
            yield f"SORT {','.join(map(str, chosen))}", p_length * math.prod(terms[term] for term in chosen)


_QUESTIONS = {
    "add": _commutative("+"),
    "sub": _sub,
    "mul": _commutative("*"),
    "div": _div,
    "lcs": _lcs,
    "lps": _lps,
    "knapsack": _knapsack,
    "mcm": _mcm,
    "sort": _sort,
}
