"""The model and its cache: the only place of this room where there are tensors of contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from rotlab.inference.frame import Frame
from rotlab.models.backbone import Reader
from rotlab.vocab import Vocabulary

# Tokens that are read at once, padding included.
_TOKENS_AT_ONCE = 16_384


class Runner:
    """Reads what frames have come to hold, in their slots, and gives the logits of what follows."""

    def __init__(self, backbone: Reader, vocabulary: Vocabulary, slots: int, device: torch.device) -> None:
        self._backbone, self._device = backbone, device
        self._id_of_S = np.minimum(vocabulary.compact_S.astype(np.int64), len(vocabulary) - 1)
        self._cache = backbone.new_cache(slots)

    @torch.no_grad()
    def read(self, frames: Sequence[Frame]) -> Iterator[tuple[list[Frame], Tensor]]:
        """Frames with the logits_BV that follow them, part after part; each has something to be read."""
        fresh = [frame.slot for frame in frames if frame.fed == 0]
        if fresh:
            self._cache.clear(self._long(fresh))
        # Both before the first part is given out, for it is written to at once.
        single = [frame for frame in frames if len(frame.tokens) - frame.fed == 1]
        longer = [frame for frame in frames if len(frame.tokens) - frame.fed > 1]
        for part in _parts(longer):
            yield part, self._prefill(part)
        if single:
            yield single, self._decode(single)

    def _prefill(self, frames: list[Frame]) -> Tensor:
        lengths_B = [len(frame.tokens) - frame.fed for frame in frames]
        tokens_BT = np.zeros((len(frames), max(lengths_B)), np.uint8)
        for b, frame in enumerate(frames):
            tokens_BT[b, : lengths_B[b]] = np.frombuffer(frame.tokens[frame.fed :], np.uint8)
        return self._read(frames, tokens_BT, lengths_B)

    def _decode(self, frames: list[Frame]) -> Tensor:
        """logits_BV. All slots up to the last one are read where enough of them run: it saves a copy of the cache."""
        last_B = np.array([frame.tokens[-1] for frame in frames], np.uint8)
        slots_B = np.array([frame.slot for frame in frames])
        upto = int(slots_B.max()) + 1
        if 2 * len(frames) < upto:
            return self._read(frames, last_B[:, None], [1] * len(frames))
        tokens_S, running_S = np.zeros(upto, np.uint8), np.zeros(upto, np.bool_)
        tokens_S[slots_B], running_S[slots_B] = last_B, True
        ids_S = self._ids(tokens_S)
        logits_SV = self._backbone.decode(self._cache, ids_S, torch.from_numpy(running_S).to(self._device))
        self._fed(frames)
        return logits_SV[torch.from_numpy(slots_B).to(self._device)]

    def _read(self, frames: list[Frame], tokens_BT: np.ndarray, lengths_B: list[int]) -> Tensor:
        slots_B = self._long([frame.slot for frame in frames])
        logits_BV = self._backbone.prefill(self._cache, slots_B, self._ids(tokens_BT), self._long(lengths_B))
        self._fed(frames)
        return logits_BV

    def _ids(self, tokens: np.ndarray) -> Tensor:
        """The model's ids; padding may be anything."""
        return torch.from_numpy(self._id_of_S[tokens]).to(self._device)

    def _long(self, numbers: list[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=self._device)

    @staticmethod
    def _fed(frames: list[Frame]) -> None:
        for frame in frames:
            frame.fed = len(frame.tokens)


def _parts(frames: list[Frame]) -> Iterator[list[Frame]]:
    """Frames with much or little to be read apart from one another, so that less than half is padding."""
    frames.sort(key=lambda frame: frame.fed - len(frame.tokens))
    begin = 0
    for i, frame in enumerate(frames):
        longest = len(frames[begin].tokens) - frames[begin].fed
        if 2 * (len(frame.tokens) - frame.fed) < longest or (i + 1 - begin) * longest > _TOKENS_AT_ONCE:
            if i > begin:
                yield frames[begin:i]
            begin = i
    if frames:
        yield frames[begin:]
