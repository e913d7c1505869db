"""What `rotlab bench training` compares with: the same networks in torch's own layers, a batch padded as a whole."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rotlab.models.transformer import sinusoids
from rotlab.vocab import Vocabulary


class PlainTransformer(nn.Module):
    """The paper's tiny Transformer by nn.TransformerEncoder, with the same sizes and the same causal mask."""

    def __init__(
        self, vocabulary_size: int, *, context_limit: int, d_model: int, heads: int, feedforward: int, layers: int
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        layer = nn.TransformerEncoderLayer(d_model, heads, feedforward, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.output = nn.Linear(d_model, vocabulary_size)
        self.positions_TD: Tensor
        self.register_buffer("positions_TD", sinusoids(context_limit, d_model), persistent=False)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV."""
        T = tokens_BT.shape[1]
        mask_TT = nn.Transformer.generate_square_subsequent_mask(T, device=tokens_BT.device)
        x_BTD = self.embedding(tokens_BT) + self.positions_TD[:T]
        logits_BTV: Tensor = self.output(self.encoder(x_BTD, mask=mask_TT, is_causal=True))
        return logits_BTV


class PlainLstm(nn.Module):
    """The paper's tiny LSTM by nn.LSTM, with the same sizes."""

    def __init__(self, vocabulary_size: int, *, context_limit: int, embedding: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, proj_size=vocabulary_size, batch_first=True)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV."""
        logits_BTV: Tensor = self.lstm(self.embedding(tokens_BT))[0]
        return logits_BTV


def plain_network(name: str, vocabulary_size: int, context_limit: int, shape: dict[str, int]) -> nn.Module:
    """The reference of an architecture of the paper, with fresh weights."""
    kind = {"transformer": PlainTransformer, "lstm": PlainLstm}[name]
    return kind(vocabulary_size, context_limit=context_limit, **shape)


def plain_step(network: nn.Module, optimizer: torch.optim.Optimizer, inputs_BT: Tensor, targets_BT: Tensor) -> None:
    """One optimizer step on a batch padded as a whole, eq. 2's mean over the targets that aren't PAD."""
    optimizer.zero_grad()
    logits_BTV = network(inputs_BT.long())
    cross_entropy(logits_BTV.flatten(0, 1), targets_BT.long().flatten(), ignore_index=Vocabulary.pad).backward()
    optimizer.step()
