"""The evaluator: shard by shard, each unique context judged once, a problem right when all its contexts are."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rotlab.contexts.driver import ROWS_PER_SHARD, n_rows, solved_shards
from rotlab.contexts.memo import QUESTION, QUESTION_END, TYPE, Memo
from rotlab.contexts.render import METHOD_NUMBER, ROT, target
from rotlab.contexts.stream import Batch
from rotlab.contexts.verdicts import (
    RIGHT,
    UNKNOWN,
    WRONG,
    Verdicts,
    aggregate,
    lengths_of,
    look_up,
    new_verdicts,
    record,
    render_rows,
)  # fmt: skip
from rotlab.data.batches import Group, grouped
from rotlab.data.cell import Cell
from rotlab.data.ranks import Ranks
from rotlab.data.test_set import ProblemSet
from rotlab.evaluation.report import Report, TypeCounts, WrongSample
from rotlab.tasks import TYPES
from rotlab.vocab import PAD, notation

Network = Callable[[Tensor], Tensor]
# A mistake with its context's length and row.
Sample = tuple[int, int, WrongSample]

_ROWS_PER_SHARD = ROWS_PER_SHARD
_GROUP_OVERHEAD = 1_024


def judge_group(network: Network, group: Group, device: torch.device | None) -> tuple[NDArray[np.bool_], Tensor]:
    """Whether every target of each context is the network's first choice, and those choices_BT."""
    moved = group if device is None else group.to(device)
    predicted_BT = network(moved.inputs_BT.long()).argmax(dim=-1)
    wrong_BT = (predicted_BT != moved.targets_BT) & (moved.targets_BT != 0)
    return ~wrong_BT.any(dim=1).cpu().numpy(), predicted_BT


