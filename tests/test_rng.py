"""Philox against the authors' known answers, and what is made of its words."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotlab.rng import FIT, PROBE, TEST, TRAIN, below, new_draw, philox, seek, whole_and_fraction, word
from tests.chi_square import REJECTED, p_value, uniform

WORD = st.integers(0, 2**32 - 1)
BIG = 2**63 - 1


# Random123's kat_vectors, philox4x32 10.
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_known_answers(counter: str, key: str, words: str) -> None:
    found = philox(*(int(one, 16) for one in f"{counter} {key}".split()))
    assert " ".join(f"{one:08x}" for one in found) == words


def unbounded_philox(counter: list[int], key: list[int]) -> list[int]:
    """The definition, on Python's integers."""
    for turn in range(10):
        k0, k1 = ((k + turn * step) % 2**32 for k, step in zip(key, (0x9E3779B9, 0xBB67AE85), strict=True))
        (high0, low0), (high1, low1) = divmod(counter[0] * 0xD2511F53, 2**32), divmod(counter[2] * 0xCD9E8D57, 2**32)
        counter = [high1 ^ counter[1] ^ k0, low1, high0 ^ counter[3] ^ k1, low0]
    return counter


@given(st.lists(WORD, min_size=4, max_size=4), st.lists(WORD, min_size=2, max_size=2))
def test_wrapped_products_give_the_same_words(counter: list[int], key: list[int]) -> None:
    assert list(philox(*counter, *key)) == unbounded_philox(counter, key)


def words_of(seed: int, split: int, index: int, count: int = 16) -> list[int]:
    draw = new_draw()
    seek(draw, seed, split, index)
    return [word(draw) for _ in range(count)]


def test_words_are_philox_of_block_split_and_index() -> None:
    seed, index = 0x0123456789ABCDEF, 0x7EDCBA9876543210
    counters = [[block, TEST, index % 2**32, index >> 32] for block in range(4)]
    expected = [one for counter in counters for one in unbounded_philox(counter, [seed % 2**32, seed >> 32])]
    assert words_of(seed, TEST, index) == expected


def test_seeking_again_starts_again() -> None:
    draw = new_draw()
    seek(draw, 7, TRAIN, 3)
    first = [word(draw) for _ in range(5)]
    seek(draw, 7, TRAIN, 4)
    word(draw)
    seek(draw, 7, TRAIN, 3)
    assert [word(draw) for _ in range(5)] == first


def test_splits_indices_and_neighbouring_seeds_share_nothing() -> None:
    """Neither seed + 1 nor index + 1 nor another split meets the same words again, at any place."""
    seeds = (0, 1, 2, 3, 41, 42, 43, 2**32, 2**32 + 1, BIG - 1, BIG)
    indices = (*range(12), 2**32, 2**32 + 1, BIG)
    pairs: Counter[tuple[int, int]] = Counter()
    for seed, split, index in product(seeds, (TRAIN, TEST, PROBE, FIT), indices):
        words = words_of(seed, split, index)
        pairs.update(pairwise(words))
    assert len({TRAIN, TEST, PROBE, FIT}) == 4
    # 64 bits each, so that none of some 10,000 comes twice by chance.
    assert max(pairs.values()) == 1


def test_bits_are_even() -> None:
    words = np.array([words_of(5, TRAIN, index, 64) for index in range(400)]).ravel()
    for bit in range(32):
        ones = int((words >> bit & 1).sum())
        assert p_value({0: len(words) - ones, 1: ones}, uniform((0, 1))) > REJECTED, bit
    assert p_value(Counter((words >> 24).tolist()), uniform(range(256))) > REJECTED
    assert p_value(Counter((words & 255).tolist()), uniform(range(256))) > REJECTED


@pytest.mark.parametrize("n", [1, 2, 3, 10, 99, 1000])
def test_below_is_uniform(n: int) -> None:
    draw = new_draw()
    seek(draw, 1, TRAIN, n)
    counts = Counter(below(draw, n) for _ in range(20_000))
    assert counts.keys() <= set(range(n))
    if n > 1:
        assert p_value(counts, uniform(range(n))) > REJECTED


def test_below_has_no_bias_near_its_largest_bound() -> None:
    """The remainder of a 32-bit word by 3 * 2^30 would fall below 2^30 half the time, not a third."""
    draw, n = new_draw(), 3 * 2**30
    seek(draw, 1, TRAIN, 0)
    thirds = Counter(below(draw, n) >> 30 for _ in range(20_000))
    assert p_value(thirds, uniform(range(3))) > REJECTED
    assert {below(draw, 2**32) < 2**32 for _ in range(100)} == {True}


@pytest.mark.parametrize("width", [1, 3, 400, 65_535, 10**9])
def test_whole_and_fraction_are_uniform(width: int) -> None:
    draw = new_draw()
    seek(draw, 1, TRAIN, width)
    drawn = [whole_and_fraction(draw, width) for _ in range(20_000)]
    assert all(0 <= whole < width and 0 <= fraction < 1 for whole, fraction in drawn)
    shares = Counter(int(10 * (whole + fraction) / width) for whole, fraction in drawn)
    assert p_value(shares, uniform(range(10))) > REJECTED
    # Bits of the fraction that a float could not hold beside the whole part.
    fine = Counter(math.floor(fraction * 2**36) % 8 for _, fraction in drawn)
    assert p_value(fine, uniform(range(8))) > REJECTED
