"""One run, from its configuration to its last evaluation."""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lightning as L
import torch

from rotlab.config import Config, ConfigError, run_directory
from rotlab.data.cell import Cell, cell_of, require_cell_fits
from rotlab.data.module import DataOptions, RotDataModule, workers_for
from rotlab.data.test_set import ProblemSet
from rotlab.evaluation import Evaluator, Report, trace
from rotlab.models import Backbone, parameter_count
from rotlab.training.callbacks import Clock, Evaluation, Probe, Recorder
from rotlab.training.checkpoint import backbone_of, save_checkpoint
from rotlab.training.estimate import Estimate, Schedule, judging_seconds
from rotlab.training.loggers import MetricsCsv, build_loggers, finishing
from rotlab.training.module import RotModule
from rotlab.training.progress import Progress
from rotlab.training.quiet_logger import announce

_PRECISION = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}

# Contexts of the problem that is shown at the end of a run.
_MOST_TRACED = 12

# Where Lightning tells about hardware and products.
_NOTES = ("lightning.pytorch.utilities.rank_zero", "lightning.pytorch.accelerators.cuda")
_NO_WARNINGS = (
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning's own use of torch
    r"The 'train_dataloader' does not have many workers",  # see `workers_for`
    r"LSTM with projections is not supported with oneDNN",  # and the default implementation is right
)


@dataclass(frozen=True)
class Outcome:
    """Where a run lies, at which optimizer step it ended, and its last evaluation."""

    directory: Path
    step: int
    report: Report | None


def run(config: Config) -> Outcome:
    """Train one network as configured. Raises ConfigError for what can't be trained, before anything is written."""
    cell = cell_of(config)
    directory = free_directory(config)
    require_cell_fits(config)
    device = prepare_device(config)
    data = data_module(config, cell, device)
    backbone = fresh_backbone(config, cell)
    empty(directory)
    announce_start(config, directory, data, backbone)
    loggers = build_loggers(config, directory)
    with finishing(loggers), only_our_lines():
        saver = Saver(config, directory, backbone)
        evaluation = Evaluation(
            evaluator(config, cell, data.test_problems), config.evaluation.every_n_steps, config.evaluation.stop_at,
            saver.keep,
        )  # fmt: skip
        probe = Probe(evaluator(config, cell, data.probe_problems), config.evaluation.probe_every_n_steps)
        trainer = L.Trainer(
            accelerator=device, devices=1, precision=_PRECISION[config.trainer.precision],  # type: ignore[arg-type]
            max_steps=config.recipe.max_steps, max_epochs=-1, logger=loggers,
            callbacks=callbacks(config, evaluation, probe), profiler=config.trainer.profiler,
            enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
            use_distributed_sampler=False, num_sanity_val_steps=0, limit_val_batches=0, log_every_n_steps=0,
            default_root_dir=directory,
        )  # fmt: skip
        trainer.fit(RotModule(backbone, config.recipe), datamodule=data)
        saver.last(trainer.global_step)
    announce_trace(backbone, cell, data.test_problems)
    return finished(Outcome(directory, trainer.global_step, evaluation.last))


@contextmanager
def only_our_lines() -> Iterator[None]:
    """Within it, Lightning keeps its notes to itself, and the warnings that are no news; all others are shown."""
    notes = [logging.getLogger(name) for name in _NOTES]
    levels = [note.level for note in notes]
    try:
        for note in notes:
            note.setLevel(logging.WARNING)
        with warnings.catch_warnings():
            for message in _NO_WARNINGS:
                warnings.filterwarnings("ignore", message)
            yield
    finally:
        for note, level in zip(notes, levels, strict=True):
            note.setLevel(level)


def free_directory(config: Config) -> Path:
    """Where the run will lie. Raises ConfigError where it lies already, unless force=true."""
    directory = run_directory(config)
    # A start that was refused leaves a metrics.csv without figures.
    holds_a_run = any(path.is_file() and path.stat().st_size > len(MetricsCsv.HEADER) for path in directory.rglob("*"))
    if holds_a_run and not config.force:
        raise ConfigError(f"{directory} holds this run already: add force=true to train it again from the start")
    return directory


def empty(directory: Path) -> None:
    """Make the run's directory; what an earlier run left there is deleted."""
    if directory.exists():
        shutil.rmtree(directory)
    (directory / "checkpoints").mkdir(parents=True)


