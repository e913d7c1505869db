"""Networks for tests of inference: tiny ones of random weights, and ones that say what a test wants."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import lightning as L
import torch
from torch import Tensor

from rotlab.cli.bench.training import bare_trainer
from rotlab.config.app import configured
from rotlab.data.cell import Cell, cell_of
from rotlab.data.ranks import Ranks
from rotlab.inference.rules import Read, Rules
from rotlab.models import Backbone, build_backbone
from rotlab.training.module import RotModule
from rotlab.training.run import only_our_lines
from rotlab.training.setup import data_module, fresh_backbone
from rotlab.vocab import EQUALS, ID, STOP, Vocabulary, decode

SHAPES = {
    "transformer": {"d_model": 16, "heads": 2, "feedforward": 24, "layers": 2},
    "lstm": {"embedding": 6, "hidden": 14, "layers": 2},
}
# Of a network that learns within seconds, and the steps after which it has learnt half.
_HALF = {
    "transformer": ({"d_model": 64, "heads": 2, "feedforward": 128, "layers": 2}, 220),
    "lstm": ({"embedding": 32, "hidden": 256, "layers": 1}, 400),
}
# A language of questions such as GO 0 1 1 =, and how likely a random network is to write a symbol after another.
BITS = Vocabulary(["PAD", "0", "1", "GO", "STOP", "THINK", "TAIL", "="])
_MAY_FOLLOW = {
    "0": {"0": 0, "1": 0, "=": 1, "STOP": -1},
    "1": {"0": 0, "1": 0, "=": 1, "STOP": -1},
    "GO": {"0": 0, "1": 0},
    "TAIL": {"0": 0, "1": 0},
    "=": {"0": 0, "1": 0, "GO": 2, "TAIL": 0, "THINK": 2},
    "STOP": {"0": 0, "1": 0, "GO": 0, "TAIL": 1},
}


class Talkative(Backbone):
    """A network of random weights, in float64, that asks much: symbols that make no sense are unlikely."""

    def __init__(self, architecture: str, window: int, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.inner = build_backbone(architecture, len(BITS), window, SHAPES[architecture]).double().eval()
        for weight in self.inner.parameters():
            weight.data.mul_(6 if weight.dim() > 1 else 1)
        # What a random network writes hardly depends on the context, unless its logits are made to vary alike.
        drawn_BT = torch.randint(1, len(BITS), (300, window - 1))
        with torch.no_grad():
            last_BV = self.inner(drawn_BT).flatten(0, 1)
        self.mean_V, self.scale_V = last_BV.mean(0), 2.0 / last_BV.std(0)
        self.likely_VV = torch.full((len(BITS), len(BITS)), -5.0).double()
        for symbol, followers in _MAY_FOLLOW.items():
            for follower, likely in followers.items():
                self.likely_VV[BITS.symbols.index(symbol), BITS.symbols.index(follower)] = likely

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return self._talk(self.inner(tokens_BT), tokens_BT)

    def _talk(self, logits: Tensor, last: Tensor) -> Tensor:
        return (logits - self.mean_V) * self.scale_V + self.likely_VV[last]

    def new_cache(self, slots: int) -> Any:
        return self.inner.new_cache(slots)

    def read(self, cache: Any, slots_B: Tensor, tokens_N: Tensor, lengths_B: Tensor) -> Tensor:
        last_B = tokens_N[lengths_B.cumsum(0) - 1]
        return self._talk(self.inner.read(cache, slots_B, tokens_N, lengths_B), last_B)


class Saying(Rules):
    """Writes what a function of the context that was read says comes next, in the paper's notation: one symbol."""

    def __init__(self, vocabulary: Vocabulary, says: Callable[[bytearray], str]) -> None:
        super().__init__(vocabulary, "rot")
        self._says = says

    def _next(self, cache: Read, read: bytearray) -> int:
        return ID[self._says(read)]


def babble(seed: int, eagerness: float) -> Saying:
    """Asks and answers at random, but the same in the same context; with an eagerness of 1 it nearly always asks."""

    def says(read: bytearray) -> str:
        draw = random.Random(f"{seed} {read.hex()}")
        own = decode(read[max(read.find(EQUALS), read.rfind(STOP)) + 1 :])
        if draw.random() < 0.01:
            return draw.choice(BITS.symbols)
        if not own:
            return draw.choices(["GO", "TAIL", "0", "1"], [3 * eagerness, eagerness, 1 - eagerness, 1 - eagerness])[0]
        if own[-1] in ("GO", "TAIL") or (own[-1] in "01" and draw.random() < 0.5):
            return draw.choice("01")
        if own[0] in "01":
            return "STOP"
        return "=" if own[-1] in "01" else "THINK"

    return Saying(BITS, says)


@cache
def half_trained(architecture: str) -> tuple[Cell, Backbone]:
    """A tiny network amid learning to add, and its cell."""
    shape, steps = _HALF[architecture]
    config = configured(
        "task=add", "difficulty=2", "recipe=fast", f"architecture={architecture}", "recipe.batch_size=64",
        "data.workers=0", *(f"architecture.{name}={size}" for name, size in shape.items()),
        f"recipe.max_steps={steps}",
    )  # fmt: skip
    cell = cell_of(config)
    data = data_module(config, cell, "cpu", Ranks())
    module = RotModule(fresh_backbone(config, cell), config.recipe)
    with only_our_lines():
        bare_trainer(config, L.Callback()).fit(module, datamodule=data)
    return cell, module.backbone.eval()
