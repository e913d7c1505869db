"""What evaluation keeps of contexts that were judged: 124 bits of the question's hash and a verdict, 17 bytes each.

So memory is bounded by the number of unique contexts, while the contexts themselves come and go shard by shard.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled
from rotlab.contexts.memo import HASH, LINKS, LINKS_END, N_SOLVED, NTH_SOLVED, QUESTION, QUESTION_END, Memo, hash_of
from rotlab.contexts.render import context_length, render
from rotlab.contexts.stream import Batch

UNKNOWN, WRONG, RIGHT = 0, 1, 2


class Verdicts(NamedTuple):
    """An open hash table: key2_N of hashes, verdict_N, and how many are in use."""

    keys_N2: NDArray[np.int64]
    verdict_N: NDArray[np.uint8]
    used: NDArray[np.int64]


def new_verdicts(size: int) -> Verdicts:
    """An empty table of `size` places, a power of two."""
    return Verdicts(np.zeros((size, 2), np.int64), np.zeros(size, np.uint8), np.zeros(1, np.int64))


@compiled
def _second_hash(memo: Memo, row: int) -> int:
    """62 bits that are independent of the memo's own hash."""
    return hash_of(memo.words, memo.rows[row, QUESTION], memo.rows[row, QUESTION_END], 0x2545F4914F6CDD1D)


@compiled
def _place(verdicts: Verdicts, first: int, second: int) -> int:
    """Where a key stands, or would."""
    mask = verdicts.verdict_N.size - 1
    at = (first ^ (second >> 20)) & mask
    while verdicts.verdict_N[at] != UNKNOWN and (verdicts.keys_N2[at, 0] != first or verdicts.keys_N2[at, 1] != second):
        at = (at + 1) & mask
    return at


def look_up(verdicts: Verdicts, memo: Memo, rows_R: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The verdict of each row, UNKNOWN where it was not judged."""
    found_R = np.empty(rows_R.size, np.uint8)
    _look_up(verdicts, memo, rows_R, found_R)
    return found_R


@compiled
def _look_up(verdicts: Verdicts, memo: Memo, rows_R: NDArray[np.int64], found_R: NDArray[np.uint8]) -> None:
    for i in range(rows_R.size):
        row = rows_R[i]
        found_R[i] = verdicts.verdict_N[_place(verdicts, memo.rows[row, HASH], _second_hash(memo, row))]


def record(verdicts: Verdicts, memo: Memo, rows_R: NDArray[np.int64], verdict_R: NDArray[np.uint8]) -> Verdicts:
    """The table with the verdicts of new rows, grown where it was half full."""
    wanted = 2 * (int(verdicts.used[0]) + rows_R.size)
    if wanted > verdicts.verdict_N.size:
        grown = new_verdicts(1 << (wanted - 1).bit_length())
        _move(verdicts, grown)
        verdicts = grown
    _record(verdicts, memo, rows_R, verdict_R)
    return verdicts


@compiled
def _move(verdicts: Verdicts, to: Verdicts) -> None:
    for i in range(verdicts.verdict_N.size):
        if verdicts.verdict_N[i] != UNKNOWN:
            _put(to, verdicts.keys_N2[i, 0], verdicts.keys_N2[i, 1], verdicts.verdict_N[i])
    to.used[0] = verdicts.used[0]


@compiled
def _record(verdicts: Verdicts, memo: Memo, rows_R: NDArray[np.int64], verdict_R: NDArray[np.uint8]) -> None:
    for i in range(rows_R.size):
        _put(verdicts, memo.rows[rows_R[i], HASH], _second_hash(memo, rows_R[i]), verdict_R[i])
    verdicts.used[0] += rows_R.size


@compiled
def _put(verdicts: Verdicts, first: int, second: int, verdict: int) -> None:
    at = _place(verdicts, first, second)
    verdicts.keys_N2[at, 0] = first
    verdicts.keys_N2[at, 1] = second
    verdicts.verdict_N[at] = verdict


def aggregate(memo: Memo, verdict_R: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each row and all that it asks, directly or not, is right (App. K); verdict_R by row."""
    right_R = np.zeros(verdict_R.size, np.bool_)
    _aggregate(memo, verdict_R, right_R)
    return right_R


@compiled
def _aggregate(memo: Memo, verdict_R: NDArray[np.uint8], right_R: NDArray[np.bool_]) -> None:
    for i in range(memo.state[N_SOLVED]):
        row = memo.rows[i, NTH_SOLVED]
        right = verdict_R[row] == RIGHT
        for j in range(memo.rows[row, LINKS], memo.rows[row, LINKS_END]):
            right = right and right_R[memo.links[j]]
        right_R[row] = right


def lengths_of(memo: Memo, rows_R: NDArray[np.int64], method: int) -> NDArray[np.int64]:
    """The printed length of each row's context."""
    lengths_R = np.empty(rows_R.size, np.int64)
    _lengths_of(memo, rows_R, method, lengths_R)
    return lengths_R


@compiled
def _lengths_of(memo: Memo, rows_R: NDArray[np.int64], method: int, lengths_R: NDArray[np.int64]) -> None:
    for i in range(rows_R.size):
        lengths_R[i] = context_length(memo, rows_R[i], method)


def render_rows(memo: Memo, rows_R: NDArray[np.int64], lengths_R: NDArray[np.int64], method: int) -> Batch:
    """The contexts of rows, one after another."""
    total = int(lengths_R.sum())
    batch = Batch(np.empty(total, np.uint8), np.empty(total, np.uint8), np.zeros(rows_R.size + 1, np.int64))
    _render_rows(memo, rows_R, method, batch)
    return batch


@compiled
def _render_rows(memo: Memo, rows_R: NDArray[np.int64], method: int, batch: Batch) -> None:
    for i in range(rows_R.size):
        at = batch.offsets[i]
        batch.offsets[i + 1] = render(memo, rows_R[i], method, batch.tokens, batch.segments, at)
