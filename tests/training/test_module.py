"""Eq. 2's objective over the whole batch, and optimizer steps that are exactly those of the recipe."""

from __future__ import annotations

import math
from pathlib import Path
from shutil import which
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.plugins.precision import MixedPrecision
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from rotlab.config import Config
from rotlab.data.cell import cell_of
from rotlab.data.step_batch import StepBatch
from rotlab.data.stream import TrainingStream
from rotlab.models.trained import backbone_of
from rotlab.tasks import TASKS
from rotlab.training.compiling import compilations
from rotlab.training.module import RotModule
from rotlab.training.run import only_our_lines
from rotlab.training.schedule import rate_factor
from tests.config.compose import build
from tests.training.configs import tiny_config


class Watcher(L.Callback):
    """Notes what each optimizer step did."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.losses: list[float] = []
        self.gradients: list[dict[str, Tensor]] = []

    def on_before_optimizer_step(self, trainer: L.Trainer, pl_module: L.LightningModule, optimizer: Any) -> None:
        self.rates.append(optimizer.param_groups[0]["lr"])

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *_: Any) -> None:
        assert isinstance(pl_module, RotModule)
        assert trainer.global_step == len(self.rates)
        self.gradients.append(
            {name: one.grad.clone() for name, one in pl_module.backbone.named_parameters() if one.grad is not None}
        )
        self.losses.append(float(pl_module.loss.compute()))
        pl_module.loss.reset()


def stream_of(config: Config) -> TrainingStream:
    recipe, data = config.recipe, config.data
    return TrainingStream(
        cell_of(config), seed=config.seed, batch_size=recipe.batch_size, steps=recipe.max_steps,
        accumulation=recipe.accumulation, overhead=config.architecture.group_overhead.cpu,
        tokens_per_pass=data.tokens_per_pass, overfit=data.overfit, few_shapes=config.trainer.compile is not None,
    )  # fmt: skip


def module_of(config: Config) -> RotModule:
    torch.manual_seed(config.seed)
    return RotModule(backbone_of(config, cell_of(config)), config.recipe, compiled=config.trainer.compile)


def fit(config: Config, module: RotModule, **options: Any) -> Watcher:
    """Train as a run does; what was seen."""
    watcher = Watcher()
    trainer = L.Trainer(
        accelerator="cpu", max_steps=config.recipe.max_steps, max_epochs=-1, callbacks=[watcher], logger=False,
        enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False, **options,
    )  # fmt: skip
    with only_our_lines():
        trainer.fit(module, DataLoader(stream_of(config), batch_size=None, collate_fn=lambda item: item))
    assert trainer.global_step == config.recipe.max_steps == len(watcher.rates)
    return watcher


def padded(batch: StepBatch) -> tuple[Tensor, Tensor]:
    """All contexts of a batch in one padded block: inputs_BT and targets_BT."""
    rows = [pair for group in batch.groups for pair in zip(group.inputs_BT, group.targets_BT, strict=True)]
    inputs_BT, targets_BT = (
        nn.utils.rnn.pad_sequence([row[column] for row in rows], batch_first=True) for column in (0, 1)
    )
    return inputs_BT.long(), targets_BT.long()


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("accumulation", [1, 4])
@pytest.mark.parametrize("architecture", ["transformer", "lstm"])
def test_the_loss_is_the_mean_over_all_targets_of_the_batch(
    tmp_path: Path, architecture: str, accumulation: int
) -> None:
    config = tiny_config(
        tmp_path, f"architecture={architecture}", "task=mul", "difficulty=3", "recipe.max_steps=1",
        f"recipe.accumulation={accumulation}", "recipe.batch_size=64", "architecture.group_overhead.cpu=8",
    )  # fmt: skip
    batch = stream_of(config)[0]
    assert len(batch.passes) == accumulation
    assert len(batch.groups) > 2 * accumulation

    plain = module_of(config).backbone
    inputs_BT, targets_BT = padded(batch)
    assert inputs_BT.shape[0] == 64
    loss = cross_entropy(plain(inputs_BT).flatten(0, 1), targets_BT.flatten(), ignore_index=0)
    loss.backward()

    watcher = fit(config, module_of(config))
    assert watcher.losses == [pytest.approx(loss.item(), rel=1e-5)]
    for name, parameter in plain.named_parameters():
        torch.testing.assert_close(watcher.gradients[0][name], parameter.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(which("g++") is None and which("clang++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_steps_are_the_same_steps(tmp_path: Path) -> None:
    """... whatever their shapes are, with one compilation."""
    shape = ("architecture.layers=1", "task=mul", "difficulty=3", "recipe.max_steps=6", "recipe.batch_size=32")
    passes = "data.tokens_per_pass=512"
    plain, ours = (tiny_config(tmp_path, *shape, passes, f"trainer.compile={how}") for how in ("null", "code"))
    batches = [stream_of(ours)[step] for step in range(6)]
    assert len({one.inputs_BT.shape for batch in batches for one in batch.groups}) == 3
    assert all(len(groups) == 1 for batch in batches for groups in batch.passes)
    before, compiled = compilations(), fit(ours, module_of(ours))
    assert compilations() - before == 1
    assert compiled.losses == pytest.approx(fit(plain, module_of(plain)).losses, rel=1e-4)


def test_accuracy_counts_targets_only(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, "recipe.max_steps=1")
    inputs_BT, targets_BT = padded(stream_of(config)[0])
    chosen_BT, module = module_of(config).backbone(inputs_BT).argmax(-1), module_of(config)
    fit(config, module)
    counted = targets_BT != 0
    expected = (chosen_BT == targets_BT)[counted].float().mean().item()
    assert float(module.token_accuracy.compute()) == pytest.approx(expected)


@pytest.mark.parametrize("accumulation", [1, 4])
def test_the_rate_halves_every_k_optimizer_steps(tmp_path: Path, accumulation: int) -> None:
    config = tiny_config(tmp_path, "recipe.max_steps=11", "recipe.halve_every=4", f"recipe.accumulation={accumulation}")
    watcher = fit(config, module_of(config))
    assert watcher.rates == [1e-3] * 4 + [0.5e-3] * 4 + [0.25e-3] * 3


@pytest.mark.parametrize("accumulation", [1, 4])
def test_the_rate_warms_up_and_decays_by_optimizer_step(tmp_path: Path, accumulation: int) -> None:
    config = tiny_config(
        tmp_path, "recipe=fast", "recipe.max_steps=20", "recipe.warmup_steps=5", "recipe.decay_to=0.1",
        "recipe.learning_rate=0.01", f"recipe.accumulation={accumulation}",
    )  # fmt: skip
    rates = fit(config, module_of(config)).rates
    assert rates[:6] == pytest.approx([0.002, 0.004, 0.006, 0.008, 0.01, 0.01])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    middle = [rates[5 + i] + rates[20 - i] for i in range(1, 7)]
    assert middle == pytest.approx([0.011] * 6), "a half cosine from 0.01 to 0.001"
    assert rate_factor(20, config.recipe) == pytest.approx(0.1)


def test_a_run_shorter_than_its_warm_up_ends_in_it(tmp_path: Path) -> None:
    steps = ("recipe.max_steps=4", "recipe.warmup_steps=10", "recipe.learning_rate=3e-3")
    config = tiny_config(tmp_path, "recipe=fast", *steps)
    assert fit(config, module_of(config)).rates == pytest.approx([3e-4, 6e-4, 9e-4, 12e-4])


def test_the_papers_schedules(tmp_path: Path) -> None:
    for architecture, steps, k in (("transformer", 500_000, 50_000), ("lstm", 800_000, 100_000)):
        recipe = build(f"architecture={architecture}").recipe
        assert (recipe.optimizer, recipe.learning_rate, recipe.batch_size) == ("adam", 1e-3, 256)
        assert recipe.max_steps == steps
        assert [rate_factor(step, recipe) for step in (0, k - 1, k, 2 * k - 1, 2 * k)] == [1, 1, 0.5, 0.5, 0.25]
        assert rate_factor(steps - 1, recipe) == 0.5 ** (steps // k - 1)


def test_the_gradient_is_clipped(tmp_path: Path) -> None:
    norms = {}
    for clip in (0.0, 0.05):
        config = tiny_config(tmp_path, f"recipe.gradient_clip={clip}", "recipe.max_steps=1")
        [gradients] = fit(config, module_of(config)).gradients
        norms[clip] = torch.stack([one.norm() for one in gradients.values()]).norm().item()
    assert norms[0.0] > 0.1
    assert norms[0.05] == pytest.approx(0.05, rel=1e-3)


def test_bf16_trains_in_mixed_precision(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, "data.overfit=true", "recipe.max_steps=30", "recipe.learning_rate=0.01")
    module = module_of(config)
    losses = fit(config, module, precision="bf16-mixed").losses
    assert losses[-1] < 0.8 * losses[0]
    assert losses[0] == pytest.approx(fit(config, module_of(config)).losses[0], rel=0.01)
    assert {parameter.dtype for parameter in module.backbone.parameters()} == {torch.float32}


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_fp16_clips_the_true_gradient(tmp_path: Path, optimizer: str) -> None:
    """A GPU's precision, tried on the CPU through the plugin that Lightning would choose there."""
    config = tiny_config(
        tmp_path, f"recipe.optimizer={optimizer}", "recipe.gradient_clip=0.05", "data.overfit=true",
        "recipe.learning_rate=0.01",
    )  # fmt: skip
    module = module_of(config)
    half = MixedPrecision("16-mixed", "cpu", scaler=torch.amp.GradScaler("cpu", init_scale=1024.0))
    watcher = fit(config, module, plugins=[half])
    norms = [torch.stack([one.norm() for one in step.values()]).norm().item() for step in watcher.gradients]
    assert norms == pytest.approx([0.05] * config.recipe.max_steps, rel=1e-2)
    assert watcher.losses[-1] < watcher.losses[0]


def test_one_batch_is_learnt(tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path, "data.overfit=true", "recipe.max_steps=150", "recipe.learning_rate=0.01", "architecture.d_model=32",
        "recipe.halve_every=50",
    )  # fmt: skip
    losses = fit(config, module_of(config)).losses
    assert losses[0] > 2.0
    assert losses[-1] < 0.2


def test_a_diverging_loss_shows(tmp_path: Path) -> None:
    """torchmetrics leaves NaN out of a mean, unless it is told not to."""
    config = tiny_config(tmp_path, "recipe.max_steps=1")
    module = module_of(config)
    with torch.no_grad():
        next(module.backbone.parameters()).fill_(float("nan"))
    [loss] = fit(config, module).losses
    assert math.isnan(loss)


@pytest.mark.parametrize("task", TASKS)
def test_the_model_never_reads_think(tmp_path: Path, task: str) -> None:
    config = tiny_config(tmp_path, f"task={task}", "recipe.batch_size=64")
    think = cell_of(config).vocabulary.symbols.index("THINK")
    inputs_BT, targets_BT = padded(stream_of(config)[0])
    assert not (inputs_BT == think).any()
    assert (targets_BT == think).any()
