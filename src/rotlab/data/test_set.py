"""Test and probe problems: unique, from a split of their own, the same for every method and architecture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rotlab.contexts.driver import count_known, draw_questions, n_rows
from rotlab.contexts.memo import QUESTION, QUESTION_END, Memo, add_question, new_memo
from rotlab.data.cell import Cell
from rotlab.rng import TEST, TRAIN
from rotlab.tasks import parse_question
from rotlab.vocab import Tokens, notation

# A test set is drawn until it is full, but no longer than this many draws a problem.
_DRAWS_PER_PROBLEM = 2_000
_OVERLAP_PROBLEMS = 2_000


@dataclass(frozen=True)
class ProblemSet:
    """Unique questions: question i is tokens[offsets[i]:offsets[i + 1]] = GO ... =; `memo` finds one by its tokens.

    whole_space: it holds every problem that the cell has.
    """

    tokens: Tokens
    offsets: NDArray[np.int64]
    memo: Memo
    whole_space: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def tokens_of(self, i: int) -> Tokens:
        """Question i as tokens GO ... =."""
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]

    def question(self, i: int) -> str:
        """Question i in the paper's notation."""
        return notation(self.tokens_of(i))

    @property
    def content_hash(self) -> str:
        """Sixteen hex digits of the questions' tokens, in order."""
        return hashlib.sha256(self.offsets.tobytes() + self.tokens.tobytes()).hexdigest()[:16]


def problem_set(cell: Cell, size: int, seed: int, split: int = TEST) -> ProblemSet:
    """The first `size` unique problems of a split; the whole space where that is no larger.

    Raises ValueError when so many can't be found.
    """
    task, difficulty = cell.sampler.task, cell.difficulty
    if task.space(difficulty) <= size:
        memo = new_memo(max(16, task.space(difficulty)))
        for text in task.questions(difficulty):
            memo, _ = add_question(memo, parse_question(text)[0])
        return _from_memo(memo, whole_space=True)
    memo = draw_questions(cell.sampler, difficulty, seed, split, size, _DRAWS_PER_PROBLEM * size)
    if n_rows(memo) < size:
        raise ValueError(
            f"only {n_rows(memo):,} different problems of {cell.name} were found in {_DRAWS_PER_PROBLEM * size:,} "
            f"draws; ask for fewer with data.test_problems"
        )
    return _from_memo(memo, whole_space=False)


def _from_memo(memo: Memo, whole_space: bool) -> ProblemSet:
    spans = memo.rows[: n_rows(memo), QUESTION : QUESTION_END + 1]
    tokens = np.concatenate([memo.text[lo:hi] for lo, hi in spans])
    offsets = np.concatenate([[0], np.cumsum(spans[:, 1] - spans[:, 0])]).astype(np.int64)
    return ProblemSet(tokens, offsets, memo, whole_space)


def overlap(cell: Cell, problems: ProblemSet, seed: int) -> float:
    """The share of the training stream's first 2,000 problems that stand in the problem set."""
    known = count_known(cell.sampler, cell.difficulty, seed, TRAIN, _OVERLAP_PROBLEMS, problems.memo)
    return known / _OVERLAP_PROBLEMS
