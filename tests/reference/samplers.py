"""Random questions for the tests, as text: Appendix G's distributions, and shapes where procedures go wrong.

Everything is drawn from a `random.Random` and shares no code with rotlab's compiled samplers. `exact` holds
the probabilities that belong to `sample`.
"""

from __future__ import annotations

import decimal
import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

LARGEST = {
    "add": 64, "sub": 64, "mul": 32, "div": 32, "lcs": 32, "lps": 56, "knapsack": 12, "mcm": 12, "sort": 64,
}  # fmt: skip
"""The paper's largest difficulty of each task (Tables 3 and 4, Figure 6)."""


def sample(task: str, difficulty: int, rng: random.Random, sampling: str = "log_uniform") -> str:
    """A question of the distribution that the paper trains and tests on (App. G, DESIGN section 5)."""
    return _SAMPLERS[task](difficulty, rng, sampling)


def edge_question(task: str, difficulty: int, rng: random.Random) -> str:
    """A question of the task's space, within `difficulty`, of a shape that is rare under `sample`."""
    return _EDGES[task](difficulty, rng)


def full_size_question(task: str, difficulty: int, rng: random.Random) -> str:
    """A question as long as the difficulty allows: operands of N digits, N terms (elsewhere as `sample`)."""
    if task in ("add", "sub", "mul"):
        return _binary(task, *(_of_length(difficulty, rng) for _ in range(2)))
    if task == "div":
        return _binary(task, _of_length(difficulty, rng), _of_length(rng.randint(1, difficulty), rng))
    if task == "sort":
        return _sort([log_uniform(0, 1000, 5, rng) for _ in range(difficulty)])
    return sample(task, difficulty, rng)


def log_uniform(low: int, high: int | Fraction, offset: int, rng: random.Random) -> int:
    """U_log(low, high, offset) of App. G.1, exact for bounds of hundreds of digits."""
    if high <= low + 1:
        return low
    start, end = low + offset, high + offset
    if end < 10**12:
        value = int(start * math.exp(rng.random() * math.log(end / start))) - offset
    else:
        value = _log_uniform_large(start, Fraction(end), rng) - offset
    return value if low <= value < high else log_uniform(low, high, offset, rng)


def _log_uniform_large(start: int, end: Fraction, rng: random.Random) -> int:
    """The whole part of a log-uniform number in [start, end), right to its last digit."""
    precision = len(str(int(end))) + 60
    with decimal.localcontext(decimal.Context(prec=precision)):
        ratio = decimal.Decimal(end.numerator) / decimal.Decimal(end.denominator) / start
        position = decimal.Decimal(rng.getrandbits(4 * precision)) / decimal.Decimal(2 ** (4 * precision))
        return int(start * (ratio.ln() * position).exp())


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def _binary(task: str, left: int, right: int) -> str:
    if task == "sub" and left < right:
        left, right = right, left
    return f"{left}{_SIGNS[task]}{right}"


def _lcs(left: Iterable[int], right: Iterable[int]) -> str:
    return f"{''.join(map(str, left))} LCS {''.join(map(str, right))}"


def _lps(sequence: Iterable[int]) -> str:
    return "LPS " + "".join(map(str, sequence))


def _knapsack(items: Iterable[tuple[int, int]], capacity: int) -> str:
    return f"KNAPSACK {','.join(f'{value}&{weight}' for value, weight in items)}@{capacity}"


def _mcm(sizes: list[int]) -> str:
    return "MCM " + ",".join(f"{rows}x{columns}" for rows, columns in pairwise(sizes))


def _sort(terms: Iterable[int]) -> str:
    return "SORT " + ",".join(map(str, terms))


def _of_length(length: int, rng: random.Random) -> int:
    return rng.randrange(10 ** (length - 1), 10**length)


def _sampled_pair(task: str) -> Callable[[int, random.Random, str], str]:
    def draw(difficulty: int, rng: random.Random, sampling: str) -> str:
        end = 10**difficulty
        if sampling == "uniform":
            return _binary(task, rng.randrange(end), rng.randrange(end))
        return _binary(task, log_uniform(0, end, 3, rng), log_uniform(0, end, 3, rng))

    return draw


def _sampled_div(difficulty: int, rng: random.Random, _: str) -> str:
    end = 10**difficulty
    divisor = log_uniform(1, end, 3, rng)
    quotient = log_uniform(0, Fraction(end, divisor), 3, rng)
    remainder = log_uniform(0, min(divisor, end - divisor * quotient), 3, rng)
    return _binary("div", divisor * quotient + remainder, divisor)


def _digits(length: int, rng: random.Random, alphabet: str = "0123456789") -> list[int]:
    return [int(rng.choice(alphabet)) for _ in range(length)]


def _items(count: int, rng: random.Random) -> list[tuple[int, int]]:
    return [(rng.randint(1, 99), rng.randint(1, 99)) for _ in range(count)]


def _sampled_knapsack(difficulty: int, rng: random.Random, _: str) -> str:
    items = _items(difficulty, rng)
    weights = [weight for _, weight in items]
    return _knapsack(items, rng.randint(min(weights), sum(weights)))


def _sampled_mcm(difficulty: int, rng: random.Random, _: str) -> str:
    return _mcm([log_uniform(1, 100, 3, rng) for _ in range(difficulty + 1)])


def _sampled_sort(difficulty: int, rng: random.Random, _: str) -> str:
    return _sort([log_uniform(0, 1000, 5, rng) for _ in range(rng.randint(2, difficulty))])


