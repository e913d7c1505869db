"""The model and its cache: the only place of this room where there are tensors of contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from rotlab.inference.frame import Frame
from rotlab.models.backbone import Reader
from rotlab.vocab import Vocabulary

# Tokens that are read at once.
_TOKENS_AT_ONCE = 16_384


class Runner:
    """Reads what frames have come to hold, in their slots, and gives the logits of what follows."""

    def __init__(self, backbone: Reader, vocabulary: Vocabulary, places: int, device: torch.device) -> None:
        self._backbone, self._device, self.places = backbone, device, places
        self._id_of_S = vocabulary.compact_S.astype(np.int64)
        self._cache = backbone.new_cache(places)

    @torch.no_grad()
    def read(self, frames: Sequence[Frame]) -> Iterator[tuple[list[Frame], Tensor]]:
        """Frames with the logits_BV that follow them, part after part; each has something to be read."""
        fresh = [frame.slot for frame in frames if frame.fed == 0]
        if fresh:
            self._cache.clear(self._long(fresh))
        part, tokens = [], 0
        for frame in frames:
            part.append(frame)
            tokens += len(frame.tokens) - frame.fed
            if tokens >= _TOKENS_AT_ONCE:
                yield part, self._read(part)
                part, tokens = [], 0
        if part:
            yield part, self._read(part)

    def _read(self, frames: list[Frame]) -> Tensor:
        pieces = [frame.tokens[frame.fed :] for frame in frames]
        tokens_N = self._id_of_S[np.frombuffer(b"".join(pieces), np.uint8)]
        slots_B, lengths_B = self._long([frame.slot for frame in frames]), self._long([*map(len, pieces)])
        logits_BV = self._backbone.read(
            self._cache, slots_B, torch.from_numpy(tokens_N).to(self._device), lengths_B
        )  # fmt: skip
        for frame in frames:
            frame.fed = len(frame.tokens)
        return logits_BV

    def _long(self, numbers: list[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=self._device)
