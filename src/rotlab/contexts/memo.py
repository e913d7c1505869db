"""The memo: every question that came up, once, with its answer and what it asked.

A memo is an arena of tokens and one row for each different question, in order of creation (X^1 first). A row knows
its question's and its answer's place in the arena and the rows that it asked. Questions are found by their tokens.
Everything is a flat array, so that a memo can be filled, read and emptied by compiled code; arrays that are too small
are replaced by larger ones, which is why every function that writes returns the memo.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled
from rotlab.rng import Draw
from rotlab.tasks.kit import (
    ANSWERS,
    CURSOR,
    FIRST_FRAME,
    N_ANSWERS,
    START,
    View,
)  # fmt: skip
from rotlab.tasks.registry import compiled_sampler, kind_of
from rotlab.vocab import EQUALS, Tokens

# Columns of `rows`: question text[QUESTION:QUESTION_END] (GO ... =), answer text[REPLY:REPLY_END] (... STOP; REPLY_END
# is 0 until it is known), problem type, the rows that it asked links[LINKS:LINKS_END], whether the last is a tail.
QUESTION, QUESTION_END, REPLY, REPLY_END, TYPE, LINKS, LINKS_END, TAILED, COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Places of `state`: numbers of rows, links and solved rows in use; the top frame (0: none).
N_ROWS, N_LINKS, N_SOLVED, TOP, STATE = 0, 1, 2, 3, 4


class Memo(NamedTuple):
    """Rows of questions and their contexts; see the module's docstring. `solved` lists rows, sub-questions first."""

    text: Tokens
    frame: NDArray[np.int64]
    rows: NDArray[np.int64]
    links: NDArray[np.int64]
    solved: NDArray[np.int64]
    hashes: NDArray[np.int64]
    slots: NDArray[np.int64]
    state: NDArray[np.int64]


