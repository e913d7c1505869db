"""The contexts of given questions, for people, tests and files: symbols instead of ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotlab.contexts.driver import n_rows, solve_question
from rotlab.contexts.memo import TYPE, Memo
from rotlab.contexts.render import METHOD_NUMBER, ROT, SEGMENTS, context_length, readable_length, render, targets_of
from rotlab.tasks import TYPES, parse_question
from rotlab.vocab import ID, decode, notation

DEFAULT_LIMIT = 1_000_000


@dataclass(frozen=True)
class Context:
    """One context X with its segments and unshifted target Y (App. D), all of one length, as symbols."""

    type: str
    tokens: list[str]
    segments: list[str]
    targets: list[str]

    def __str__(self) -> str:
        return notation(ID[symbol] for symbol in self.tokens)


def context_of(memo: Memo, row: int, method: str) -> Context:
    """The context of one solved row."""
    number = METHOD_NUMBER[method]
    length = context_length(memo, row, number)
    tokens, segments = np.empty(length, np.uint8), np.empty(length, np.uint8)
    render(memo, row, number, tokens, segments, 0)
    return Context(
        type=TYPES[memo.rows[row, TYPE]].name,
        tokens=decode(tokens.tolist()),
        segments=[SEGMENTS[segment] for segment in segments.tolist()],
        targets=decode(targets_of(tokens, segments).tolist()),
    )


def lengths(question: str, method: str = "rot") -> list[int]:
    """The lengths of a question's contexts, in order of creation, without building them."""
    memo, row = solve_question(parse_question(question)[0])
    number = METHOD_NUMBER[method]
    rows = range(n_rows(memo)) if number == ROT else [row]
    return [int(context_length(memo, one, number)) for one in rows]


def unfold(question: str, method: str = "rot", limit: int = DEFAULT_LIMIT) -> list[Context]:
    """Every unique context of a question, X^1 first; under wt and cot the only one.

    Raises ValueError if the question is none, or if a context would be longer than `limit` tokens.
    """
    memo, row = solve_question(parse_question(question)[0])
    number = METHOD_NUMBER[method]
    rows = range(n_rows(memo)) if number == ROT else [row]
    for one in rows:
        length = context_length(memo, one, number)
        if length > limit:
            too_long = f"a {method} context of {question!r} would have {readable_length(length)} tokens"
            raise ValueError(f"{too_long}, over the limit of {limit:,}")
    return [context_of(memo, one, method) for one in rows]
