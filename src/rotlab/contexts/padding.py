"""Contexts of uneven lengths as padded arrays of a model's ids: groups of similar length, targets shifted by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled
from rotlab.contexts.render import target
from rotlab.contexts.stream import Batch
from rotlab.vocab import Vocabulary

ABSENT = Vocabulary.absent


def cut_points(lengths_N: NDArray[np.int64], overhead: int, most: int) -> NDArray[np.int64]:
    """Where to cut a sorted list of lengths into groups, each padded to its longest: cheapest total, exactly.

    A group of n contexts, the longest of length t, costs n * t + overhead tokens, and has n * t <= most (a single
    longer context stands alone). Returns the groups' ends, the last being N.
    """
    cost, start = np.zeros(lengths_N.size + 1, np.int64), np.zeros(lengths_N.size + 1, np.int64)
    _cheapest(lengths_N, overhead, most, cost, start)
    cuts = [lengths_N.size]
    while start[cuts[-1]] > 0:
        cuts.append(int(start[cuts[-1]]))
    return np.array(cuts[::-1])


@compiled
def _cheapest(
    lengths_N: NDArray[np.int64], overhead: int, most: int, cost: NDArray[np.int64], start: NDArray[np.int64]
) -> None:
    """For each number of the shortest contexts, what they cost at least, and where their last group starts."""
    for end in range(1, lengths_N.size + 1):
        longest = lengths_N[end - 1]
        cost[end] = cost[end - 1] + longest + overhead
        start[end] = end - 1
        for lo in range(end - 2, -1, -1):
            area = (end - lo) * longest
            if area > most:
                break
            if cost[lo] + area + overhead < cost[end]:
                cost[end] = cost[lo] + area + overhead
                start[end] = lo


@compiled
def pad_group(
    batch: Batch, chosen_B: NDArray[np.int64], compact_S: NDArray[np.uint8], inputs_BT: NDArray[np.uint8],
    targets_BT: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Write the chosen contexts, shifted by one, to zeroed arrays: X without its last token, Y without its first.

    Raises ValueError for a symbol that `compact_S` marks as absent.
    """
    for b in range(chosen_B.size):
        lo, hi = batch.offsets[chosen_B[b]], batch.offsets[chosen_B[b] + 1]
        for i in range(hi - lo - 1):
            inputs_BT[b, i] = compact_S[batch.tokens[lo + i]]
            symbol = target(batch.tokens[lo:hi], batch.segments[lo:hi], i + 1)
            targets_BT[b, i] = compact_S[symbol]
            if inputs_BT[b, i] == ABSENT or targets_BT[b, i] == ABSENT:
                raise ValueError(
                    "a context shows a symbol that its task's vocabulary lacks: name every type that a rule asks "
                    "in its ProblemType's asks, and every symbol of question and answer in its symbols"
                )
