"""The rules themselves as a model that writes every context without a mistake."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from rotlab.contexts.driver import n_rows, solve_question
from rotlab.contexts.memo import QUESTION, QUESTION_END
from rotlab.contexts.render import METHOD_NUMBER, ROT, targets_of
from rotlab.contexts.verdicts import lengths_of, render_rows
from rotlab.vocab import EQUALS, Vocabulary


class Rules:
    """Has the contract of a backbone; wherever a context follows the rules, its logits name the next token.

    Only for contexts that begin with a question of the rules and keep to them.
    """

    def __init__(self, vocabulary: Vocabulary, method: str) -> None:
        self._vocabulary, self._method = vocabulary, METHOD_NUMBER[method]

    def new_cache(self, slots: int) -> Read:
        """What was read in each slot."""
        return Read(slots)

    def read(self, cache: Read, slots_B: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Tensor:
        """logits_BV: 1 for the next token, 0 for others."""
        full, lo, next_B = self._vocabulary.full_V[tokens_N.cpu().numpy()].tobytes(), 0, []
        for slot, length in zip(slots_B.tolist(), lengths_B.tolist(), strict=True):
            cache.tokens[slot] += full[lo : lo + length]
            next_B.append(self._next(cache, cache.tokens[slot]))
            lo += length
        logits_BV = np.zeros((len(next_B), len(self._vocabulary)), np.float32)
        logits_BV[np.arange(len(next_B)), self._vocabulary.compact_S[next_B]] = 1
        return torch.from_numpy(logits_BV).to(tokens_N.device)

    def _next(self, cache: Read, read: bytearray) -> int:
        question = bytes(read[: read.index(EQUALS) + 1])
        if question not in cache.targets:
            cache.targets.update(self._written(question))
        return cache.targets[question][len(read)]

    def _written(self, question: bytes) -> Iterator[tuple[bytes, bytes]]:
        """What is to be written at each place of a question's context, and under rot of all that it asks."""
        memo, top = solve_question(np.frombuffer(question, np.uint8))
        rows_R = np.arange(n_rows(memo)) if self._method == ROT else np.array([top])
        batch = render_rows(memo, rows_R, lengths_of(memo, rows_R, self._method), self._method)
        targets = targets_of(batch.tokens, batch.segments)
        for i, row in enumerate(rows_R):
            asked = memo.text[memo.rows[row, QUESTION] : memo.rows[row, QUESTION_END]]
            yield asked.tobytes(), targets[batch.offsets[i] : batch.offsets[i + 1]].tobytes()


class Read:
    """The cache: what was read in each slot, and what is to be written for each question that was looked up."""

    def __init__(self, slots: int) -> None:
        self.tokens = [bytearray() for _ in range(slots)]
        self.targets: dict[bytes, bytes] = {}

    def clear(self, slots_B: Tensor) -> None:
        """Begin new contexts in these slots."""
        for slot in slots_B.tolist():
            self.tokens[slot] = bytearray()
