"""Runs of tokens: what compiled code does with them is what plain Python does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rotlab.compiled import compiled
from rotlab.native import copy_tokens, fill_tokens, find_token
from rotlab.vocab import Tokens


@compiled
def copied(to: Tokens, at: int, source: Tokens, lo: int, hi: int) -> None:
    copy_tokens(to, at, source, lo, hi)


@compiled
def filled(to: Tokens, lo: int, hi: int, token: int) -> None:
    fill_tokens(to, lo, hi, token)


@compiled
def found(text: Tokens, lo: int, hi: int, token: int) -> int:
    return int(find_token(text, lo, hi, token))


SIZE = 40
texts = st.lists(st.integers(0, 5), min_size=SIZE, max_size=SIZE).map(lambda ids: np.array(ids, np.uint8))
places = st.integers(0, SIZE)


@given(texts, texts, places, places, places)
def test_copy(to: Tokens, source: Tokens, at: int, lo: int, hi: int) -> None:
    at = min(at, SIZE - max(0, hi - lo))
    for into, out_of in ((to.copy(), source), ((same := source.copy()), same)):
        expected, taken = into.tolist(), out_of.tolist()[lo:hi]
        expected[at : at + len(taken)] = taken
        plain = into.copy()
        copy_tokens(plain, at, plain if into is out_of else out_of, lo, hi)
        copied(into, at, out_of, lo, hi)
        assert into.tolist() == expected == plain.tolist()


@given(texts, places, places, st.integers(0, 255))
def test_fill(text: Tokens, lo: int, hi: int, token: int) -> None:
    plain = text.copy()
    fill_tokens(plain, lo, hi, token)
    filled(text, lo, hi, token)
    assert text.tolist() == plain.tolist()


@given(texts, places, places, st.integers(0, 6))
def test_find(text: Tokens, lo: int, hi: int, token: int) -> None:
    expected = next((at for at in range(lo, hi) if text[at] == token), max(lo, hi))
    assert found(text, lo, hi, token) == find_token(text, lo, hi, token) == expected
