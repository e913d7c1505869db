"""The recursion over contexts of many questions at once: what is asked, who waits, how each ends. No tensors here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rotlab.inference.frame import CYCLE, OVERFLOW, SPOKEN, Answer, Ask, Failure, Frame, Limits, Reading
from rotlab.inference.memo import Extent, Memo, Node, extent, waiting_roots
from rotlab.inference.scheduler import Scheduler

# Contexts that are walked through at each step to find too many: a small part of what a step takes.
_WALKS_A_STEP = 200


@dataclass(frozen=True)
class Request:
    """A top-level question GO ... = as full ids. stream: which sample of it, see `Sampling.stream`."""

    question: bytes
    stream: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a request: an answer up to STOP, or why there is none; what was done for it.

    contexts: different ones, its own included; depth: of nested ones under it; tokens: that the model wrote in them;
    tokens_unaided: that it would have written without a memo. Of a question that exceeds height or reach, tokens are
    those up to when that was noticed. top: its node, from which all that was asked hangs.
    """

    answer: bytes | None
    failure: Failure | None
    contexts: int
    depth: int
    tokens: int
    tokens_unaided: int
    top: Node


@dataclass
class Tally:
    """Of one call of the engine. tokens: that the model wrote; asked, known: sub-questions, and how many of them were
    solved or begun already; steps; seated, seatable: running contexts, and how many could have been, summed over steps.
    """

    tokens: int = 0
    asked: int = 0
    known: int = 0
    contexts: int = 0
    steps: int = 0
    seated: int = 0
    seatable: int = 0


