"""The processes that work on one run together, one a device, and what they tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process's number among `size`. Every method is called by all of them, at the same point."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def share(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """This process's part: every `size`-th, none twice, none left out."""
        return items[self.rank :: self.size]

    def add(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, in place of `numbers`."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def highest(self, numbers: NDArray[np.uint8], device: torch.device | None) -> NDArray[np.uint8]:
        """The highest of all processes, element by element."""
        if self.size == 1:
            return numbers
        shared = torch.from_numpy(numbers).to(device or "cpu")
        dist.all_reduce(shared, dist.ReduceOp.MAX)
        return shared.cpu().numpy()

    def gathered(self, items: list[T]) -> list[T]:
        """The items of all processes, in the order of their ranks."""
        if self.size == 1:
            return items
        parts: list[list[T]] = [[] for _ in range(self.size)]
        dist.all_gather_object(parts, items)
        return [item for part in parts for item in part]

    def wait(self) -> None:
        """Until all are here."""
        if self.size > 1:
            dist.barrier()
