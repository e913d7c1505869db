"""Every command that can't be meant is refused in one line that says what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rotlab.config import ConfigError, overrides
from rotlab.config.command import Command
from rotlab.config.overrides import check_overrides
from rotlab.tasks import TASKS
from tests.config.compose import build

WHOLE = "write a whole number from 1 to 10000"

# What is refused by the look of it: arguments, and what the line must hold.
TYPED = [
    # the list
    ("task=foo", f"unknown task 'foo': choose {', '.join(sorted(TASKS)[:-1])} or {sorted(TASKS)[-1]}"),
    ("difficulty=0", f"difficulty=0: {WHOLE}"),
    ("difficulty=-1", f"difficulty=-1: {WHOLE}"),
    ("difficulty=1.5", f"difficulty=1.5: {WHOLE}"),
    ("difficulty=08", "here difficulty=8"),
    ("difficulty='8'", "here difficulty=8"),
    ("difficulty=1_000", "would be read as the number 1000: write difficulty=1000"),
    ("dificulty=3", "unknown key 'dificulty': did you mean difficulty?"),
    ("+dificulty=3", "did you mean difficulty?; settings are written without '+'"),
    ("task=[add,sub]", "write task=add, or -m task=add,sub for one run each"),
    # signs
    ("+difficulty=3", "write difficulty=3"),
    ("++difficulty=3", "write difficulty=3"),
    ("+experiment=quickstart", "write experiment=quickstart"),
    ("~task", "settings are never removed"),
    ("~difficulty=4", "settings are never removed"),
    # names and keys
    ("method=cto", "unknown method 'cto': choose cot, rot or wt"),
    ("architecture=gru", "unknown architecture 'gru': choose lstm or transformer"),
    ("recipe=quick", "choose fast or paper"),
    ("task=ad", "did you mean add?"),
    ("task=3", "unknown task '3'"),
    ("task=", "unknown task"),
    ("task=null", "write task=NAME, one of add, div"),
    ("debug=null", "leave it out, or write debug=NAME, one of fdr, overfit or profiler"),
    ("task=add task=sub", "task is chosen 2 times"),
    ("task.name=mul", "write task=mul"),
    ("task@data=add", "write task=NAME"),
    ("recipe.max_step=3", "did you mean recipe.max_steps"),
    ("max_steps=3", "did you mean recipe.max_steps"),
    ("recipe.foo=3", "write one of recipe.name, recipe.optimizer"),
    ("architecture.hidden=3", "unknown key 'architecture.hidden'"),
    ("architecture=lstm architecture.d_model=3", "unknown key 'architecture.d_model'"),
    ("lr=3", "write one of architecture, debug, experiment"),
    ("data={test_problems:3}", "data is a section: set its keys data.test_problems, data.test_seed"),
    # spelling
    ("difficulty", "write KEY=VALUE without blanks"),
    ("difficulty = 3", "write KEY=VALUE without blanks"),
    ("=3", "write KEY=VALUE without blanks"),
    ("difficulty=3)", "difficulty=3) can't be read: extraneous input ')'"),
    ("--difficulty=3", "settings have no dashes: difficulty=3"),
    ("--nonsense", "settings have no dashes: nonsense=VALUE"),
    ("--cfg everything", "invalid choice: 'everything'"),
    ("--resolve", "--resolve and --package go with --cfg job"),
    ("--config-dir /nowhere/at/all", "no folder /nowhere/at/all"),
    # values
    ("difficulty=null", WHOLE),
    ("difficulty=true", WHOLE),
    ("difficulty=four", WHOLE),
    ("difficulty=[4]", WHOLE),
    ("difficulty=???", WHOLE),
    ("difficulty=99999999999", WHOLE),
    ("recipe.max_steps=1e5", "here recipe.max_steps=100000"),
    ("recipe.learning_rate=-1", "write a number above 0"),
    ("recipe.learning_rate=nan", "write a number above 0"),
    ("recipe.learning_rate=0", "write a number above 0"),
    ("recipe.betas=[0.9]", "write a list of 2, [A,B], each a number from 0 to below 1"),
    ("recipe.betas=[0.9,1.0]", "each a number from 0 to below 1"),
    ("recipe.optimizer=sgd", "write adam, adamw or muon"),
    ("recipe.gradient_clip=-0.1", "write a number of at least 0"),
    ("recipe=fast recipe.decay_to=2", "write a number from 0 to 1"),
    ("evaluation.stop_at=0", "write a number above 0 and at most 1"),
    ("evaluation.stop_at=true", "write a number above 0 and at most 1"),
    ("data.workers=some", "write auto or a whole number from 0 to 256"),
    ("data.workers=-1", "write auto or a whole number from 0 to 256"),
    ("architecture.d_model=0", "write a whole number from 1 to 65536"),
    ("recipe.max_steps=99999999999999999999", "write a whole number from 1 to 10^9"),
    ("architecture.context_limit=1000000000", "write a whole number from 1 to 1000000"),
    ("trainer.threads=99999999999", "write a whole number from 1 to 1024"),
    ("trainer.precision=fp32.0", "write fp32, bf16 or fp16"),
    ("trainer.progress=ric", "write auto, rich, plain or off"),
    ("logger.csv=yes", "write true or false"),
    ("logger.wandb.mode=disabled", "write auto, online or offline"),
    ("logger.wandb.tags=first", "write a list, [A,B,...]"),
    ("logger.wandb.project=''", "text that is not empty"),
    ("runs_dir=~/runs", "write \"runs_dir='~/runs'\", with both kinds of quotes"),
    ("runs_dir=2024_01", "would be read as the number 202401: write \"runs_dir='2024_01'\""),
    ("seed=-1", "write a whole number from 0 to 4294967295"),
    # several values
    ("task=add,sub", "add --multirun"),
    ("difficulty=3,4", "add --multirun"),
    ("difficulty=range(3,5)", "add --multirun"),
    ("difficulty=choice(3,5)", "add --multirun"),
    ("recipe.betas=0.9,0.99", "write recipe.betas=[0.9,0.99] for a list"),
    ("-m task=add,foo", "unknown task 'foo'"),
    ("-m difficulty=3,08", "here difficulty=8"),
    ("-m difficulty=range(0,3)", "difficulty=0"),
    ("-m difficulty=choice(1,1.5)", "difficulty=1.5"),
    ("-m difficulty=1_0,20", "would be read as the number 10"),
    ("-m difficulty=range(3,1)", "gives no value at all"),
    ("-m task=glob(zz*)", "gives no value at all"),
    ("-m recipe.max_step=3,4", "did you mean recipe.max_steps"),
    ("-m architecture=lstm,transformer architecture.hidden=3", "unknown key 'architecture.hidden'"),
]

# What only the whole configuration shows.
COMBINED = [
    ("task=sort difficulty=1", "sort needs at least 2 terms: write difficulty=2 or more"),
    ("task=mul task.sampling=uniform", "for mul write log_uniform"),
    ("recipe=fast recipe.halve_every=3", "recipe.schedule=warmup_decay doesn't read it"),
    ("recipe.warmup_steps=3", "write recipe.warmup_steps=null"),
    ("recipe.halve_every=null", "recipe.schedule=halving reads it"),
    ("recipe.batch_size=10 recipe.accumulation=3", "write a multiple of 3"),
    ("recipe.batch_size=10 trainer.devices=4", "write a multiple of 4"),
    ("difficulty=1 data.holdout=true", "all 100 problems of add-1 are in the test set"),
    ("data.test_problems=100 evaluation.free_running=101", "there are 100 test problems; write that many at most"),
    ("trainer.precision=fp16 trainer.accelerator=cpu", "trainer.precision=bf16 or fp32"),
    ("seed=${sead}", "seed can't be resolved: Interpolation key 'sead' not found"),
    ("difficulty=${recipe.learning_rate}", WHOLE),
]


@pytest.fixture(scope="module", autouse=True)
def composed_once() -> Iterator[None]:
    """The same choices are composed once for all tests of this file, which are a hundred."""
    compose = overrides._unresolved
    known: dict[tuple[object, ...], dict[Any, Any]] = {}

    def remembered(command: Command, picked: dict[str, Any]) -> dict[Any, Any]:
        key = (command.config_name, command.folders, *picked.items())
        if key not in known:
            known[key] = compose(command, picked)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overrides, "_unresolved", remembered)
        yield


@pytest.mark.parametrize(("command", "says"), TYPED, ids=[command for command, _ in TYPED])
def test_a_command_is_refused_as_it_was_typed(command: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_overrides(command.split(" "))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("command", "says"), COMBINED, ids=[command for command, _ in COMBINED])
def test_a_combination_is_refused(command: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(*command.split(" "))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "task=lcs difficulty=32 method=rot",
        "experiment=quickstart seed=2",
        "difficulty=int(8)",
        "difficulty=${seed} seed=8",
        "recipe.learning_rate=1",
        "logger.wandb.tags=[first,2024] logger.wandb.group=eight",
        "runs_dir=/some/where",
        "trainer.devices=auto data.workers=0",
        "hydra.verbose=true +hydra.job.env_set.A=b hydra/launcher=basic",
        "-m task=add,sub difficulty=range(2,5) seed=choice(0,1)",
        "task=add -m seed=0,1",
        "-m task=glob(l*)",
        "hydra.mode=MULTIRUN seed=0,1",
        "--cfg job",
        "--info defaults",
        "--help",
        "--config-name config",
        "-sc install=bash",
    ],
)
def test_what_is_meant_passes(command: str) -> None:
    check_overrides(command.split())