class Recursion:
    """Contexts of all requests, amid being written. Each request has a number, for its outcome.

    Whatever chooses the tokens of what is `running` and has them heard by `hear`: `Engine` has a model with a cache do
    it, one token at a time; a hosted model that completes prompts could give many.
    """

    def __init__(
        self, requests: Iterator[tuple[int, Request]], method: str, limits: Limits, slots: int, memo: bool
    ) -> None:
        self.scheduler = Scheduler(slots)
        self.outcomes: dict[int, Outcome] = {}
        self.tally = Tally()
        self._requests = requests
        self._reading, self._limits = Reading(method, limits.context), limits
        self._memo = Memo(shared=memo)
        self._roots: dict[Node, list[int]] = {}
        # Of top-level questions that exceed a limit: they are forgotten otherwise, and may be requested again.
        self._exceeding: dict[tuple[bytes, int], Outcome] = {}
        # Sub-questions that stand deeper than they may; contexts that may be walked through to find too many.
        self._suspects: list[Node] = []
        self._walks = 0

    def running(self) -> list[Frame]:
        """The contexts that wait for a token, after slots were given away; empty when all is done."""
        self._look_at_limits()
        scheduler = self.scheduler
        while scheduler.spare > 0 and (request := next(self._requests, None)) is not None:
            self._start(*request)
        scheduler.seat()
        running = list(scheduler.running)
        if running:
            self.tally.steps += 1
            self.tally.seated += len(running)
            self.tally.seatable += min(scheduler.slots, len(running) + scheduler.ready)
        return running

    def _start(self, number: int, request: Request) -> None:
        if (known := self._exceeding.get((request.question, request.stream))) is not None:
            self.outcomes[number] = known
            return
        apart = 0 if self._memo.shared else number
        node, new = self._memo.node(request.question, (request.stream, apart))
        if node.settled:
            self._report(node, [number])
            return
        self._roots.setdefault(node, []).append(number)
        if new:
            self._begin(node)

    def _begin(self, node: Node) -> None:
        assert node.frame is not None
        self.tally.contexts += 1
        if self._reading.full(node.frame):
            self._settle([node], None, OVERFLOW)
        else:
            self.scheduler.begin(node.frame)

    def hear(self, frames: Sequence[Frame], tokens: Sequence[int]) -> None:
        """The model wrote a token in each of these running contexts."""
        limit = self._limits.context
        self.tally.tokens += len(tokens)
        for frame, token in zip(frames, tokens, strict=True):
            frame.tokens.append(token)
            frame.node.written += 1
            if token in SPOKEN or len(frame.tokens) >= limit:
                self._act(frame, token)

    def _act(self, frame: Frame, token: int) -> None:
        """Do what the last token of a context says, if it says anything."""
        said = self._reading.said(frame, token)
        if said is None:
            return
        if isinstance(said, Ask):
            self._ask(frame, said)
        elif isinstance(said, Answer):
            self._settle([frame.node], said.tokens, None)
        else:
            self._settle([frame.node], None, said)

    def _ask(self, frame: Frame, said: Ask) -> None:
        asker = frame.node
        asked, new, cycle = self._memo.ask(asker, said.question, said.tail)
        self.tally.asked += 1
        self.tally.known += not new
        if cycle:
            self._settle(cycle, None, CYCLE)
        elif asked.settled:
            if said.tail or asked.failure is not None:
                self._settle([asker], asked.answer, asked.failure)
            else:
                self._paste(frame, asked.answer)
        else:
            if said.tail:
                self._close(asker)
            else:
                self.scheduler.wait(frame)
            if new:
                self._begin(asked)
                if asked.level > self._limits.height:
                    self._suspects.append(asked)

    def _paste(self, frame: Frame, answer: bytes | None) -> bool:
        """Put an answer into the context; False if that ends it."""
        assert answer is not None
        frame.paste(answer)
        if self._reading.full(frame):
            self._settle([frame.node], None, OVERFLOW)
            return False
        return True

    def _settle(self, nodes: list[Node], answer: bytes | None, failure: Failure | None) -> None:
        ended, going_on = self._memo.settle(nodes, answer, failure)
        for node in ended:
            self._close(node)
            if (numbers := self._roots.pop(node, None)) is not None:
                self._report(node, numbers)
        for node in going_on:
            assert node.frame is not None
            # What overflows fails, and so do those who wait for it: this calls itself once at most.
            if self._paste(node.frame, answer):
                self.scheduler.resume(node.frame)

    def _close(self, node: Node) -> None:
        """A node's context is complete."""
        if node.frame is not None:
            node.context = bytes(node.frame.tokens)
            self.scheduler.leave(node.frame)
            node.frame = None

    def _report(self, top: Node, numbers: list[int]) -> None:
        """A top-level question ended, or exceeds a limit."""
        found: Extent = extent(top, self._limits)
        failure = found.exceeded or top.failure
        answer = top.answer if failure is None else None
        unaided = max(top.whole, found.written)  # of what was given up, little may be counted
        outcome = Outcome(answer, failure, found.contexts, found.depth, found.written, unaided, top)
        self.outcomes.update(dict.fromkeys(numbers, outcome))
        if found.exceeded is not None:
            self._exceeding[top.question, top.stream[0]] = outcome

    def _look_at_limits(self) -> None:
        """Give up top-level questions that exceed a limit, and whatever nobody else waits for."""
        suspects = dict.fromkeys(root for node in self._suspects for root in waiting_roots(node, self._roots))
        self._suspects = []
        self._walks += _WALKS_A_STEP
        if self._memo.made > self._limits.reach and self._walks > 0 and self._roots:
            # One after another, each in its turn.
            root = next(iter(self._roots))
            self._roots[root] = self._roots.pop(root)
            suspects[root] = None
        for root in suspects:
            found = extent(root, self._limits)
            self._walks -= found.contexts
            if found.exceeded is not None:
                self._report(root, self._roots.pop(root))
                self._give_up(self._memo.abandon(root, self._roots))

    def _give_up(self, nodes: list[Node]) -> None:
        """Nobody needs their contexts any more; what stands there is kept to be shown."""
        frames = {node.frame for node in nodes if node.frame is not None}
        self.scheduler.drop(frames)
        for frame in frames:
            frame.node.context, frame.node.frame = bytes(frame.tokens), None
