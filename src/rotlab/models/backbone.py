"""What a backbone must offer, and the one list of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

import torch
from torch import Tensor, nn

# A new backbone is one more name here: rotlab/models/NAME.py with a class `Model(Backbone)`, and
# conf/architecture/NAME.yaml with its shape.
BACKBONES = ("transformer", "lstm")


class Cache(Protocol):
    """What a backbone remembers of the contexts that it is amid, one in each slot."""

    def clear(self, slots_B: Tensor) -> None:
        """Begin new contexts in these slots."""


class Reader(Protocol):
    """What inference needs of a model; any object will do. See `Backbone` for what these give."""

    def new_cache(self, slots: int) -> Cache:
        """A cache of empty slots."""

    def read(self, cache: Any, slots_B: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Tensor:
        """logits_BV of what follows."""


class Backbone(nn.Module):
    """A causal sequence model over V symbols.

    Its `embedding` holds a row for each symbol. A subclass is built as `Model(vocabulary_size, context_limit=...,
    **shape)`, the shape being the remaining keys of its conf file. Training and evaluation need `forward` alone, which
    sees whole contexts; inference reads them piece by piece, by `read`, into a `new_cache`.
    """

    embedding: nn.Embedding

    @abstractmethod
    def forward(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV: for each position the next token's, from the tokens up to it; padding stands on the right."""

    def forward_groups(self, groups: Sequence[Tensor]) -> Tensor:
        """logits_NV of all places of several tokens_BT, row after row, group after group.

        The same as `forward` of each; override it where a backbone can share work between groups of unequal lengths.
        """
        return torch.cat([self(tokens_BT).flatten(0, 1) for tokens_BT in groups])

    def new_cache(self, slots: int) -> Cache:
        """A cache of empty slots, on the weights' device and of their type."""
        raise NotImplementedError(f"{type(self).__module__} has no cache to infer with: give it new_cache")

    def read(self, cache: Any, slots_B: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Tensor:
        """Read on in B different slots; logits_BV of what follows each.

        tokens_N: a piece for each of the slots, one piece after another, of lengths_B tokens, at least one. All three
        lie on the cache's device.
        """
        raise NotImplementedError(f"{type(self).__module__} has no cache to infer with: give it read")

    def hidden_matrices(self) -> list[tuple[Tensor, int]]:
        """The weight matrices between hidden layers, with how many equal blocks of rows each stacks.

        recipe.optimizer=muon moves these by Muon and all else by AdamW; a backbone that names none has AdamW alone.
        """
        return []


def build_backbone(name: str, vocabulary_size: int, context_limit: int, shape: dict[str, int]) -> Backbone:
    """A backbone with fresh weights. Raises ValueError for an unknown name or a shape that it doesn't take."""
    if name not in BACKBONES:
        raise ValueError(f"architecture {name!r} doesn't exist; the architectures are {', '.join(BACKBONES)}")
    model = import_module(f"rotlab.models.{name}").Model
    try:
        built = model(vocabulary_size, context_limit=context_limit, **shape)
    except TypeError as error:
        raise ValueError(f"architecture {name} does not take this shape: {error}") from error
    assert isinstance(built, Backbone)
    return built


def parameter_count(model: nn.Module) -> int:
    """The number of trained numbers."""
    return sum(parameter.numel() for parameter in model.parameters())
