"""Contexts read piece by piece give what they give when read whole, whatever stands in the slots beside them."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rotlab.models import BACKBONES, Backbone, build_backbone

SHAPES = {
    "transformer": {"d_model": 16, "heads": 2, "feedforward": 24, "layers": 2},
    "lstm": {"embedding": 6, "hidden": 14, "layers": 3},
}
V, WINDOW = 9, 40

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")


def model_of(architecture: str) -> Backbone:
    torch.manual_seed(0)
    return build_backbone(architecture, V, WINDOW, SHAPES[architecture]).double().eval()


def whole(model: Backbone, context: list[int]) -> Tensor:
    """logits_V after the last token, from the whole context."""
    with torch.no_grad():
        return model(torch.tensor([context]))[0, -1]


def prefilled(model: Backbone, cache: object, pieces: dict[int, list[int]]) -> Tensor:
    """Read a piece in each of some slots; padding is no PAD token, so that nobody may look at it."""
    longest = max(map(len, pieces.values()))
    tokens_BT = torch.tensor([piece + [V - 1] * (longest - len(piece)) for piece in pieces.values()])
    return model.prefill(cache, torch.tensor(list(pieces)), tokens_BT, torch.tensor([*map(len, pieces.values())]))


@pytest.mark.parametrize("architecture", BACKBONES)
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_pieces_are_the_whole(architecture: str, seed: int) -> None:
    draw, model = random.Random(seed), model_of(architecture)
    slots = draw.randint(1, 5)
    cache = model.new_cache(slots)
    contexts: list[list[int]] = [[] for _ in range(slots)]
    for _ in range(10):
        if draw.random() < 0.2:
            slot = draw.randrange(slots)
            cache.clear(torch.tensor([slot]))
            contexts[slot] = []
        room = [slot for slot in range(slots) if len(contexts[slot]) < WINDOW]
        if draw.random() < 0.5 and room:
            chosen = draw.sample(room, draw.randint(1, len(room)))
            pieces = {s: draw.choices(range(V), k=draw.randint(1, min(9, WINDOW - len(contexts[s])))) for s in chosen}
            logits = dict(zip(chosen, prefilled(model, cache, pieces), strict=True))
        else:
            first = draw.randint(1, slots)
            pieces = {s: [draw.randrange(V)] for s in room if s < first and draw.random() < 0.7 and contexts[s]}
            tokens_S = torch.tensor([pieces.get(s, [V - 1])[0] for s in range(first)])
            logits = dict(enumerate(model.decode(cache, tokens_S, torch.tensor([s in pieces for s in range(first)]))))
        for slot, piece in pieces.items():
            contexts[slot] += piece
            torch.testing.assert_close(logits[slot], whole(model, contexts[slot]), rtol=0, atol=1e-10)


@pytest.mark.parametrize("architecture", BACKBONES)
def test_slots_beside_change_nothing(architecture: str) -> None:
    """In float32 too: a ragged batch gives what each context gives alone."""
    model = model_of(architecture).float()
    contexts = {slot: random.Random(slot).choices(range(V), k=3 + 5 * slot) for slot in range(6)}
    together = prefilled(model, model.new_cache(6), contexts)
    for slot, context in contexts.items():
        alone = prefilled(model, model.new_cache(1), {0: context})[0]
        torch.testing.assert_close(together[slot], alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize("architecture", BACKBONES)
def test_a_full_window_can_be_read(architecture: str) -> None:
    model = model_of(architecture)
    cache, context = model.new_cache(2), random.Random(1).choices(range(V), k=WINDOW)
    prefilled(model, cache, {1: context[:-1], 0: context[:1]})
    logits_SV = model.decode(cache, torch.tensor([0, context[-1]]), torch.tensor([False, True]))
    torch.testing.assert_close(logits_SV[1], whole(model, context), rtol=0, atol=1e-10)


def test_a_backbone_without_a_cache_says_so() -> None:
    class Model(Backbone):
        def forward(self, tokens_BT: Tensor) -> Tensor:
            return tokens_BT

    with pytest.raises(NotImplementedError, match="has no cache to infer with: give it new_cache"):
        Model().new_cache(1)
