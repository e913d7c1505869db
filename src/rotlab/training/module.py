"""The LightningModule: eq. 2's objective over the whole batch, one optimizer step for one loader item."""

from __future__ import annotations

import lightning as L
import torch
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor
from torch.nn.functional import cross_entropy
from torchmetrics import MeanMetric

from rotlab.config.schema import RecipeConfig
from rotlab.data.stream import StepBatch
from rotlab.models import Backbone
from rotlab.training.schedule import build_optimizer, rate_factor
from rotlab.vocab import Vocabulary


class RotModule(L.LightningModule):
    """Trains a backbone on `StepBatch`es.

    Optimization is manual, because a batch may be several passes, forward and backward: their losses are divided by
    the number of non-PAD targets of the whole batch, and then one optimizer step is taken. So `trainer.global_step`
    counts optimizer steps, accumulation included, and a loader item is one of them.
    """

    def __init__(self, backbone: Backbone, recipe: RecipeConfig) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.backbone = backbone
        self.recipe = recipe
        # Not checked for NaN: that would wait for the device at each step, and hide a training that diverges.
        self.loss = MeanMetric(nan_strategy="disable")
        self.token_accuracy = MeanMetric(nan_strategy="disable")

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """The recipe's optimizer, and its learning rate by optimizer step."""
        optimizer = build_optimizer(self.backbone, self.recipe)
        rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_factor(step, self.recipe))
        return {"optimizer": optimizer, "lr_scheduler": rates}

    def training_step(self, batch: StepBatch, batch_idx: int) -> None:
        """One optimizer step."""
        optimizer, rates = self.optimizers(), self.lr_schedulers()
        assert isinstance(optimizer, L.pytorch.core.optimizer.LightningOptimizer)
        assert isinstance(rates, torch.optim.lr_scheduler.LambdaLR)
        targets = sum(group.targets_BT.count_nonzero() for group in batch.groups)
        assert isinstance(targets, Tensor)
        optimizer.zero_grad()
        loss, right = targets.new_zeros((), dtype=torch.float32), torch.zeros_like(targets)
        for groups in batch.passes:
            logits_NV = self.backbone.forward_groups([group.inputs_BT.long() for group in groups])
            targets_N = torch.cat([group.targets_BT.flatten() for group in groups]).long()
            pass_loss, pass_right = summed_loss(logits_NV, targets_N)
            self.manual_backward(pass_loss / targets)
            loss += pass_loss.detach()
            right += pass_right
        optimizer.step()
        rates.step()
        self.loss.update(loss / targets, weight=targets)
        self.token_accuracy.update(right / targets, weight=targets)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip the gradient."""
        if self.recipe.gradient_clip == 0:
            return
        scaler = getattr(self.trainer.precision_plugin, "scaler", None)
        if scaler is not None and getattr(optimizer, "_step_supports_amp_scaling", False):
            # Under fp16 Lightning has unscaled the gradient by now, but not that of a fused optimizer.
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(self.backbone.parameters(), self.recipe.gradient_clip)


def summed_loss(logits_NV: Tensor, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Eq. 2: the sum of -log p over the targets that aren't PAD, in float32; and how many are the first choice."""
    logits_NV = logits_NV.float()
    loss = cross_entropy(logits_NV, targets_N, ignore_index=Vocabulary.pad, reduction="sum")
    right = ((logits_NV.argmax(dim=-1) == targets_N) & (targets_N != Vocabulary.pad)).sum()
    return loss, right
