"""`launch`: one run or a sweep, failures told at once and once, nothing left behind."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from rotlab.config import Config, ConfigError, places
from rotlab.config.app import launch
from rotlab.tasks import TASKS


class Runs:
    """Stands in for training: remembers what it was called with, fails for seeds 13 and 7."""

    def __init__(self) -> None:
        self.configs: list[Config] = []

    def __call__(self, config: Config) -> None:
        if config.seed == 13:
            raise RuntimeError("out of luck")
        if config.seed == 7:
            raise ConfigError("add-4 doesn't fit")
        self.configs.append(config)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.chdir(tmp_path)
    return Runs()


def left_behind(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_run_gets_its_configuration(runs: Runs, tmp_path: Path) -> None:
    assert launch(runs, ["task=mul", "difficulty=3"]) == 0
    [config] = runs.configs
    assert (config.task.name, config.difficulty) == ("mul", 3)
    assert Path.cwd() == tmp_path
    assert left_behind(tmp_path) == []


def test_the_processs_own_arguments_are_the_default(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["train.py", "seed=5"])
    assert launch(runs) == 0
    assert runs.configs[0].seed == 5


@pytest.mark.parametrize(
    "command", ["difficulty=0", "task=sort difficulty=1", "seed=7", "-m seed=1,2 task=sort difficulty=1,2"]
)
def test_a_refusal_is_one_line_and_code_2(runs: Runs, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert launch(runs, command.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert runs.configs == []


def test_another_exception_keeps_its_traceback(runs: Runs) -> None:
    with pytest.raises(RuntimeError, match="out of luck"):
        launch(runs, ["seed=13"])


def test_a_sweep_calls_each_combination(runs: Runs, tmp_path: Path) -> None:
    assert launch(runs, ["-m", "task=add,sub", "seed=0,1", "difficulty=5"]) == 0
    cells = [(config.task.name, config.seed, config.difficulty) for config in runs.configs]
    assert cells == [("add", 0, 5), ("add", 1, 5), ("sub", 0, 5), ("sub", 1, 5)]
    assert left_behind(tmp_path) == ["multirun/.sweep/multirun.yaml"]
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize(("seeds", "code"), [("0,7,1", 2), ("0,13,1", 1), ("0,7,13,1", 2)])
def test_a_failed_job_is_told_and_the_others_run(
    runs: Runs, capsys: pytest.CaptureFixture[str], seeds: str, code: int
) -> None:
    assert launch(runs, ["-m", f"seed={seeds}"]) == code
    assert [config.seed for config in runs.configs] == [0, 1]
    err = capsys.readouterr().err
    assert ("error: job 1 (seed=7): add-4 doesn't fit" in err) == ("7" in seeds)
    assert ("RuntimeError: out of luck" in err) == ("13" in seeds)
    assert err.count("Traceback") == ("13" in seeds)


def test_a_large_sweep_starts_without_composing_every_job(runs: Runs) -> None:
    """Its values are checked one by one, so that it is refused in seconds."""
    assert launch(runs, ["-m", "seed=range(0,1000)", "difficulty=range(1,40)", "task=add,sub,foo"]) == 2
    assert runs.configs == []


@pytest.mark.parametrize("mode", [[], ["-m", "seed=0,1"]])
def test_a_folder_that_cant_be_written_is_named(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: list[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert launch(runs, [*mode, f"runs_dir={tmp_path}/file/runs"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "can't write there (Not a directory): choose another folder" in err
    assert runs.configs == []


def test_a_folder_of_ones_own_adds_options(runs: Runs, tmp_path: Path) -> None:
    own = tmp_path / "my conf" / "experiment"
    own.mkdir(parents=True)
    (own / "small.yaml").write_text("# @package _global_\ndefaults: [override /task: mul]\ndifficulty: 2\n")
    assert launch(runs, ["--config-dir", str(own.parent), "experiment=small"]) == 0
    assert launch(runs, ["--config-dir", str(own.parent), "-m", "experiment=small,quickstart"]) == 0
    assert [(config.task.name, config.difficulty) for config in runs.configs] == [
        ("mul", 2), ("mul", 2), ("add", 4),
    ]  # fmt: skip


def test_the_preset_is_a_tag(runs: Runs) -> None:
    tags = "logger.wandb.tags=[mine]"
    for argv in (["experiment=quickstart", tags], ["-m", "experiment=quickstart", tags], []):
        assert launch(runs, argv) == 0
    assert [config.logger.wandb.tags for config in runs.configs] == [
        ("mine", "quickstart"), ("mine", "quickstart"), (),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("evaluation: {every: 3}", "unknown key 'evaluation.every': did you mean evaluation.every_n_steps?"),
        ("a: b: c", "a YAML file can't be read: mapping values are not allowed here"),
        ("defaults: [override /task: foo]", "Could not find"),
    ],
)
def test_a_faulty_file_is_one_line_too(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "odd.yaml").write_text(f"# @package _global_\n{text}\n")
    assert launch(runs, ["--config-dir", str(tmp_path), "experiment=odd"]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


def test_a_new_task_needs_no_yaml_file(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "gcd", dataclasses.replace(TASKS["div"], name="gcd"))
    assert launch(runs, ["task=gcd", "difficulty=2"]) == 0
    assert (runs.configs[0].task.name, runs.configs[0].task.sampling) == ("gcd", "log_uniform")


@pytest.mark.parametrize("site", ["site/rotlab", "repository/src/rotlab"])
def test_the_yaml_files_of_a_wheel_or_a_checkout_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: str
) -> None:
    package = tmp_path / site
    monkeypatch.setattr(places, "__file__", str(package / "config" / "places.py"))
    with pytest.raises(ConfigError, match="install rotlab again"):
        places.conf_dir()
    conf = package / "conf" if site.startswith("site") else tmp_path / "repository" / "conf"
    conf.mkdir(parents=True)
    (conf / "config.yaml").touch()
    assert places.conf_dir() == conf
