"""95 % intervals: Student's t over seeds, Clopper-Pearson for counts; both by the incomplete beta function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), 0 <= x <= 1, a and b above 0; to some 12 digits.

    By its continued fraction, from the last term that matters to the first; where that converges slowly, by symmetry.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    fraction = 1.0
    # It takes some sqrt(max(a, b)) pairs of terms.
    for m in range(100 + int(5 * math.sqrt(max(a, b))), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1 + even / (1 + odd / fraction)
    first = -(a + b) * x / (a + 1)
    return math.exp(log_front) / (a * (1 + first / fraction))


def _root(below: Callable[[float], bool], low: float, high: float) -> float:
    """Where `below` turns false in [low, high]."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def t_quantile(degrees: int) -> float:
    """Half of the width of a central 95 % of Student's t, in units of the standard error; degrees >= 1."""
    return _root(lambda t: beta_cdf(degrees / (degrees + t * t), degrees / 2, 0.5) > 2 * _TAIL, 0.0, 100.0)


def student_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of two or more shares, cut to [0, 1]."""
    assert len(values) >= 2
    mean = math.fsum(values) / len(values)
    half = t_quantile(len(values) - 1) * deviation(values) / math.sqrt(len(values))
    return max(0.0, mean - half), min(1.0, mean + half)


def deviation(values: Sequence[float]) -> float:
    """The sample standard deviation of two or more values; exactly 0 where all are equal."""
    if min(values) == max(values):
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def count_interval(right: int, problems: int) -> tuple[float, float]:
    """The exact (Clopper-Pearson) 95 % interval of a share, of which `right` of `problems` were seen."""
    assert 0 <= right <= problems
    wrong = problems - right
    low = 0.0 if right == 0 else _root(lambda p: beta_cdf(p, right, wrong + 1) < _TAIL, 0.0, 1.0)
    high = 1.0 if wrong == 0 else _root(lambda p: beta_cdf(p, right + 1, wrong) < 1 - _TAIL, 0.0, 1.0)
    return low, high
