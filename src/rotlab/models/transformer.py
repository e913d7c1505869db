"""The paper's tiny Transformer: post-norm blocks, causal, sinusoidal positions, no dropout, untied output layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention

from rotlab.models.backbone import Backbone


class Block(nn.Module):
    """Self-attention, then a feed-forward layer, each added to its input and normalised after (post-norm)."""

    def __init__(self, d_model: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_in = nn.Linear(d_model, 3 * d_model)
        self.attention_out = nn.Linear(d_model, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.up = nn.Linear(d_model, feedforward)
        self.down = nn.Linear(feedforward, d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def matrices(self) -> list[tuple[Tensor, int]]:
        """The weight matrices; the first stacks queries, keys and values."""
        single = [(layer.weight, 1) for layer in (self.attention_out, self.up, self.down)]
        return [(self.attention_in.weight, 3), *single]

    def forward(self, x_ND: Tensor, shapes: Sequence[tuple[int, int]]) -> Tensor:
        """The block's output, of its input's shape: groups of the given (B, T), place after place."""
        qkv = self.attention_in(x_ND).split([B * T for B, T in shapes])
        mixed_ND = torch.cat([self.attend(part, B, T) for part, (B, T) in zip(qkv, shapes, strict=True)])
        x_ND = self.norm1(x_ND + self.attention_out(mixed_ND))
        return self.norm2(x_ND + self.down(relu(self.up(x_ND))))

    def attend(self, qkv_NE: Tensor, B: int, T: int) -> Tensor:
        """What each place of B contexts of T places takes from those up to it, mixed_ND; E = 3 D."""
        qkv_3BHTd = qkv_NE.view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = qkv_3BHTd.unbind(0)
        mixed_BHTd = scaled_dot_product_attention(query, key, value, is_causal=True)
        return mixed_BHTd.transpose(1, 2).reshape(B * T, -1)


class Model(Backbone):
    """529,920 + 257 V parameters at the paper's shape (d_model 128, 2 heads, feed-forward 256, 4 layers)."""

    def __init__(
        self, vocabulary_size: int, *, context_limit: int, d_model: int, heads: int, feedforward: int, layers: int
    ) -> None:
        super().__init__()
        if d_model % (2 * heads) != 0:
            raise ValueError(f"architecture.d_model={d_model} must be a multiple of 2 * heads = {2 * heads}")
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        self.blocks = nn.ModuleList(Block(d_model, heads, feedforward) for _ in range(layers))
        self.output = nn.Linear(d_model, vocabulary_size)
        self.positions_TD: Tensor
        self.register_buffer("positions_TD", sinusoids(context_limit, d_model), persistent=False)

    def hidden_matrices(self) -> list[tuple[Tensor, int]]:
        """The matrices of all blocks."""
        blocks = [block for block in self.blocks if isinstance(block, Block)]
        return [pair for block in blocks for pair in block.matrices()]

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.forward_groups([tokens_BT]).view(*tokens_BT.shape, -1)

    def forward_groups(self, groups: Sequence[Tensor]) -> Tensor:
        """logits_NV. All but the attention takes no notice of where a context ends, and is done for all at once."""
        x_ND = torch.cat([(self.embedding(one) + self.positions_TD[: one.shape[1]]).flatten(0, 1) for one in groups])
        shapes = [(one.shape[0], one.shape[1]) for one in groups]
        for block in self.blocks:
            x_ND = block(x_ND, shapes)
        return self.output(x_ND)


def sinusoids(length: int, width: int) -> Tensor:
    """positions_TD of Vaswani et al. (2017), section 3.5, sines and cosines interleaved."""
    place_T1 = torch.arange(length).unsqueeze(1)
    rate_D = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    table_TD = torch.empty(length, width)
    table_TD[:, 0::2] = torch.sin(place_T1 * rate_D)
    table_TD[:, 1::2] = torch.cos(place_T1 * rate_D)
    return table_TD
