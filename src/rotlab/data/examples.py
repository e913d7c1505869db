"""Training examples one by one, for use without Lightning: `rotlab.dataset("mul", 8)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from rotlab.contexts.driver import Drawer
from rotlab.contexts.padding import pad_group
from rotlab.contexts.stream import Batch
from rotlab.data.cell import Cell
from rotlab.rng import TRAIN
from rotlab.tasks import TASKS
from rotlab.vocab import Vocabulary, notation


class Example(NamedTuple):
    """One context, shifted: at each place what is read and what is to be written next, 0 where nothing is."""

    inputs_T: Tensor
    targets_T: Tensor


class Examples(Dataset[Example]):
    """Example i is a pure function of (seed, i): one of the contexts of a problem of its own, drawn uniformly.

    The same as the training stream's, so that any number of a DataLoader's workers share them without a repetition.
    vocabulary: which symbol an id is. Raises ValueError for what doesn't exist.
    """

    def __init__(self, cell: Cell, seed: int, size: int) -> None:
        if size < 1:
            raise ValueError(f"size is {size}: it must be at least 1")
        self.cell, self.seed, self._size = cell, seed, size
        self.vocabulary: Vocabulary = cell.vocabulary
        self._drawer = Drawer(cell.sampler, cell.difficulty, cell.method, cell.context_limit)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, i: int) -> Example:
        batch = self._drawn(i)
        shifted = np.zeros((2, 1, int(batch.offsets[1]) - 1), np.uint8)
        pad_group(batch, np.zeros(1, np.int64), self.vocabulary.compact_S, shifted[0], shifted[1])
        return Example(*torch.from_numpy(shifted[:, 0].astype(np.int64)))

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(self._size))

    def text(self, i: int) -> str:
        """Example i in the paper's notation."""
        batch = self._drawn(i)
        return notation(batch.tokens[: batch.offsets[1]])

    def _drawn(self, i: int) -> Batch:
        if not -self._size <= i < self._size:
            raise IndexError(f"there are {self._size:,} examples")
        index = i % self._size
        return self._drawer.batch(self.seed, TRAIN, index, index + 1)[0]

    @staticmethod
    def collate(examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
        """inputs_BT and targets_BT, padded on the right: a DataLoader's `collate_fn`."""
        inputs, targets = zip(*examples, strict=True)
        return pad_sequence(list(inputs), batch_first=True), pad_sequence(list(targets), batch_first=True)


def dataset(
    task: str, difficulty: int, method: str = "rot", *, sampling: str | None = None, seed: int = 0,
    context_limit: int = 2048, size: int = 1_000_000,
) -> Examples:  # fmt: skip
    """The training examples of a cell; `sampling` is the task's default where it isn't named."""
    if sampling is None and task in TASKS:
        sampling = TASKS[task].samplings[0]
    return Examples(Cell(task, difficulty, method, sampling or "", context_limit), seed, size)
