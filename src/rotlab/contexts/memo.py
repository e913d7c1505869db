"""The memo: every question that came up, once, with its answer and what it asked.

A memo is an arena of tokens and one row for each different question, in order of creation (X^1 first). A row knows
its question's and its answer's place in the arena and the rows that it asked. Questions are found by their tokens.
Everything is a flat array, so that a memo can be filled, read and emptied by compiled code. That code makes no arrays:
where they are too small it stops, `with_room` gives the memo larger ones, and it goes on.

Questions start at a multiple of eight tokens and are followed by zeros up to the next, so that they are hashed and
compared eight tokens at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled, inlined
from rotlab.native import copy_tokens, fill_tokens
from rotlab.rng import Draw, go_back, keep
from rotlab.tasks.kit import (
    ANSWERS,
    CURSOR,
    FIRST_FRAME,
    N_ANSWERS,
    START,
    View,
    aligned,
)  # fmt: skip
from rotlab.tasks.registry import compiled_sampler, kind_of
from rotlab.vocab import EQUALS, Tokens

# Columns of `rows`: question text[QUESTION:QUESTION_END] (GO ... =), answer text[REPLY:REPLY_END] (... STOP; REPLY_END
# is 0 until it is known), problem type, the rows that it asked links[LINKS:LINKS_END], whether the last is a tail, the
# question's hash; SCRATCH and SCRATCH_BELOW for whoever goes through the solved rows. NTH_SOLVED has nothing to do with
# its row: from the first on it lists the rows, sub-questions first.
QUESTION, QUESTION_END, REPLY, REPLY_END, TYPE, LINKS, LINKS_END, TAILED = 0, 1, 2, 3, 4, 5, 6, 7
HASH, NTH_SOLVED, SCRATCH, SCRATCH_BELOW, COLUMNS = 8, 9, 10, 11, 12
# Places of `state`: numbers of rows, links and solved rows in use; the top frame (0: none); how often the memo was
# emptied, and one; how many tokens there was no room for.
N_ROWS, N_LINKS, N_SOLVED, TOP, GENERATION, LACKING, STATE = 0, 1, 2, 3, 4, 5, 6

_WORD = 8
# So many tokens there is always room for.
STEP = 64
_MOST_GENERATIONS = (1 << 31) - 1


class Memo(NamedTuple):
    """Rows of questions and their contexts; see the module's docstring.

    words: the text's memory, eight tokens a number. slots: a hash table of rows, each with the generation that it
    belongs to, so that emptying the memo costs nothing.
    """

    text: Tokens
    words: NDArray[np.int64]
    frame: NDArray[np.int64]
    rows: NDArray[np.int64]
    links: NDArray[np.int64]
    slots: NDArray[np.int64]
    state: NDArray[np.int64]

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process, text and words still share their memory."""
        return _memo, (self.text, *self[2:])


def _memo(text: Tokens, *others: Any) -> Memo:
    return Memo(text, text.view(np.int64), *others)


