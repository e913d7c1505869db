"""Examples and questions in bulk: compiled loops over problems, each problem a pure function of (seed, split, index).

A training example is one context, drawn uniformly from the unique contexts of one top-level problem (App. C). The
loops return to Python with PAUSED where a plain Python rule or sampler must speak, and go on when called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import allocating, compiled
from rotlab.contexts.memo import N_ROWS, Memo, clear, end_question, enter, find_row, question_hash, sampled, with_room
from rotlab.contexts.render import ROT, context_length, render
from rotlab.contexts.solving import DONE, FAILED, NOTHING, PAUSED, begin, solve
from rotlab.rng import Draw, below, seek
from rotlab.tasks.kit import CURSOR, START, aligned
from rotlab.tasks.registry import N_COMPILED_SAMPLERS
from rotlab.vocab import Tokens

# Places of `job`: what to draw, from which index to which, how far it is, and what was counted on the way.
SAMPLER, DIFFICULTY, METHOD, LIMIT, SEED, SPLIT, INDEX, END, STOP_AT_OVERLONG = 0, 1, 2, 3, 4, 5, 6, 7, 8
PHASE, TRIES, OVERLONG, HELD_OUT, LONGEST, UNIQUE, JOB_SIZE = 9, 10, 11, 12, 13, 14, 15
# Values of PHASE: nothing drawn yet; a question stands in text[START:cursor]; it is being solved.
FRESH, SAMPLED, SOLVING = 0, 1, 2

# So many draws of one example may be too long or held out before the stream gives up.
MOST_TRIES = 10_000

Job = NDArray[np.int64]


class Batch(NamedTuple):
    """Contexts one after another: context i is tokens[offsets[i]:offsets[i + 1]], likewise its segments."""

    tokens: Tokens
    segments: Tokens
    offsets: NDArray[np.int64]


@allocating
def _with_space(batch: Batch, end: int) -> Batch:
    if end <= batch.tokens.size:
        return batch
    size = max(end, 2 * batch.tokens.size)
    tokens, segments = np.empty(size, np.uint8), np.empty(size, np.uint8)
    tokens[: batch.tokens.size] = batch.tokens
    segments[: batch.segments.size] = batch.segments
    return Batch(tokens, segments, batch.offsets)


@allocating
def _draw_problem(memo: Memo, draw: Draw, job: Job) -> tuple[Memo, int]:
    """The emptied memo with the next draw of problem job[INDEX] in text[START:cursor]."""
    if job[TRIES] >= MOST_TRIES:
        return memo, FAILED
    if job[TRIES] == 0:
        seek(draw, job[SEED], job[SPLIT], job[INDEX])
    job[TRIES] += 1
    clear(memo)
    if job[SAMPLER] >= N_COMPILED_SAMPLERS:
        return memo, PAUSED
    memo = sampled(memo, job[SAMPLER], draw, job[DIFFICULTY])
    job[PHASE] = SAMPLED
    return memo, DONE


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


@allocating
def fill(memo: Memo, held_out: Memo, batch: Batch, draw: Draw, job: Job, said: int) -> tuple[Memo, Batch, int]:
    """Draw examples job[INDEX] .. job[END]-1 into the batch, a context each.

    What is longer than job[LIMIT], or a question of `held_out`, is replaced by the next draw of the same example and
    counted; with STOP_AT_OVERLONG the first such length goes to job[LONGEST] and ends the loop, before the problem is
    solved (PHASE stays SAMPLED) if its question alone is too long. Returns DONE, PAUSED,
    FAILED when one example was drawn MOST_TRIES times in vain, or what went wrong in `solve`.
    """
    first = job[END] - (batch.offsets.size - 1)
    while job[INDEX] < job[END]:
        if job[PHASE] == FRESH:
            memo, status = _draw_problem(memo, draw, job)
            if status != DONE:
                return memo, batch, status
        if job[PHASE] == SAMPLED and not _begin_problem(memo, held_out, job):
            if job[PHASE] == SAMPLED:
                return memo, batch, DONE
            continue
        memo, status = solve(memo, said)
        said = NOTHING
        if status != DONE:
            return memo, batch, status
        job[PHASE] = FRESH
        job[UNIQUE] += memo.state[N_ROWS]
        row = below(draw, memo.state[N_ROWS]) if job[METHOD] == ROT else 0
        length = context_length(memo, row, job[METHOD])
        if length > job[LIMIT]:
            job[OVERLONG] += 1
            job[LONGEST] = max(job[LONGEST], length)
            if job[STOP_AT_OVERLONG] != 0:
                return memo, batch, DONE
            continue
        i = job[INDEX] - first
        at = batch.offsets[i]
        batch = _with_space(batch, at + length)
        batch.offsets[i + 1] = render(memo, row, job[METHOD], batch.tokens, batch.segments, at)
        job[LONGEST] = max(job[LONGEST], length)
        job[INDEX] += 1
        job[TRIES] = 0
    return memo, batch, DONE


@compiled
def contains(questions: Memo, memo: Memo) -> bool:
    """Whether `questions` holds the question that stands in the memo's text[START:cursor]."""
    if questions.state[N_ROWS] == 0:
        return False
    lo, hi = memo.frame[START], memo.frame[CURSOR]
    return find_row(questions, memo.words, lo, hi, question_hash(memo.words, lo, hi)) >= 0


@allocating
def collect(questions: Memo, draw: Draw, job: Job, wanted: int) -> tuple[Memo, int]:
    """Draw questions from index job[INDEX] on until `questions` has `wanted` different ones, or job[END] is reached."""
    while questions.state[N_ROWS] < wanted and job[INDEX] < job[END]:
        if job[PHASE] == FRESH:
            seek(draw, job[SEED], job[SPLIT], job[INDEX])
            if job[SAMPLER] >= N_COMPILED_SAMPLERS:
                return questions, PAUSED
            questions = sampled(questions, job[SAMPLER], draw, job[DIFFICULTY])
        enter(questions)
        job[PHASE] = FRESH
        job[INDEX] += 1
    return questions, DONE


@allocating
def add_question(memo: Memo, tokens: Tokens) -> tuple[Memo, int]:
    """Put the question `tokens` = GO ... = into the memo, unsolved; its row."""
    memo = with_room(memo, tokens.size + 8)
    lo = aligned(memo.frame[CURSOR])
    memo.text[lo : lo + tokens.size - 1] = tokens[:-1]
    memo.frame[START] = lo
    memo.frame[CURSOR] = lo + tokens.size - 1
    end_question(memo)
    row, _ = enter(memo)
    return memo, row


@allocating
def solve_questions(
    memo: Memo, tokens: Tokens, offsets: NDArray[np.int64], roots: NDArray[np.int64], job: Job, most_rows: int,
    said: int,
) -> tuple[Memo, int]:  # fmt: skip
    """Solve questions job[INDEX] .. job[END]-1 of tokens[offsets[i]:offsets[i + 1]] in one memo; roots[i] is i's row.

    Stops early, after a whole question, once the memo has `most_rows` rows; job[INDEX] says where.
    """
    while job[INDEX] < job[END]:
        i = job[INDEX]
        if job[PHASE] == FRESH:
            if memo.state[N_ROWS] >= most_rows:
                return memo, DONE
            memo, row = add_question(memo, tokens[offsets[i] : offsets[i + 1]])
            roots[i] = row
            begin(memo, row)
            job[PHASE] = SOLVING
        memo, status = solve(memo, said)
        said = NOTHING
        if status != DONE:
            return memo, status
        job[PHASE] = FRESH
        job[INDEX] += 1
    return memo, DONE
