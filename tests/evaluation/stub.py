"""A network without weights, and what an evaluation of it must find, counted the slow way."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from rotlab.contexts import unfold
from rotlab.contexts.unfold import Context
from rotlab.data.cell import Cell
from rotlab.data.test_set import ProblemSet
from rotlab.tasks import TASKS

Errs = Callable[[str], bool]


def in_class(question: str) -> bool:
    """Whether a stub errs on this question: a fixed one in forty, unrelated to what is asked."""
    return zlib.crc32(question.encode()) % 40 == 0


def never(question: str) -> bool:
    """The class of a network without a fault."""
    return False


def always(question: str) -> bool:
    """The class of a network that errs everywhere."""
    return True


class Stub:
    """Writes the right targets, which it knows from a context's tokens alone, but for one token where `errs` says so.

    Where there is no target, on the question and on pasted answers, it always writes nonsense.
    """

    def __init__(self, cell: Cell, errs: Errs = never) -> None:
        self.cell, self.symbols, self.errs = cell, cell.vocabulary.symbols, errs
        self.seen: Counter[str] = Counter()
        self.largest_batch = 0

    def __call__(self, tokens_BT: Tensor) -> Tensor:
        assert tokens_BT.dtype == torch.int64
        self.largest_batch = max(self.largest_batch, tokens_BT.numel())
        choices_BT = torch.tensor([self._choices(row) for row in tokens_BT.tolist()])
        return one_hot(choices_BT, len(self.symbols)).float()

    def _choices(self, padded: list[int]) -> list[int]:
        ids = padded[: len(padded) - padded[::-1].index(next(filter(None, padded[::-1])))]
        assert 0 not in ids, "padding stands on the right"
        symbols = [self.symbols[i] for i in ids]
        assert "THINK" not in symbols, "App. I: THINK never stands in an input"
        question = question_of(symbols)
        self.seen[question] += 1
        targets = right_targets(symbols, self.cell.method)
        choices = [
            self.symbols.index(target) if target else 7 * i % len(self.symbols) for i, target in enumerate(targets)
        ]
        if self.errs(question):
            at = wrong_position(question, targets)
            choices[at] = (choices[at] + 1) % len(self.symbols)
        return choices + [3] * (len(padded) - len(ids))


def question_of(symbols: list[str]) -> str:
    """The question that a context begins with."""
    return " ".join(symbols[: symbols.index("=") + 1])


def right_targets(symbols: list[str], method: str) -> list[str | None]:
    """What is to be written after each token of a context without its last one; None where it doesn't matter."""
    question_end = symbols.index("=")
    targets: list[str | None] = [None] * question_end
    in_pasted_answer = False
    for i in range(question_end, len(symbols)):
        if method == "rot" and symbols[i] == "=" and i > question_end:
            targets.append("THINK")
            in_pasted_answer = True
        elif in_pasted_answer and symbols[i] != "STOP":
            targets.append(None)
        else:
            in_pasted_answer = False
            targets.append(symbols[i + 1] if i + 1 < len(symbols) else "STOP")
    return targets


def wrong_position(question: str, targets: list[str | None]) -> int:
    """Where a stub errs: at any of the targets, as the question's hash has it."""
    places = [i for i, target in enumerate(targets) if target is not None]
    return places[zlib.crc32(question.encode()) // 40 % len(places)]


@dataclass
class Counted:
    """What an evaluation must find. by_type: unique contexts, how many are right, and how many with all under them."""

    problems_right: int = 0
    tops_right: int = 0
    overlong: int = 0
    tokens: int = 0
    by_type: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    @property
    def contexts(self) -> int:
        return sum(contexts for contexts, _, _ in self.by_type.values())

    @property
    def contexts_right(self) -> int:
        return sum(right for _, right, _ in self.by_type.values())


def count(cell: Cell, problems: ProblemSet, errs: Errs) -> Counted:
    """Unfold problem by problem: it is right when none of its contexts is too long or in the class of errors."""
    counted, unique, right = Counted(), dict[str, Context](), dict[str, bool]()
    for i in range(len(problems)):
        contexts = {question_of(one.tokens): one for one in unfold(problems.question(i), cell.method)}
        right |= {q: len(one.tokens) <= cell.context_limit and not errs(q) for q, one in contexts.items()}
        unique |= contexts
        counted.problems_right += all(right[q] for q in contexts)
        counted.tops_right += right[next(iter(contexts))]
    deep: dict[str, bool] = {}
    for question in unique:
        _all_right_under(question, unique, right, deep)
    for name in {one.type for one in unique.values()}:
        of_type = [q for q, one in unique.items() if one.type == name]
        counted.by_type[name] = len(of_type), sum(right[q] for q in of_type), sum(deep[q] for q in of_type)
    lengths = [len(one.tokens) for one in unique.values()]
    counted.overlong = sum(length > cell.context_limit for length in lengths)
    counted.tokens = sum(length for length in lengths if length <= cell.context_limit)
    return counted


def _all_right_under(question: str, unique: dict[str, Context], right: dict[str, bool], deep: dict[str, bool]) -> bool:
    if question not in deep:
        asked = [_all_right_under(one, unique, right, deep) for one in sub_questions(unique[question])]
        deep[question] = right[question] and all(asked)
    return deep[question]


def sub_questions(context: Context) -> list[str]:
    """What a RoT context asks; none under other methods."""
    asked = [
        " ".join(word for word, segment in zip(context.tokens, context.segments, strict=True) if segment == "Q_sub")
    ]
    return [f"GO {one.strip()} =" for one in asked[0].replace("TAIL", "GO").replace("=", "").split("GO") if one.strip()]


def cell_of(task: str, difficulty: int, method: str = "rot", limit: int = 2048) -> Cell:
    """A cell with the task's default sampling."""
    return Cell(task, difficulty, method, TASKS[task].samplings[0], limit)
