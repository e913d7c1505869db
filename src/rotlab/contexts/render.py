"""Contexts of solved rows as tokens and segments, and their targets (App. D and F).

X = [Q; Q_sub, A_sub, ...; A]. A context that ends in a tail ends with the sub-question and THINK. In a chain of thought
all that is unravelled between question and answer is one segment T.
"""

from __future__ import annotations

import numpy as np

from rotlab.compiled import compiled
from rotlab.contexts.memo import (
    LINKS,
    LINKS_END,
    N_SOLVED,
    NTH_SOLVED,
    QUESTION,
    QUESTION_END,
    REPLY,
    REPLY_END,
    SCRATCH,
    SCRATCH_BELOW,
    TAILED,
    Memo,
)  # fmt: skip
from rotlab.native import copy_tokens, fill_tokens
from rotlab.vocab import PAD, TAIL, THINK, Tokens

Q, Q_SUB, A_SUB, A, T = 0, 1, 2, 3, 4
SEGMENTS = ("Q", "Q_sub", "A_sub", "A", "T")

WT, COT, ROT = 0, 1, 2
METHOD_NUMBER = {"wt": WT, "cot": COT, "rot": ROT}

# Lengths of chains of thought stop here: LCS-32 would have some 10^18 tokens, larger problems overflow int64.
ENDLESS = 1 << 60


@compiled
def rot_length(memo: Memo, row: int) -> int:
    """The length of a row's RoT context, its final STOP or THINK included."""
    rows = memo.rows
    length = rows[row, QUESTION_END] - rows[row, QUESTION]
    for i in range(rows[row, LINKS], rows[row, LINKS_END]):
        child = memo.links[i]
        length += rows[child, QUESTION_END] - rows[child, QUESTION]
        length += rows[child, REPLY_END] - rows[child, REPLY]
    if rows[row, TAILED] != 0:
        return length - (rows[row, REPLY_END] - rows[row, REPLY]) + 1
    return length + rows[row, REPLY_END] - rows[row, REPLY]


@compiled
def wt_length(memo: Memo, row: int) -> int:
    """The length of question and answer."""
    rows = memo.rows
    return rows[row, QUESTION_END] - rows[row, QUESTION] + rows[row, REPLY_END] - rows[row, REPLY]


@compiled
def cot_length(memo: Memo, row: int) -> int:
    """The length of a row's CoT context without unravelling it: saturates at ENDLESS.

    flat(q) = sum over sub-questions of |q_s| + flat(q_s), + |a| unless the last is a tail, once for each row.
    """
    rows = memo.rows
    for i in range(memo.state[N_SOLVED]):
        one = rows[i, NTH_SOLVED]
        length = 0 if rows[one, TAILED] != 0 else rows[one, REPLY_END] - rows[one, REPLY]
        for j in range(rows[one, LINKS], rows[one, LINKS_END]):
            child = memo.links[j]
            length = min(ENDLESS, length + rows[child, SCRATCH] + rows[child, QUESTION_END] - rows[child, QUESTION])
        rows[one, SCRATCH] = length
        if one == row:
            break
    return min(ENDLESS, rows[row, SCRATCH] + rows[row, QUESTION_END] - rows[row, QUESTION])


@compiled
def context_length(memo: Memo, row: int, method: int) -> int:
    """The printed length of a row's context under a method."""
    if method == ROT:
        return rot_length(memo, row)
    return wt_length(memo, row) if method == WT else cot_length(memo, row)


@compiled
def _copy(memo: Memo, lo: int, hi: int, segment: int, tokens: Tokens, segments: Tokens, at: int) -> int:
    end = at + hi - lo
    copy_tokens(tokens, at, memo.text, lo, hi)
    fill_tokens(segments, at, end, segment)
    return end


@compiled
def _copy_question(memo: Memo, row: int, as_tail: bool, segment: int, tokens: Tokens, segments: Tokens, at: int) -> int:
    end = _copy(memo, memo.rows[row, QUESTION], memo.rows[row, QUESTION_END], segment, tokens, segments, at)
    if as_tail:
        tokens[at] = TAIL
    return end


@compiled
def _render_rot(memo: Memo, row: int, tokens: Tokens, segments: Tokens, at: int) -> int:
    rows = memo.rows
    for i in range(rows[row, LINKS], rows[row, LINKS_END]):
        child = memo.links[i]
        as_tail = rows[row, TAILED] != 0 and i == rows[row, LINKS_END] - 1
        at = _copy_question(memo, child, as_tail, Q_SUB, tokens, segments, at)
        if as_tail:
            tokens[at] = THINK
            segments[at] = A_SUB
            return at + 1
        at = _copy(memo, rows[child, REPLY], rows[child, REPLY_END], A_SUB, tokens, segments, at)
    return _copy(memo, rows[row, REPLY], rows[row, REPLY_END], A, tokens, segments, at)


@compiled
def _render_cot(memo: Memo, row: int, tokens: Tokens, segments: Tokens, at: int) -> int:
    """Unravel depth first; of the open rows SCRATCH is the next link, SCRATCH_BELOW the row that asked."""
    rows, one = memo.rows, row
    rows[row, SCRATCH] = rows[row, LINKS]
    rows[row, SCRATCH_BELOW] = -1
    while one >= 0:
        link = rows[one, SCRATCH]
        if link < rows[one, LINKS_END]:
            child = memo.links[link]
            as_tail = rows[one, TAILED] != 0 and link == rows[one, LINKS_END] - 1
            at = _copy_question(memo, child, as_tail, T, tokens, segments, at)
            rows[one, SCRATCH] += 1
            rows[child, SCRATCH] = rows[child, LINKS]
            rows[child, SCRATCH_BELOW] = one
            one = child
        else:
            if rows[one, TAILED] == 0:
                at = _copy(memo, rows[one, REPLY], rows[one, REPLY_END], T, tokens, segments, at)
            one = rows[one, SCRATCH_BELOW]
    segments[at - (rows[row, REPLY_END] - rows[row, REPLY]) : at] = A
    return at


@compiled
def render(memo: Memo, row: int, method: int, tokens: Tokens, segments: Tokens, at: int) -> int:
    """Write a row's context to tokens[at:] and segments[at:], which have room for it; where it ends."""
    at = _copy_question(memo, row, False, Q, tokens, segments, at)
    if method == ROT:
        return _render_rot(memo, row, tokens, segments, at)
    if method == COT:
        return _render_cot(memo, row, tokens, segments, at)
    return _copy(memo, memo.rows[row, REPLY], memo.rows[row, REPLY_END], A, tokens, segments, at)


@compiled
def target(tokens: Tokens, segments: Tokens, i: int) -> int:
    """Y[i] of a context (Algorithm 2): PAD on the question, THINK and PADs on a pasted answer, else a copy."""
    if segments[i] == Q:
        return PAD
    if segments[i] == A_SUB:
        return THINK if segments[i - 1] != A_SUB else PAD
    return tokens[i]


def targets_of(tokens: Tokens, segments: Tokens) -> Tokens:
    """All of Y."""
    return np.array([target(tokens, segments, i) for i in range(tokens.size)], np.uint8)


def readable_length(length: int) -> str:
    """A context's length for people."""
    return f"{length:,}" if length < ENDLESS else "over 10^18"
