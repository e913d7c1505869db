"""One run, from its configuration to its last evaluation; the same call goes on with a run that was stopped."""

from __future__ import annotations

import errno
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.loggers import Logger
from lightning.pytorch.plugins.environments import LightningEnvironment

from rotlab.config import Config, ConfigError, RunFailed, run_directory
from rotlab.config.status import FAILED, FINISHED, INTERRUPTED
from rotlab.data.cell import Cell, cell_of, require_cell_fits
from rotlab.data.ranks import Ranks
from rotlab.data.test_set import ProblemSet
from rotlab.evaluation import trace
from rotlab.models import Backbone, parameter_count
from rotlab.training.callbacks import Evaluation, Probe, Recorder
from rotlab.training.checkpoint import settle
from rotlab.training.interruption import Interrupted, Interruption
from rotlab.training.job import Job
from rotlab.training.lock import locked
from rotlab.training.loggers import build_loggers, finishing, wandb_id
from rotlab.training.manifest import Manifest
from rotlab.training.module import RotModule
from rotlab.training.quiet_logger import announce
from rotlab.training.resuming import Resume, emptied, give_weights, standing
from rotlab.training.saver import Saver
from rotlab.training.setup import callbacks, data_module, evaluator, free_runner, fresh_backbone, prepare_device
from rotlab.training.together import Together, own_ranks
from rotlab.training.wandb_run import require_key

