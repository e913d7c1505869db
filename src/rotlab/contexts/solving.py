"""The memoised driver: the RoT algorithm (App. B) run with the rules as a perfect model.

Open questions are frames, one on top of the question that asked it; a frame holds the answers received so far. A
question that the memo knows is answered from there.
"""

from __future__ import annotations

from rotlab.compiled import compiled, inlined
from rotlab.contexts.memo import (
    LACKING,
    LINKS,
    LINKS_END,
    N_LINKS,
    N_SOLVED,
    NTH_SOLVED,
    QUESTION,
    QUESTION_END,
    REPLY,
    REPLY_END,
    STEP,
    TAILED,
    TOP,
    TYPE,
    Memo,
    end_question,
    enter,
    lacks_room,
    open_frames_end,
)  # fmt: skip
from rotlab.tasks.kit import (
    ANSWER,
    ANSWERS,
    ASK,
    ASK_TAIL,
    BELOW,
    CURSOR,
    IN_TAIL,
    N_ANSWERS,
    Q_HI,
    Q_LO,
    ROW,
    START,
    View,
    aligned,
)  # fmt: skip
from rotlab.tasks.registry import N_COMPILED, compiled_rule
from rotlab.vocab import GO, STOP

# What `solve` is told where no rule has spoken, and what it tells: all is solved; a plain Python rule must speak for
# the top frame; the memo needs room for state[LACKING] tokens and the like (`with_room`); or what is wrong with the top
# frame's question, which the frame below asked.
NOTHING, DONE, PAUSED, FAILED, FULL = 0, 0, 1, 2, 6
CIRCULAR, UNKNOWN, ENDLESS = 3, 4, 5

# Recursion without an end is told by what it holds: so many numbers in open frames, or tokens in all.
_MOST_IN_FRAMES, _MOST_TOKENS = 1 << 22, 1 << 30


@compiled
def _push(memo: Memo, row: int) -> None:
    """A frame that solves `row`, asked by the top frame."""
    base = open_frames_end(memo)
    memo.frame[base + BELOW] = memo.state[TOP]
    memo.frame[base + ROW] = row
    memo.frame[base + IN_TAIL] = 0
    memo.frame[base + Q_LO] = memo.rows[row, QUESTION]
    memo.frame[base + Q_HI] = memo.rows[row, QUESTION_END]
    memo.frame[base + N_ANSWERS] = 0
    memo.state[TOP] = base


@compiled
def _receive(memo: Memo, row: int) -> None:
    """The top frame is given the answer of `row`."""
    base = memo.state[TOP]
    at = base + ANSWERS + 3 * memo.frame[base + N_ANSWERS]
    memo.frame[at] = row
    memo.frame[at + 1] = memo.rows[row, REPLY]
    memo.frame[at + 2] = memo.rows[row, REPLY_END]
    memo.frame[base + N_ANSWERS] += 1


@inlined
def _finish(memo: Memo, reply: int, reply_end: int) -> None:
    """The top frame's answer is text[reply:reply_end]; so is that of every frame that waits for it in a tail."""
    while True:
        base = memo.state[TOP]
        row = memo.frame[base + ROW]
        memo.rows[row, REPLY] = reply
        memo.rows[row, REPLY_END] = reply_end
        memo.rows[row, TAILED] = memo.frame[base + IN_TAIL]
        memo.rows[row, LINKS] = memo.state[N_LINKS]
        for i in range(memo.frame[base + N_ANSWERS]):
            memo.links[memo.state[N_LINKS] + i] = memo.frame[base + ANSWERS + 3 * i]
        memo.state[N_LINKS] += memo.frame[base + N_ANSWERS]
        memo.rows[row, LINKS_END] = memo.state[N_LINKS]
        memo.rows[memo.state[N_SOLVED], NTH_SOLVED] = row
        memo.state[N_SOLVED] += 1
        below = memo.frame[base + BELOW]
        memo.state[TOP] = below
        if below == 0:
            return
        _receive(memo, row)
        if memo.frame[below + IN_TAIL] == 0:
            return


@compiled
def begin(memo: Memo, row: int) -> None:
    """Have `solve` solve this row, unless its answer is known."""
    if memo.rows[row, REPLY_END] == 0:
        _push(memo, row)


@compiled
def _full(memo: Memo, lacking: int) -> int:
    memo.state[LACKING] = lacking
    endless = open_frames_end(memo) > _MOST_IN_FRAMES or memo.frame[CURSOR] > _MOST_TOKENS
    return ENDLESS if endless else FULL


@compiled
def solve(memo: Memo, said: int) -> int:
    """Solve what was begun: DONE; or PAUSED where a plain Python rule must speak for the top frame, or FULL.

    Call it again with what that rule said, or with NOTHING once there is room. CIRCULAR, UNKNOWN and ENDLESS end it for
    good: see `driver.rule_says`.
    """
    while memo.state[TOP] != 0:
        base = memo.state[TOP]
        if said == NOTHING:
            if lacks_room(memo, STEP):
                return _full(memo, STEP)
            kind = memo.rows[memo.frame[base + ROW], TYPE]
            if kind < 0:
                return UNKNOWN
            start = aligned(memo.frame[CURSOR])
            memo.frame[START] = start
            memo.text[start] = GO
            memo.frame[CURSOR] = start + 1
            if kind >= N_COMPILED:
                return PAUSED
            said = compiled_rule(kind, View(memo.text, memo.frame, base))
        start, end = memo.frame[START], memo.frame[CURSOR]
        if end >= memo.text.size:
            memo.frame[CURSOR] = start
            return _full(memo, 2 * (end - start) + STEP)
        if said == ANSWER:
            memo.text[end] = STOP
            memo.frame[CURSOR] = end + 1
            _finish(memo, start + 1, end + 1)
        else:
            end_question(memo)
            if not _ask(memo, said):
                return CIRCULAR
        said = NOTHING
    return DONE


@inlined
def _ask(memo: Memo, said: int) -> bool:
    """The top frame asks the question text[START:cursor]; False if one of its own ancestors is answering that."""
    base = memo.state[TOP]
    row, new = enter(memo)
    memo.frame[base + IN_TAIL] = 1 if said == ASK_TAIL else 0
    if new or memo.rows[row, REPLY_END] == 0:
        _push(memo, row)
        return new
    _receive(memo, row)
    if said == ASK_TAIL:
        _finish(memo, memo.rows[row, REPLY], memo.rows[row, REPLY_END])
    return True


assert NOTHING not in (ASK, ASK_TAIL, ANSWER)
