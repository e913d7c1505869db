"""The LightningModule: eq. 2's objective over the whole batch, one optimizer step for one loader item."""

from __future__ import annotations

import lightning as L
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torchmetrics import MeanMetric

from rotlab.config.schema import RecipeConfig
from rotlab.data.ranks import Ranks
from rotlab.data.step_batch import StepBatch
from rotlab.models import Backbone
from rotlab.training.compiling import compiled_forward
from rotlab.training.schedule import build_optimizer, rate_factor
from rotlab.vocab import Vocabulary

# What is counted of a step's batch.
COUNTED = ("contexts", "tokens", "area", "overlong")


class RotModule(L.LightningModule):
    """Trains a backbone on `StepBatch`es.

    Optimization is manual, because a batch may be several passes, forward and backward: their losses are divided by
    the number of non-PAD targets of the whole batch, and then one optimizer step is taken. So `trainer.global_step`
    counts optimizer steps, accumulation included, and a loader item is one of them. compiled: see `compiled_forward`.
    """

    def __init__(
        self, backbone: Backbone, recipe: RecipeConfig, ranks: Ranks = Ranks(), compiled: str | None = None,  # noqa: B008
    ) -> None:  # fmt: skip
        super().__init__()
        self.compiled = compiled
        self._forward = backbone.forward_groups if compiled is None else compiled_forward(backbone, compiled)
        self.ranks = ranks
        self.automatic_optimization = False
        self.backbone = backbone
        self.recipe = recipe
        # Not checked for NaN: that would wait for the device at each step, and hide a training that diverges.
        # Not synchronised: what they are given is of all ranks already.
        self.loss = MeanMetric(nan_strategy="disable", sync_on_compute=False)
        self.token_accuracy = MeanMetric(nan_strategy="disable", sync_on_compute=False)
        # Of the last step, all ranks together.
        self.counts: dict[str, float] = {}
        # Of the last step, before it was clipped.
        self.gradient_norm = torch.zeros(())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """The recipe's optimizer."""
        return build_optimizer(self.backbone, self.recipe)

    @property
    def inner_optimizer(self) -> torch.optim.Optimizer:
        """The optimizer without what Lightning wraps around it."""
        optimizer = self.optimizers(use_pl_optimizer=False)
        assert isinstance(optimizer, torch.optim.Optimizer)
        return optimizer

    def training_step(self, batch: StepBatch, batch_idx: int) -> None:
        """One optimizer step, with the gradient of the whole batch on every rank."""
        optimizer = self.optimizers()
        assert isinstance(optimizer, L.pytorch.core.optimizer.LightningOptimizer)
        for group in optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate * rate_factor(self.trainer.global_step, self.recipe)
        targets = sum(group.targets_BT.count_nonzero() for group in batch.groups)
        assert isinstance(targets, Tensor)
        self.ranks.add(targets)
        optimizer.zero_grad()
        sums_2 = targets.new_zeros(2, dtype=torch.float32)
        for groups in batch.passes:
            logits_NV = self._forward([group.inputs_BT.long() for group in groups])
            targets_N = torch.cat([group.targets_BT.flatten() for group in groups]).long()
            loss, right = summed_loss(logits_NV, targets_N)
            self.manual_backward(loss / targets)
            sums_2 += torch.stack([loss.detach(), right])
        self._add_up(sums_2, batch)
        optimizer.step()
        self.loss.update(sums_2[0] / targets, weight=targets)
        self.token_accuracy.update(sums_2[1] / targets, weight=targets)

    def _add_up(self, sums_2: Tensor, batch: StepBatch) -> None:
        """Gradients, sums and counts of all ranks, in one exchange a step."""
        counts = {name: float(getattr(batch, name)) for name in COUNTED}
        if self.ranks.size > 1:
            gradients = [one.grad for one in self.backbone.parameters() if one.grad is not None]
            parts = [*(one.flatten() for one in gradients), sums_2, sums_2.new_tensor(list(counts.values()))]
            together = self.ranks.add(torch.cat(parts)).split([part.numel() for part in parts])
            for gradient, whole in zip(gradients, together, strict=False):
                gradient.copy_(whole.view_as(gradient))
            sums_2.copy_(together[-2])
            counts = dict(zip(COUNTED, together[-1].tolist(), strict=True))
        self.counts = counts

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Measure the gradient, and clip it where the recipe says so."""
        scaler = getattr(self.trainer.precision_plugin, "scaler", None)
        if scaler is not None and getattr(optimizer, "_step_supports_amp_scaling", False):
            # Under fp16 Lightning has unscaled the gradient by now, but not that of a fused optimizer.
            scaler.unscale_(optimizer)
        parameters = list(self.backbone.parameters())
        self.gradient_norm = torch.nn.utils.get_total_norm([one.grad for one in parameters if one.grad is not None])
        if self.recipe.gradient_clip > 0:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.recipe.gradient_clip, self.gradient_norm)

    def figures(self) -> dict[str, Tensor]:
        """The running means' state, for a checkpoint."""
        return {f"{name}/{part}": getattr(mean, part).clone() for name, mean, part in self._parts()}

    def load_figures(self, figures: dict[str, Tensor]) -> None:
        """Go on from `figures()`."""
        for name, mean, part in self._parts():
            setattr(mean, part, figures[f"{name}/{part}"].to(self.device))

    def _parts(self) -> list[tuple[str, MeanMetric, str]]:
        means = {"loss": self.loss, "token_accuracy": self.token_accuracy}
        return [(name, mean, part) for name, mean in means.items() for part in ("mean_value", "weight")]


def summed_loss(logits_NV: Tensor, targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Eq. 2: the sum of -log p over the targets that aren't PAD, in float32; and how many are the first choice."""
    logits_NV = logits_NV.float()
    loss = cross_entropy(logits_NV, targets_N, ignore_index=Vocabulary.pad, reduction="sum")
    right = ((logits_NV.argmax(dim=-1) == targets_N) & (targets_N != Vocabulary.pad)).sum()
    return loss, right