@compiled
def new_memo(size: int) -> Memo:
    """An empty memo with room for some `size` rows, at least one."""
    n_slots = 64
    while n_slots < 4 * size:
        n_slots *= 2
    memo = Memo(
        np.empty(size * 64, np.uint8),
        np.zeros(size * 8, np.int64),
        np.zeros((size, COLUMNS), np.int64),
        np.empty(size * 4, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(STATE, np.int64),
    )
    memo.frame[CURSOR] = 0
    return memo


@compiled
def clear(memo: Memo) -> None:
    """Empty the memo, in time proportional to what it holds."""
    mask = memo.slots.size - 1
    for row in range(memo.state[N_ROWS]):
        at = memo.hashes[row] & mask
        while memo.slots[at] != row + 1:
            at = (at + 1) & mask
        memo.slots[at] = -1
    for row in range(memo.state[N_ROWS]):
        at = memo.hashes[row] & mask
        while memo.slots[at] != 0:
            if memo.slots[at] == -1:
                memo.slots[at] = 0
            at = (at + 1) & mask
    memo.state[:] = 0
    memo.frame[CURSOR] = 0


@compiled
def question_hash(text: Tokens, lo: int, hi: int) -> int:
    """A 62-bit hash of text[lo:hi]."""
    low, high = 0x1B873593, 0x2545F491
    for at in range(lo, hi):
        low = ((low ^ int(text[at])) * 0x01000193) & 0x7FFFFFFF
        high = ((high + int(text[at]) + 1) * 0x2C1B3C6D) & 0x7FFFFFFF
        high ^= high >> 13
    low ^= high >> 7
    low = (low * 0x297A2D39) & 0x7FFFFFFF
    return (high << 31) | (low ^ (low >> 15))


@compiled
def find_row(memo: Memo, text: Tokens, lo: int, hi: int, hashed: int) -> int:
    """The row of the question text[lo:hi], which may stand in another memo's text; -1 if there is none."""
    mask = memo.slots.size - 1
    at = hashed & mask
    while memo.slots[at] != 0:
        row = memo.slots[at] - 1
        if memo.hashes[row] == hashed:
            start = memo.rows[row, QUESTION]
            if memo.rows[row, QUESTION_END] - start == hi - lo:
                same = True
                for i in range(hi - lo):
                    if memo.text[start + i] != text[lo + i]:
                        same = False
                        break
                if same:
                    return row
        at = (at + 1) & mask
    return -1


@compiled
def add_row(memo: Memo, lo: int, hi: int, hashed: int) -> int:
    """A new row for the question text[lo:hi], which stays where it is."""
    row = memo.state[N_ROWS]
    memo.state[N_ROWS] = row + 1
    memo.rows[row, QUESTION] = lo
    memo.rows[row, QUESTION_END] = hi
    memo.rows[row, REPLY_END] = 0
    memo.rows[row, TAILED] = 0
    memo.rows[row, TYPE] = kind_of(memo.text, lo, hi)
    memo.hashes[row] = hashed
    mask = memo.slots.size - 1
    at = hashed & mask
    while memo.slots[at] != 0:
        at = (at + 1) & mask
    memo.slots[at] = row + 1
    return row


@compiled
def _larger(array: Any, size: int) -> Any:
    grown = np.zeros(size, array.dtype)
    grown[: array.size] = array
    return grown


@compiled
def open_frames_end(memo: Memo) -> int:
    """Where the open frames end. They have less than a third as many answers, even when each gets one more."""
    top = memo.state[TOP]
    return FIRST_FRAME if top == 0 else top + ANSWERS + 3 * memo.frame[top + N_ANSWERS]


@compiled
def with_room(memo: Memo, tokens: int) -> Memo:
    """The memo with room for one more row, frame and answer, the links of all frames, and `tokens` more tokens."""
    n_rows, frames_end = memo.state[N_ROWS], open_frames_end(memo)
    text, frame, rows, links, solved, hashes, slots, state = memo
    if memo.frame[CURSOR] + tokens > text.size:
        text = _larger(text, 2 * text.size + tokens)
    if frames_end + 2 * ANSWERS > frame.size:
        frame = _larger(frame, 2 * frame.size + 64)
    if memo.state[N_LINKS] + frames_end // 3 > links.size:
        links = _larger(links, 2 * links.size + frames_end)
    if n_rows + 1 > solved.size:
        solved = _larger(solved, 2 * solved.size)
        hashes = _larger(hashes, 2 * hashes.size)
        wider = np.zeros((2 * rows.shape[0], COLUMNS), np.int64)
        wider[: rows.shape[0]] = rows
        rows = wider
        slots = np.zeros(2 * slots.size, np.int64)
        mask = slots.size - 1
        for row in range(n_rows):
            at = hashes[row] & mask
            while slots[at] != 0:
                at = (at + 1) & mask
            slots[at] = row + 1
    return Memo(text, frame, rows, links, solved, hashes, slots, state)


@compiled
def needs_room(memo: Memo, tokens: int) -> bool:
    """Whether `with_room` must make larger arrays."""
    frames_end = open_frames_end(memo)
    return (
        memo.frame[CURSOR] + tokens > memo.text.size
        or frames_end + 2 * ANSWERS > memo.frame.size
        or memo.state[N_LINKS] + frames_end // 3 > memo.links.size
        or memo.state[N_ROWS] + 1 > memo.solved.size
    )


@compiled
def enter(memo: Memo) -> tuple[int, bool]:
    """The row of the question text[START:cursor], and whether it is new; a known one's text is dropped."""
    lo, hi = memo.frame[START], memo.frame[CURSOR]
    hashed = question_hash(memo.text, lo, hi)
    row = find_row(memo, memo.text, lo, hi, hashed)
    if row >= 0:
        memo.frame[CURSOR] = lo
        return row, False
    return add_row(memo, lo, hi, hashed), True


@compiled
def sampled(memo: Memo, number: int, draw: Draw, difficulty: int) -> Memo:
    """Have a compiled sampler write its question to text[START:cursor]; the memo, grown until it fits."""
    room = 256
    while True:
        memo = with_room(memo, room)
        lo = memo.frame[CURSOR]
        at = draw.copy()
        compiled_sampler(number, View(memo.text, memo.frame, 0), draw, difficulty)
        memo.frame[CURSOR] += 1
        if memo.frame[CURSOR] <= memo.text.size:
            memo.text[memo.frame[CURSOR] - 1] = EQUALS
            return memo
        memo.frame[CURSOR] = lo
        draw[:] = at
        room *= 4