class Evaluator:
    """Judges a network on a problem set (App. K).

    A network takes tokens_BT (int64 ids of the cell's vocabulary, PAD on the right) and gives logits_BTV. Contexts
    over the cell's limit are counted wrong. tokens_per_batch bounds a batch, padding included. Several ranks judge a
    share each, and all of them report the whole.
    """

    judge = staticmethod(judge_group)

    def __init__(
        self, cell: Cell, problems: ProblemSet, tokens_per_batch: int = 32_768, wrong_samples: int = 50,
        ranks: Ranks = Ranks(),  # noqa: B008
    ) -> None:  # fmt: skip
        self.cell, self.problems = cell, problems
        self.tokens_per_batch, self.most_samples = tokens_per_batch, wrong_samples
        self._ranks = ranks
        self._method, self._vocabulary = METHOD_NUMBER[cell.method], cell.vocabulary

    @torch.no_grad()
    def run(
        self, network: Network, device: torch.device | None = None, told: Callable[[int], None] | None = None
    ) -> Report:
        """Judge the whole set. `told` hears now and then how many problems are judged."""
        started = time.perf_counter()
        report = Report(problems=len(self.problems))
        verdicts = new_verdicts(4096)
        for memo, roots_P, done in solved_shards(self.problems.tokens, self.problems.offsets, _ROWS_PER_SHARD):
            verdicts = self._judge_shard(network, device, memo, roots_P, verdicts, report)
            if told is not None:
                told(done)
        report.seconds = time.perf_counter() - started
        return report

    def expected_contexts(self) -> int:
        """About how many contexts an evaluation judges: the first shard's share of unique ones for all problems."""
        if self._method != ROT:
            return len(self.problems)
        memo, _, done = next(solved_shards(self.problems.tokens, self.problems.offsets, _ROWS_PER_SHARD))
        return n_rows(memo) * len(self.problems) // done

    def _judge_shard(
        self, network: Network, device: torch.device | None, memo: Memo, roots_P: NDArray[np.int64], verdicts: Verdicts,
        report: Report,
    ) -> Verdicts:  # fmt: skip
        rows_R = np.arange(n_rows(memo)) if self._method == ROT else np.unique(roots_P)
        verdict_R = look_up(verdicts, memo, rows_R)
        new = verdict_R == UNKNOWN
        verdict_R[new] = self._judge_rows(network, device, memo, rows_R[new], report)
        verdicts = record(verdicts, memo, rows_R[new], verdict_R[new])
        by_row = np.full(n_rows(memo), RIGHT, np.uint8)
        by_row[rows_R] = verdict_R
        right_R = aggregate(memo, by_row) if self._method == ROT else by_row == RIGHT
        report.problems_right += int(right_R[roots_P].sum())
        report.tops_right += int((by_row[roots_P] == RIGHT).sum())
        _count_types(report, memo, rows_R[new], by_row, right_R)
        return verdicts

    def _judge_rows(
        self, network: Network, device: torch.device | None, memo: Memo, rows_R: NDArray[np.int64], report: Report
    ) -> NDArray[np.uint8]:
        """The verdict of each row, judged now, its share by each rank; counts all of them in the report."""
        verdict_R = np.full(len(rows_R), WRONG, np.uint8)
        lengths_R = lengths_of(memo, rows_R, self._method)
        fitting_F = np.flatnonzero(lengths_R <= self.cell.context_limit)
        mine_F = self._ranks.share(fitting_F[np.argsort(lengths_R[fitting_F], kind="stable")])
        samples: list[Sample] = []
        if len(mine_F) > 0:
            batch = render_rows(memo, rows_R[mine_F], lengths_R[mine_F], self._method)
            for group in grouped(batch, self._vocabulary, _GROUP_OVERHEAD, self.tokens_per_batch):
                right_B, predicted_BT = self.judge(network, group, device)
                verdict_R[mine_F[group.chosen_B[right_B]]] = RIGHT
                wanted = self.most_samples - len(report.wrong_samples) - len(samples)
                samples += self._samples(memo, rows_R[mine_F], group, batch, right_B, predicted_BT, wanted)
        verdict_R = self._ranks.highest(verdict_R, device)
        self._keep(samples, report)
        report.contexts += len(rows_R)
        report.contexts_right += int((verdict_R == RIGHT).sum())
        report.overlong += len(rows_R) - len(fitting_F)
        report.tokens += int(lengths_R[fitting_F].sum())
        return verdict_R

    def _samples(
        self, memo: Memo, rows_N: NDArray[np.int64], group: Group, batch: Batch, right_B: NDArray[np.bool_],
        predicted_BT: Tensor, wanted: int,
    ) -> list[Sample]:  # fmt: skip
        """The first `wanted` mistakes of a group, each with its context's length and row."""
        samples: list[Sample] = []
        for b in np.flatnonzero(~right_B)[:wanted]:
            context = group.chosen_B[b]
            lo, hi = batch.offsets[context], batch.offsets[context + 1]
            predicted_T = self._vocabulary.full_V[predicted_BT[b].cpu().numpy()]
            row = int(rows_N[context])
            sample = wrong_sample(memo, row, batch.tokens[lo:hi], batch.segments[lo:hi], predicted_T)
            samples.append((int(hi - lo), row, sample))
        return samples

    def _keep(self, samples: list[Sample], report: Report) -> None:
        """Of all ranks' mistakes those that a single one would have kept: the first of the shortest contexts."""
        if len(report.wrong_samples) < self.most_samples:
            found = sorted(self._ranks.gathered(samples), key=lambda one: one[:2])
            report.wrong_samples += [sample for _, _, sample in found][: self.most_samples - len(report.wrong_samples)]


def _count_types(
    report: Report, memo: Memo, new_R: NDArray[np.int64], by_row: NDArray[np.uint8], right_R: NDArray[np.bool_]
) -> None:
    """Count the new rows by problem type; by_row and right_R say of each row whether it, and all under it, is right."""
    kinds_R = memo.rows[new_R, TYPE]
    for kind in np.unique(kinds_R):
        rows_N = new_R[kinds_R == kind]
        counts = report.types.setdefault(TYPES[kind].name, TypeCounts())
        counts.contexts += len(rows_N)
        counts.contexts_right += int((by_row[rows_N] == RIGHT).sum())
        counts.problems_right += int(right_R[rows_N].sum())


def wrong_sample(
    memo: Memo, row: int, tokens: NDArray[np.uint8], segments: NDArray[np.uint8], predicted_T: NDArray[np.uint8]
) -> WrongSample:
    """The first wrong token of a row's context, from the network's choices for its targets but the first."""
    position = next(i for i in range(1, len(tokens)) if target(tokens, segments, i) not in (PAD, predicted_T[i - 1]))
    expected, got = notation([target(tokens, segments, position)]), notation([predicted_T[position - 1]])
    return WrongSample(
        type=TYPES[memo.rows[row, TYPE]].name,
        question=notation(memo.text[memo.rows[row, QUESTION] : memo.rows[row, QUESTION_END]]),
        expected=expected,
        got=got,
        position=position,
        context=f"{notation(tokens[:position])} [{got}|{expected}]",
    )
