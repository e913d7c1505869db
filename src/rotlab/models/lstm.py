"""The paper's tiny LSTM: every layer projected to the vocabulary, so that the last projection is the logits."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rotlab.models.backbone import Backbone
from rotlab.models.recurrence import Recurrence, Workspace, step_on


class Model(Backbone):
    """73,728 + 8,256 V parameters at the paper's shape (embedding 64, hidden 256, 4 layers)."""

    def __init__(self, vocabulary_size: int, *, context_limit: int, embedding: int, hidden: int, layers: int) -> None:
        super().__init__()
        if vocabulary_size >= hidden:
            raise ValueError(f"architecture.hidden={hidden} must exceed the vocabulary's {vocabulary_size} symbols")
        self.context_limit = context_limit
        self._workspace = Workspace()
        self.embedding = nn.Embedding(vocabulary_size, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, proj_size=vocabulary_size, batch_first=True)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV."""
        return self.forward_groups([tokens_BT]).view(*tokens_BT.shape, -1)

    def forward_groups(self, groups: Sequence[Tensor]) -> Tensor:
        """logits_NV. On a CPU all contexts step together, each for as long as its group is wide."""
        if groups[0].device.type != "cpu":
            return torch.cat([self.lstm(self.embedding(tokens_BT))[0].flatten(0, 1) for tokens_BT in groups])
        order_P, counts = packing([(len(tokens_BT), tokens_BT.shape[1]) for tokens_BT in groups])
        x_PE = self.embedding(torch.cat([tokens_BT.flatten() for tokens_BT in groups])[order_P])
        kept = torch.is_grad_enabled()
        for layer in self.lstm.all_weights:
            input_4HE, hidden_4HV, input_bias_4H, hidden_bias_4H, projection_VH = layer
            bias_4H = input_bias_4H + hidden_bias_4H
            ordered = [_output_third(one) for one in (input_4HE, hidden_4HV, bias_4H)]
            x_PE = Recurrence.apply(x_PE, counts, self._workspace, kept, *ordered, projection_VH)
        logits_NV = torch.empty_like(x_PE)
        return logits_NV.index_copy(0, order_P, x_PE)

    def new_cache(self, slots: int) -> States:
        """Every layer's state."""
        return States(slots, self.lstm, self.embedding.weight)

    @torch.no_grad()
    def read(self, cache: States, slots_B: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Tensor:
        """logits_BV. All pieces step together, each for as long as it lasts."""
        order_B = lengths_B.argsort(descending=True)
        starts_B, lengths_B, slots_B = (lengths_B.cumsum(0) - lengths_B)[order_B], lengths_B[order_B], slots_B[order_B]
        steps_T1 = torch.arange(int(lengths_B[0]), device=tokens_N.device).unsqueeze(1)
        within_TB = steps_T1 < lengths_B
        x_PE = self.embedding(tokens_N[(starts_B + steps_T1)[within_TB]])
        counts = within_TB.sum(1).tolist()
        for layer, weights in enumerate(self.lstm.all_weights):
            projected_BV, cells_BH = cache.projected_LSV[layer, slots_B], cache.cells_LSH[layer, slots_B]
            x_PE = step_on(x_PE, counts, weights, projected_BV, cells_BH)
            cache.projected_LSV[layer, slots_B], cache.cells_LSH[layer, slots_B] = projected_BV, cells_BH
        logits_BV = torch.empty_like(projected_BV)
        logits_BV[order_B] = projected_BV
        return logits_BV


class States:
    """The LSTM's cache: of every layer what it projected last, and its cells, for each slot."""

    def __init__(self, slots: int, lstm: nn.LSTM, like: Tensor) -> None:
        self.projected_LSV = like.new_zeros(lstm.num_layers, slots, lstm.proj_size)
        self.cells_LSH = like.new_zeros(lstm.num_layers, slots, lstm.hidden_size)

    def clear(self, slots_B: Tensor) -> None:
        """Begin new contexts in these slots."""
        self.projected_LSV[:, slots_B] = 0
        self.cells_LSH[:, slots_B] = 0


def packing(shapes: Sequence[tuple[int, int]]) -> tuple[Tensor, list[int]]:
    """Of groups of B contexts of T places each: the packed order of places, order_P, and how many each step has.

    Places are numbered group after group, context after context.
    """
    times_N = torch.cat([torch.arange(T).repeat(B) for B, T in shapes])
    lasts_N = torch.cat([torch.full((B * T,), T) for B, T in shapes])
    longest = max(T for _, T in shapes)
    # Stable: within a step the longer contexts come first, those of equal length in their order.
    order_P = torch.argsort(times_N * longest + longest - lasts_N, stable=True)
    return order_P, torch.bincount(times_N).tolist()


def _output_third(rows_4HX: Tensor) -> Tensor:
    """torch's order of gates is input, forget, cell, output; ours has what is squashed alike together."""
    first, second, cell, output = rows_4HX.chunk(4)
    return torch.cat([first, second, output, cell])
