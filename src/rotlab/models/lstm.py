"""The paper's tiny LSTM: every layer projected to the vocabulary, so that the last projection is the logits."""

from __future__ import annotations

from torch import Tensor, nn

from rotlab.models.backbone import Backbone


class Model(Backbone):
    """73,728 + 8,256 V parameters at the paper's shape (embedding 64, hidden 256, 4 layers)."""

    def __init__(self, vocabulary_size: int, *, context_limit: int, embedding: int, hidden: int, layers: int) -> None:
        super().__init__()
        if vocabulary_size >= hidden:
            raise ValueError(f"architecture.hidden={hidden} must exceed the vocabulary's {vocabulary_size} symbols")
        self.context_limit = context_limit
        self.embedding = nn.Embedding(vocabulary_size, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, proj_size=vocabulary_size, batch_first=True)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV."""
        logits_BTV, _ = self.lstm(self.embedding(tokens_BT))
        return logits_BTV
