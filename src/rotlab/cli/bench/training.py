"""`rotlab bench training`: optimizer steps, data and Lightning included, against a plain reference in the same run."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import lightning as L
import torch
from lightning.pytorch.plugins.environments import LightningEnvironment

from rotlab.cli.bench.plain import plain_network, plain_step
from rotlab.config import Config
from rotlab.config.app import configured
from rotlab.data.cell import cell_of
from rotlab.data.ranks import Ranks
from rotlab.data.step_batch import StepBatch
from rotlab.training.module import RotModule
from rotlab.training.run import PRECISION, only_our_lines
from rotlab.training.setup import data_module, fresh_backbone, prepare_device

CELLS = (("add", 8), ("mul", 4), ("lcs", 16))
ARCHITECTURES = ("transformer", "lstm")
# Both sides take turns, so that what else the machine does meets both.
_ROUNDS = 3
_WARM_UP = 2
# A GPU's steps are short.
_STEPS, _STEPS_ON_A_GPU = 4, 50
# A batch in one group.
WHOLE = (
    "architecture.group_overhead.cpu=1000000000", "architecture.group_overhead.gpu=1000000000",
    "data.tokens_per_pass=1000000000",
)  # fmt: skip


@dataclass(frozen=True)
class Speed:
    """Of one optimizer step: seconds; the share of them that it waited for data; contexts; its tokens' padding."""

    seconds: float
    waited: float
    contexts: int
    padding: float


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each cell and backbone."""
    print(
        f"{torch.get_num_threads()} threads, batches of the paper's size, {_ROUNDS} turns each, medians; milliseconds"
    )
    print(
        f"{'cell':<9}{'backbone':<13}{'plain':>8}{'ours':>8}{'speed-up':>10}{'without padding':>17}{'padding':>9}"
        f"{'ours':>7}{'data wait':>11}{'contexts/s':>12}"
    )
    for task, difficulty in CELLS:
        for architecture in ARCHITECTURES:
            plain, ours = compared(task, difficulty, architecture)
            print(
                f"{task}-{difficulty:<{8 - len(task)}}{architecture:<13}{1e3 * plain.seconds:>8.0f}"
                f"{1e3 * ours.seconds:>8.0f}{plain.seconds / ours.seconds:>8.2f} x{1 / (1 - plain.padding):>15.2f} x"
                f"{plain.padding:>9.0%}{ours.padding:>7.0%}{ours.waited:>11.1%}"
                f"{ours.contexts / ours.seconds:>12,.0f}",
                flush=True,
            )
    return 0


def bench_config(task: str, difficulty: int, architecture: str, *more: str) -> Config:
    """The paper's recipe for as many steps as are timed."""
    steps = _WARM_UP + (_STEPS_ON_A_GPU if torch.cuda.is_available() else _STEPS)
    cell = (f"task={task}", f"difficulty={difficulty}", f"architecture={architecture}")
    return quick_config(steps, *cell, *more)


def quick_config(steps: int, *overrides: str) -> Config:
    """A configuration of few steps and no evaluation to speak of."""
    return configured(f"recipe.max_steps={steps}", "data.test_problems=1", "evaluation.probe_problems=1", *overrides)


def compared(task: str, difficulty: int, architecture: str, *more: str) -> tuple[Speed, Speed]:
    """The plain reference and our training on the same batches, each the median of its turns."""
    ours = bench_config(task, difficulty, architecture, *more)
    padded = bench_config(task, difficulty, architecture, *more, *WHOLE)
    turns = [(of_plain(padded), of_training(ours)) for _ in range(_ROUNDS)]
    plain_turns, our_turns = zip(*turns, strict=True)
    return _median(plain_turns), _median(our_turns)


def of_training(config: Config) -> Speed:
    """Steps of our own training: Lightning's Trainer, its loader, our module."""
    device, cell = prepare_device(config), cell_of(config)
    clock = _Clock()
    module = RotModule(fresh_backbone(config, cell), config.recipe, compiled=config.trainer.compile)
    with only_our_lines():
        bare_trainer(config, clock).fit(module, datamodule=data_module(config, cell, device, Ranks()))
    return clock.speed()


def bare_trainer(config: Config, watch: L.Callback) -> L.Trainer:
    """Lightning's Trainer as a run has it, without what is logged, saved and shown."""
    return L.Trainer(
        accelerator=prepare_device(config), devices=1, max_steps=config.recipe.max_steps, max_epochs=-1,
        precision=PRECISION[config.trainer.precision], callbacks=[watch],  # type: ignore[arg-type]
        plugins=[LightningEnvironment()], logger=False, enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False, use_distributed_sampler=False, log_every_n_steps=0,
    )  # fmt: skip


def of_plain(config: Config) -> Speed:
    """Steps of the reference on batches that are one group each, all of them made before the clock starts."""
    accelerator, cell, architecture = prepare_device(config), cell_of(config), config.architecture
    device = torch.device("cuda" if accelerator == "gpu" else "cpu")
    loader = data_module(config, cell, accelerator, Ranks()).train_dataloader()
    batches = [batch.to(device) for batch in loader]
    network = plain_network(architecture.name, len(cell.vocabulary), architecture.context_limit, architecture.shape)
    network.to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.recipe.learning_rate, fused=True)
    clock = _Clock()
    for batch in batches:
        (group,) = batch.groups
        with torch.autocast(device.type, torch.bfloat16, enabled=config.trainer.precision == "bf16"):
            plain_step(network, optimizer, group.inputs_BT, group.targets_BT)
        clock.tick(batch, waited=0.0)
    return clock.speed()


class _Clock(L.Callback):
    """Times steps, without the first ones."""

    def __init__(self) -> None:
        self._ends: list[float] = []
        self._waits: list[float] = []
        self._batches: list[StepBatch] = []

    def tick(self, batch: StepBatch, waited: float) -> None:
        """A step has ended."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self._ends.append(time.perf_counter())
        self._waits.append(waited)
        self._batches.append(batch)

    def on_train_batch_start(self, *_: Any, **__: Any) -> None:
        """The batch is there."""
        self._waited = time.perf_counter() - self._ends[-1] if self._ends else 0.0

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: StepBatch, batch_idx: int) -> None:
        """The step has ended."""
        self.tick(batch, self._waited)

    def speed(self) -> Speed:
        """Of the steps after the warm-up."""
        seconds = [after - before for before, after in pairwise(self._ends)][_WARM_UP - 1 :]
        batches, waits = self._batches[_WARM_UP:], self._waits[_WARM_UP:]
        tokens, area = sum(batch.tokens for batch in batches), sum(batch.area for batch in batches)
        return Speed(sum(seconds) / len(seconds), sum(waits) / sum(seconds), batches[0].contexts, 1 - tokens / area)


def _median(turns: tuple[Speed, ...]) -> Speed:
    return sorted(turns, key=lambda one: one.seconds)[len(turns) // 2]
