"""Which token follows: the likeliest, or one drawn so that neither batch size nor order decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rotlab.inference.frame import Frame

# The least temperature but 0: of less, logits over it may be no numbers.
_COLDEST = 1e-6


@dataclass(frozen=True)
class Sampling:
    """temperature 0 takes the likeliest token; top_k draws among so many of the likeliest, None among all.

    A draw follows from the seed, the number of the sample, the question and the place in its context alone.
    Raises ValueError for impossible values.
    """

    temperature: float = 0.0
    top_k: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature != 0 and not _COLDEST <= self.temperature < float("inf"):
            raise ValueError(
                f"the temperature is {self.temperature}: it must be 0 (the likeliest token) or at least {_COLDEST}"
            )
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}: it must be at least 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"the seed is {self.seed}: it must be between 0 and 2^63 - 1")

    @property
    def greedy(self) -> bool:
        """Whether nothing is drawn."""
        return self.temperature == 0 or self.top_k == 1

    def stream(self, sample: int, seed: int | None = None) -> int:
        """What tells the draws of a sample apart from those of others; with a seed of its own, or this one."""
        if self.greedy:
            return 0
        text = b"%d %d" % (self.seed if seed is None else seed, sample)
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

    def choose(self, logits_BV: Tensor, frames: Sequence[Frame]) -> NDArray[np.int64]:
        """chosen_B, as the model's ids."""
        if self.greedy:
            chosen_B: NDArray[np.int64] = logits_BV.argmax(-1).cpu().numpy()
            return chosen_B
        # In float64 on the host: a sum in another order on another device could tip a draw.
        scaled_BV = logits_BV.cpu().double() / self.temperature
        if self.top_k is not None and self.top_k < scaled_BV.shape[1]:
            least_B1 = scaled_BV.topk(self.top_k).values[:, -1:]
            scaled_BV = scaled_BV.masked_fill(scaled_BV < least_B1, float("-inf"))
        until_BV = torch.softmax(scaled_BV, -1).cumsum(-1).numpy()
        drawn_B = np.array([_uniform(frame) for frame in frames]) * until_BV[:, -1]
        chosen_B = (until_BV <= drawn_B[:, None]).sum(-1)
        return chosen_B


def _uniform(frame: Frame) -> float:
    """In [0, 1), from the question, the sample and the place."""
    node = frame.node
    mark = node.stream[0].to_bytes(8, "little") + len(frame.tokens).to_bytes(8, "little")
    bits = int.from_bytes(blake2b(mark + node.question, digest_size=8).digest(), "little")
    return (bits >> 11) * 2.0**-53
