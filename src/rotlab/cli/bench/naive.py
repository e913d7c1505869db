"""Inference as the paper's App. B has it, one question at a time and without a memo: what the engine is compared with.

TAIL says at every THINK whether that is a tail call, and not, as Algorithm 1 has it, once and for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rotlab.inference.frame import CYCLE, HEIGHT, MALFORMED, OVERFLOW, REACH, Failure, Limits
from rotlab.models.backbone import Backbone, Reader
from rotlab.vocab import GO, PAD, STOP, TAIL, THINK, Vocabulary

# Gives logits_V of what follows a context, of which all but the last `new` tokens were there in the call before.
Network = Callable[[list[int], int], Tensor]


class Failed(Exception):
    """A question has no answer, for a reason of `Failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


@dataclass
class Naive:
    """Solves questions by plain recursion. contexts: what was written, by question; tokens: how many were written."""

    fresh: Callable[[], Network]
    vocabulary: Vocabulary
    limits: Limits
    contexts: dict[bytes, bytes] = field(default_factory=dict)
    tokens: int = 0

    def answer(self, question: bytes) -> bytes:
        """The answer up to STOP. Raises Failed."""
        self.contexts, self.tokens = {}, 0
        return self._solve(question, frozenset(), 0)

    def _solve(self, question: bytes, open_: frozenset[bytes], depth: int) -> bytes:
        while True:
            self._check(question, open_, depth)
            open_ |= {question}
            context = list(question)
            try:
                done, asked = self._write(context, open_, depth)
            finally:
                self.contexts[question] = bytes(context)
            if done:
                return asked
            question = asked

    def _check(self, question: bytes, open_: frozenset[bytes], depth: int) -> None:
        if question in open_:
            raise Failed(CYCLE)
        if depth > self.limits.height:
            raise Failed(HEIGHT)
        self.contexts.setdefault(question, b"")
        if len(self.contexts) - 1 > self.limits.reach:
            raise Failed(REACH)

    def _write(self, context: list[int], open_: frozenset[bytes], depth: int) -> tuple[bool, bytes]:
        """Write a context to its end: whether that is an answer, and the answer or the question of the tail call."""
        network, since, read = self.fresh(), len(context), 0
        while True:
            if len(context) >= self.limits.context:
                raise Failed(OVERFLOW)
            logits_V = network(context, len(context) - read)
            read = len(context)
            context.append(int(self.vocabulary.full_V[int(logits_V.argmax())]))
            self.tokens += 1
            if context[-1] == PAD:
                raise Failed(MALFORMED)
            if context[-1] == STOP:
                return True, bytes(context[since:])
            if context[-1] == THINK:
                begins = [i for i in range(since, len(context) - 1) if context[i] in (GO, TAIL)]
                if not begins:
                    raise Failed(MALFORMED)
                asked = bytes([GO, *context[begins[-1] + 1 : -1]])
                if context[begins[-1]] == TAIL:
                    return False, asked
                context.pop()
                context += self._solve(asked, open_, depth + 1)
                since = len(context)


def whole_contexts(backbone: Backbone, vocabulary: Vocabulary) -> Callable[[], Network]:
    """A network that reads the whole context for every token."""

    @torch.no_grad()
    def network(context: list[int], new: int) -> Tensor:
        ids_BT = torch.from_numpy(vocabulary.compact_S[context]).long().unsqueeze(0)
        logits_V: Tensor = backbone(ids_BT)[0, -1]
        return logits_V

    return lambda: network


def with_cache(reader: Reader, vocabulary: Vocabulary) -> Callable[[], Network]:
    """A network with a cache for each context."""

    def fresh() -> Network:
        cache, slot = reader.new_cache(1), torch.tensor([0])

        def network(context: list[int], new: int) -> Tensor:
            ids_T = torch.from_numpy(vocabulary.compact_S[context[-new:]]).long()
            return reader.read(cache, slot, ids_T, torch.tensor([new]))[0]

        return network

    return fresh
