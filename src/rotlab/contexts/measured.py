"""How long the contexts of many problems are, and how many tokens a model writes to solve one: figures, no training.

A token is written where the target is none of PAD: sub-questions, THINK, and answers, not what is pasted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled
from rotlab.contexts.driver import after, new_job, plain_sampled
from rotlab.contexts.memo import (
    LINKS,
    LINKS_END,
    N_ROWS,
    N_SOLVED,
    NTH_SOLVED,
    QUESTION,
    QUESTION_END,
    REPLY,
    REPLY_END,
    SCRATCH,
    TAILED,
    Memo,
    enter,
    new_memo,
)  # fmt: skip
from rotlab.contexts.render import COT, ENDLESS, ROT, WT, context_length
from rotlab.contexts.solving import DONE, NOTHING, PAUSED, begin, solve
from rotlab.contexts.stream import END, FRESH, INDEX, PHASE, SAMPLED, SOLVING, TRIES, Job, draw_problem
from rotlab.rng import Draw, below, new_draw
from rotlab.tasks import Sampler

# Columns: the length of a problem's WT and CoT context and of one of its RoT contexts, drawn uniformly; the tokens
# written without thought, by recursion with the memo, and without it.
WT_LENGTH, COT_LENGTH, ROT_LENGTH, WT_TOKENS, MEMO_TOKENS, UNAIDED_TOKENS, FIGURES = 0, 1, 2, 3, 4, 5, 6


@compiled
def written(memo: Memo, row: int) -> int:
    """The tokens that a model writes in a row's RoT context."""
    rows = memo.rows
    tokens = 0 if rows[row, TAILED] != 0 else rows[row, REPLY_END] - rows[row, REPLY]
    for i in range(rows[row, LINKS], rows[row, LINKS_END]):
        child = memo.links[i]
        tokens += rows[child, QUESTION_END] - rows[child, QUESTION] + 1
    return tokens


@compiled
def unaided(memo: Memo, row: int) -> int:
    """The tokens written for a row when nothing is remembered, every question solved anew; saturates at ENDLESS."""
    rows = memo.rows
    for i in range(memo.state[N_SOLVED]):
        one = rows[i, NTH_SOLVED]
        tokens = written(memo, one)
        for j in range(rows[one, LINKS], rows[one, LINKS_END]):
            tokens = min(ENDLESS, tokens + rows[memo.links[j], SCRATCH])
        rows[one, SCRATCH] = tokens
        if one == row:
            break
    return rows[row, SCRATCH]


@compiled
def _note(memo: Memo, draw: Draw, figures_NF: NDArray[np.int64], i: int) -> None:
    """The figures of the solved problem, row 0."""
    figures_NF[i, WT_LENGTH] = context_length(memo, 0, WT)
    figures_NF[i, COT_LENGTH] = context_length(memo, 0, COT)
    figures_NF[i, ROT_LENGTH] = context_length(memo, below(draw, memo.state[N_ROWS]), ROT)
    figures_NF[i, WT_TOKENS] = memo.rows[0, REPLY_END] - memo.rows[0, REPLY]
    figures_NF[i, UNAIDED_TOKENS] = unaided(memo, 0)
    figures_NF[i, MEMO_TOKENS] = 0
    for row in range(memo.state[N_ROWS]):
        figures_NF[i, MEMO_TOKENS] += written(memo, row)


@compiled
def _measure(memo: Memo, draw: Draw, job: Job, figures_NF: NDArray[np.int64], said: int) -> int:
    """Draw, solve and note problems job[INDEX] .. job[END]-1; pauses as `stream.fill` does."""
    while job[INDEX] < job[END]:
        if job[PHASE] == FRESH:
            job[TRIES] = 0
            status = draw_problem(memo, draw, job)
            if status != DONE:
                return status
        if job[PHASE] == SAMPLED:
            row, _ = enter(memo)
            begin(memo, row)
            job[PHASE] = SOLVING
        status = solve(memo, said)
        said = NOTHING
        if status != DONE:
            return status
        _note(memo, draw, figures_NF, job[INDEX])
        job[PHASE] = FRESH
        job[INDEX] += 1
    return DONE


def measure(sampler: Sampler, difficulty: int, seed: int, split: int, problems: int) -> NDArray[np.int64]:
    """figures_NF of the first `problems` problems of a split, in the columns above.

    The RoT context is the one that the stream of contexts draws, unless that replaced it as overlong. Raises ValueError
    (TooLarge) where a problem takes too much memory.
    """
    job = new_job(sampler, difficulty, seed, split, 0, problems)
    figures_NF = np.zeros((problems, FIGURES), np.int64)
    memo, draw, said = new_memo(256), new_draw(), NOTHING
    while (status := _measure(memo, draw, job, figures_NF, said)) != DONE:
        if status == PAUSED and job[PHASE] == FRESH:
            memo = plain_sampled(memo, sampler, draw, difficulty)
            job[PHASE], said = SAMPLED, NOTHING
        else:
            memo, said = after(memo, status)
    return figures_NF
