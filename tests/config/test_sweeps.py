"""Sweeps as they are composed: cells, presets and their sizes; the table at the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hydra._internal.hydra import Hydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from rotlab.config import Config, ConfigError
from rotlab.config.app import launch
from rotlab.config.command import parse, session, swept_by_presets
from rotlab.config.sweep import Ended, table
from tests.config.compose import build

ROOT = Path(__file__).resolve().parents[2]
PRESETS = [name for name in parse([]).options("experiment") if name.startswith("paper/")]
# Tables 2 to 5 of the paper: tasks with the difficulties of their cells.
GRIDS: dict[str, dict[str, Iterable[int]]] = {
    "transformer_arithmetic": {
        "add": range(8, 65, 8), "sub": range(8, 65, 8), "mul": [2, *range(4, 33, 4)], "div": [2, *range(4, 33, 4)],
    },
    "transformer_algorithms": {
        "lcs": [3, *range(4, 33, 4)], "lps": [4, 7, *range(8, 57, 8)], "knapsack": range(2, 13, 2),
        "mcm": range(2, 13, 2),
    },
    "lstm_arithmetic": {
        "add": range(2, 17, 2), "sub": range(2, 17, 2), "mul": range(2, 9), "div": range(1, 9),
    },
    "gpt3_grid": {
        "add": [32, 48], "sub": [32, 48], "mul": [8, 16], "div": [8, 16], "lcs": [16, 24], "lps": [24, 40],
        "knapsack": [4, 6], "mcm": [3, 4],
    },
    "sorting": {"sort": [4, 8, 16, 32, 64]},
}  # fmt: skip


def swept(*argv: str) -> dict[str, list[str]]:
    """What a preset sweeps over."""
    command = parse(list(argv))
    with session(command):
        found = [f"{key}={value}" for key, value in swept_by_presets(command).items()]
        return {
            one.key_or_group: list(one.sweep_string_iterator())
            for one in OverridesParser.create().parse_overrides(found)
        }


def test_there_is_a_preset_for_every_table() -> None:
    assert sorted(f"paper/{name}" for name in GRIDS) == PRESETS


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_a_preset_has_the_cells_of_its_table(name: str) -> None:
    found = swept(f"experiment=paper/{name}")
    uniform = name in ("transformer_arithmetic", "lstm_arithmetic")
    cells = [
        f"{task}-{difficulty}" + ("-uniform" if uniform and task in ("add", "sub") else "")
        for task, difficulties in GRIDS[name].items()
        for difficulty in difficulties
    ]
    assert Counter(found["cell"]) == Counter(cells)
    assert (found["method"], found["seed"]) == (["wt", "cot", "rot"], [*map(str, range(8))])
    config = build(f"experiment=paper/{name}", f"cell={cells[0]}")
    assert config.architecture.name == ("lstm" if name.startswith("lstm") else "transformer")
    assert (config.recipe.name, config.data.test_problems) == ("paper", 30_000)
    assert f"{config.task.name}-{config.difficulty}" == cells[0].removesuffix("-uniform")
    assert config.task.sampling == ("uniform" if uniform or config.task.name == "lcs" else "log_uniform")


def test_a_small_scale() -> None:
    small = build("experiment=paper/sorting", "cell=sort-8", "scale=cpu", "recipe=fast")
    assert (small.recipe.name, small.recipe.max_steps, small.data.test_problems) == ("fast", 3_000, 1_000)
    assert swept("experiment=paper/sorting", "scale=cpu")["seed"] == ["0", "1"]
    assert build("scale=cpu", "recipe.max_steps=70").recipe.max_steps == 70


def test_a_cell_is_its_task_and_difficulty() -> None:
    assert build("cell=mul-3") == build("task=mul", "difficulty=3")
    assert build("cell=add-8-uniform") == build("task=add", "difficulty=8", "task.sampling=uniform")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cell=mul3", "cell=mul3: write TASK-DIFFICULTY, such as mul-4, or add-8-uniform with a sampling"),
        ("cell=mull-3", "unknown cell=mull-3: task 'mull': did you mean"),
        ("cell=mul-3-uniform", "for mul write log_uniform"),
        ("cell=mul-3 difficulty=4", "cell says what difficulty would say again"),
        ("cell=mul-3 task=mul task.sampling=uniform", "cell says what task and task.sampling would say again"),
        ("-m cell=mul-3,mul4", "cell=mul4: write TASK-DIFFICULTY"),
        ("-m experiment=paper/sorting task=add", "cell says what task would say again"),
        ("experiment=paper/sorting", "experiment=paper/sorting is a sweep over cells: add --multirun, or a cell"),
    ],
)
def test_what_contradicts_itself_is_refused(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    def never(config: Config) -> None:
        raise AssertionError

    assert launch(never, command.split()) == 2
    assert message in capsys.readouterr().err


def test_a_sweep_goes_through_every_combination_of_a_preset() -> None:
    found: list[Any] = []

    def job(config: Config) -> Ended:
        found.append((config.task.name, config.difficulty, config.method.name, config.seed))
        return Ended("finished")

    assert launch(job, ["-m", "experiment=paper/sorting", "cell=sort-3,add-2", "scale=cpu"]) == 0
    assert found == [
        (task, n, method, seed)
        for (task, n), method, seed in product([("sort", 3), ("add", 2)], ["wt", "cot", "rot"], [0, 1])
    ]


def test_the_sweep_of_wandb_drives_train_py() -> None:
    sweep = yaml.safe_load((ROOT / "docs" / "wandb_sweep.yaml").read_text(encoding="utf-8"))
    assert (ROOT / sweep["program"]).is_file()
    given = [f"{key}={one['values'][-1]}" for key, one in sweep["parameters"].items()]
    start, arguments = sweep["command"][:3], sweep["command"][3:]
    assert start == ["${env}", "${interpreter}", "${program}"]
    place = arguments.index("${args_no_hyphens}")
    config = build(*arguments[:place], *given, *arguments[place + 1 :])
    assert (config.task.name, config.seed, config.recipe.learning_rate) == ("mul", 2, 0.01)


def test_a_launcher_that_gives_up_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(*arguments: object) -> None:
        raise RuntimeError("a worker was terminated")

    monkeypatch.setattr(Hydra, "multirun", lost)
    assert launch(lambda config: None, ["-m", "seed=0,1"]) == 1
    assert capsys.readouterr().err == (
        "error: the launcher gave up: a worker was terminated; the same command goes on\n"
    )


def test_the_table_says_how_each_job_ended() -> None:
    ended = [Ended("finished", "step 6", name="add-4"), Ended("failed", "out of luck", 1, overrides="seed=3")] * 2
    assert table(ended).splitlines() == [
        "job  status    run     result or reason",
        "0    finished  add-4   step 6",
        "1    failed    seed=3  out of luck",
        "2    finished  add-4   step 6",
        "3    failed    seed=3  out of luck",
        "4 jobs: 2 finished, 2 failed",
    ]


def test_a_bad_cell_of_a_file_is_refused_too() -> None:
    with pytest.raises(ConfigError, match=re.escape("cell=7: write TASK-DIFFICULTY")):
        build("cell=7")
