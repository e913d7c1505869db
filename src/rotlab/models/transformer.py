"""The paper's tiny Transformer: post-norm blocks, causal, sinusoidal positions, no dropout, untied output layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention

from rotlab.models.backbone import Backbone
from rotlab.models.keys_and_values import KeysAndValues

_ALL = slice(None)


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

    def forward(
        self, x_ND: Tensor, attend: Callable[[Tensor], Tensor], kept_M: Tensor | slice = _ALL
    ) -> Tensor:  # fmt: skip
        """The block's output for the places kept_M. `attend` gives their mixed_MD from qkv_NE, E = 3 D: see below."""
        x_MD = self.norm1(x_ND[kept_M] + self.attention_out(attend(self.attention_in(x_ND))))
        return self.norm2(x_MD + self.down(relu(self.up(x_MD))))

    def whole_contexts(self, shapes: Sequence[tuple[int, int]]) -> Callable[[Tensor], Tensor]:
        """Each place takes from those up to it in its context: groups of B contexts of T places, place after place."""

        def attend(qkv_NE: Tensor) -> Tensor:
            mixed = []
            for part, (B, T) in zip(qkv_NE.split([B * T for B, T in shapes]), shapes, strict=True):
                query, key, value = self._heads(part, B, T)
                mixed.append(_together(scaled_dot_product_attention(query, key, value, is_causal=True)))
            return torch.cat(mixed)

        return attend

    def _heads(self, qkv_NE: Tensor, B: int, T: int) -> tuple[Tensor, ...]:
        return qkv_NE.view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)


def _together(mixed_BHTd: Tensor) -> Tensor:
    return mixed_BHTd.transpose(1, 2).flatten(0, 1).flatten(1)


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
        return [pair for block in self._blocks() for pair in block.matrices()]

    def _blocks(self) -> list[Block]:
        return [block for block in self.blocks if isinstance(block, Block)]

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.forward_groups([tokens_BT]).view(*tokens_BT.shape, -1)

    def forward_groups(self, groups: Sequence[Tensor]) -> Tensor:
        """logits_NV. All but the attention takes no notice of where a context ends, and is done for all at once."""
        x_ND = torch.cat([(self.embedding(one) + self.positions_TD[: one.shape[1]]).flatten(0, 1) for one in groups])
        shapes = [(one.shape[0], one.shape[1]) for one in groups]
        for block in self._blocks():
            x_ND = block(x_ND, block.whole_contexts(shapes))
        return self.output(x_ND)

    def new_cache(self, slots: int) -> KeysAndValues:
        """Keys and values of every layer."""
        window = len(self.positions_TD)
        return KeysAndValues(slots, len(self.blocks), self._blocks()[0].heads, window, self.embedding.weight)

    @torch.no_grad()
    def read(self, cache: KeysAndValues, slots_B: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Tensor:
        """logits_BV. On a CPU several threads read a share of the pieces each: such small products use one alone."""
        cache.make_room(slots_B, lengths_B)
        parts = cache.shares(lengths_B)
        if len(parts) == 1:
            return self._read(cache, slots_B, tokens_N, lengths_B)
        tokens = tokens_N.split([int(lengths_B[part].sum()) for part in parts])
        shares = [(slots_B[part], own_N, lengths_B[part]) for part, own_N in zip(parts, tokens, strict=True)]
        return torch.cat(cache.in_threads(partial(self._read, cache), shares))

    @torch.no_grad()
    def _read(self, cache: KeysAndValues, slots_B: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Tensor:
        """All but the attention is done for all pieces at once; past the last keys, only what is asked."""
        pieces = cache.pieces(slots_B, lengths_B)
        x_ND = self.embedding(tokens_N) + self.positions_TD[pieces.places_N]
        last = len(self.blocks) - 1
        for layer, block in enumerate(self._blocks()):
            attend = partial(cache.attend, layer, pieces, layer == last)
            x_ND = block(x_ND, attend, pieces.ends_B - 1 if layer == last else _ALL)
        cache.lengths_S[slots_B] += lengths_B
        logits_BV: Tensor = self.output(x_ND)
        return logits_BV


def sinusoids(length: int, width: int) -> Tensor:
    """positions_TD of Vaswani et al. (2017), section 3.5, sines and cosines interleaved."""
    place_T1 = torch.arange(length).unsqueeze(1)
    rate_D = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    table_TD = torch.empty(length, width)
    table_TD[:, 0::2] = torch.sin(place_T1 * rate_D)
    table_TD[:, 1::2] = torch.cos(place_T1 * rate_D)
    return table_TD
