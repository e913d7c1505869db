"""The reference of `rotlab bench training` is the same network, and its step eq. 2's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from rotlab.cli.bench.plain import plain_network
from tests.models.test_backbones import LIMITS, SHAPES, paper_s, tokens_of

TORCH_S_NAMES = {
    "attention_in.weight": "self_attn.in_proj_weight",
    "attention_in.bias": "self_attn.in_proj_bias",
    "attention_out.": "self_attn.out_proj.",
    "up.": "linear1.",
    "down.": "linear2.",
    "blocks.": "encoder.layers.",
}


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """A backbone's weights under the names that torch's layers have."""
    found = {}
    for name, tensor in weights.items():
        for ours, torch_s in TORCH_S_NAMES.items():
            name = name.replace(ours, torch_s)
        found[name] = tensor
    return found


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("architecture", SHAPES)
def test_the_plain_network_is_ours(architecture: str) -> None:
    ours = paper_s(architecture, 24)
    plain: nn.Module = plain_network(architecture, 24, LIMITS[architecture], SHAPES[architecture])
    plain.load_state_dict(renamed(ours.state_dict()))
    tokens_BT = tokens_of(5, 33)
    torch.testing.assert_close(plain(tokens_BT), ours(tokens_BT), rtol=0, atol=2e-5)
