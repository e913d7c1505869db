"""Every symbol and its id; text to tokens and back; the compact vocabulary that one model sees.

A token is a `uint8` id. A digit's id is its value, so that rules compute on tokens directly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.uint8]

SYMBOLS: tuple[str, ...] = (
    *"0123456789",
    *("PAD", "GO", "STOP", "THINK", "TAIL", "="),
    *("+", "-", "*", "÷", "R"),
    *("VS", "LT", "EQ", "GT", "EQUAL", ",", "TRUE", "FALSE"),
    *("LCS", ";", "LPS", "KNAPSACK", "&", "@", "$"),
    *("MCM", "×", "(", ")", "|", "ACC"),
    *("SORT", "MERGE", "SEP"),
    # A new task's words go here, at the end: the order is that of the ids.
)  # fmt: skip

ID: dict[str, int] = {symbol: i for i, symbol in enumerate(SYMBOLS)}

PAD, GO, STOP, THINK, TAIL, EQUALS = (ID[s] for s in ("PAD", "GO", "STOP", "THINK", "TAIL", "="))

_SPELLINGS = {"/": "÷", "x": "×"}
_PIECES = re.compile("|".join(re.escape(s) for s in sorted((*SYMBOLS, *_SPELLINGS), key=len, reverse=True)))


def encode(text: str) -> Tokens:
    """Tokens of `text` in any spacing: `GO 4 0 8 + 351 =`; `/` is read as `÷` and `x` as `×`.

    Raises ValueError at the first piece that is no symbol.
    """
    tokens: list[int] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        piece = _PIECES.match(text, at)
        if piece is None:
            word = text[at:].split()[0]
            meant = f"; did you mean {word.upper()}?" if word.upper() in ID else ""
            raise ValueError(f"{word!r} is not a symbol{meant or '; the symbols are ' + ' '.join(SYMBOLS)}")
        tokens.append(ID[_SPELLINGS.get(piece.group(), piece.group())])
        at = piece.end()
    return np.array(tokens, dtype=np.uint8)


def decode(tokens: Iterable[Any]) -> list[str]:
    """The symbols of `tokens`."""
    return [SYMBOLS[token] for token in tokens]


def notation(tokens: Iterable[Any]) -> str:
    """`tokens` as the paper prints them: `GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP`."""
    text = "".join(f" {symbol} " if symbol.isalpha() else symbol for symbol in decode(tokens))
    return " ".join(text.split())


class Vocabulary:
    """The symbols that one task can show under one method, PAD first: ids as a model sees them.

    `compact_S` and `full_V` are `uint8` look-up tables from the ids of `SYMBOLS` (S of them) to the model's (V) and
    back. A symbol that the vocabulary lacks maps to `absent`.
    """

    pad = 0
    absent = 255

    def __init__(self, symbols: Sequence[str]) -> None:
        if len(symbols) == 0 or symbols[0] != "PAD" or len(set(symbols)) != len(symbols):
            raise ValueError(f"a vocabulary lists each symbol once, PAD first; got {list(symbols)}")
        unknown = [symbol for symbol in symbols if symbol not in ID]
        if unknown:
            raise ValueError(f"{unknown} are no symbols; a new symbol is one word in SYMBOLS of rotlab/vocab.py")
        self.symbols = tuple(symbols)
        self.full_V = np.array([ID[symbol] for symbol in symbols], dtype=np.uint8)
        self.compact_S = np.full(len(SYMBOLS), self.absent, dtype=np.uint8)
        self.compact_S[self.full_V] = np.arange(len(symbols), dtype=np.uint8)

    def __len__(self) -> int:
        return len(self.symbols)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    def __repr__(self) -> str:
        return f"Vocabulary({' '.join(self.symbols)})"
