"""A run that was stopped and started again ends like one that never stopped."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from rotlab.config import Config, ConfigError, run_directory
from rotlab.models.trained import load_checkpoint
from rotlab.training.manifest import read_manifest
from rotlab.training.run import run
from tests.training.configs import tiny_config
from tests.training.sessions import PLACES, Strike, session, text_of

# Names of figures that measure time or memory; those of an interrupted run can't be those of another.
TIMED = ("speed/", "data/wait_share", "memory/", "eval/seconds", "probe/seconds")
MANY = (
    "recipe.max_steps=300", "recipe.batch_size=8", "evaluation.every_n_steps=50", "evaluation.probe_every_n_steps=35",
    "trainer.log_every_n_steps=20", "trainer.save_every_n_steps=45", "evaluation.wrong_samples=3",
)  # fmt: skip
FEW = (
    "recipe.max_steps=13", "trainer.save_every_n_steps=5", "evaluation.every_n_steps=6", "trainer.log_every_n_steps=4",
)  # fmt: skip


def result(directory: Path) -> dict[str, Any]:
    """What a run leaves, but for times."""
    manifest = json.loads((directory / "manifest.json").read_text())
    for name in ("sessions", "updated", "config"):
        del manifest[name]
    rows = (directory / "metrics.csv").read_text().splitlines()
    return {
        "manifest": manifest,
        "metrics": [row for row in rows if not row.partition(",")[2].startswith(TIMED)],
        "samples": (directory / "wrong_samples.jsonl").read_text(),
        "weights": {which: weights(directory, which) for which in ("last", "best")},
    }


def weights(directory: Path, which: str) -> dict[str, list[float]]:
    trained = load_checkpoint(directory, which)
    return {name: tensor.tolist() for name, tensor in trained.backbone.state_dict().items()}


def to_the_end(config: Config, output: Path, *strikes: Strike) -> dict[str, Any]:
    """Sessions that end early, one strike each, and one that isn't struck."""
    for strike in strikes:
        code = session(config, output, strike)
        assert code != 0 or strike.count > 20, text_of(output)
    assert session(config, output) == 0, text_of(output)
    return result(run_directory(config))


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("recipe.accumulation=4",),
        ("data.workers=2",),
        ("architecture=lstm", "recipe=fast", "recipe.warmup_steps=3"),
        ("recipe.optimizer=muon",),
        ("trainer.precision=bf16",),
    ],
    ids=["plain", "accumulation", "workers", "lstm", "muon", "bf16"],
)
def test_stopped_is_as_good_as_straight(tmp_path: Path, options: tuple[str, ...]) -> None:
    """SIGTERM amid step 3, SIGKILL after step 8 (saved: 6), Ctrl-C in the evaluation of the last step."""
    straight = to_the_end(tiny_config(tmp_path / "a", *FEW, *options), tmp_path / "a.log")
    config, output = tiny_config(tmp_path / "b", *FEW, *options), tmp_path / "b.log"
    assert session(config, output, Strike("step", 3, signal.SIGTERM)) == 143, text_of(output)
    manifest = read_manifest(run_directory(config))
    assert manifest is not None
    assert (manifest.status, manifest.reason, manifest.step) == ("interrupted", "SIGTERM", 3)
    assert load_checkpoint(run_directory(config)).step == 3

    assert session(config, output, Strike("after", 5)) == -signal.SIGKILL
    manifest = read_manifest(run_directory(config))
    assert manifest is not None
    assert (manifest.status, manifest.step) == ("running", 6)

    assert session(config, output, Strike("evaluation", 4, signal.SIGINT)) == 130, text_of(output)
    assert load_checkpoint(run_directory(config)).step == 13
    assert to_the_end(config, output) == straight
    assert [line for line in text_of(output).splitlines() if line.startswith("going on from step ")] == [
        "going on from step 3",
        "going on from step 6",
        "going on from step 13",
    ]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_struck_anywhere(tmp_path: Path, place: str, number: int, straight_13: dict[str, Any]) -> None:
    config, output = tiny_config(tmp_path, *FEW), tmp_path / "log"
    code = session(config, output, Strike(place, 2, number))
    assert code == (-number if number == signal.SIGKILL else 128 + number), text_of(output)
    assert "Traceback" not in text_of(output)
    assert to_the_end(config, output) == straight_13


@pytest.fixture(scope="module")
def straight_13(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("straight")
    return to_the_end(tiny_config(folder, *FEW), folder / "log")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_ten_rounds_of_killing(tmp_path: Path, seed: int, straight_300: dict[str, Any]) -> None:
    draw, config, output = random.Random(seed), tiny_config(tmp_path, *MANY), tmp_path / "log"
    most = {"data": 150, "step": 150, "after": 150, "evaluation": 8, "checkpoint": 20}
    for _ in range(draw.randint(2, 5)):
        place = draw.choice(PLACES)
        number = draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        session(config, output, Strike(place, draw.randint(1, most[place]), number))
    assert session(config, output) == 0, text_of(output)
    assert "Traceback" not in text_of(output)
    assert result(run_directory(config)) == straight_300


@pytest.fixture(scope="module")
def straight_300(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("straight")
    return to_the_end(tiny_config(folder, *MANY), folder / "log")


def test_a_longer_run_goes_on_where_the_shorter_ended(tmp_path: Path) -> None:
    paper = ("recipe.halve_every=5",)
    straight = run(tiny_config(tmp_path / "a", *FEW, "recipe.max_steps=18", *paper))
    run(tiny_config(tmp_path / "b", *FEW, "recipe.max_steps=12", *paper))
    extended = run(tiny_config(tmp_path / "b", *FEW, "recipe.max_steps=18", *paper))
    assert extended.directory.name == straight.directory.name
    assert result(extended.directory) == result(straight.directory)
    with pytest.raises(ConfigError, match=r"has taken 18 steps: write recipe\.max_steps=18 or more"):
        run(tiny_config(tmp_path / "b", *FEW, "recipe.max_steps=15", *paper))


def test_a_decaying_rate_makes_a_longer_run_another_one(tmp_path: Path) -> None:
    names = {
        run_directory(tiny_config(tmp_path, "recipe=fast", "recipe.warmup_steps=1", f"recipe.max_steps={steps}")).name
        for steps in (6, 7)
    }
    assert len(names) == 2


def test_random_numbers_go_on_too(tmp_path: Path) -> None:
    """A backbone may have dropout."""
    config = tiny_config(tmp_path, *FEW)
    assert session(config, tmp_path / "log", Strike("step", 3, signal.SIGTERM)) == 143
    content = torch.load(run_directory(config) / "checkpoints" / "last.ckpt", weights_only=True)
    assert content["training"]["random"].dtype == torch.uint8
