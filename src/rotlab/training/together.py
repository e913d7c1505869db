"""Several ranks under Lightning: its DDP strategy, but for the exchange of gradients, which RotModule does itself."""

from __future__ import annotations

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor

from rotlab.data.ranks import Ranks

# Far above what one rank's share of an evaluation takes longer than another's.
_PATIENCE = timedelta(minutes=30)

# Set by `launch` for the processes that it starts: RANK and its like may be left over from something else.
STARTED = "ROTLAB_RANK_STARTED"


class Together(DDPStrategy):
    """Without DistributedDataParallel around the model.

    That one averages gradients at each backward pass, while a step here is several passes, of which ranks may have
    different numbers, and its gradient a sum over all of them divided by the whole batch's targets.
    """

    def __init__(self) -> None:
        super().__init__(cluster_environment=LightningEnvironment())

    def configure_ddp(self) -> None:
        """Leave the model as it is."""

    def pre_backward(self, closure_loss: Tensor) -> None:
        """Nothing is to be prepared."""


def own_ranks(device: str) -> Ranks:
    """This process among its fellows, who are met here; alone unless `launch` has started it."""
    if STARTED not in os.environ:
        return Ranks()
    size = int(os.environ["WORLD_SIZE"])
    if device == "gpu":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device == "gpu" else "gloo", timeout=_PATIENCE)
    return Ranks(int(os.environ["RANK"]), size)
