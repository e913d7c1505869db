"""What one optimizer step trains on, in one piece of memory: what crosses to another process or device is one array.

A tensor for each group costs a third of a millisecond each to receive from a loader process, more than most batches
take to make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rotlab.data.batches import Group

# By pass and group: contexts and their padded length.
Shapes = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class StepBatch:
    """One optimizer step (of one rank).

    flat: all groups' inputs and targets, one group after another; chosen: their contexts' numbers. contexts, tokens:
    how many, without padding; area: tokens with padding. overlong, held_out: draws that were replaced.
    """

    flat: Tensor
    shapes: Shapes
    chosen: NDArray[np.int64]
    contexts: int
    tokens: int
    area: int
    overlong: int
    held_out: int

    @classmethod
    def of(cls, passes: Sequence[Sequence[Group]], *counts: int) -> StepBatch:
        """From the groups of each pass, and contexts, tokens, area, overlong and held_out."""
        groups = [group for groups in passes for group in groups]
        flat = torch.cat([part.flatten() for group in groups for part in (group.inputs_BT, group.targets_BT)])
        shapes = tuple(tuple((len(one.inputs_BT), one.inputs_BT.shape[1]) for one in groups) for groups in passes)
        return cls(flat, shapes, np.concatenate([group.chosen_B for group in groups]), *counts)

    @cached_property
    def passes(self) -> list[list[Group]]:
        """The groups of each forward pass, one pass or more for each part of the accumulation."""
        rest, chosen = self.flat, self.chosen
        passes: list[list[Group]] = []
        for shapes in self.shapes:
            passes.append([])
            for B, T in shapes:
                inputs, targets, rest = rest.split([B * T, B * T, len(rest) - 2 * B * T])
                passes[-1].append(Group(inputs.view(B, T), targets.view(B, T), chosen[:B]))
                chosen = chosen[B:]
        return passes

    @property
    def groups(self) -> list[Group]:
        """The groups of all passes."""
        return [group for groups in self.passes for group in groups]

    def to(self, device: torch.device) -> StepBatch:
        """The batch with its tokens on a device."""
        return replace(self, flat=self.flat.to(device, non_blocking=True))

    def pin_memory(self) -> StepBatch:
        """The batch where a GPU can fetch it while it works; the loader calls this."""
        return replace(self, flat=self.flat.pin_memory())

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent from a loader process through a pipe: sharing memory would cost more than to copy it."""
        counts = (self.contexts, self.tokens, self.area, self.overlong, self.held_out)
        return _received, (self.flat.numpy(), self.shapes, self.chosen, *counts)


def _received(flat: NDArray[np.uint8], *others: Any) -> StepBatch:
    return StepBatch(torch.from_numpy(flat), *others)
