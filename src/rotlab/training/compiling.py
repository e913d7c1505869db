"""torch.compile around a backbone, with CUDA graphs or without, and how often it has compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rotlab.models import Backbone

_MODES = {"code": "default", "graphs": "reduce-overhead"}


def compiled_forward(backbone: Backbone, how: str) -> Callable[[Sequence[Tensor]], Tensor]:
    """What `backbone.forward_groups` does, for a single group of any shape, by compiled code.

    how: "code", or "graphs" for CUDA graphs too, which are recorded once for each shape.
    """
    forward = torch.compile(backbone.forward, dynamic=True, mode=_MODES[how])

    def forward_groups(groups: Sequence[Tensor]) -> Tensor:
        (tokens_BT,) = groups
        logits_BTV: Tensor = forward(tokens_BT)
        return logits_BTV.flatten(0, 1)

    return forward_groups


def compilations() -> int:
    """How many graphs this process has compiled; one that goes on growing costs more than it gains."""
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])
