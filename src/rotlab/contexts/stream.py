"""Examples and questions in bulk: compiled loops over problems, each problem a pure function of (seed, split, index).

A training example is one context, drawn uniformly from the unique contexts of one top-level problem (App. C). The
loops return to Python with PAUSED where a plain Python rule or sampler must speak, with FULL where the memo needs room,
and go on when called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled
from rotlab.contexts.memo import (
    N_ROWS,
    STEP,
    Memo,
    clear,
    enter,
    find_row,
    lacks_room,
    put_question,
    question_hash,
    sampled,
)  # fmt: skip
from rotlab.contexts.render import ROT, context_length, render
from rotlab.contexts.solving import DONE, FAILED, FULL, NOTHING, PAUSED, begin, solve
from rotlab.rng import Draw, below, seek
from rotlab.tasks.kit import CURSOR, START
from rotlab.tasks.registry import N_COMPILED_SAMPLERS
from rotlab.vocab import Tokens

# Places of `job`: what to draw, from which index to which, how far it is, and what was counted on the way.
SAMPLER, DIFFICULTY, METHOD, LIMIT, SEED, SPLIT, INDEX, END, STOP_AT_OVERLONG = 0, 1, 2, 3, 4, 5, 6, 7, 8
PHASE, TRIES, OVERLONG, HELD_OUT, LONGEST, UNIQUE = 9, 10, 11, 12, 13, 14
CHOSEN_ROW, CHOSEN_LENGTH, JOB_SIZE = 15, 16, 17
# Values of PHASE: nothing drawn yet; a question stands in text[START:cursor]; it is being solved; a context is chosen.
FRESH, SAMPLED, SOLVING, CHOSEN = 0, 1, 2, 3
# What `fill` returns where the batch needs room for the chosen context.
SHORT = 7

# So many draws of one example may be too long or held out before the stream gives up.
MOST_TRIES = 10_000

Job = NDArray[np.int64]


class Batch(NamedTuple):
    """Contexts one after another: context i is tokens[offsets[i]:offsets[i + 1]], likewise its segments."""

    tokens: Tokens
    segments: Tokens
    offsets: NDArray[np.int64]


@compiled
def draw_problem(memo: Memo, draw: Draw, job: Job) -> int:
    """Have the emptied memo hold the next draw of problem job[INDEX] in text[START:cursor]."""
    if job[TRIES] >= MOST_TRIES:
        return FAILED
    if job[TRIES] == 0:
        seek(draw, job[SEED], job[SPLIT], job[INDEX])
    clear(memo)
    if job[SAMPLER] < N_COMPILED_SAMPLERS:
        if not sampled(memo, job[SAMPLER], draw, job[DIFFICULTY]):
            return FULL
        job[PHASE] = SAMPLED
    job[TRIES] += 1
    return DONE if job[PHASE] == SAMPLED else PAUSED


@compiled
def _begin_problem(memo: Memo, held_out: Memo, job: Job) -> bool:
    """Begin to solve the question that was drawn; False if it is held out, or so long that its length is known."""
    if contains(held_out, memo):
        job[HELD_OUT] += 1
        job[PHASE] = FRESH
        return False
    # With an answer and STOP at least.
    shortest = memo.frame[CURSOR] - memo.frame[START] + 2
    if job[STOP_AT_OVERLONG] != 0 and shortest > job[LIMIT]:
        job[OVERLONG] += 1
        job[LONGEST] = shortest
        return False
    row, _ = enter(memo)
    begin(memo, row)
    job[PHASE] = SOLVING
    return True


@compiled
def _choose(memo: Memo, draw: Draw, job: Job) -> bool:
    """Choose one of the solved problem's contexts; False if it is too long."""
    job[UNIQUE] += memo.state[N_ROWS]
    row = below(draw, memo.state[N_ROWS]) if job[METHOD] == ROT else 0
    length = context_length(memo, row, job[METHOD])
    job[LONGEST] = max(job[LONGEST], length)
    if length > job[LIMIT]:
        job[OVERLONG] += 1
        job[PHASE] = FRESH
        return False
    job[CHOSEN_ROW], job[CHOSEN_LENGTH] = row, length
    job[PHASE] = CHOSEN
    return True


