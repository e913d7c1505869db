"""What the rules answer, for any questions that hypothesis thinks of, against Python's integers and brute force."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from rotlab.contexts import unfold

NUMBERS = st.integers(0, 10**40) | st.integers(0, 120)
DIGITS = st.text("0123456789", max_size=6)


def answer(question: str) -> str:
    """The answer of a question, without STOP."""
    [context] = unfold(question, "wt")
    pairs = zip(context.tokens, context.segments, strict=True)
    *found, stop = [token for token, segment in pairs if segment == "A"]
    assert stop == "STOP"
    assert tuple(context.tokens) == (*context.tokens[: -len(found) - 1], *found, stop)
    return "".join(found)


@given(NUMBERS, NUMBERS)
def test_addition_and_comparison(a: int, b: int) -> None:
    assert answer(f"{a}+{b}") == str(a + b)
    assert answer(f"{a} VS {b}") == ("LT" if a < b else "GT" if a > b else "EQ")
    assert answer(f"{a}+{b}+{a}") == str(a + b + a)


@given(NUMBERS, NUMBERS)
def test_subtraction(a: int, b: int) -> None:
    assert answer(f"{max(a, b)}-{min(a, b)}") == str(abs(a - b))


@given(NUMBERS, NUMBERS)
def test_multiplication(a: int, b: int) -> None:
    assert answer(f"{a}*{b}") == str(a * b)
    assert answer(f"{a}*{b}*{a}") == str(a * b * a)


@given(NUMBERS, NUMBERS)
def test_division(a: int, b: int) -> None:
    quotient, remainder = divmod(a, b + 1)
    assert answer(f"{a}/{b + 1}") == f"{quotient}R{remainder}"


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(one in rest for one in short)


def subsequences(text: str) -> set[str]:
    return {"".join(chosen) for size in range(len(text) + 1) for chosen in combinations(text, size)}


@given(DIGITS, DIGITS)
def test_longest_common_subsequence(a: str, b: str) -> None:
    common, length = answer(f"{a} LCS {b}").split(";")
    assert is_subsequence(common, a)
    assert is_subsequence(common, b)
    assert len(common) == int(length) == max(map(len, subsequences(a) & subsequences(b)))


@given(st.text("0123456789", min_size=1, max_size=9))
def test_longest_palindromic_subsequence(text: str) -> None:
    palindrome, length = answer(f"LPS {text}").split(";")
    assert palindrome == palindrome[::-1]
    assert is_subsequence(palindrome, text)
    assert len(palindrome) == int(length) == max(len(one) for one in subsequences(text) if one == one[::-1])


ITEMS = st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=6)


@given(ITEMS, st.integers(0, 300))
def test_knapsack(items: list[tuple[int, int]], capacity: int) -> None:
    question = ",".join(f"{value}&{weight}" for value, weight in items)
    chosen_text, value = answer(f"KNAPSACK {question}@{capacity}").split("$")
    pairs = [item.split("&") for item in chosen_text.split(",") if item]
    chosen = [(int(worth), int(weight)) for worth, weight in pairs]
    rest = iter(items)
    assert all(item in rest for item in chosen)
    assert sum(weight for _, weight in chosen) <= capacity
    sets = (one for size in range(len(items) + 1) for one in combinations(items, size))
    best = max(sum(v for v, _ in one) for one in sets if sum(w for _, w in one) <= capacity)
    assert sum(v for v, _ in chosen) == int(value) == best


def cost_of(order: str) -> tuple[int, int, int]:
    """Rows, columns and multiplications of an order such as (3×9,9×4),4×5."""
    depth = [order[:i].count("(") - order[:i].count(")") for i in range(len(order))]
    cuts = [i for i, sign in enumerate(order) if sign == "," and depth[i] == 0]
    if not cuts:
        size = order.split("×")
        return int(size[0]), int(size[1]), 0
    [cut] = cuts
    left, right = (side[1:-1] if side[0] == "(" else side for side in (order[:cut], order[cut + 1 :]))
    (rows, inner, one), (same, columns, other) = cost_of(left), cost_of(right)
    assert inner == same
    return rows, columns, one + other + rows * inner * columns


@given(st.lists(st.integers(1, 99), min_size=2, max_size=6))
def test_matrix_chain(sizes: list[int]) -> None:
    @cache
    def best(low: int, high: int) -> int:
        splits = range(low + 1, high)
        return min((best(low, k) + best(k, high) + sizes[low] * sizes[k] * sizes[high] for k in splits), default=0)

    chain = ",".join(f"{rows}x{columns}" for rows, columns in pairwise(sizes))
    order, cost = answer(f"MCM {chain}").split(";")
    assert order.replace("(", "").replace(")", "") == chain.replace("x", "×")
    assert cost_of(order)[2] == int(cost) == best(0, len(sizes) - 1)


@given(st.lists(st.integers(0, 1200), min_size=1, max_size=20))
def test_sorting(terms: list[int]) -> None:
    assert answer(f"SORT {','.join(map(str, terms))}") == ",".join(map(str, sorted(terms)))
    left, right = sorted(terms[::2]), sorted(terms[1::2]) or [5]
    merged = answer(f"MERGE {','.join(map(str, left))} SEP {','.join(map(str, right))}")
    assert merged == ",".join(map(str, sorted(left + right)))