def new_memo(size: int) -> Memo:
    """An empty memo with room for some `size` rows, at least one."""
    n_slots = max(64, 1 << (4 * size - 1).bit_length())
    memo = _memo(
        np.empty(size * 8 * _WORD, np.uint8),
        np.zeros(size * 8, np.int64),
        np.zeros((size, COLUMNS), np.int64),
        np.empty(size * 4, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(STATE, np.int64),
    )
    memo.state[GENERATION] = 1
    return memo


@compiled
def clear(memo: Memo) -> None:
    """Empty the memo."""
    generation = memo.state[GENERATION] + 1
    if generation > _MOST_GENERATIONS:
        memo.slots[:] = 0
        generation = 1
    memo.state[:] = 0
    memo.state[GENERATION] = generation
    memo.frame[CURSOR] = 0


@compiled
def hash_of(words: NDArray[np.int64], lo: int, hi: int, factor: int) -> int:
    """A 62-bit hash of the question text[lo:hi]; another odd factor gives an independent one."""
    hashed = int(hi - lo)
    for at in range(lo >> 3, (hi + 7) >> 3):
        hashed = ((hashed ^ int(words[at])) * factor) & 0x3FFFFFFFFFFFFFFF
        hashed ^= hashed >> 31
    hashed = (hashed * 0x1B03738712FAD5C9) & 0x3FFFFFFFFFFFFFFF
    return hashed ^ (hashed >> 29)


@compiled
def question_hash(words: NDArray[np.int64], lo: int, hi: int) -> int:
    """The hash by which a memo finds a question."""
    return hash_of(words, lo, hi, 0x1E3779B97F4A7C15)


@compiled
def find_row(memo: Memo, words: NDArray[np.int64], lo: int, hi: int, hashed: int) -> int:
    """The row of the question text[lo:hi], which may stand in another memo; -1 if there is none."""
    mask = memo.slots.size - 1
    generation = memo.state[GENERATION]
    at = hashed & mask
    while memo.slots[at] >> 32 == generation:
        row = memo.slots[at] & 0xFFFFFFFF
        if memo.rows[row, HASH] == hashed and memo.rows[row, QUESTION_END] - memo.rows[row, QUESTION] == hi - lo:
            start, first = memo.rows[row, QUESTION] >> 3, lo >> 3
            n = (hi - lo + 7) >> 3
            same = 0
            while same < n and memo.words[start + same] == words[first + same]:
                same += 1
            if same == n:
                return row
        at = (at + 1) & mask
    return -1


@compiled
def _put_in_slot(slots: NDArray[np.int64], hashed: int, row: int, generation: int) -> None:
    mask = slots.size - 1
    at = hashed & mask
    while slots[at] >> 32 == generation:
        at = (at + 1) & mask
    slots[at] = (generation << 32) | row


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
    memo.rows[row, HASH] = hashed
    _put_in_slot(memo.slots, hashed, row, memo.state[GENERATION])
    return row


@compiled
def open_frames_end(memo: Memo) -> int:
    """Where the open frames end. They have less than a third as many answers, even when each gets one more."""
    top = memo.state[TOP]
    return FIRST_FRAME if top == 0 else top + ANSWERS + 3 * memo.frame[top + N_ANSWERS]


def with_room(memo: Memo, tokens: int) -> Memo:
    """The memo with room for one more row, frame and answer, the links of all frames, and `tokens` more tokens."""
    text, _, frame, rows, links, slots, state = memo
    frames_end = int(open_frames_end(memo))
    if frame[CURSOR] + tokens + _WORD > text.size:
        text = _larger(text, aligned(2 * text.size + tokens))
    if frames_end + 2 * ANSWERS > frame.size:
        frame = _larger(frame, 2 * frame.size + 64)
    if state[N_LINKS] + frames_end // 3 > links.size:
        links = _larger(links, 2 * links.size + frames_end)
    if state[N_ROWS] + 1 > len(rows):
        rows = _larger(rows, 2 * len(rows))
        slots = np.zeros(2 * slots.size, np.int64)
        _put_all_in_slots(rows, slots, state)
    return _memo(text, frame, rows, links, slots, state)


def _larger(array: NDArray[Any], size: int) -> NDArray[Any]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


@compiled
def _put_all_in_slots(rows: NDArray[np.int64], slots: NDArray[np.int64], state: NDArray[np.int64]) -> None:
    for row in range(state[N_ROWS]):
        _put_in_slot(slots, rows[row, HASH], row, state[GENERATION])


@compiled
def lacks_room(memo: Memo, tokens: int) -> bool:
    """Whether `with_room` must make larger arrays; says in state[LACKING] for how many tokens."""
    frames_end = open_frames_end(memo)
    memo.state[LACKING] = tokens
    return (
        memo.frame[CURSOR] + tokens + _WORD > memo.text.size
        or frames_end + 2 * ANSWERS > memo.frame.size
        or memo.state[N_LINKS] + frames_end // 3 > memo.links.size
        or memo.state[N_ROWS] + 1 > memo.rows.shape[0]
    )


@compiled
def end_question(memo: Memo) -> None:
    """Close the question text[START:cursor] with `=`; there is room for it and the zeros behind it."""
    end = memo.frame[CURSOR]
    memo.text[end] = EQUALS
    memo.frame[CURSOR] = end + 1
    fill_tokens(memo.text, end + 1, aligned(end + 1), 0)


@inlined
def enter(memo: Memo) -> tuple[int, bool]:
    """The row of the question text[START:cursor], and whether it is new; a known one's text is dropped."""
    lo, hi = memo.frame[START], memo.frame[CURSOR]
    hashed = question_hash(memo.words, lo, hi)
    row = find_row(memo, memo.words, lo, hi, hashed)
    if row >= 0:
        memo.frame[CURSOR] = lo
        return row, False
    memo.frame[CURSOR] = aligned(hi)  # the zeros behind it are part of what is compared
    return add_row(memo, lo, hi, hashed), True


@compiled
def sampled(memo: Memo, number: int, draw: Draw, difficulty: int) -> bool:
    """Have a compiled sampler write its question to text[START:cursor]; False, and nothing drawn, where room lacks."""
    if lacks_room(memo, STEP):
        return False
    start = memo.frame[CURSOR]
    keep(draw)
    compiled_sampler(number, View(memo.text, memo.frame, 0), draw, difficulty)
    if memo.frame[CURSOR] < memo.text.size:
        end_question(memo)
        return True
    go_back(draw)
    memo.frame[CURSOR] = start
    memo.state[LACKING] = 2 * (memo.text.size - start) + STEP
    return False


@compiled
def put_question(memo: Memo, tokens: Tokens) -> int:
    """The row of the question `tokens` = GO ... =, unsolved if it is new; there is room for it."""
    lo = aligned(memo.frame[CURSOR])
    copy_tokens(memo.text, lo, tokens, 0, tokens.size - 1)
    memo.frame[START] = lo
    memo.frame[CURSOR] = lo + tokens.size - 1
    end_question(memo)
    row, _ = enter(memo)
    return row


def add_question(memo: Memo, tokens: Tokens) -> tuple[Memo, int]:
    """The memo, grown if need be, with the question `tokens` = GO ... =; and its row."""
    memo = with_room(memo, tokens.size + _WORD)
    return memo, int(put_question(memo, tokens))
