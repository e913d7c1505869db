"""Contexts read piece by piece give what they give when read whole, whatever stands in the slots beside them."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from rotlab.models import BACKBONES, Backbone, build_backbone, keys_and_values

SHAPES = {
    "transformer": {"d_model": 16, "heads": 2, "feedforward": 24, "layers": 2},
    "lstm": {"embedding": 6, "hidden": 14, "layers": 3},
}
V, WINDOW = 9, 40


def model_of(architecture: str) -> Backbone:
    torch.manual_seed(0)
    return build_backbone(architecture, V, WINDOW, SHAPES[architecture]).double().eval()


def whole(model: Backbone, context: list[int]) -> Tensor:
    """logits_V after the last token, from the whole context."""
    with torch.no_grad():
        return model(torch.tensor([context]))[0, -1]


def read(model: Backbone, cache: object, pieces: dict[int, list[int]]) -> dict[int, Tensor]:
    """Read a piece in each of some slots; logits_V of what follows, by slot."""
    tokens_N = torch.tensor([token for piece in pieces.values() for token in piece])
    logits_BV = model.read(cache, torch.tensor(list(pieces)), tokens_N, torch.tensor([*map(len, pieces.values())]))
    return dict(zip(pieces, logits_BV, strict=True))


@pytest.fixture(params=["compiled", "torch"])
def attention(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways that a Transformer attends to what is cached; the second is that of a GPU."""
    if request.param == "torch":
        monkeypatch.setattr(keys_and_values, "_COMPILED", ())


@pytest.mark.parametrize("architecture", BACKBONES)
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_pieces_are_the_whole(architecture: str, attention: None, seed: int) -> None:
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
        if not room:
            continue
        chosen, most = draw.sample(room, draw.randint(1, len(room))), draw.choice([1, 2, 9])
        pieces = {s: draw.choices(range(V), k=draw.randint(1, min(most, WINDOW - len(contexts[s])))) for s in chosen}
        for slot, logits_V in read(model, cache, pieces).items():
            contexts[slot] += pieces[slot]
            torch.testing.assert_close(logits_V, whole(model, contexts[slot]), rtol=0, atol=1e-10)


@pytest.mark.parametrize("architecture", BACKBONES)
def test_slots_beside_change_nothing(architecture: str, attention: None) -> None:
    """In float32 too: a ragged batch gives what each context gives alone."""
    model = model_of(architecture).float()
    contexts = {slot: random.Random(slot).choices(range(V), k=3 + 5 * slot) for slot in range(6)}
    together = read(model, model.new_cache(6), contexts)
    for slot, context in contexts.items():
        alone = read(model, model.new_cache(1), {0: context})[0]
        torch.testing.assert_close(together[slot], alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize("architecture", BACKBONES)
def test_a_full_window_can_be_read(architecture: str, attention: None) -> None:
    model = model_of(architecture)
    cache, context = model.new_cache(2), random.Random(1).choices(range(V), k=WINDOW)
    read(model, cache, {1: context[:-1], 0: context[:1]})
    logits_V = read(model, cache, {1: context[-1:]})[1]
    torch.testing.assert_close(logits_V, whole(model, context), rtol=0, atol=1e-10)


def test_room_grows_no_further_than_the_window() -> None:
    torch.manual_seed(0)
    model = build_backbone("transformer", V, 300, SHAPES["transformer"]).double().eval()
    cache, context = model.new_cache(4), random.Random(2).choices(range(V), k=300)
    assert isinstance(cache, keys_and_values.KeysAndValues)
    for lo, hi in ((0, 100), (100, 140), (140, 299)):
        read(model, cache, {2: context[lo:hi]})
    torch.testing.assert_close(read(model, cache, {2: context[299:]})[2], whole(model, context), rtol=0, atol=1e-10)
    assert cache.room == 300


def test_threads_read_what_one_reads_and_leave_the_setting() -> None:
    model, before = model_of("transformer"), torch.get_num_threads()
    contexts = {slot: random.Random(slot).choices(range(V), k=3 + slot % 30) for slot in range(40)}
    alone = read(model, model.new_cache(40), contexts)
    try:
        torch.set_num_threads(3)
        shared = read(model, model.new_cache(40), contexts)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 3
    finally:
        torch.set_num_threads(before)
    for slot, logits_V in shared.items():
        torch.testing.assert_close(logits_V, alone[slot], rtol=0, atol=1e-12)


def test_a_backbone_without_a_cache_says_so() -> None:
    class Model(Backbone):
        def forward(self, tokens_BT: Tensor) -> Tensor:
            return tokens_BT

    with pytest.raises(NotImplementedError, match="has no cache to infer with: give it new_cache"):
        Model().new_cache(1)
