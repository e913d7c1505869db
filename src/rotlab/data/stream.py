"""The training stream: batch k holds examples kB .. kB+B-1, each a pure function of (seed, i)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torch.utils.data import Dataset, Sampler

from rotlab.config import RunFailed
from rotlab.contexts.driver import Drawer
from rotlab.contexts.memo import Memo
from rotlab.contexts.stream import HELD_OUT, OVERLONG, Batch
from rotlab.data.batches import Group, grouped, passes_of
from rotlab.data.cell import Cell
from rotlab.data.step_batch import StepBatch
from rotlab.rng import TRAIN

# An overhead that keeps a batch whole, and what lengths are rounded up to, for few shapes.
_WHOLE, _COARSE = 1 << 40, 32


class TrainingStream(Dataset[StepBatch]):
    """Optimizer steps by number: `stream[k]` is rank `rank`'s slice of batch k, a pure function of k.

    So nothing has to be saved but the step, and the stream is the same for any number of workers and ranks.
    few_shapes: a pass is one group whose length is a multiple of 32, for code that is compiled for a shape.
    """

    def __init__(
        self, cell: Cell, *, seed: int, batch_size: int, steps: int, accumulation: int = 1, rank: int = 0,
        ranks: int = 1, overhead: int = 256, tokens_per_pass: int = 32_768, held_out: Memo | None = None,
        overfit: bool = False, few_shapes: bool = False,
    ) -> None:  # fmt: skip
        if batch_size % (ranks * accumulation) != 0:
            raise ValueError(
                f"batch_size {batch_size} can't be split evenly into {ranks} rank(s) times {accumulation} "
                f"accumulation step(s); choose numbers whose product divides it"
            )
        self.cell, self.seed, self.steps, self.overfit, self.few_shapes = cell, seed, steps, overfit, few_shapes
        self.part_size = batch_size // (ranks * accumulation)
        self.batch_size, self.accumulation, self.rank = batch_size, accumulation, rank
        self.overhead, self.tokens_per_pass = overhead, tokens_per_pass
        self._drawer = Drawer(cell.sampler, cell.difficulty, cell.method, cell.context_limit, held_out)

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: int) -> StepBatch:
        first = (0 if self.overfit else step) * self.batch_size + self.rank * self.part_size * self.accumulation
        passes, tokens, area, overlong, held_out = [], 0, 0, 0, 0
        for part in range(self.accumulation):
            start = first + part * self.part_size
            try:
                batch, job = self._drawer.batch(self.seed, TRAIN, start, start + self.part_size)
            except ValueError as error:
                raise RunFailed(f"step {step + 1:,} can't be trained: {error}") from error
            groups, part_passes = self._cut(batch)
            passes += part_passes
            tokens += int(batch.offsets[-1]) - self.part_size
            area += sum(group.inputs_BT.numel() for group in groups)
            overlong += int(job[OVERLONG])
            held_out += int(job[HELD_OUT])
        return StepBatch.of(passes, self.part_size * self.accumulation, tokens, area, overlong, held_out)

    def _cut(self, batch: Batch) -> tuple[list[Group], list[list[Group]]]:
        """The groups and the passes of a batch, or of a part of it."""
        most = self.tokens_per_pass
        if self.few_shapes:
            # A divisor of the window, so that no length is rounded up beyond it.
            groups = grouped(batch, self.cell.vocabulary, _WHOLE, most, math.gcd(_COARSE, self.cell.context_limit))
            return groups, [[group] for group in groups]
        groups = grouped(batch, self.cell.vocabulary, self.overhead, most)
        return groups, passes_of(groups, most)


class StepsFrom(Sampler[int]):
    """The steps start .. steps-1 in order."""

    def __init__(self, start: int, steps: int) -> None:
        self.start, self.steps = start, steps

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.steps))

    def __len__(self) -> int:
        return self.steps - self.start
