"""Optimizers and learning rates by step (App. J and the recipes)."""

from __future__ import annotations

import math

import torch

from rotlab.config.schema import RecipeConfig
from rotlab.models import Backbone
from rotlab.training.muon import Muon


def rate_factor(step: int, recipe: RecipeConfig) -> float:
    """The share of recipe.learning_rate that optimizer step `step` (from 0) uses."""
    if recipe.schedule == "halving":
        assert recipe.halve_every is not None
        return 0.5 ** (step // recipe.halve_every)
    assert recipe.warmup_steps is not None
    assert recipe.decay_to is not None
    if step < recipe.warmup_steps:
        return (step + 1) / recipe.warmup_steps
    progress = (step - recipe.warmup_steps) / max(1, recipe.max_steps - recipe.warmup_steps)
    return recipe.decay_to + (1 - recipe.decay_to) * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def build_optimizer(backbone: Backbone, recipe: RecipeConfig) -> torch.optim.Optimizer:
    """Adam, AdamW or Muon as the recipe says."""
    parameters = list(backbone.parameters())
    if recipe.optimizer == "muon":
        matrices = backbone.hidden_matrices()
        hidden = {id(matrix) for matrix, _ in matrices}
        others = [parameter for parameter in parameters if id(parameter) not in hidden]
        return Muon(matrices, others, recipe.learning_rate, recipe.betas, recipe.weight_decay)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[recipe.optimizer]
    # One kernel for all weights: for networks this small the usual loop over them costs more than its arithmetic.
    return kind(parameters, lr=recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.weight_decay, fused=True)
