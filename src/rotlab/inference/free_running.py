"""Free-running accuracy: the share of problems whose answer is right when the network recurses on its own output."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from rotlab.contexts.driver import n_rows, solved_shards
from rotlab.contexts.memo import REPLY, REPLY_END, Memo
from rotlab.data.cell import Cell
from rotlab.data.ranks import Ranks
from rotlab.data.test_set import ProblemSet
from rotlab.inference.engine import Engine
from rotlab.inference.frame import FAILURES, Limits
from rotlab.inference.recursion import Outcome, Request, Tally
from rotlab.models.backbone import Reader

# Problems that share a memo: so many contexts are kept at a time.
_SHARD = 2_048
# How many sub-questions a problem may take: so many times what any takes by the rules, and no fewer than this.
_ASKED_IN_VAIN, _LEAST_REACH = 3, 100
# Counts of tokens stop here: a float holds no more than 10^308.
_MOST = 10**300


@dataclass
class FreeReport:
    """Sums over problems. failures: by reason; wrong answers are in none. tokens: that the network wrote;
    tokens_unaided: that it would have written without a memo, as a float, which may be huge. asked, known:
    sub-questions, and how many of them were solved or begun already. contexts: those that were begun."""

    problems: int = 0
    right: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    tokens_unaided: float = 0.0
    contexts: int = 0
    asked: int = 0
    known: int = 0
    depths: int = 0
    deepest: int = 0
    seconds: float = 0.0

    @property
    def accuracy(self) -> float:
        """The share of problems that were answered rightly."""
        return self.right / self.problems

    def metrics(self, prefix: str = "eval") -> dict[str, float]:
        """Flat figures by name: `eval/free` is the accuracy; failures are counts, `eval/free/hit_rate` is a share."""
        figures: dict[str, float] = {
            "problems": self.problems,
            "contexts": self.contexts,
            "tokens": self.tokens,
            "tokens_unaided": self.tokens_unaided,
            "hit_rate": self.known / self.asked if self.asked else 0.0,
            "depth": self.depths / self.problems,
            "deepest": self.deepest,
            "seconds": self.seconds,
            "wrong": self.problems - self.right - self.failures.total(),
        }
        figures.update((reason, self.failures[reason]) for reason in FAILURES)
        named = {f"{prefix}/free/{name}": float(value) for name, value in figures.items()}
        return {f"{prefix}/free": self.accuracy, **named}

    def count(self, outcomes: list[Outcome], gold: list[bytes], tally: Tally) -> None:
        """Add problems that were solved together."""
        self.problems += len(outcomes)
        for outcome, answer in zip(outcomes, gold, strict=True):
            self.right += outcome.answer == answer
            if outcome.failure is not None:
                self.failures[outcome.failure] += 1
            self.tokens_unaided += float(min(outcome.tokens_unaided, _MOST))
            self.depths += outcome.depth
            self.deepest = max(self.deepest, outcome.depth)
        self.tokens += tally.tokens
        self.contexts += tally.contexts
        self.asked += tally.asked
        self.known += tally.known

    def add(self, other: FreeReport) -> None:
        """What another rank found."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            setattr(self, name, max(mine, value) if name in ("deepest", "seconds") else mine + value)


class FreeRunner:
    """Solves the first `wanted` of a problem set by the network's own recursion; several ranks share them.

    A problem may take `reach` different sub-questions, see `Limits`; where none is given, three times what any of these
    problems takes by the rules, at least a hundred: so a network that asks without end doesn't hold up the others long.
    """

    def __init__(
        self, cell: Cell, problems: ProblemSet, wanted: int, ranks: Ranks = Ranks(), reach: int | None = None  # noqa: B008
    ) -> None:  # fmt: skip
        self.cell, self.problems = cell, problems
        self._chosen = np.arange(min(wanted, len(problems)))
        self._ranks, self._reach = ranks, reach

    @cached_property
    def limits(self) -> Limits:
        """Of each problem's recursion."""
        reach = self._reach
        if reach is None:
            end = self.problems.offsets[len(self._chosen)]
            shards = solved_shards(self.problems.tokens[:end], self.problems.offsets[: len(self._chosen) + 1], 1)
            reach = max(_LEAST_REACH, _ASKED_IN_VAIN * max(n_rows(memo) for memo, _, _ in shards))
        return Limits(self.cell.context_limit, reach=reach)

    @torch.no_grad()
    def run(
        self, network: Reader, device: torch.device | None = None, told: Callable[[int], None] | None = None
    ) -> FreeReport:
        """Solve them, greedily and in the network's own precision. `told` hears how many are done."""
        started = time.perf_counter()
        report = FreeReport()
        engine = Engine(network, self.cell.vocabulary, self.cell.method, self.limits, device=device)
        mine = self._ranks.share(self._chosen)
        for start in range(0, len(mine), _SHARD):
            questions = [self.problems.tokens_of(i).tobytes() for i in mine[start : start + _SHARD]]
            outcomes, tally = engine.solve(Request(question) for question in questions)
            report.count(outcomes, right_answers(questions), tally)
            if told is not None:
                told(start + len(questions))
        report.seconds = time.perf_counter() - started
        return _sum(self._ranks.gathered([report]))


def right_answers(questions: list[bytes]) -> list[bytes]:
    """What the rules answer to questions GO ... =, up to STOP."""
    tokens = np.frombuffer(b"".join(questions), np.uint8)
    offsets = np.cumsum([0, *map(len, questions)])
    return [_reply(memo, row) for memo, rows, _ in solved_shards(tokens, offsets) for row in rows]


def _reply(memo: Memo, row: int) -> bytes:
    return memo.text[memo.rows[row, REPLY] : memo.rows[row, REPLY_END]].tobytes()


def _sum(reports: list[FreeReport]) -> FreeReport:
    total = FreeReport()
    for report in reports:
        total.add(report)
    return total
