"""The YAML files: they compose in every combination, fit the registered tasks and say what the paper says."""

from __future__ import annotations

from itertools import cycle, product

import pytest

from rotlab.config import conf_dir, from_hydra
from rotlab.config.command import composed, parse, session
from rotlab.tasks import METHODS, TASKS
from tests.config.compose import build

COMMAND = parse([])
ARCHITECTURES = COMMAND.options("architecture")
RECIPES = COMMAND.options("recipe")
DEBUGS = [(), *[(f"debug={name}",) for name in COMMAND.options("debug")]]


def test_the_groups_and_their_options() -> None:
    assert COMMAND.groups() == [
        "architecture", "debug", "experiment", "logger", "method", "recipe", "scale", "task", "trainer",
    ]  # fmt: skip
    assert COMMAND.options("method") == sorted(METHODS)
    assert ARCHITECTURES == ["lstm", "transformer"]
    assert RECIPES == ["fast", "paper"]
    assert COMMAND.options("debug") == ["fdr", "overfit", "profiler"]


@pytest.mark.parametrize("name", sorted(path.stem for path in (conf_dir() / "task").glob("*.yaml")))
def test_a_task_file_names_the_default_sampler(name: str) -> None:
    config = build(f"task={name}")
    assert config.task.name == name
    assert config.task.sampling == TASKS[name].samplings[0]


@pytest.mark.parametrize(
    ("architecture", "max_steps", "halve_every", "limit"),
    [("transformer", 500_000, 50_000, 2048), ("lstm", 800_000, 100_000, 512)],
)
def test_the_default_is_the_papers_training(architecture: str, max_steps: int, halve_every: int, limit: int) -> None:
    config = build("task=lcs", "difficulty=32", "method=rot", f"architecture={architecture}")
    recipe, evaluation = config.recipe, config.evaluation
    assert (recipe.optimizer, recipe.learning_rate, recipe.betas) == ("adam", 1e-3, (0.9, 0.999))
    assert (recipe.weight_decay, recipe.gradient_clip, recipe.batch_size) == (0.0, 0.0, 256)
    assert (recipe.schedule, recipe.max_steps, recipe.halve_every) == ("halving", max_steps, halve_every)
    assert (evaluation.every_n_steps, evaluation.stop_at, config.data.test_problems) == (20_000, 1.0, 30_000)
    assert config.trainer.precision == "fp32"
    assert (config.architecture.context_limit, config.data.holdout) == (limit, False)


def test_the_fast_recipe_warms_up_and_decays() -> None:
    config = build("recipe=fast")
    recipe = config.recipe
    assert recipe.schedule == "warmup_decay"
    assert recipe.warmup_steps is not None
    assert 0 < recipe.warmup_steps < recipe.max_steps
    assert config.data.test_problems == 1_000


def test_quickstart_is_what_make_train_promises() -> None:
    config = build("experiment=quickstart")
    assert (config.task.name, config.method.name, config.architecture.name) == ("add", "rot", "transformer")
    assert config.difficulty >= 4
    assert config.data.test_problems == 1_000
    assert build("experiment=quickstart", "task=mul").task.name == "mul"


def test_a_dry_run_takes_four_steps_of_everything() -> None:
    for recipe in RECIPES:
        config = build(f"recipe={recipe}", "debug=fdr")
        assert (config.recipe.name, config.recipe.max_steps) == (recipe, 4)
        assert config.evaluation.every_n_steps == 2
        assert config.data.test_problems <= 16
        assert config.force
    assert build("debug=fdr", "recipe.max_steps=8").recipe.max_steps == 8
    assert build("debug=overfit").data.overfit
    assert build("debug=profiler").trainer.profiler == "simple"


def test_options_compose_with_each_other() -> None:
    tasks, methods = cycle(TASKS), cycle(METHODS)
    for architecture, recipe, debug in product(ARCHITECTURES, RECIPES, DEBUGS):
        task, method = next(tasks), next(methods)
        names = (f"task={task}", f"method={method}", f"architecture={architecture}", f"recipe={recipe}")
        config = build(*names, *debug)
        assert (config.task.name, config.architecture.name) == (task, architecture)


@pytest.mark.slow
def test_every_combination_of_options_composes() -> None:
    with session(COMMAND):
        for task, method, architecture, recipe, debug in product(TASKS, METHODS, ARCHITECTURES, RECIPES, DEBUGS):
            names = [f"task={task}", f"method={method}", f"architecture={architecture}", f"recipe={recipe}"]
            config = from_hydra(composed(COMMAND, [*names, *debug]))
            assert (config.task.name, config.method.name) == (task, method)
