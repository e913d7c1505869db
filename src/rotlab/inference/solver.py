"""`Solver`: questions as text in, answers and how they came about out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from rotlab.contexts.driver import n_rows, sample_questions, solve_question, solved_shards
from rotlab.contexts.memo import QUESTION, QUESTION_END, TYPE
from rotlab.contexts.render import METHOD_NUMBER
from rotlab.contexts.verdicts import lengths_of, render_rows
from rotlab.data.cell import Cell
from rotlab.inference.engine import SLOTS, Engine
from rotlab.inference.frame import Failure, Limits
from rotlab.inference.free_running import right_answers
from rotlab.inference.memo import Node
from rotlab.inference.recursion import Outcome, Request
from rotlab.inference.sampling import Sampling
from rotlab.models.backbone import Reader
from rotlab.models.trained import LAST, load_checkpoint
from rotlab.tasks import TYPES, parse_question
from rotlab.vocab import SYMBOLS, Tokens, notation

# Problems by which the longest questions of a training are known, or as many as have so many contexts.
_LOOKED_AT, _CONTEXTS_LOOKED_AT = 500, 100_000


class LongerThanTrained(UserWarning):
    """A question is longer than those that the network was trained on."""


@dataclass(frozen=True)
class Solution:
    """What became of a question; the answer in the paper's notation, without STOP.

    right: whether the rules answer so. failure: why there is no answer. contexts: different ones; depth: of nested
    ones; tokens: that the network wrote in them; tokens_unaided: that it would have written without a memo.
    top: the first context, from which the others hang (`contexts_of` lists them).
    """

    question: str
    sample: int
    answer: str | None
    right: bool
    failure: Failure | None
    contexts: int
    depth: int
    tokens: int
    tokens_unaided: int
    top: Node


class Solver:
    """Solves questions with one network, all that are given together at a time.

    network: a backbone, or any object with its `new_cache` and `read`. cell: what it was trained on. Raises ValueError
    for limits beyond its window.
    """

    def __init__(
        self, network: Reader, cell: Cell, *, device: torch.device | str = "cpu", slots: int = SLOTS,
        memo: bool = True, limits: Limits | None = None, sampling: Sampling | None = None,
    ) -> None:  # fmt: skip
        if limits is not None and limits.context > cell.context_limit:
            raise ValueError(
                f"the limit of context is {limits.context:,}: the network's window has {cell.context_limit:,} tokens"
            )
        self.cell = cell
        self._longest: dict[str, tuple[int, int]] = {}
        self._engine = Engine(
            network, cell.vocabulary, cell.method, limits or Limits(cell.context_limit),
            device=torch.device(device), slots=slots, memo=memo, sampling=sampling,
        )  # fmt: skip

    @classmethod
    def from_run(
        cls, run: str | Path, checkpoint: str = LAST, *, device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32, slots: int = SLOTS, memo: bool = True, height: int | None = None,
        reach: int | None = None, sampling: Sampling | None = None,
    ) -> Solver:  # fmt: skip
        """With the network of a run directory, or of a checkpoint file, on the GPU if there is one.

        height, reach: limits of a question's recursion, see `Limits`. Raises ValueError for what can't be read.
        """
        trained = load_checkpoint(Path(run), checkpoint)
        device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        given = {name: value for name, value in (("height", height), ("reach", reach)) if value is not None}
        return cls(
            trained.backbone.to(device, dtype), trained.cell, device=device, slots=slots, memo=memo,
            limits=replace(Limits(trained.cell.context_limit), **given), sampling=sampling,
        )  # fmt: skip

    def solve(self, questions: Sequence[str], samples: int = 1, seeds: Sequence[int] | None = None) -> list[Solution]:
        """The solutions in order, `samples` of each question after one another; seeds: one for each question.

        Warns of questions that are longer than the trained ones. Raises ValueError for what is no question, or shows
        symbols that the network doesn't know, before anything is solved.
        """
        if isinstance(questions, str):
            raise ValueError(f"questions is one text, {questions!r}: write a list, [{questions!r}]")
        if samples < 1:
            raise ValueError(f"samples is {samples}: it must be at least 1")
        if seeds is not None and len(seeds) != len(questions):
            raise ValueError(f"there are {len(seeds)} seeds for {len(questions)} questions: give one for each")
        if not all(isinstance(seed, int) for seed in seeds or ()):
            raise ValueError("seeds must be whole numbers")
        parsed = []
        for number, question in enumerate(questions, 1):
            try:
                tokens, longer = self._parsed(question)
            except ValueError as error:
                raise ValueError(f"question {number}: {error}" if len(questions) > 1 else str(error)) from error
            if longer is not None:
                warnings.warn(longer, LongerThanTrained, stacklevel=2)
            parsed.append(tokens)
        sampling = self._engine.sampling
        streams = [
            [sampling.stream(sample, None if seeds is None else seeds[i]) for sample in range(samples)]
            for i in range(len(parsed))
        ]
        requests = [
            Request(tokens.tobytes(), stream) for tokens, own in zip(parsed, streams, strict=True) for stream in own
        ]
        outcomes, _ = self._engine.solve(requests)
        gold = right_answers([tokens.tobytes() for tokens in parsed])
        return [
            _solution(questions[i // samples], i % samples, outcome, gold[i // samples])
            for i, outcome in enumerate(outcomes)
        ]

    def _parsed(self, question: str) -> tuple[Tokens, str | None]:
        """Its tokens, and a warning if it is longer than the trained ones."""
        if not isinstance(question, str):
            raise ValueError(f"{question!r} is no text: write it as one, such as '408+351'")
        tokens, problem_type = parse_question(question)
        unknown = self.cell.vocabulary.compact_S[tokens] == self.cell.vocabulary.absent
        if unknown.any():
            strange = SYMBOLS[tokens[unknown.argmax()]]
            raise ValueError(
                f"{question!r} shows {strange!r}, which this network doesn't know: it was trained on {self.cell.name}"
            )
        longest = self._longest_trained().get(problem_type.name)
        if longest is None:
            raise ValueError(
                f"{question!r} is a {problem_type.name} question, which a network trained on {self.cell.name} under "
                f"{self.cell.method} never meets"
            )
        sizes = _sizes(tokens, np.array([0]), np.array([len(tokens)]))[0]
        if not (sizes > longest).any():
            return tokens, None
        return tokens, (
            f"{question!r} is longer than the {problem_type.name} questions that the network was trained on: they "
            f"have at most {longest[0]} symbols, and numbers of at most {longest[1]} digits"
        )

    def _longest_trained(self) -> dict[str, tuple[int, int]]:
        """By type: the sizes of the longest questions that the network's training shows."""
        if not self._longest:
            drawn = list(sample_questions(self.cell.sampler, self.cell.difficulty, 0, _LOOKED_AT))
            text, offsets, contexts = np.concatenate(drawn), np.cumsum([0, *map(len, drawn)]), 0
            for memo, roots, _ in solved_shards(text, offsets, _CONTEXTS_LOOKED_AT // 10):
                rows = memo.rows[: n_rows(memo)] if self.cell.method == "rot" else memo.rows[roots]
                sizes_R2 = _sizes(memo.text, rows[:, QUESTION], rows[:, QUESTION_END])
                for kind in np.unique(rows[:, TYPE]):
                    self._seen(TYPES[kind].name, sizes_R2[rows[:, TYPE] == kind])
                contexts += len(rows)
                if contexts > _CONTEXTS_LOOKED_AT:
                    break
            self._seen(parse_question(notation(drawn[0]))[1].name, _sizes(text, offsets[:-1], offsets[1:]))
        return self._longest

    def _seen(self, problem_type: str, sizes_R2: NDArray[np.int64]) -> None:
        symbols, digits = sizes_R2.max(axis=0).tolist()
        known = self._longest.get(problem_type, (0, 0))
        self._longest[problem_type] = max(symbols, known[0]), max(digits, known[1])


def _sizes(text: Tokens, begins_R: NDArray[np.int64], ends_R: NDArray[np.int64]) -> NDArray[np.int64]:
    """sizes_R2: how many symbols, and digits of the longest number, each question text[begin:end] has."""
    places = np.arange(len(text))
    # A digit's place in its number, from 1: how far the last symbol before it lies that is none.
    last_other = np.maximum.accumulate(np.where(text < 10, -1, places))
    digits_R = [int((places[lo:hi] - last_other[lo:hi]).max()) for lo, hi in zip(begins_R, ends_R, strict=True)]
    return np.stack([ends_R - begins_R, np.array(digits_R, np.int64)], axis=1)


def _solution(question: str, sample: int, outcome: Outcome, gold: bytes) -> Solution:
    return Solution(
        question=question,
        sample=sample,
        answer=None if outcome.answer is None else notation(outcome.answer[:-1]),
        right=outcome.answer == gold,
        failure=outcome.failure,
        contexts=outcome.contexts,
        depth=outcome.depth,
        tokens=outcome.tokens,
        tokens_unaided=outcome.tokens_unaided,
        top=outcome.top,
    )


def contexts_of(top: Node) -> list[Node]:
    """The different contexts under a question, its own first, in the order in which they were first asked for."""
    seen: dict[Node, None] = {}
    stack = [top]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += [asked.node for asked in reversed(node.asks)]
    return list(seen)


def right_context(question: bytes, method: str) -> bytes | None:
    """What the rules write in a question's context; None if it is no question of theirs."""
    try:
        tokens, _ = parse_question(notation(question))
    except ValueError:
        return None
    memo, row = solve_question(tokens)
    rows_R, number = np.array([row]), METHOD_NUMBER[method]
    return render_rows(memo, rows_R, lengths_of(memo, rows_R, number), number).tokens.tobytes()
