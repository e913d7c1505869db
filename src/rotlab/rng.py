"""Counter-based random numbers: every draw is a pure function of (seed, split, index, position).

Philox-4x32-10 (Salmon et al., SC 2011). Products of 32-bit words are masked after a wrapping multiplication, so that
compiled int64 arithmetic and Python's unbounded one give the same words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled

# The splits never share a draw, whatever the seeds.
TRAIN, TEST, PROBE, FIT = 0, 1, 2, 3

_MASK = 0xFFFFFFFF
_KEY, _INDEX, _SPLIT, _BLOCK, _BUFFER, _USED, _KEPT = 0, 2, 4, 5, 6, 10, 11

Draw = NDArray[np.int64]


def new_draw() -> Draw:
    """The state of a generator; `seek` points it at an index before the first draw."""
    return np.zeros(2 * _KEPT, dtype=np.int64)


@compiled
def keep(draw: Draw) -> None:
    """Remember where the generator stands, for `go_back`."""
    for i in range(_KEPT):
        draw[_KEPT + i] = draw[i]


@compiled
def go_back(draw: Draw) -> None:
    """To where the generator stood at `keep`."""
    for i in range(_KEPT):
        draw[i] = draw[_KEPT + i]


@compiled
def seek(draw: Draw, seed: int, split: int, index: int) -> None:
    """Point `draw` at the first word of example `index` (0 <= seed, index < 2^63) of a split."""
    draw[_KEY] = seed & _MASK
    draw[_KEY + 1] = (seed >> 32) & _MASK
    draw[_INDEX] = index & _MASK
    draw[_INDEX + 1] = (index >> 32) & _MASK
    draw[_SPLIT] = split
    draw[_BLOCK] = 0
    draw[_USED] = 4


@compiled
def philox(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Four 32-bit words from a counter of four words and a key of two."""
    for _ in range(10):
        product0 = c0 * 0xD2511F53
        product1 = c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (
            ((product1 >> 32) & _MASK) ^ c1 ^ k0,
            product1 & _MASK,
            ((product0 >> 32) & _MASK) ^ c3 ^ k1,
            product0 & _MASK,
        )
        k0 = (k0 + 0x9E3779B9) & _MASK
        k1 = (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


@compiled
def word(draw: Draw) -> int:
    """The next 32 random bits, as a number."""
    if draw[_USED] == 4:
        w0, w1, w2, w3 = philox(
            int(draw[_BLOCK]), int(draw[_SPLIT]), int(draw[_INDEX]), int(draw[_INDEX + 1]), int(draw[_KEY]),
            int(draw[_KEY + 1]),
        )  # fmt: skip
        draw[_BUFFER] = w0
        draw[_BUFFER + 1] = w1
        draw[_BUFFER + 2] = w2
        draw[_BUFFER + 3] = w3
        draw[_BLOCK] += 1
        draw[_USED] = 0
    draw[_USED] += 1
    return int(draw[_BUFFER + draw[_USED] - 1])


@compiled
def below(draw: Draw, n: int) -> int:
    """A uniform integer in [0, n), 1 <= n <= 2^32, without bias."""
    fair = (1 << 32) - (1 << 32) % n
    w = word(draw)
    while w >= fair:
        w = word(draw)
    return w % n


@compiled
def whole_and_fraction(draw: Draw, width: int) -> tuple[int, float]:
    """A uniform real in [0, width), 0 <= width < 2^38, as whole part and fraction.

    Kept apart so that the fraction has 48 random bits however large the whole part is.
    """
    high = (word(draw) >> 8) * width
    low = (word(draw) >> 8) * width
    high += low >> 24
    return high >> 24, (((high & 0xFFFFFF) << 24) | (low & 0xFFFFFF)) / (1 << 48)
