"""What is drawn depends on seed, sample, question and place alone."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
import torch

from rotlab.inference.engine import Engine
from rotlab.inference.frame import Frame, Limits
from rotlab.inference.memo import Node
from rotlab.inference.recursion import Outcome, Request
from rotlab.inference.sampling import Sampling
from rotlab.vocab import encode
from tests.inference.networks import BITS, Talkative

LIMITS = Limits(24, 4, 20)


def drawn(sampling: Sampling, samples: int, slots: int, *, memo: bool = True, order: int = 1) -> list[Outcome]:
    """Samples of 8 questions, question after question; solved in another order, they are given in this one."""
    draw = random.Random(5)
    questions = [encode(f"GO {''.join(draw.choices('01', k=4))} =").tobytes() for _ in range(8)]
    requests = [Request(question, sampling.stream(sample)) for question in questions for sample in range(samples)]
    engine = Engine(
        Talkative("transformer", 24, 1), BITS, "rot", LIMITS, slots=slots, memo=memo, sampling=sampling
    )  # fmt: skip
    return engine.solve(requests[::order])[0][::order]


def told(outcomes: list[Outcome]) -> list[object]:
    return [(outcome.answer, outcome.failure, outcome.top.context) for outcome in outcomes]


def test_it_does_not_depend_on_slots_memo_order_or_company() -> None:
    sampling = Sampling(temperature=1.5, seed=3)
    together = told(drawn(sampling, 4, 512))
    assert told(drawn(sampling, 4, 2)) == together
    assert told(drawn(sampling, 4, 7, order=-1)) == together
    assert told(drawn(sampling, 4, 7, memo=False)) == together
    assert told(drawn(sampling, 2, 512)) == [one for i, one in enumerate(together) if i % 4 < 2]


def test_samples_and_seeds_differ() -> None:
    outcomes = drawn(Sampling(temperature=1.5, seed=3), 6, 64)
    by_question = [outcomes[i : i + 6] for i in range(0, len(outcomes), 6)]
    assert all(len({outcome.top.context for outcome in own}) > 1 for own in by_question)
    assert told(drawn(Sampling(temperature=1.5, seed=4), 6, 64)) != told(outcomes)


def test_the_likeliest_of_one_is_greedy() -> None:
    assert told(drawn(Sampling(temperature=2.0, top_k=1), 2, 64)) == told(drawn(Sampling(), 2, 64))


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, None), (0.5, None), (2.0, 3), (1.0, 99)])
def test_tokens_are_drawn_with_their_probabilities(temperature: float, top_k: int | None) -> None:
    logits_V = torch.tensor([0.3, -1.0, 2.0, 1.1, -5.0])
    n = 20_000
    frames = [Frame(Node(b"question", (stream, 0), 0), b"question") for stream in range(n)]
    chosen_B = Sampling(temperature, top_k).choose(logits_V.expand(n, -1), frames)
    kept = min(top_k or 5, 5)
    probable = np.exp(logits_V.double().numpy() / temperature)
    probable[np.argsort(probable)[: 5 - kept]] = 0
    probable /= probable.sum()
    found = Counter(chosen_B.tolist())
    for token, share in enumerate(probable):
        assert abs(found[token] / n - share) < 4 * np.sqrt(share * (1 - share) / n) + 1e-12, (token, share)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"temperature": -1.0}, "the temperature is -1.0: it must be 0"),
        ({"temperature": 1e-310}, "the temperature is 1e-310: it must be 0 .* or at least 1e-06"),
        ({"temperature": float("inf")}, "the temperature is inf"),
        ({"temperature": float("nan")}, "the temperature is nan"),
        ({"top_k": 0}, "top_k is 0: it must be at least 1"),
        ({"seed": -1}, "the seed is -1: it must be between"),
    ],
)
def test_impossible_values_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling(**values)  # type: ignore[arg-type]
