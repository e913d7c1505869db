"""The LightningDataModule: the training stream, and the problems that evaluation judges."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import lightning as L
from torch.utils.data import DataLoader

from rotlab.contexts.driver import Drawer
from rotlab.data.batches import grouped
from rotlab.data.cell import Cell
from rotlab.data.step_batch import StepBatch
from rotlab.data.stream import StepsFrom, TrainingStream
from rotlab.data.test_set import ProblemSet, overlap, problem_set
from rotlab.rng import PROBE, TRAIN

_CHECKED = 256


@dataclass(frozen=True)
class DataOptions:
    """How the stream is cut into batches, and which problems are kept for evaluation; see conf/config.yaml."""

    batch_size: int
    accumulation: int
    steps: int
    seed: int
    workers: int
    tokens_per_pass: int
    group_overhead: int
    test_problems: int
    test_seed: int
    probe_problems: int
    holdout: bool
    overfit: bool
    few_shapes: bool = False


# Loader processes that keep a step of 10 ms fed with the hardest of the paper's cells (`rotlab bench loader`).
_ENOUGH_WORKERS = 12


def workers_for(setting: str | int, on_gpu: bool, ranks: int = 1) -> int:
    """The number of each rank's loader processes.

    Of `auto` none on a CPU, which they would take from training; beside a GPU as many as the other cores, shared by
    all ranks, up to a dozen.
    """
    if isinstance(setting, int):
        return setting
    return min(_ENOUGH_WORKERS, max(1, (os.cpu_count() or 1) // ranks - 1)) if on_gpu else 0


def _leave_signals_to_the_main_process(worker: int) -> None:
    """A terminal's Ctrl-C reaches a loader process too, but when to end is the main process's to decide."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


class RotDataModule(L.LightningDataModule):
    """One loader item is one optimizer step; `first_step` says where a resumed run goes on.

    Raises ValueError for a holdout that would leave nothing to train on, or a vocabulary that lacks a symbol.
    """

    def __init__(self, cell: Cell, options: DataOptions, first_step: int = 0) -> None:
        super().__init__()
        self.cell, self.options, self.first_step = cell, options, first_step
        self.test_problems: ProblemSet = problem_set(cell, options.test_problems, options.test_seed)
        self.probe_problems: ProblemSet = problem_set(cell, options.probe_problems, options.test_seed, PROBE)
        if options.holdout and self.test_problems.whole_space:
            raise ValueError(
                f"data.holdout=true leaves nothing to train on: the test set is all of {cell.name}'s "
                f"{len(self.test_problems):,} problems; use data.holdout=false or fewer data.test_problems"
            )
        # A context that can't be written in the cell's vocabulary is found before anything is trained.
        check = Drawer(cell.sampler, cell.difficulty, cell.method, cell.context_limit)
        grouped(check.batch(options.seed, TRAIN, 0, _CHECKED)[0], cell.vocabulary, 0, options.tokens_per_pass)
        self.overlap = 0.0 if options.holdout else overlap(cell, self.test_problems, options.seed)

    def stream(self, rank: int, ranks: int) -> TrainingStream:
        """The training stream of one rank."""
        options = self.options
        return TrainingStream(
            self.cell, seed=options.seed, batch_size=options.batch_size, steps=options.steps,
            accumulation=options.accumulation, rank=rank, ranks=ranks, overhead=options.group_overhead,
            tokens_per_pass=options.tokens_per_pass, overfit=options.overfit,
            few_shapes=options.few_shapes,
            held_out=self.test_problems.memo if options.holdout else None,
        )  # fmt: skip

    def train_dataloader(self) -> DataLoader[StepBatch]:
        """The loader of this rank's stream, from `first_step` on."""
        rank = self.trainer.global_rank if self.trainer is not None else 0
        ranks = self.trainer.world_size if self.trainer is not None else 1
        return DataLoader(
            self.stream(rank, ranks),
            batch_size=None,
            sampler=StepsFrom(self.first_step, self.options.steps),
            num_workers=self.options.workers,
            persistent_workers=self.options.workers > 0,
            prefetch_factor=4 if self.options.workers > 0 else None,
            pin_memory=self.trainer is not None and self.trainer.strategy.root_device.type == "cuda",
            worker_init_fn=_leave_signals_to_the_main_process,
        )
