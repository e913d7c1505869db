"""The paper's tiny Transformer: post-norm blocks, causal, sinusoidal positions, no dropout, untied output layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, relu, scaled_dot_product_attention

from rotlab.models.backbone import Backbone

# All slots of a run of slots, or chosen ones.
Slots = slice | Tensor


class KeysAndValues:
    """The Transformer's cache: of every layer keys and values of lengths_S places in each slot, and room for more."""

    def __init__(self, slots: int, layers: int, heads: int, like: Tensor) -> None:
        self.lengths_S = torch.zeros(slots, dtype=torch.int64, device=like.device)
        self._pairs_2SHPd = [like.new_zeros(2, slots, heads, 0, like.shape[1] // heads) for _ in range(layers)]

    def clear(self, slots_B: Tensor) -> None:
        """Begin new contexts in these slots."""
        self.lengths_S[slots_B] = 0

    def make_room(self, places: int) -> None:
        """For so many places in each slot."""
        room = self._pairs_2SHPd[0].shape[3]
        if places > room:
            more = max(places, 2 * room) - room
            self._pairs_2SHPd = [pad(pair, (0, 0, 0, more)) for pair in self._pairs_2SHPd]

    def extended(
        self, layer: int, slots: Slots, places_BT: Tensor, key_BHTd: Tensor, value_BHTd: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Keep these; keys_BHLd and values_BHLd of the slots up to the last of the places."""
        keys, values = self._pairs_2SHPd[layer]
        numbers_S = torch.arange(len(self.lengths_S), device=places_BT.device)
        into = (numbers_S[slots].unsqueeze(1), slice(None), places_BT)
        keys[into], values[into] = key_BHTd.transpose(1, 2), value_BHTd.transpose(1, 2)
        longest = int(places_BT.max()) + 1
        return keys[slots, :, :longest], values[slots, :, :longest]


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

    def forward(self, x_ND: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        """The block's output, of its input's shape. `attend` gives mixed_ND from qkv_NE, E = 3 D: see below."""
        x_ND = self.norm1(x_ND + self.attention_out(attend(self.attention_in(x_ND))))
        return self.norm2(x_ND + self.down(relu(self.up(x_ND))))

    def whole_contexts(self, shapes: Sequence[tuple[int, int]]) -> Callable[[Tensor], Tensor]:
        """Each place takes from those up to it in its context: groups of B contexts of T places, place after place."""

        def attend(qkv_NE: Tensor) -> Tensor:
            mixed = []
            for part, (B, T) in zip(qkv_NE.split([B * T for B, T in shapes]), shapes, strict=True):
                query, key, value = self._heads(part, B, T)
                mixed.append(_together(scaled_dot_product_attention(query, key, value, is_causal=True)))
            return torch.cat(mixed)

        return attend

    def after_what_is_cached(self, layer: int, cache: KeysAndValues, slots: Slots, places_BT: Tensor) -> Any:
        """Each place takes from those up to it of its slot, whose keys and values are kept."""

        def attend(qkv_NE: Tensor) -> Tensor:
            query, key, value = self._heads(qkv_NE, *places_BT.shape)
            keys, values = cache.extended(layer, slots, places_BT, key, value)
            seen_B1TL = (torch.arange(keys.shape[2], device=keys.device) <= places_BT.unsqueeze(-1)).unsqueeze(1)
            return _together(scaled_dot_product_attention(query, keys, values, attn_mask=seen_B1TL))

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
        return KeysAndValues(slots, len(self.blocks), self._blocks()[0].heads, self.embedding.weight)

    @torch.no_grad()
    def prefill(self, cache: KeysAndValues, slots_B: Tensor, tokens_BT: Tensor, lengths_B: Tensor) -> Tensor:
        """logits_BV."""
        x_ND = self._read(cache, slots_B, tokens_BT)
        cache.lengths_S[slots_B] += lengths_B
        last_B = torch.arange(len(tokens_BT), device=x_ND.device) * tokens_BT.shape[1] + lengths_B - 1
        return self.output(x_ND[last_B])

    @torch.no_grad()
    def decode(self, cache: KeysAndValues, tokens_S: Tensor, running_S: Tensor) -> Tensor:
        """logits_SV."""
        x_SD = self._read(cache, slice(len(tokens_S)), tokens_S.unsqueeze(1))
        cache.lengths_S[: len(tokens_S)] += running_S
        return self.output(x_SD)

    def _read(self, cache: KeysAndValues, slots: Slots, tokens_BT: Tensor) -> Tensor:
        """x_ND of the tokens at the places after what the slots hold."""
        places_BT = cache.lengths_S[slots].unsqueeze(1) + torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
        cache.make_room(int(places_BT.max()) + 1)
        # A padding token may stand beyond the window; what it gives is not used.
        positions = self.positions_TD[places_BT.clamp(max=len(self.positions_TD) - 1)]
        x_ND = (self.embedding(tokens_BT) + positions).flatten(0, 1)
        for layer, block in enumerate(self._blocks()):
            x_ND = block(x_ND, block.after_what_is_cached(layer, cache, slots, places_BT))
        return x_ND


def sinusoids(length: int, width: int) -> Tensor:
    """positions_TD of Vaswani et al. (2017), section 3.5, sines and cosines interleaved."""
    place_T1 = torch.arange(length).unsqueeze(1)
    rate_D = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    table_TD = torch.empty(length, width)
    table_TD[:, 0::2] = torch.sin(place_T1 * rate_D)
    table_TD[:, 1::2] = torch.cos(place_T1 * rate_D)
    return table_TD