def prepare_device(config: Config) -> str:
    """The accelerator's name, after the number of threads was set."""
    if config.trainer.threads is not None:
        torch.set_num_threads(config.trainer.threads)
    wanted = config.trainer.accelerator
    device = ("gpu" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if device == "gpu" and not torch.cuda.is_available():
        raise ConfigError("trainer.accelerator=gpu, but no GPU is visible: write trainer.accelerator=cpu or auto")
    if device == "cpu" and config.trainer.precision == "fp16":
        raise ConfigError("trainer.precision=fp16 needs a GPU: on a CPU write trainer.precision=bf16 or fp32")
    devices = config.trainer.devices
    if devices != 1 and not (devices == "auto" and (device == "cpu" or torch.cuda.device_count() == 1)):
        raise ConfigError(f"trainer.devices={devices}: training runs on one device so far: write trainer.devices=1")
    return device


def data_module(config: Config, cell: Cell, device: str) -> RotDataModule:
    """The stream and the problem sets that the configuration describes."""
    data, recipe = config.data, config.recipe
    options = DataOptions(
        batch_size=recipe.batch_size, accumulation=recipe.accumulation, steps=recipe.max_steps, seed=config.seed,
        workers=workers_for(data.workers, device == "gpu"), tokens_per_pass=data.tokens_per_pass,
        group_overhead=config.architecture.group_overhead, test_problems=data.test_problems, test_seed=data.test_seed,
        probe_problems=config.evaluation.probe_problems, holdout=data.holdout, overfit=data.overfit,
    )  # fmt: skip
    try:
        module = RotDataModule(cell, options)
        module.stream(rank=0, ranks=1)[0]  # raises where hardly any context may be trained on
        return module
    except ValueError as error:
        raise ConfigError(str(error)) from error


def fresh_backbone(config: Config, cell: Cell) -> Backbone:
    """The backbone with the weights that the seed gives, its embeddings scaled as the recipe says."""
    torch.manual_seed(config.seed)
    try:
        backbone = backbone_of(config, cell)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    with torch.no_grad():
        backbone.embedding.weight.mul_(config.recipe.embedding_scale)
    return backbone


def announce_start(config: Config, directory: Path, data: RotDataModule, backbone: Backbone) -> None:
    """The lines that every run begins with."""
    test = data.test_problems
    announce(f"run: {directory}")
    announce(f"parameters: {parameter_count(backbone):,}")
    whole = ", all that there are" if test.whole_space else ""
    known = f"{data.overlap:.1%} of training problems are among them"
    if config.data.holdout:
        known = "none of them is trained on"
    announce(f"test problems: {len(test):,}{whole} (hash {test.content_hash}); {known}")


def evaluator(config: Config, cell: Cell, problems: ProblemSet) -> Evaluator:
    """An evaluator of a problem set as configured."""
    return Evaluator(cell, problems, config.evaluation.tokens_per_batch, config.evaluation.wrong_samples)


def callbacks(config: Config, evaluation: Evaluation, probe: Probe) -> list[L.Callback]:
    """The callbacks in the order that they are called."""
    schedule = Schedule(config.evaluation.every_n_steps, config.evaluation.probe_every_n_steps)
    batch_size, recorder = config.recipe.batch_size, Recorder(config.trainer.log_every_n_steps)
    return [
        recorder,
        Progress(config.trainer.progress, schedule),
        probe,
        evaluation,
        Estimate(
            schedule,
            lambda seconds: judging_seconds(evaluation.evaluator.expected_contexts(), seconds, batch_size),
            lambda seconds: judging_seconds(probe.evaluator.expected_contexts(), seconds, batch_size),
        ),
        Clock(recorder),
    ]


class Saver:
    """Keeps the best and the last network of a run."""

    def __init__(self, config: Config, directory: Path, backbone: Backbone) -> None:
        self._config, self._folder, self._backbone = config, directory / "checkpoints", backbone
        self._best = -1.0

    def keep(self, step: int, report: Report) -> None:
        """After an evaluation: the last network, and the best if it is better than any before."""
        self.last(step)
        if report.accuracy > self._best:
            self._best = report.accuracy
            save_checkpoint(self._folder / "best.ckpt", self._config, step, self._backbone)

    def last(self, step: int) -> None:
        """The network as it is at `step`."""
        save_checkpoint(self._folder / "last.ckpt", self._config, step, self._backbone)


def announce_trace(backbone: Backbone, cell: Cell, problems: ProblemSet) -> None:
    """The contexts of the first test problem, and whether the trained network writes each of them."""
    device = next(backbone.parameters()).device
    traced = trace(backbone.eval(), cell, problems.tokens[: problems.offsets[1]], device)
    announce(f"test problem {problems.question(0)} as the network writes it, each context teacher-forced:")
    for context in traced[:_MOST_TRACED]:
        announce(f"  {context}")
    if len(traced) > _MOST_TRACED:
        announce(f"  ... and {len(traced) - _MOST_TRACED:,} more contexts")


def finished(outcome: Outcome) -> Outcome:
    """Say how it ended."""
    if outcome.report is not None:
        announce(
            f"finished at step {outcome.step:,}: {outcome.report.problems_right:,} of {outcome.report.problems:,} "
            f"test problems right ({outcome.report.accuracy:.4f})"
        )
    return outcome
