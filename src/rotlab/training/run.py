"""One run, from its configuration to its last evaluation."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import lightning as L
import torch

from rotlab.config import Config, ConfigError, run_directory
from rotlab.contexts.fit import require_fit
from rotlab.data.cell import Cell
from rotlab.data.module import DataOptions, RotDataModule, workers_for
from rotlab.data.test_set import ProblemSet
from rotlab.evaluation import Evaluator, Report
from rotlab.models import Backbone, parameter_count
from rotlab.training.callbacks import Clock, Evaluation, Probe, Recorder
from rotlab.training.checkpoint import backbone_of, cell_of, save_checkpoint
from rotlab.training.estimate import Estimate, Schedule, judging_seconds
from rotlab.training.loggers import build_loggers, finishing
from rotlab.training.module import RotModule
from rotlab.training.progress import Progress
from rotlab.training.quiet_logger import announce

_PRECISION = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}


@dataclass(frozen=True)
class Outcome:
    """Where a run lies, at which optimizer step it ended, and its last evaluation."""

    directory: Path
    step: int
    report: Report | None


def run(config: Config) -> Outcome:
    """Train one network as configured. Raises ConfigError for a cell that can't be trained."""
    cell = cell_of(config)
    require_cell_fits(config, cell)
    directory = new_run_directory(config)
    device = prepare_device(config)
    data = data_module(config, cell, device)
    backbone = fresh_backbone(config, cell)
    announce_start(config, directory, data, backbone)
    loggers = build_loggers(config, directory)
    with finishing(loggers):
        saver = Saver(config, directory, backbone)
        evaluation = Evaluation(
            evaluator(config, cell, data.test_problems), config.evaluation.every_n_steps, config.evaluation.stop_at,
            saver.keep,
        )  # fmt: skip
        probe = Probe(evaluator(config, cell, data.probe_problems), config.evaluation.probe_every_n_steps)
        trainer = L.Trainer(
            accelerator=device, devices=config.trainer.devices, precision=_PRECISION[config.trainer.precision],  # type: ignore[arg-type]
            max_steps=config.recipe.max_steps, max_epochs=-1, logger=loggers,
            callbacks=callbacks(config, evaluation, probe), profiler=config.trainer.profiler,
            enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
            use_distributed_sampler=False, num_sanity_val_steps=0, limit_val_batches=0, default_root_dir=directory,
        )  # fmt: skip
        trainer.fit(RotModule(backbone, config.recipe), datamodule=data)
        saver.last(trainer.global_step)
    return finished(Outcome(directory, trainer.global_step, evaluation.last))


def require_cell_fits(config: Config, cell: Cell) -> None:
    """Refuse a cell whose contexts exceed the window, unless method.allow_overlong is set."""
    if config.method.allow_overlong:
        return
    try:
        require_fit(cell.sampler, cell.difficulty, cell.method, cell.context_limit)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def new_run_directory(config: Config) -> Path:
    """An empty directory for the run; one that holds a run already is kept, unless force=true."""
    directory = run_directory(config)
    if directory.exists() and any(directory.iterdir()):
        if not config.force:
            raise ConfigError(f"{directory} holds this run already: add force=true to train it again from the start")
        shutil.rmtree(directory)
    (directory / "checkpoints").mkdir(parents=True)
    return directory


def prepare_device(config: Config) -> str:
    """The accelerator's name, after the threads and float32 products were set."""
    if config.trainer.threads is not None:
        torch.set_num_threads(config.trainer.threads)
    wanted = config.trainer.accelerator
    device = ("gpu" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if device == "gpu" and not torch.cuda.is_available():
        raise ConfigError("trainer.accelerator=gpu, but no GPU is visible: write trainer.accelerator=cpu or auto")
    if device == "cpu" and config.trainer.precision == "fp16":
        raise ConfigError("trainer.precision=fp16 needs a GPU: on a CPU write trainer.precision=bf16 or fp32")
    if config.trainer.devices not in (1, "auto"):
        raise ConfigError(f"trainer.devices={config.trainer.devices}: training runs on one device so far; write 1")
    return device


def data_module(config: Config, cell: Cell, device: str) -> RotDataModule:
    """The stream and the problem sets that the configuration describes."""
    data, recipe = config.data, config.recipe
    options = DataOptions(
        batch_size=recipe.batch_size, accumulation=recipe.accumulation, steps=recipe.max_steps, seed=config.seed,
        workers=workers_for(data.workers, device == "gpu"), tokens_per_pass=data.tokens_per_pass,
        group_overhead=data.group_overhead, test_problems=data.test_problems, test_seed=data.test_seed,
        probe_problems=config.evaluation.probe_problems, holdout=data.holdout, overfit=data.overfit,
    )  # fmt: skip
    try:
        return RotDataModule(cell, options)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def fresh_backbone(config: Config, cell: Cell) -> Backbone:
    """The backbone with the weights that the seed gives."""
    L.seed_everything(config.seed, verbose=False)
    return backbone_of(config, cell)


def announce_start(config: Config, directory: Path, data: RotDataModule, backbone: Backbone) -> None:
    """The lines that every run begins with."""
    test = data.test_problems
    announce(f"run: {directory}")
    announce(f"parameters: {parameter_count(backbone):,}")
    whole = ", all that there are" if test.whole_space else ""
    known = "none of them is trained on" if config.data.holdout else f"{data.overlap:.1%} of training problems are among them"
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


def finished(outcome: Outcome) -> Outcome:
    """Say how it ended."""
    if outcome.report is not None:
        announce(
            f"finished at step {outcome.step:,}: {outcome.report.problems_right:,} of {outcome.report.problems:,} "
            f"test problems right ({outcome.report.accuracy:.4f})"
        )
    return outcome
