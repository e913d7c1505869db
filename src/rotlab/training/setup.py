"""What a run is made of, from its configuration: device, data, network, evaluators, callbacks."""

from __future__ import annotations

import lightning as L
import torch

from rotlab.config import Config, ConfigError, RunFailed
from rotlab.data.cell import Cell
from rotlab.data.module import DataOptions, RotDataModule, workers_for
from rotlab.data.ranks import Ranks
from rotlab.data.test_set import ProblemSet
from rotlab.evaluation import Evaluator
from rotlab.inference.free_running import FreeRunner
from rotlab.models import Backbone
from rotlab.models.trained import backbone_of
from rotlab.training.callbacks import Clock, Evaluation, Probe, Recorder
from rotlab.training.estimate import Estimate, Schedule, judging_seconds
from rotlab.training.progress import Progress


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
    if device == "cpu" and config.trainer.compile == "graphs":
        raise ConfigError("trainer.compile=graphs needs a GPU: on a CPU write trainer.compile=code or null")
    return device


def data_module(config: Config, cell: Cell, device: str, ranks: Ranks) -> RotDataModule:
    """The stream and the problem sets that the configuration describes."""
    data, recipe = config.data, config.recipe
    options = DataOptions(
        batch_size=recipe.batch_size, accumulation=recipe.accumulation, steps=recipe.max_steps, seed=config.seed,
        workers=workers_for(data.workers, device == "gpu", ranks.size), tokens_per_pass=data.tokens_per_pass,
        group_overhead=getattr(config.architecture.group_overhead, device),
        test_problems=data.test_problems, test_seed=data.test_seed,
        probe_problems=config.evaluation.probe_problems, holdout=data.holdout, overfit=data.overfit,
        few_shapes=config.trainer.compile is not None,
    )  # fmt: skip
    try:
        module = RotDataModule(cell, options)
        module.stream(ranks.rank, ranks.size)[0]  # raises where hardly any context may be trained on
        return module
    except (ValueError, RunFailed) as error:
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


def evaluator(config: Config, cell: Cell, problems: ProblemSet, ranks: Ranks) -> Evaluator:
    """An evaluator of a problem set as configured."""
    return Evaluator(cell, problems, config.evaluation.tokens_per_batch, config.evaluation.wrong_samples, ranks)


def free_runner(
    config: Config, cell: Cell, problems: ProblemSet, backbone: Backbone, ranks: Ranks
) -> FreeRunner | None:
    """What solves problems by the network's own recursion, if that is wanted; ConfigError where the network can't."""
    wanted = config.evaluation.free_running
    if wanted == 0:
        return None
    try:
        backbone.new_cache(1)
    except NotImplementedError as error:
        raise ConfigError(f"evaluation.free_running={wanted}: {error}, or write evaluation.free_running=0") from error
    return FreeRunner(cell, problems, wanted, ranks)


def callbacks(
    config: Config, recorder: Recorder, probe: Probe, saver: L.Callback, evaluation: Evaluation
) -> list[L.Callback]:
    """The callbacks in the order that they are called.

    The saver comes after what is logged of a step, which is then saved as logged, and before the evaluation.
    """
    schedule = Schedule(config.evaluation.every_n_steps, config.evaluation.probe_every_n_steps)
    batch_size = config.recipe.batch_size
    return [
        recorder,
        Progress(config.trainer.progress, schedule),
        probe,
        saver,
        evaluation,
        Estimate(
            schedule,
            lambda seconds: judging_seconds(evaluation.evaluator.expected_contexts(), seconds, batch_size),
            lambda seconds: judging_seconds(probe.evaluator.expected_contexts(), seconds, batch_size),
        ),
        Clock(recorder),
    ]
