"""One context that is being written, and what a token that the model writes means (App. B and F)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rotlab.contexts.render import COT, METHOD_NUMBER, ROT
from rotlab.vocab import EQUALS, GO, PAD, STOP, TAIL, THINK

# Why a question has no answer. A sub-question's reason becomes that of whoever asked it.
Failure = Literal["overflow", "height", "reach", "cycle", "malformed"]
OVERFLOW: Failure = "overflow"
HEIGHT: Failure = "height"
REACH: Failure = "reach"
CYCLE: Failure = "cycle"
MALFORMED: Failure = "malformed"
FAILURES: dict[Failure, str] = {
    OVERFLOW: "a context would be longer than its limit",
    HEIGHT: "contexts are nested deeper than the limit",
    REACH: "more different questions are asked than the limit",
    CYCLE: "a question asks for its own answer",
    MALFORMED: "a THINK without a question before it, or a PAD",
}


@dataclass(frozen=True)
class Limits:
    """context: the most tokens of a context, its last STOP or THINK included. height: the most contexts nested in one
    another under a question, tail calls not counted. reach: the most different questions under it."""

    context: int
    height: int = 1_000
    reach: int = 100_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"the limit of {name} is {value}: it must be at least 1")


class Answer(NamedTuple):
    """The context is complete; tokens up to STOP."""

    tokens: bytes


class Ask(NamedTuple):
    """A sub-question GO ... in a context of its own; tail: its answer is the asking context's as well."""

    question: bytes
    tail: bool


class Frame:
    """A context amid being written, as ids of `rotlab.vocab.SYMBOLS`.

    since: where the model's own writing began, after the question or the last pasted answer. node: whose context it
    is. slot: its place in the model's cache, -1 for none; fed: how many of its tokens the model has read there.
    """

    __slots__ = ("fed", "node", "since", "slot", "tokens")

    def __init__(self, node: Any, question: bytes) -> None:
        self.node = node
        self.tokens = bytearray(question)
        self.since = len(question)
        self.slot = -1
        self.fed = 0

    def paste(self, answer: bytes) -> None:
        """Put a sub-question's answer where the model wrote THINK."""
        self.tokens += answer
        self.since = len(self.tokens)


# After any other token the context simply goes on, if there is room.
SPOKEN = frozenset((STOP, THINK, PAD))


class Reading:
    """What tokens mean under a method, in contexts of a limited length."""

    def __init__(self, method: str, limit: int) -> None:
        self._method, self._limit = METHOD_NUMBER[method], limit

    def full(self, frame: Frame) -> bool:
        """Whether the context has no room for one more token."""
        return len(frame.tokens) >= self._limit

    def said(self, frame: Frame, token: int) -> Answer | Ask | Failure | None:
        """What the token says that the model wrote at the context's end; None if it simply goes on writing."""
        if token == PAD:
            return MALFORMED
        if token == THINK and self._method == ROT:
            return _asked(frame)
        if token == STOP and (self._method != COT or _level(frame.tokens) == 0):
            return Answer(self._answer(frame))
        return OVERFLOW if self.full(frame) else None

    def _answer(self, frame: Frame) -> bytes:
        if self._method != COT:
            return bytes(frame.tokens[frame.since :])
        before = len(frame.tokens) - 1
        last = max(frame.tokens.rfind(STOP, 0, before), frame.tokens.rfind(EQUALS, 0, before))
        return bytes(frame.tokens[last + 1 :])


def _level(tokens: bytearray) -> int:
    """How many questions of a chain of thought are open; TAIL opens none."""
    return tokens.count(GO) - tokens.count(STOP)


def _asked(frame: Frame) -> Ask | Failure:
    """What the THINK at the end asks: all since the last GO or TAIL that the model itself wrote there."""
    own = bytes(frame.tokens[frame.since : -1])
    begins = max(own.rfind(GO), own.rfind(TAIL))
    if begins < 0:
        return MALFORMED
    tail = own[begins] == TAIL
    if not tail:
        frame.tokens.pop()
    return Ask(bytes((GO,)) + own[begins + 1 :], tail)
