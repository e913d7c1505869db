"""Fig. 4 and 5 of the paper from exact data: how long contexts are, and how many tokens solve a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from rotlab.contexts.fit import CONTEXTS, FIT_SEED
from rotlab.contexts.measured import (
    COT_LENGTH,
    MEMO_TOKENS,
    ROT_LENGTH,
    UNAIDED_TOKENS,
    WT_LENGTH,
    WT_TOKENS,
    measure,
)  # fmt: skip
from rotlab.contexts.render import ENDLESS
from rotlab.report.paper import paper_difficulties
from rotlab.rng import FIT
from rotlab.tasks import SAMPLERS, TASKS

# The paper shows sorting in Fig. 6 alone, up to 64 terms.
_SORT = (2, 4, 8, 16, 32, 64)
# How the tokens of a problem are counted: written without thought, by recursion with the memo, and without it.
WITHOUT_THOUGHT, WITH_MEMO, UNAIDED = "wt", "rot, memo", "rot, no memo"
_LENGTHS = {"wt": WT_LENGTH, "cot": COT_LENGTH, "rot": ROT_LENGTH}
_TOKENS = {WITHOUT_THOUGHT: WT_TOKENS, WITH_MEMO: MEMO_TOKENS, UNAIDED: UNAIDED_TOKENS}


@dataclass(frozen=True)
class Spread:
    """Mean and largest of many counts of tokens. From 2^60 on they are only known to be that or more."""

    mean: float
    most: int

    @property
    def saturated(self) -> bool:
        """Whether some count, and so the mean, is a lower bound."""
        return self.most >= ENDLESS


@dataclass(frozen=True)
class CellLengths:
    """Of one task and difficulty: context lengths by method, tokens of a problem by how they are counted."""

    task: str
    difficulty: int
    contexts: Mapping[str, Spread]
    tokens: Mapping[str, Spread]


def paper_cells() -> list[tuple[str, int]]:
    """Task and difficulty of all cells that the paper shows."""
    return [(task, one) for task in TASKS for one in paper_difficulties(task) or (_SORT if task == "sort" else ())]


def lengths(cells: Sequence[tuple[str, int]], problems: int = CONTEXTS, processes: int = 1) -> list[CellLengths]:
    """Each cell's figures over the first `problems` problems of the stream that decides which cells fit.

    Its sampler is the task's default. One context is drawn for each problem, as in training. Raises ValueError where a
    problem takes too much memory.
    """
    if processes == 1:
        return [_lengths_of(*cell, problems) for cell in cells]
    # Not forked: compiled code and figures may have threads by now.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        # A task's last cell takes by far the longest: begun first, none is left alone at the end.
        largest_first = sorted(cells, key=lambda cell: -cell[1] / max(n for task, n in cells if task == cell[0]))
        begun = {cell: pool.submit(_lengths_of, *cell, problems) for cell in largest_first}
        return [begun[cell].result() for cell in cells]


def _lengths_of(task: str, difficulty: int, problems: int) -> CellLengths:
    sampler = SAMPLERS[task, TASKS[task].samplings[0]]
    figures_NF = measure(sampler, difficulty, FIT_SEED, FIT, problems)
    contexts = {method: _spread(figures_NF[:, column]) for method, column in _LENGTHS.items()}
    tokens = {count: _spread(figures_NF[:, column]) for count, column in _TOKENS.items()}
    return CellLengths(task, difficulty, contexts, tokens)


def _spread(counts_N: NDArray[np.int64]) -> Spread:
    return Spread(float(counts_N.mean()), int(counts_N.max()))
