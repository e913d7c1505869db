"""The engine gives what a plain recursion gives, token for token, however many questions it solves at a time."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotlab.cli.bench.naive import Failed, Naive, whole_contexts, with_cache
from rotlab.inference.engine import Engine
from rotlab.inference.frame import Limits
from rotlab.inference.recursion import Outcome, Request
from rotlab.inference.solver import contexts_of
from rotlab.models import BACKBONES
from rotlab.models.backbone import Reader
from rotlab.vocab import encode
from tests.inference.networks import BITS, Talkative, babble


def bit_questions(draw: random.Random, most: int) -> list[bytes]:
    """Questions such as GO 0 1 1 =, some of them twice."""
    drawn = ["".join(draw.choices("01", k=draw.randint(1, 4))) for _ in range(draw.randint(1, most))]
    return [encode(f"GO {bits} =").tobytes() for bits in drawn]


def solved(network: Reader, questions: list[bytes], limits: Limits, slots: int, memo: bool = True) -> list[Outcome]:
    outcomes, _ = Engine(network, BITS, "rot", limits, slots=slots, memo=memo).solve(map(Request, questions))
    return outcomes


def require_same(naive: Naive, question: bytes, outcome: Outcome) -> None:
    """An outcome's answer or failure, its contexts and its figures are those of the plain recursion."""
    answer: bytes | None = None
    failure: str | None = None
    try:
        answer = naive.answer(question)
    except Failed as failed:
        failure = failed.failure
    assert (outcome.answer, outcome.failure) == (answer, failure)
    if failure is None:
        assert {node.question: node.context for node in contexts_of(outcome.top)} == naive.contexts
        assert outcome.contexts == len(naive.contexts)
        assert outcome.tokens_unaided == naive.tokens
        assert outcome.tokens <= naive.tokens


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**9))
def test_it_is_the_plain_recursion(seed: int) -> None:
    """With networks that ask at random, and so run into every limit; with and without a memo."""
    draw = random.Random(seed)
    network = babble(seed, draw.choice([0.3, 0.4, 0.5, 0.6]))
    limits = Limits(draw.choice([16, 24, 40]), draw.randint(1, 8), draw.randint(2, 30))
    questions = bit_questions(draw, 12)
    naive = Naive(with_cache(network, BITS), BITS, limits)
    for slots, memo in ((1, True), (2, True), (512, True), (3, False)):
        for question, outcome in zip(questions, solved(network, questions, limits, slots, memo), strict=True):
            require_same(naive, question, outcome)


def test_the_networks_that_ask_at_random_run_into_every_limit() -> None:
    found: Counter[str] = Counter()
    for seed in range(60):
        draw = random.Random(seed)
        limits = Limits(draw.choice([16, 24, 40]), draw.randint(1, 8), draw.randint(2, 30))
        outcomes = solved(babble(seed, 0.5), bit_questions(draw, 12), limits, 4)
        found.update(outcome.failure or f"{min(outcome.contexts, 4)} contexts" for outcome in outcomes)
    assert found.keys() >= {"overflow", "height", "reach", "cycle", "malformed", "1 contexts", "4 contexts"}, found


@pytest.mark.parametrize("architecture", BACKBONES)
@pytest.mark.parametrize("slots", [2, 512])
def test_random_networks_write_the_same_tokens(architecture: str, slots: int) -> None:
    """In float64; the plain recursion reads the whole context for each token."""
    limits, asking = Limits(24, 4, 20), 0
    for seed in range(8):
        network, questions = Talkative(architecture, 24, seed), bit_questions(random.Random(seed), 12)
        naive = Naive(whole_contexts(network, BITS), BITS, limits)
        for question, outcome in zip(questions, solved(network, questions, limits, slots), strict=True):
            require_same(naive, question, outcome)
            asking += outcome.contexts > 1
    assert asking > 0
