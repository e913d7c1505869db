"""The contexts and targets of one problem by each method, from the reference's problems (App. C, D and F).

Every walk keeps its own stack, so that no problem is too deep for Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.reference.notation import parse
from tests.reference.problem import Problem, Thought

Key = tuple[type[Problem], Any]


class Context(NamedTuple):
    """One context; `segments` and `targets` have one entry per token.

    `segments`: Q, Q_sub, A_sub or A (wt: Q, A; cot: Q, T, A). `targets`: App. D's Y, not shifted. A context
    that ends in a tail ends with THINK in tokens and targets, and has no A.
    """

    type: str
    tokens: list[str]
    segments: list[str]
    targets: list[str]


class _Texts(dict[Key, tuple[list[str], list[str]]]):
    """The question (from GO to `=`) and the answer (to STOP) of every problem asked for, spelled once."""

    def __missing__(self, key: Key) -> tuple[list[str], list[str]]:
        kind, args = key
        texts = ["GO", *kind.question(args), "="], [*kind.answer(args), "STOP"]
        self[key] = texts
        return texts


def rot_contexts(question: str) -> list[Context]:
    """All unique contexts of a question, in order of creation: depth first, each when first asked for."""
    texts = _Texts()
    return [_rot_context(key, thoughts, texts) for key, thoughts in _unique(parse(question))]


def wt_context(question: str) -> Context:
    """The question and its answer, without a thought between them."""
    top = parse(question)
    asked, answered = _Texts()[top]
    return _read_through(top[0].name, asked, [], answered)


def cot_context(question: str) -> Context:
    """The question, the whole recursion unravelled, and the answer (App. F)."""
    texts = _Texts()
    top = parse(question)
    thought: list[str] = []
    # A list of symbols waits to be written, a key to be unravelled.
    stack: list[list[str] | Key] = [top]
    while stack:
        entry = stack.pop()
        if isinstance(entry, list):
            thought += entry
            continue
        parts: list[list[str] | Key] = []
        for kind, args, tail in entry[0].thought(entry[1]):
            asked, answered = texts[kind, args]
            parts += [["TAIL", *asked[1:]] if tail else asked, (kind, args)]
            if not tail:
                parts.append(answered)
        stack += reversed(parts)
    return _read_through(top[0].name, texts[top][0], thought, texts[top][1])


def cot_length(question: str) -> int:
    """The number of tokens of `cot_context`, without unravelling: each sub-problem is measured once."""
    texts = _Texts()
    flat: dict[Key, int] = {}
    top = parse(question)
    stack: list[Key] = [top]
    while stack:
        key = stack[-1]
        thoughts = key[0].thought(key[1])
        unknown = [(kind, args) for kind, args, _ in thoughts if (kind, args) not in flat]
        if unknown:
            stack += unknown
            continue
        stack.pop()
        flat[key] = sum(
            len(texts[kind, args][0]) + flat[kind, args] + (0 if tail else len(texts[kind, args][1]))
            for kind, args, tail in thoughts
        )
    return len(texts[top][0]) + flat[top] + len(texts[top][1])


def all_contexts(question: str) -> Iterator[Context]:
    """The contexts of a question in order of creation, repeated ones too (the count behind H.7's X^10)."""
    texts = _Texts()
    stack = [parse(question)]
    while stack:
        kind, args = key = stack.pop()
        thoughts = kind.thought(args)
        stack += reversed([(sub.kind, sub.args) for sub in thoughts])
        yield _rot_context(key, thoughts, texts)


def _unique(top: Key) -> Iterator[tuple[Key, list[Thought]]]:
    seen: set[Key] = set()
    stack = [top]
    while stack:
        key = stack.pop()
        if key in seen:
            continue
        seen.add(key)
        thoughts = key[0].thought(key[1])
        stack += reversed([(kind, args) for kind, args, _ in thoughts])
        yield key, thoughts


def _rot_context(key: Key, thoughts: list[Thought], texts: _Texts) -> Context:
    asked, answered = texts[key]
    tokens = list(asked)
    segments = ["Q"] * len(asked)
    targets = ["PAD"] * len(asked)
    for kind, args, tail in thoughts:
        sub_asked, sub_answered = texts[kind, args]
        if tail:
            sub_asked, sub_answered = ["TAIL", *sub_asked[1:]], ["THINK"]
        tokens += sub_asked
        tokens += sub_answered
        segments += ["Q_sub"] * len(sub_asked)
        segments += ["A_sub"] * len(sub_answered)
        targets += sub_asked
        targets.append("THINK")
        targets += ["PAD"] * (len(sub_answered) - 1)
    if not (thoughts and thoughts[-1].tail):
        tokens += answered
        segments += ["A"] * len(answered)
        targets += answered
    return Context(key[0].name, tokens, segments, targets)


def _read_through(name: str, asked: list[str], thought: list[str], answered: list[str]) -> Context:
    segments = ["Q"] * len(asked) + ["T"] * len(thought) + ["A"] * len(answered)
    return Context(name, asked + thought + answered, segments, ["PAD"] * len(asked) + thought + answered)
