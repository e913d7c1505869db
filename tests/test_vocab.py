"""Symbols, their text, and the vocabulary of each task under each method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotlab.tasks import METHODS, TASKS, TYPES, vocabulary
from rotlab.vocab import ID, SYMBOLS, Vocabulary, decode, encode, notation

# DESIGN section 5: the size of a vocabulary by method, in the order of the tasks.
SIZES = {
    "rot": (17, 17, 18, 23, 26, 27, 27, 30, 24),
    "cot": (16, 16, 17, 22, 25, 26, 26, 29, 23),
    "wt": (15, 15, 15, 16, 16, 16, 19, 20, 16),
}
ORDER = ("add", "sub", "mul", "div", "lcs", "lps", "knapsack", "mcm", "sort")


def test_a_digit_is_its_own_id() -> None:
    assert [ID[str(digit)] for digit in range(10)] == list(range(10))


def test_symbols_are_those_of_the_paper() -> None:
    words = "GO STOP THINK TAIL PAD R VS GT LT EQ EQUAL TRUE FALSE LCS LPS KNAPSACK MCM ACC SORT MERGE SEP"
    signs = "+ - * ÷ = , ; & @ $ × ( ) |"
    assert len(set(SYMBOLS)) == len(SYMBOLS)
    known = {*"0123456789", *words.split(), *signs.split()}
    # What a task of one's own adds stands behind.
    assert set(SYMBOLS[: len(known)]) == known


@given(st.lists(st.integers(0, len(SYMBOLS) - 1)))
def test_text_and_tokens_are_the_same(tokens: list[int]) -> None:
    assert encode(notation(tokens)).tolist() == tokens
    assert encode(" ".join(decode(tokens))).tolist() == tokens


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("GO 408+351=", "GO 4 0 8 + 3 5 1 ="),
        ("GO  4 0 8\t+ 351=\n", "GO 4 0 8 + 3 5 1 ="),
        ("76/29", "7 6 ÷ 2 9"),
        ("MCM4x2,2x8", "MCM 4 × 2 , 2 × 8"),
        ("EQUAL3,4=EQ", "EQUAL 3 , 4 = EQ"),
        ("1LCS2", "1 LCS 2"),
        ("", ""),
    ],
)
def test_spacing_does_not_matter(text: str, symbols: str) -> None:
    assert decode(encode(text)) == symbols.split()
    assert encode(text).dtype == np.uint8


def test_notation_is_the_paper_s() -> None:
    text = "GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP"
    assert notation(encode(text)) == text
    assert notation(encode("GO 7 6 ÷ 2 9 = 2 R 1 8 STOP")) == "GO 76÷29=2 R 18 STOP"
    assert notation(encode("MCM 3 × 9 | 9 × 4 ACC ( 1 × 2 ) ; 5")) == "MCM 3×9|9×4 ACC (1×2);5"


@pytest.mark.parametrize(
    ("text", "word"),
    [("3 plus 4", "plus"), ("34^5", "^5"), ("STOPPED", "PED"), ("1.5", ".5"), ("½", "½")],
)
def test_an_unknown_symbol_is_named_with_the_known_ones(text: str, word: str) -> None:
    with pytest.raises(ValueError, match="is not a symbol") as caught:
        encode(text)
    assert str(caught.value).startswith(f"{word!r} is not a symbol; the symbols are 0 1 2")
    assert "\n" not in str(caught.value)


def test_a_symbol_in_small_letters_is_told_in_large_ones() -> None:
    with pytest.raises(ValueError, match=r"^'go' is not a symbol; did you mean GO\?$"):
        encode("GO 1 go 2")


def test_every_task_has_the_table_s_vocabulary() -> None:
    assert tuple(TASKS)[: len(ORDER)] == ORDER
    assert set(SIZES) == set(METHODS)
    found = {method: tuple(len(vocabulary(task, method)) for task in ORDER) for method in SIZES}
    assert found == SIZES


@pytest.mark.parametrize("task", ORDER)
def test_a_method_adds_only_its_own_symbols(task: str) -> None:
    wt, cot, rot = (set(vocabulary(task, method).symbols) for method in ("wt", "cot", "rot"))
    assert rot - cot == {"THINK"}
    assert wt < cot
    assert "TAIL" in cot - wt
    assert {"PAD", "GO", "STOP", "=", *"0123456789"} <= wt


def test_the_symbols_of_mcm_by_hand() -> None:
    shared = {*"0123456789", "PAD", "GO", "STOP", "=", "MCM", "×", ",", "(", ")", ";"}
    assert set(vocabulary("mcm", "wt").symbols) == shared
    steps = {"TAIL", "|", "ACC", "*", "+", "VS", "LT", "EQ", "GT"}
    assert set(vocabulary("mcm", "rot").symbols) == shared | steps | {"THINK"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task", ORDER)
def test_compact_ids_and_back(task: str, method: str) -> None:
    found = vocabulary(task, method)
    assert found.symbols[Vocabulary.pad] == "PAD"
    assert found.compact_S[found.full_V].tolist() == list(range(len(found)))
    assert decode(found.full_V) == list(found.symbols)
    outside = [ID[symbol] for symbol in SYMBOLS if symbol not in found.symbols]
    assert set(found.compact_S[outside].tolist()) <= {Vocabulary.absent}


def test_every_symbol_is_used_by_some_type() -> None:
    used = {*"0123456789", "PAD", "GO", "STOP", "THINK", "TAIL", "="}
    for problem_type in TYPES:
        used |= {*problem_type.symbols.split(), *problem_type.inner_symbols.split()}
    assert used == set(SYMBOLS)


@pytest.mark.parametrize("symbols", [[], ["0", "PAD"], ["PAD", "0", "0"], ["PAD", "NOTHING"]])
def test_a_vocabulary_is_checked(symbols: list[str]) -> None:
    with pytest.raises(ValueError, match=r"PAD first|no symbols"):
        Vocabulary(symbols)


def test_equal_vocabularies_are_equal() -> None:
    one, same, other = (vocabulary(*cell) for cell in (("add", "rot"), ("add", "rot"), ("add", "cot")))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "add"
    assert repr(other).startswith("Vocabulary(PAD 0 1 2")