@compiled
def fill(memo: Memo, held_out: Memo, batch: Batch, draw: Draw, job: Job, said: int) -> int:
    """Draw examples job[INDEX] .. job[END]-1 into the batch, a context each.

    What is longer than job[LIMIT], or a question of `held_out`, is replaced by the next draw of the same example and
    counted; with STOP_AT_OVERLONG the first such length goes to job[LONGEST] and ends the loop, before the problem is
    solved (PHASE stays SAMPLED) if its question alone is too long. Returns DONE, PAUSED, FULL, SHORT,
    FAILED when one example was drawn MOST_TRIES times in vain, or what went wrong in `solve`.
    """
    first = job[END] - (batch.offsets.size - 1)
    while job[INDEX] < job[END]:
        if job[PHASE] == FRESH:
            status = draw_problem(memo, draw, job)
            if status != DONE:
                return status
        if job[PHASE] == SAMPLED and not _begin_problem(memo, held_out, job):
            if job[PHASE] == SAMPLED:
                return DONE
            continue
        if job[PHASE] == SOLVING:
            status = solve(memo, said)
            said = NOTHING
            if status != DONE:
                return status
            if not _choose(memo, draw, job):
                if job[STOP_AT_OVERLONG] != 0:
                    return DONE
                continue
        i = job[INDEX] - first
        at = batch.offsets[i]
        if at + job[CHOSEN_LENGTH] > batch.tokens.size:
            return SHORT
        batch.offsets[i + 1] = render(memo, job[CHOSEN_ROW], job[METHOD], batch.tokens, batch.segments, at)
        job[PHASE] = FRESH
        job[INDEX] += 1
        job[TRIES] = 0
    return DONE


@compiled
def contains(questions: Memo, memo: Memo) -> bool:
    """Whether `questions` holds the question that stands in the memo's text[START:cursor]."""
    if questions.state[N_ROWS] == 0:
        return False
    lo, hi = memo.frame[START], memo.frame[CURSOR]
    return find_row(questions, memo.words, lo, hi, question_hash(memo.words, lo, hi)) >= 0


@compiled
def collect(questions: Memo, draw: Draw, job: Job, wanted: int) -> int:
    """Draw questions from index job[INDEX] on until `questions` has `wanted` different ones, or job[END] is reached."""
    while questions.state[N_ROWS] < wanted and job[INDEX] < job[END]:
        if job[PHASE] == FRESH:
            seek(draw, job[SEED], job[SPLIT], job[INDEX])
            if job[SAMPLER] >= N_COMPILED_SAMPLERS:
                return PAUSED
            if not sampled(questions, job[SAMPLER], draw, job[DIFFICULTY]):
                return FULL
        enter(questions)
        job[PHASE] = FRESH
        job[INDEX] += 1
    return DONE


@compiled
def solve_questions(
    memo: Memo, tokens: Tokens, offsets: NDArray[np.int64], roots: NDArray[np.int64], job: Job, most_rows: int,
    said: int,
) -> int:  # fmt: skip
    """Solve questions job[INDEX] .. job[END]-1 of tokens[offsets[i]:offsets[i + 1]] in one memo; roots[i] is i's row.

    Stops early, after a whole question, once the memo has `most_rows` rows; job[INDEX] says where.
    """
    while job[INDEX] < job[END]:
        i = job[INDEX]
        if job[PHASE] == FRESH:
            if memo.state[N_ROWS] >= most_rows:
                return DONE
            if lacks_room(memo, offsets[i + 1] - offsets[i] + STEP):
                return FULL
            roots[i] = put_question(memo, tokens[offsets[i] : offsets[i + 1]])
            begin(memo, roots[i])
            job[PHASE] = SOLVING
        status = solve(memo, said)
        said = NOTHING
        if status != DONE:
            return status
        job[PHASE] = FRESH
        job[INDEX] += 1
    return DONE
