"""The extended log-uniform distribution over numbers of any length (App. G.1), written as digits."""

from __future__ import annotations

import math

from rotlab.compiled import compiled
from rotlab.rng import Draw, below, whole_and_fraction
from rotlab.tasks.kit import Span, View, cursor, full, number, put, put_int, rewind, size, value

# Below 10^12 the real number decides every digit; above, only the leading twelve, which a float holds exactly.
_EXACT = 12


@compiled
def log10_plus(v: View, span: Span, delta: int) -> float:
    """log10(n + delta) of a number n of any length."""
    digits = number(v, span)
    if size(digits) <= 15:
        return math.log10(value(v, digits) + delta)
    leading = Span(digits.lo, digits.lo + 15)
    return size(digits) - 15 + math.log10(value(v, leading))


@compiled
def put_log_uniform(v: View, draw: Draw, low: int, whole: int, fraction: float, delta: int) -> Span:
    """Write floor(10^r - delta), r uniform in [log10(low + delta), whole + fraction]; the written span.

    The caller draws again what falls outside its range, by its exact bounds. Empty when the arena is full.
    """
    start = math.log10(low + delta)
    turns, turn = whole_and_fraction(draw, max(whole, 1))
    unit = (turns + turn) / max(whole, 1)
    if whole == 0:
        turns, turn = 0, 0.0
    part = start + turn + unit * (fraction - start)
    exponent = turns + int(math.floor(part))
    part -= math.floor(part)
    lo = cursor(v)
    if exponent < _EXACT:
        put_int(v, max(0, int(math.floor(10.0 ** (exponent + part) - delta))))
    else:
        put_int(v, min(int(math.floor(10.0 ** (part + _EXACT - 1))), 10**_EXACT - 1))
        for _ in range(exponent + 1 - _EXACT):
            put(v, below(draw, 10))
    return Span(0, 0) if full(v) else Span(lo, cursor(v))


@compiled
def log_uniform(v: View, draw: Draw, low: int, digits: int, delta: int) -> Span:
    """Write a number from U_log(low, 10^digits, delta); its span, empty when the arena is full."""
    fraction = math.log10(10.0**digits + delta) - digits if digits <= 15 else 0.0
    start = cursor(v)
    while True:
        drawn = put_log_uniform(v, draw, low, digits, fraction, delta)
        if full(v) or (size(drawn) <= digits and (low == 0 or size(drawn) > 18 or value(v, drawn) >= low)):
            return drawn
        rewind(v, start)


@compiled
def uniform_number(v: View, draw: Draw, digits: int) -> Span:
    """Write a number uniform in [0, 10^digits); the written span, empty when the arena is full."""
    lo = cursor(v)
    for _ in range(digits):
        put(v, below(draw, 10))
    return Span(0, 0) if full(v) else number(v, Span(lo, cursor(v)))


@compiled
def log10_of_sum(exponent: float, delta: int) -> float:
    """log10(10^exponent + delta)."""
    return math.log10(10.0**exponent + delta) if exponent <= 15 else exponent