PRECISION = {"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}

# Contexts of the problem that is shown at the end of a run.
_MOST_TRACED = 12

# Where Lightning tells about hardware and products.
_NOTES = ("lightning.pytorch.utilities.rank_zero", "lightning.pytorch.accelerators.cuda")
_NO_WARNINGS = (
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning's own use of torch
    r"The 'train_dataloader' does not have many workers",  # see `workers_for`
    r"Total length of `\w+` across ranks is zero",  # only the last step's evaluation was left to do
    r"The `srun` command is available",  # one process is what we start on a cluster
    r"LSTM with projections is not supported with oneDNN",  # and the default implementation is right
)


@dataclass(frozen=True)
class Outcome:
    """Where a finished run lies, and its manifest."""

    directory: Path
    manifest: Manifest


def run(config: Config) -> Outcome:
    """Train one network as configured, or what is left of it; `launch` calls it in a process for each device.

    Raises ConfigError for what can't be trained, before anything is written; RunFailed where a training can't go on;
    Interrupted after a signal, once the state is saved.
    """
    with Interruption() as interruption:
        cell = cell_of(config)
        require_cell_fits(config)
        device = prepare_device(config)
        ranks = own_ranks(device)
        require_ranks(config, ranks)
        data = data_module(config, cell, device, ranks)
        backbone = fresh_backbone(config, cell)
        require_key(config)
        directory = run_directory(config)
        job = Job(config, directory, device, ranks, data, backbone, interruption)
        with locked(directory) if ranks.first else nullcontext():
            if config.force and ranks.first:
                emptied(directory)
            ranks.wait()
            return continued(job)


def require_ranks(config: Config, ranks: Ranks) -> None:
    """Raise ConfigError where this process isn't one of as many as the configuration asks for."""
    devices = config.trainer.devices
    if devices not in ("auto", ranks.size):
        raise ConfigError(
            f"trainer.devices={devices}, but this process is one of {ranks.size}: start the run by train.py or "
            f"rotlab.training.launch, or write trainer.devices={ranks.size}"
        )


def continued(job: Job) -> Outcome:
    """Go on from what the directory holds, which may be nothing, to the end."""
    config, directory = job.config, job.directory
    manifest, checkpoint = standing(config, directory)
    job.ranks.wait()
    if manifest.is_complete(config):
        if manifest.status != FINISHED:  # it was killed after its last evaluation
            manifest.status, manifest.reason = FINISHED, None
            job.write(manifest)
        return finished(manifest, directory)
    if checkpoint is not None:
        if job.ranks.first:
            settle(directory, manifest.step)
        give_weights(job.backbone, job.data.cell, checkpoint, directory)
    job.data.first_step = manifest.step
    announce_start(job)
    loggers = build_loggers(config, directory, manifest) if job.ranks.first else []
    with noted(manifest, job), finishing(loggers), only_our_lines():
        manifest.wandb_id = wandb_id(loggers) or manifest.wandb_id
        manifest.begin_session()
        job.write(manifest)
        train(job, manifest, checkpoint, loggers)
    announce_trace(job.backbone, job.data.cell, job.data.test_problems)
    return finished(manifest, directory)


def train(job: Job, manifest: Manifest, checkpoint: dict[str, Any] | None, loggers: list[Logger]) -> None:
    """From the step where the run stands to its last."""
    config, data, evaluations = job.config, job.data, job.config.evaluation
    recorder = Recorder(config.trainer.log_every_n_steps, data.options.workers)
    saver = Saver(job, manifest, recorder)
    evaluation = Evaluation(
        evaluator(config, data.cell, data.test_problems, job.ranks),
        free_runner(config, data.cell, data.test_problems, job.backbone, job.ranks),
        evaluations.every_n_steps, evaluations.stop_at, job.interruption, saver.keep_best, saver.evaluated,
    )  # fmt: skip
    probe = Probe(evaluator(config, data.cell, data.probe_problems, job.ranks), evaluations.probe_every_n_steps)
    resume = [] if checkpoint is None else [Resume(checkpoint, recorder)]
    if evaluation.due(manifest.step, config.recipe.max_steps) and not manifest.evaluated(manifest.step):
        evaluation.owed = manifest.step
    trainer = L.Trainer(
        accelerator=job.device, devices=job.ranks.size, strategy="auto" if job.ranks.size == 1 else Together(),
        precision=PRECISION[config.trainer.precision],  # type: ignore[arg-type]
        max_steps=config.recipe.max_steps, max_epochs=-1, logger=loggers,
        # Under SLURM Lightning would else save and requeue by itself at SIGUSR1, and load what it saved over ours.
        plugins=[LightningEnvironment()] if job.ranks.size == 1 else None,
        callbacks=[*resume, *callbacks(config, recorder, probe, saver, evaluation)],
        profiler=config.trainer.profiler, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False, use_distributed_sampler=False, num_sanity_val_steps=0, limit_val_batches=0,
        log_every_n_steps=0, default_root_dir=job.directory,
    )  # fmt: skip
    module = RotModule(job.backbone, config.recipe, job.ranks, config.trainer.compile)
    with saver.saving(trainer, module):
        trainer.fit(module, datamodule=data)


@contextmanager
def noted(manifest: Manifest, job: Job) -> Iterator[None]:
    """The manifest says how what happens within ended."""
    try:
        yield
        manifest.status, manifest.reason = FINISHED, None
    except (Interrupted, KeyboardInterrupt) as stop:
        name = stop.name if isinstance(stop, Interrupted) else "SIGINT"
        manifest.status, manifest.reason = INTERRUPTED, name
        again = "the same command without force=true" if job.config.force else "the same command"
        announce(f"interrupted by {name} at step {manifest.step:,}: {again} goes on from there")
        raise
    except BaseException as error:
        manifest.status, manifest.reason = FAILED, " ".join(f"{type(error).__name__}: {error}".split())
        if isinstance(error, OSError):
            once = "there is room" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "that is mended"
            raise RunFailed(
                f"{job.directory}: {error.strerror or error}; the run stands at step {manifest.step:,}, and the same "
                f"command goes on once {once}"
            ) from error
        raise
    finally:
        try:
            job.write(manifest)
        except OSError as error:  # what ended the run is the news, not this
            announce(f"{job.directory}: the manifest can't be written ({error.strerror or error})")


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


def announce_start(job: Job) -> None:
    """The lines that every run begins with."""
    data, test = job.data, job.data.test_problems
    announce(f"run: {job.directory}")
    announce(f"parameters: {parameter_count(job.backbone):,}")
    if job.ranks.size > 1:
        announce(f"devices: {job.ranks.size}")
    whole = ", all that there are" if test.whole_space else ""
    known = f"{data.overlap:.1%} of training problems are among them"
    if job.config.data.holdout:
        known = "none of them is trained on"
    announce(f"test problems: {len(test):,}{whole} (hash {test.content_hash}); {known}")
    if data.first_step > 0:
        announce(f"going on from step {data.first_step:,}")


def announce_trace(backbone: Backbone, cell: Cell, problems: ProblemSet) -> None:
    """The contexts of the first test problem, and whether the trained network writes each of them."""
    device = next(backbone.parameters()).device
    traced = trace(backbone.eval(), cell, problems.tokens_of(0), device)
    announce(
        f"test problem {problems.question(0)} as the network writes it, each context teacher-forced, a mistake as "
        "[written|right]:"
    )
    for context in traced[:_MOST_TRACED]:
        announce(f"  {context}")
    if len(traced) > _MOST_TRACED:
        announce(f"  ... and {len(traced) - _MOST_TRACED:,} more contexts")


def finished(manifest: Manifest, directory: Path) -> Outcome:
    """Say how it ended."""
    announce(f"finished at {manifest.summary()}")
    return Outcome(directory, manifest)
