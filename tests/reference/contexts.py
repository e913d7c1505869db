"""The contexts and targets of one problem by each method, from the reference's problems (App. C, D and F).

Every walk keeps its own stack, so that no problem is too deep for Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.reference.notation import parse
from tests.reference.problem import Problem


class Context(NamedTuple):
    """One context; `segments` and `targets` have one entry per token.

    `segments`: Q, Q_sub, A_sub or A (wt: Q, A; cot: Q, T, A). `targets`: App. D's Y, not shifted. A context
    that ends in a tail ends with THINK in tokens and targets, and has no A.
    """

    type: str
    tokens: list[str]
    segments: list[str]
    targets: list[str]


class _Node:
    """A problem that was asked for: question from GO to `=`, answer to STOP, and what it asks in turn."""

    __slots__ = ("answered", "args", "asked", "kind", "subs")

    def __init__(self, kind: type[Problem], args: Any) -> None:
        self.kind = kind
        self.args = args
        self.asked = ["GO", *kind.question(args), "="]
        self.answered = [*kind.answer(args), "STOP"]
        self.subs: list[tuple[_Node, bool]] | None = None


class _Problems:
    """The problems met while one question is solved, each once."""

    def __init__(self, question: str) -> None:
        self._nodes: dict[tuple[type[Problem], Any], _Node] = {}
        self.top = self._node(parse(question))

    def subs(self, node: _Node) -> list[tuple[_Node, bool]]:
        """The sub-problems of a problem in order, and whether each is a tail."""
        if node.subs is None:
            node.subs = [(self._node((kind, args)), tail) for kind, args, tail in node.kind.thought(node.args)]
        return node.subs

    def _node(self, key: tuple[type[Problem], Any]) -> _Node:
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = _Node(*key)
        return node


def rot_contexts(question: str) -> list[Context]:
    """All unique contexts of a question, in order of creation: depth first, each when first asked for."""
    problems = _Problems(question)
    seen: set[_Node] = set()
    contexts: list[Context] = []
    stack = [problems.top]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        subs = problems.subs(node)
        stack += [sub for sub, _ in reversed(subs)]
        contexts.append(_rot_context(node, subs))
    return contexts


def all_contexts(question: str) -> Iterator[Context]:
    """The contexts of a question in order of creation, repeated ones too (the count behind H.7's X^10)."""
    problems = _Problems(question)
    stack = [problems.top]
    while stack:
        node = stack.pop()
        subs = problems.subs(node)
        stack += [sub for sub, _ in reversed(subs)]
        yield _rot_context(node, subs)


def wt_context(question: str) -> Context:
    """The question and its answer, without a thought between them."""
    return _read_through(_Problems(question).top, [])


def cot_context(question: str) -> Context:
    """The question, the whole recursion unravelled, and the answer (App. F)."""
    problems = _Problems(question)
    thought: list[str] = []
    # A list of symbols waits to be written, a problem to be unravelled.
    stack: list[list[str] | _Node] = [problems.top]
    while stack:
        entry = stack.pop()
        if isinstance(entry, list):
            thought += entry
            continue
        parts: list[list[str] | _Node] = []
        for sub, tail in problems.subs(entry):
            parts += [["TAIL", *sub.asked[1:]], sub] if tail else [sub.asked, sub, sub.answered]
        stack += reversed(parts)
    return _read_through(problems.top, thought)


def cot_length(question: str) -> int:
    """The number of tokens of `cot_context`, without unravelling: each sub-problem is measured once."""
    problems = _Problems(question)
    flat: dict[_Node, int] = {}
    stack = [problems.top]
    while stack:
        node = stack[-1]
        subs = problems.subs(node)
        unknown = [sub for sub, _ in subs if sub not in flat]
        if unknown:
            stack += unknown
            continue
        stack.pop()
        flat[node] = sum(len(sub.asked) + flat[sub] + (0 if tail else len(sub.answered)) for sub, tail in subs)
    return len(problems.top.asked) + flat[problems.top] + len(problems.top.answered)


def _rot_context(node: _Node, subs: list[tuple[_Node, bool]]) -> Context:
    tokens = node.asked.copy()
    segments = ["Q"] * len(tokens)
    targets = ["PAD"] * len(tokens)
    for sub, tail in subs:
        asked, answered = (["TAIL", *sub.asked[1:]], ["THINK"]) if tail else (sub.asked, sub.answered)
        tokens += asked
        tokens += answered
        segments += ["Q_sub"] * len(asked)
        segments += ["A_sub"] * len(answered)
        targets += asked
        targets.append("THINK")
        targets += ["PAD"] * (len(answered) - 1)
    if not (subs and subs[-1][1]):
        tokens += node.answered
        segments += ["A"] * len(node.answered)
        targets += node.answered
    return Context(node.kind.name, tokens, segments, targets)


def _read_through(node: _Node, thought: list[str]) -> Context:
    asked, answered = node.asked, node.answered
    segments = ["Q"] * len(asked) + ["T"] * len(thought) + ["A"] * len(answered)
    targets = ["PAD"] * len(asked) + thought + answered
    return Context(node.kind.name, asked + thought + answered, segments, targets)
