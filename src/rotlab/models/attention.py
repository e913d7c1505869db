"""Attention over cached keys and values on a CPU: each token's own places, no padding, no mask, no copy of the cache.

Every index below is a loop's own variable: what is added to an index makes Numba guard against negative ones, and then
no loop takes several terms at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import reordered

Floats = NDArray[np.floating]


@reordered
def attend_cached(
    qkv_N3Hd: Floats, keys_SPHd: Floats, values_SPHd: Floats, slots_B: NDArray[np.int64], starts_B: NDArray[np.int64],
    ends_B: NDArray[np.int64], last_only: bool, scores_P: Floats, mixed_MHd: Floats,
) -> None:  # fmt: skip
    """Keep keys and values of pieces of contexts, then write what their places take from those up to them.

    Piece b is qkv_N3Hd[ends_B[b - 1]:ends_B[b]], a query, a key and a value each; it goes to slot slots_B[b], from
    place starts_B[b] on. mixed_MHd: for all N places, or with `last_only` for the last one of each piece. scores_P:
    room for the places of a slot, with a number in each.
    """
    lo = row = 0
    for b in range(slots_B.size):
        slot, hi = slots_B[b], ends_B[b]
        for n in range(lo, hi):
            place = starts_B[b] + n - lo
            for head in range(qkv_N3Hd.shape[2]):
                for i in range(qkv_N3Hd.shape[3]):
                    keys_SPHd[slot, place, head, i] = qkv_N3Hd[n, 1, head, i]
                    values_SPHd[slot, place, head, i] = qkv_N3Hd[n, 2, head, i]
        for n in range(hi - 1 if last_only else lo, hi):
            _attend(qkv_N3Hd, keys_SPHd, values_SPHd, n, slot, starts_B[b] + n - lo + 1, scores_P, row, mixed_MHd)
            row += 1
        lo = hi


@reordered
def _attend(
    qkv_N3Hd: Floats, keys_SPHd: Floats, values_SPHd: Floats, n: int, slot: int, places: int, scores_P: Floats,
    row: int, mixed_MHd: Floats,
) -> None:  # fmt: skip
    """What query n takes from the first places of a slot, by softmax of their products."""
    heads, width = qkv_N3Hd.shape[2:]
    shrink, zero = 1 / math.sqrt(width), scores_P[0] * 0
    for head in range(heads):
        for p in range(places):
            product = zero
            for i in range(width):
                product += qkv_N3Hd[n, 0, head, i] * keys_SPHd[slot, p, head, i]
            scores_P[p] = product * shrink
        _soften(scores_P, places)
        for i in range(width):
            mixed_MHd[row, head, i] = 0
        # Four places at a time: the sum is fetched and put back once for them.
        for p in range(0, places - 3, 4):
            a, b, c, d = scores_P[p], scores_P[p + 1], scores_P[p + 2], scores_P[p + 3]
            for i in range(width):
                early = a * values_SPHd[slot, p, head, i] + b * values_SPHd[slot, p + 1, head, i]
                late = c * values_SPHd[slot, p + 2, head, i] + d * values_SPHd[slot, p + 3, head, i]
                mixed_MHd[row, head, i] += early + late
        for p in range(places & ~3, places):
            a = scores_P[p]
            for i in range(width):
                mixed_MHd[row, head, i] += a * values_SPHd[slot, p, head, i]


@reordered
def _soften(scores_P: Floats, places: int) -> None:
    """Softmax of the first places."""
    most = scores_P[0]
    for p in range(places):
        most = max(most, scores_P[p])
    total = scores_P[0] - scores_P[0]
    for p in range(places):
        # What is below adds nothing to a sum with a 1 in it, and numbers too small for their type take long.
        scores_P[p] = math.exp(max(scores_P[p] - most, -80))
        total += scores_P[p]
    share = 1 / total
    for p in range(places):
        scores_P[p] *= share
