"""What a file of this room declares: its problem types and, if it is one, its task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# How a number is written, for the patterns of questions.
NUMBER = r"(0|[1-9]\d*)"

METHODS = {
    "wt": "without thought: the answer at once",
    "cot": "chain of thought: every step in one context",
    "rot": "recursion of thought: a fresh context for each sub-question",
}


def is_less(a: str, b: str) -> bool:
    """Whether the number a is less than b, both without leading zeros, of any length."""
    return (len(a), a) < (len(b), b)


@dataclass(frozen=True)
class ProblemType:
    """One kind of question and the rule that solves it (App. H).

    rule: `rule(view) -> ASK | ASK_TAIL | ANSWER`, compiled, or plain Python with `plain=True`.
    mark: the first symbol of a question that is no digit; `twice`: it stands twice (a+b+c).
    symbols: what a question or an answer of this type shows beside digits; inner_symbols: what only questions show
        that the type asks of itself.
    asks: the names of the other types that the rule asks.
    pattern: the question's text without GO, `=` and blanks; check: why its groups make no valid question, or None.
    """

    name: str
    mark: str
    rule: Callable[..., Any]
    symbols: str
    pattern: str
    example: str
    asks: tuple[str, ...] = ()
    inner_symbols: str = ""
    twice: bool = False
    plain: bool = False
    check: Callable[..., str | None] = field(default=lambda *groups: None)

    def validate(self, text: str, shown: str) -> None:
        """Raise ValueError, naming what was `shown`, unless `text`, without GO, `=` and blanks, is such a question."""
        match = re.fullmatch(self.pattern, text)
        if match is None:
            raise ValueError(f"{shown!r} is no {self.name} question; write one like {self.example!r}")
        fault = self.check(*match.groups())
        if fault:
            raise ValueError(f"{shown!r} is no {self.name} question: {fault}")


# Far above what any window holds; a slip of the finger must not ask for the memory that it would take.
MOST_DIFFICULTY = 10_000


@dataclass(frozen=True)
class Task:
    """A problem type that one can train, with its samplers (App. G).

    unit: what difficulty counts. samplers: by name, the default first: `sampler(view, draw, difficulty)` writes one
    question after `begin_question`, compiled (or plain, with a plain type). space: the number of different questions
    of a difficulty; questions: all of them as text, asked for only where they are few.
    """

    name: str
    summary: str
    unit: str
    samplers: dict[str, Callable[..., Any]]
    space: Callable[[int], int]
    questions: Callable[[int], Iterator[str]]
    min_difficulty: int = 1

    def require_difficulty(self, difficulty: int) -> None:
        """Raise ValueError for a difficulty that the task doesn't have."""
        if difficulty < self.min_difficulty:
            raise ValueError(f"the smallest difficulty of {self.name} is {self.min_difficulty} ({self.unit})")
        if difficulty > MOST_DIFFICULTY:
            raise ValueError(f"the largest difficulty is {MOST_DIFFICULTY:,} ({self.unit})")

    @property
    def samplings(self) -> tuple[str, ...]:
        """The names of the samplers, the default first."""
        return tuple(self.samplers)
