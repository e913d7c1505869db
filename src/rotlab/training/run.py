"""One run, from its configuration to its last evaluation; the same call goes on with a run that was stopped."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.loggers import Logger

from rotlab.config import Config, RunFailed, run_directory
from rotlab.data.cell import Cell, cell_of, require_cell_fits
from rotlab.data.module import RotDataModule
from rotlab.data.test_set import ProblemSet
from rotlab.evaluation import trace
from rotlab.models import Backbone, parameter_count
from rotlab.training.callbacks import Evaluation, Probe, Recorder
from rotlab.training.interruption import Interrupted, Interruption
from rotlab.training.lock import locked
from rotlab.training.loggers import build_loggers, finishing, wandb_id
from rotlab.training.manifest import FAILED, FINISHED, INTERRUPTED, Manifest
from rotlab.training.module import RotModule
from rotlab.training.quiet_logger import announce
from rotlab.training.resuming import Resume, emptied, give_weights, standing
from rotlab.training.saver import Saver
from rotlab.training.setup import callbacks, data_module, evaluator, fresh_backbone, prepare_device
from rotlab.training.wandb_run import require_key

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
    """Where a finished run lies, and its manifest."""

    directory: Path
    manifest: Manifest


def run(config: Config) -> Outcome:
    """Train one network as configured, or what is left of it.

    Raises ConfigError for what can't be trained, before anything is written; RunFailed where a training can't go on;
    Interrupted after a signal, once the state is saved.
    """
    with Interruption() as interruption:
        cell = cell_of(config)
        require_cell_fits(config)
        device = prepare_device(config)
        data = data_module(config, cell, device)
        backbone = fresh_backbone(config, cell)
        require_key(config)
        directory = run_directory(config)
        with locked(directory):
            if config.force:
                emptied(directory)
            return continued(config, directory, device, data, backbone, interruption)


def continued(
    config: Config, directory: Path, device: str, data: RotDataModule, backbone: Backbone, interruption: Interruption
) -> Outcome:
    """Go on from what the directory holds, which may be nothing, to the end."""
    manifest, checkpoint = standing(config, directory)
    if manifest.is_complete(config):
        if manifest.status != FINISHED:  # it was killed after its last evaluation
            manifest.status, manifest.reason = FINISHED, None
            manifest.write(directory)
        return finished(manifest, directory)
    if checkpoint is not None:
        give_weights(backbone, data.cell, checkpoint, directory)
    data.first_step = manifest.step
    announce_start(config, directory, data, backbone)
    loggers = build_loggers(config, directory, wandb_id=manifest.wandb_id)
    with noted(manifest, directory), finishing(loggers), only_our_lines():
        manifest.wandb_id = wandb_id(loggers)
        manifest.begin_session()
        manifest.write(directory)
        train(config, directory, manifest, device, data, backbone, checkpoint, loggers, interruption)
    announce_trace(backbone, data.cell, data.test_problems)
    return finished(manifest, directory)


def train(
    config: Config, directory: Path, manifest: Manifest, device: str, data: RotDataModule, backbone: Backbone,
    checkpoint: dict[str, Any] | None, loggers: list[Logger], interruption: Interruption,
) -> None:  # fmt: skip
    """From the step where the run stands to its last."""
    cell, evaluations = data.cell, config.evaluation
    recorder = Recorder(config.trainer.log_every_n_steps, data.options.workers)
    saver = Saver(config, directory, manifest, recorder, interruption)
    evaluation = Evaluation(
        evaluator(config, cell, data.test_problems), evaluations.every_n_steps, evaluations.stop_at, interruption,
        saver.keep_best, saver.evaluated,
    )  # fmt: skip
    probe = Probe(evaluator(config, cell, data.probe_problems), evaluations.probe_every_n_steps)
    resume = [] if checkpoint is None else [Resume(checkpoint, recorder)]
    if evaluation.due(manifest.step, config.recipe.max_steps) and not manifest.evaluated(manifest.step):
        evaluation.owed = manifest.step
    trainer = L.Trainer(
        accelerator=device, devices=1, precision=_PRECISION[config.trainer.precision],  # type: ignore[arg-type]
        max_steps=config.recipe.max_steps, max_epochs=-1, logger=loggers,
        callbacks=[*resume, *callbacks(config, recorder, probe, saver, evaluation)],
        profiler=config.trainer.profiler, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False, use_distributed_sampler=False, num_sanity_val_steps=0, limit_val_batches=0,
        log_every_n_steps=0, default_root_dir=directory,
    )  # fmt: skip
    module = RotModule(backbone, config.recipe)
    with saver.saving(trainer, module):
        trainer.fit(module, datamodule=data)


@contextmanager
def noted(manifest: Manifest, directory: Path) -> Iterator[None]:
    """The manifest says how what happens within ended."""
    try:
        yield
        manifest.status, manifest.reason = FINISHED, None
    except (Interrupted, KeyboardInterrupt) as stop:
        name = stop.name if isinstance(stop, Interrupted) else "SIGINT"
        manifest.status, manifest.reason = INTERRUPTED, name
        again = "the same command without force=true" if manifest.config["force"] else "the same command"
        announce(f"interrupted by {name} at step {manifest.step:,}: {again} goes on from there")
        raise
    except BaseException as error:
        manifest.status, manifest.reason = FAILED, " ".join(f"{type(error).__name__}: {error}".split())
        if isinstance(error, OSError) and not isinstance(error, RunFailed):
            raise RunFailed(
                f"{directory}: {error.strerror or error}; the run stands at step {manifest.step:,}, and the same "
                "command goes on once there is room"
            ) from error
        raise
    finally:
        written(manifest, directory)


def written(manifest: Manifest, directory: Path) -> None:
    """Write the manifest; where that isn't possible, what ended the run is the news, not this."""
    try:
        manifest.write(directory)
    except OSError as error:
        announce(f"{directory}: the manifest can't be written ({error.strerror or error})")


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
    if data.first_step > 0:
        announce(f"going on from step {data.first_step:,}")


def announce_trace(backbone: Backbone, cell: Cell, problems: ProblemSet) -> None:
    """The contexts of the first test problem, and whether the trained network writes each of them."""
    device = next(backbone.parameters()).device
    traced = trace(backbone.eval(), cell, problems.tokens[: problems.offsets[1]], device)
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
