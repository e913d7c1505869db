"""Batches of contexts as tensors: groups of similar length, each padded to its longest context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rotlab.contexts.padding import cut_points, pad_group
from rotlab.contexts.stream import Batch
from rotlab.vocab import Vocabulary


@dataclass(frozen=True)
class Group:
    """inputs_BT: X without its last token; targets_BT: Y without its first; both the model's ids, PAD (0) on the right.

    chosen_B: which contexts of the batch these are.
    """

    inputs_BT: Tensor
    targets_BT: Tensor
    chosen_B: NDArray[np.int64]

    def to(self, device: torch.device) -> Group:
        """The group with its tensors on a device."""
        inputs, targets = self.inputs_BT.to(device, non_blocking=True), self.targets_BT.to(device, non_blocking=True)
        return Group(inputs, targets, self.chosen_B)


def grouped(batch: Batch, vocabulary: Vocabulary, overhead: int, most: int, multiple: int = 1) -> list[Group]:
    """A batch in groups of at most `most` tokens, padding included, shortest contexts first.

    A further group is made where it saves more than `overhead` padding tokens. Every length is a multiple of
    `multiple`.
    """
    lengths_N = -(-(np.diff(batch.offsets) - 1) // multiple) * multiple
    order_N = np.argsort(lengths_N, kind="stable")
    groups, start = [], 0
    for end in cut_points(lengths_N[order_N], overhead, most):
        chosen_B = order_N[start:end]
        inputs_BT = np.zeros((end - start, lengths_N[chosen_B[-1]]), np.uint8)
        targets_BT = np.zeros_like(inputs_BT)
        pad_group(batch, chosen_B, vocabulary.compact_S, inputs_BT, targets_BT)
        groups.append(Group(torch.from_numpy(inputs_BT), torch.from_numpy(targets_BT), chosen_B))
        start = end
    return groups


def passes_of(groups: Sequence[Group], most: int) -> list[list[Group]]:
    """Neighbouring groups together, as many as have at most `most` tokens, padding included; never fewer than one."""
    passes: list[list[Group]] = []
    area = 0
    for group in groups:
        size = group.inputs_BT.numel()
        if not passes or area + size > most:
            passes.append([])
            area = 0
        passes[-1].append(group)
        area += size
    return passes
