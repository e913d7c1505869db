"""Running the compiled loops to their end: where they pause, a plain Python rule or sampler speaks, or arrays grow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rotlab.contexts.memo import (
    LACKING,
    N_ROWS,
    QUESTION,
    QUESTION_END,
    TOP,
    TYPE,
    Memo,
    add_question,
    clear,
    end_question,
    new_memo,
    sampled,
    with_room,
)  # fmt: skip
from rotlab.contexts.render import METHOD_NUMBER
from rotlab.contexts.solving import CIRCULAR, DONE, ENDLESS, FAILED, FULL, NOTHING, PAUSED, UNKNOWN, begin, solve
from rotlab.contexts.stream import (
    CHOSEN_LENGTH,
    DIFFICULTY,
    END,
    FRESH,
    HELD_OUT,
    INDEX,
    JOB_SIZE,
    LIMIT,
    METHOD,
    MOST_TRIES,
    OVERLONG,
    PHASE,
    SAMPLED,
    SAMPLER,
    SEED,
    SHORT,
    SPLIT,
    STOP_AT_OVERLONG,
    Batch,
    Job,
    collect,
    contains,
    fill,
    solve_questions,
)  # fmt: skip
from rotlab.rng import TRAIN, Draw, new_draw, seek
from rotlab.tasks import TYPES, Sampler
from rotlab.tasks.kit import ANSWER, ASK, ASK_TAIL, BELOW, CURSOR, ROW, START, View
from rotlab.vocab import Tokens, notation

_NO_ROWS = 16
# A shard ends after the question that takes it over this many rows: some 20 MB of arena.
ROWS_PER_SHARD = 65_536
# The most of a question that a message shows, in characters.
_SHOWN = 200
_FAULTS = {
    CIRCULAR: "its answer depends on itself",
    UNKNOWN: "no problem type has its mark",
    ENDLESS: "it takes over a billion tokens, or its recursion has no end",
}


class TooLarge(ValueError):
    """A problem that takes more memory than any should."""


def new_job(sampler: Sampler, difficulty: int, seed: int, split: int, start: int, end: int) -> Job:
    """A job that draws problems start .. end-1 of a split."""
    job = np.zeros(JOB_SIZE, dtype=np.int64)
    job[[SAMPLER, DIFFICULTY, SEED, SPLIT, INDEX, END]] = sampler.number, difficulty, seed, split, start, end
    return job


def after(memo: Memo, status: int) -> tuple[Memo, int]:
    """The memo with which a loop that returned `status` is called again, and what it is told: see `solve`."""
    if status == FULL:
        return with_room(memo, int(memo.state[LACKING])), NOTHING
    return memo, rule_says(memo, status)


def rule_says(memo: Memo, status: int) -> int:
    """What the plain Python rule of the top frame says next, where `solve` paused.

    Raises ValueError where it didn't pause but found the top frame's question at fault.
    """
    base = int(memo.state[TOP])
    if status != PAUSED:
        asker, asked = int(memo.frame[base + BELOW]), _question(memo, base)
        origin = f"the rules came from {_question(memo, asker)!r} to" if asker else "there is no answer to"
        kind_of_error = TooLarge if status == ENDLESS else ValueError
        raise kind_of_error(f"{origin} {asked!r}: {_FAULTS[status]}")
    kind = int(memo.rows[memo.frame[base + ROW], TYPE])
    said = TYPES[kind].rule(View(memo.text, memo.frame, base))
    if said not in (ASK, ASK_TAIL, ANSWER):
        raise ValueError(f"the rule of {TYPES[kind].name} returned {said!r}: it must return ASK, ASK_TAIL or ANSWER")
    return int(said)


def _question(memo: Memo, base: int) -> str:
    """The question of a frame, in the paper's notation; a long one without its middle."""
    row = memo.rows[memo.frame[base + ROW]]
    text = notation(memo.text[row[QUESTION] : row[QUESTION_END]])
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} ... {text[-_SHOWN // 2 :]}"


def plain_sampled(memo: Memo, sampler: Sampler, draw: Draw, difficulty: int) -> Memo:
    """Have a plain Python sampler write its question to text[START:cursor]; the memo, grown until it fits."""
    room, lo, kept = 256, int(memo.frame[CURSOR]), draw.copy()
    while True:
        memo = with_room(memo, room)
        sampler.task.samplers[sampler.sampling](View(memo.text, memo.frame, 0), draw, difficulty)
        if memo.frame[CURSOR] < memo.text.size:
            end_question(memo)
            return memo
        memo.frame[CURSOR] = lo
        draw[:] = kept
        room *= 4


def solve_question(tokens: Tokens) -> tuple[Memo, int]:
    """A memo in which the question GO ... = is solved, and its row."""
    memo, row = add_question(new_memo(64), tokens)
    begin(memo, row)
    said = NOTHING
    while (status := solve(memo, said)) != DONE:
        memo, said = after(memo, status)
    return memo, row


class Drawer:
    """Draws batches of contexts of one cell; keeps its arena from batch to batch.

    limit: the longest context, in printed tokens. held_out: questions that are never drawn.
    """

    def __init__(
        self, sampler: Sampler, difficulty: int, method: str, limit: int, held_out: Memo | None = None
    ) -> None:
        self.sampler, self.difficulty, self.method, self.limit = sampler, difficulty, METHOD_NUMBER[method], limit
        self._memo, self._draw = new_memo(256), new_draw()
        self._held_out = new_memo(_NO_ROWS) if held_out is None else held_out

    def batch(self, seed: int, split: int, start: int, end: int, stop_at_overlong: bool = False) -> tuple[Batch, Job]:
        """Examples start .. end-1 of a split, and the job, which holds what was counted.

        Raises ValueError when an example can't be drawn: (nearly) every context is over the limit or held out.
        """
        job = new_job(self.sampler, self.difficulty, seed, split, start, end)
        job[[METHOD, LIMIT, STOP_AT_OVERLONG]] = self.method, self.limit, stop_at_overlong
        n = end - start
        batch = Batch(np.empty(64 * n, np.uint8), np.empty(64 * n, np.uint8), np.zeros(n + 1, np.int64))
        said = NOTHING
        while (status := fill(self._memo, self._held_out, batch, self._draw, job, said)) not in (DONE, FAILED):
            if status == SHORT:
                batch = _longer(batch, int(job[CHOSEN_LENGTH]))
            elif status == PAUSED and job[PHASE] == FRESH:
                self._memo = plain_sampled(self._memo, self.sampler, self._draw, self.difficulty)
                job[PHASE], said = SAMPLED, NOTHING
            else:
                self._memo, said = after(self._memo, status)
        if status == FAILED:
            reason = "nearly all of its problems are held out for the test set"
            if job[OVERLONG] > job[HELD_OUT]:
                reason = f"its contexts are longer than {self.limit:,} tokens"
            cell = f"{self.sampler.task.name} at difficulty {self.difficulty}"
            raise ValueError(f"no example of {cell} could be drawn in {MOST_TRIES:,} tries: {reason}")
        return batch, job


def _longer(batch: Batch, tokens: int) -> Batch:
    """The batch with room for at least so many more tokens."""
    size = 2 * batch.tokens.size + tokens
    return Batch(np.resize(batch.tokens, size), np.resize(batch.segments, size), batch.offsets)


def draw_questions(sampler: Sampler, difficulty: int, seed: int, split: int, wanted: int, most_draws: int) -> Memo:
    """A memo of unsolved questions: the first `wanted` different ones among `most_draws` draws of a split."""
    memo, draw = new_memo(max(_NO_ROWS, 1 << wanted.bit_length())), new_draw()
    job = new_job(sampler, difficulty, seed, split, 0, most_draws)
    while (status := collect(memo, draw, job, wanted)) != DONE:
        if status == FULL:
            memo = with_room(memo, int(memo.state[LACKING]))
        else:
            memo = plain_sampled(memo, sampler, draw, difficulty)
            job[PHASE] = SAMPLED
    return memo


def count_known(sampler: Sampler, difficulty: int, seed: int, split: int, problems: int, known: Memo) -> int:
    """How many of the first `problems` problems of a split are questions of `known`."""
    memo, draw, found = new_memo(_NO_ROWS), new_draw(), 0
    for index in range(problems):
        memo = _drawn(memo, sampler, draw, difficulty, seed, split, index)
        found += contains(known, memo)
    return found


def sample_questions(sampler: Sampler, difficulty: int, seed: int, problems: int) -> Iterator[Tokens]:
    """The first `problems` problems of the training stream, as tokens GO ... =."""
    memo, draw = new_memo(_NO_ROWS), new_draw()
    for index in range(problems):
        memo = _drawn(memo, sampler, draw, difficulty, seed, TRAIN, index)
        yield memo.text[memo.frame[START] : memo.frame[CURSOR]].copy()


def _drawn(memo: Memo, sampler: Sampler, draw: Draw, difficulty: int, seed: int, split: int, index: int) -> Memo:
    """The emptied memo with problem `index` of a split in text[START:cursor]."""
    clear(memo)
    seek(draw, seed, split, index)
    if sampler.plain:
        return plain_sampled(memo, sampler, draw, difficulty)
    while not sampled(memo, sampler.number, draw, difficulty):
        memo = with_room(memo, int(memo.state[LACKING]))
    return memo


def solve_shard(
    memo: Memo, tokens: Tokens, offsets: NDArray[np.int64], roots: NDArray[np.int64], start: int, most_rows: int
) -> tuple[Memo, int]:
    """Solve questions from `start` on in one memo until it has `most_rows` rows; the memo and where it stopped."""
    job = np.zeros(JOB_SIZE, dtype=np.int64)
    job[[INDEX, END]] = start, len(offsets) - 1
    said = NOTHING
    while (status := solve_questions(memo, tokens, offsets, roots, job, most_rows, said)) != DONE:
        memo, said = after(memo, status)
    return memo, int(job[INDEX])


def solved_shards(
    tokens: Tokens, offsets: NDArray[np.int64], most_rows: int = ROWS_PER_SHARD
) -> Iterator[tuple[Memo, NDArray[np.int64], int]]:
    """All questions solved, shard by shard: a memo, the rows of its questions there, and how many are done by then.

    The memo is emptied for the next shard.
    """
    roots, memo, start = np.empty(len(offsets) - 1, np.int64), new_memo(1024), 0
    while start < len(roots):
        clear(memo)
        memo, end = solve_shard(memo, tokens, offsets, roots, start, most_rows)
        yield memo, roots[start:end], end
        start = end


def n_rows(memo: Memo) -> int:
    """The number of rows in use."""
    return int(memo.state[N_ROWS])