_SAMPLERS: dict[str, Callable[[int, random.Random, str], str]] = {
    "add": _sampled_pair("add"),
    "sub": _sampled_pair("sub"),
    "mul": _sampled_pair("mul"),
    "div": _sampled_div,
    "lcs": lambda difficulty, rng, _: _lcs(_digits(difficulty, rng), _digits(difficulty, rng)),
    "lps": lambda difficulty, rng, _: _lps(_digits(difficulty, rng)),
    "knapsack": _sampled_knapsack,
    "mcm": _sampled_mcm,
    "sort": _sampled_sort,
}


def _edge_number(difficulty: int, rng: random.Random) -> int:
    """Below 10^difficulty, of any length: zeros, powers of ten and neighbours, one digit only, few digits."""
    length = rng.randint(1, difficulty)
    power = 10 ** (length - 1)
    shapes = (
        0,
        power,
        power - 1,
        min(power + 1, 10**difficulty - 1),
        int(str(rng.randint(1, 9)) * length),
        int("".join(rng.choice("0009") for _ in range(length))),
        int("".join(rng.choice("01") for _ in range(length))),
        rng.randrange(10),
        _of_length(length, rng),
        rng.randint(1, 9) * power,
    )
    return rng.choice(shapes)


def _edge_pair(task: str) -> Callable[[int, random.Random], str]:
    def draw(difficulty: int, rng: random.Random) -> str:
        left = _edge_number(difficulty, rng)
        neighbour = min(left + rng.randint(0, 2), 10**difficulty - 1)
        complement = 10 ** len(str(left)) - 1 - left
        right = rng.choice((left, neighbour, complement, _edge_number(difficulty, rng)))
        return _binary(task, *rng.sample((left, right), 2))

    return draw


def _edge_div(difficulty: int, rng: random.Random) -> str:
    end = 10**difficulty
    divisor = max(1, _edge_number(rng.randint(1, difficulty), rng))
    multiples = [
        divisor * rng.randint(0, 11),
        divisor * 10,
        divisor * _edge_number(difficulty, rng),
        divisor * 10 ** rng.randrange(difficulty),
        _edge_number(difficulty, rng),
    ]
    dividends = [m + shift for m in multiples for shift in (-1, 0, 0, 1, divisor - 1) if 0 <= m + shift < end]
    return _binary("div", rng.choice(dividends), divisor)


def _edge_lcs(difficulty: int, rng: random.Random) -> str:
    few = rng.choice(("01", "012", "07", "3"))
    first = _digits(rng.randint(1, difficulty), rng, rng.choice((few, "0123456789")))
    seconds = (
        first,
        first[::-1],
        first[: rng.randint(1, len(first))],
        [9 - digit for digit in first],
        _digits(rng.randint(1, difficulty), rng, few),
        _digits(difficulty, rng, "56789"),
    )
    return _lcs(*rng.sample([first, rng.choice(seconds)], 2))


def _edge_lps(difficulty: int, rng: random.Random) -> str:
    length = rng.randint(1, difficulty)
    half = _digits(length, rng)
    palindrome = half[: (length + 1) // 2] + half[: length // 2][::-1]
    distinct = rng.sample(range(10), min(length, 10))
    shapes = (palindrome, distinct, _digits(length, rng, "01"), _digits(length, rng, "4"), half)
    return _lps(rng.choice(shapes))


def _edge_knapsack(difficulty: int, rng: random.Random) -> str:
    count = rng.randint(1, difficulty)
    small = [(rng.randint(1, 4), rng.randint(1, 4)) for _ in range(count)]
    items = rng.choice(([rng.choice(small)] * count, small, [(w, w) for w, _ in small], _items(count, rng)))
    weights = [weight for _, weight in items]
    exact_fit = sum(weight for weight in weights if rng.random() < 0.5)
    capacities = (0, min(weights) - 1, min(weights), max(weights), sum(weights), sum(weights) + 1, exact_fit)
    return _knapsack(items, rng.choice(capacities))


def _edge_mcm(difficulty: int, rng: random.Random) -> str:
    count = rng.randint(1, difficulty) + 1
    same = rng.randint(1, 99)
    shapes = (
        [same] * count,
        [rng.choice((1, same)) for _ in range(count)],
        [rng.randint(1, 3) for _ in range(count)],
        [rng.randint(1, 99) for _ in range(count)],
        sorted(rng.randint(1, 99) for _ in range(count)),
        [rng.choice((10, 20, 99)) for _ in range(count)],
    )
    return _mcm(rng.choice(shapes))


def _edge_sort(difficulty: int, rng: random.Random) -> str:
    count = rng.randint(2, difficulty)
    terms = [log_uniform(0, 1000, 5, rng) for _ in range(count)]
    shapes = (
        sorted(terms),
        sorted(terms, reverse=True),
        [rng.choice(terms[:2]) for _ in range(count)],
        [terms[0]] * count,
        [rng.randrange(3) for _ in range(count)],
        [rng.choice((0, 9, 10, 99, 100, 999)) for _ in range(count)],
    )
    return _sort(rng.choice(shapes))


_EDGES: dict[str, Callable[[int, random.Random], str]] = {
    "add": _edge_pair("add"),
    "sub": _edge_pair("sub"),
    "mul": _edge_pair("mul"),
    "div": _edge_div,
    "lcs": _edge_lcs,
    "lps": _edge_lps,
    "knapsack": _edge_knapsack,
    "mcm": _edge_mcm,
    "sort": _edge_sort,
}
