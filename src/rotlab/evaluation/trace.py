"""One problem, context by context, with the network's verdict: for people to read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from rotlab.contexts.driver import n_rows, solve_question
from rotlab.contexts.render import METHOD_NUMBER, ROT
from rotlab.contexts.verdicts import lengths_of, render_rows
from rotlab.data.batches import grouped
from rotlab.data.cell import Cell
from rotlab.evaluation.evaluator import Network, judge_group, wrong_sample
from rotlab.vocab import Tokens, notation


@dataclass(frozen=True)
class TracedContext:
    """A gold context in the paper's notation, and whether the network writes all of its targets (None: too long).

    mistake: the context up to the first wrong token, then [written|expected].
    """

    context: str
    right: bool | None
    mistake: str = ""

    def __str__(self) -> str:
        mark = {True: "ok   ", False: "wrong", None: "over "}[self.right]
        return f"{mark}  {self.mistake or self.context}"


@torch.no_grad()
def trace(network: Network, cell: Cell, question: Tokens, device: torch.device | None = None) -> list[TracedContext]:
    """The contexts of the question GO ... =, X^1 first, each judged teacher-forced."""
    memo, top = solve_question(question)
    method = METHOD_NUMBER[cell.method]
    rows_R = np.arange(n_rows(memo)) if method == ROT else np.array([top])
    lengths_R = lengths_of(memo, rows_R, method)
    fitting_F = np.flatnonzero(lengths_R <= cell.context_limit)
    over = f"over the limit of {cell.context_limit:,}"
    traced = [TracedContext(f"{length:,} tokens, {over}", None) for length in lengths_R]
    if len(fitting_F) == 0:
        return traced
    batch = render_rows(memo, rows_R[fitting_F], lengths_R[fitting_F], method)
    for group in grouped(batch, cell.vocabulary, 0, int(lengths_R[fitting_F].sum()) + 1):
        right_B, predicted_BT = judge_group(network, group, device)
        for b, i in enumerate(group.chosen_B):
            lo, hi = batch.offsets[i], batch.offsets[i + 1]
            tokens, mistake = batch.tokens[lo:hi], ""
            if not right_B[b]:
                predicted_T = cell.vocabulary.full_V[predicted_BT[b].cpu().numpy()]
                row = int(rows_R[fitting_F[i]])
                mistake = wrong_sample(memo, row, tokens, batch.segments[lo:hi], predicted_T).context
            traced[fitting_F[i]] = TracedContext(notation(tokens), bool(right_B[b]), mistake)
    return traced
