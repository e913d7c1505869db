"""The README's examples: its commands print what it says, and its task walk-through works as written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rotlab.cli import main
from rotlab.cli.bench import BENCHES

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def console_examples() -> list[tuple[str, str]]:
    pairs = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            pairs.append((command, output))
    return pairs


@pytest.mark.parametrize(("command", "output"), console_examples())
def test_console_example(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "rotlab"
    assert main(arguments) == 0
    assert capsys.readouterr().out == output


@pytest.fixture(scope="module")
def with_max(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the README's task added, step by step as the README says."""
    copy = tmp_path_factory.mktemp("max")
    shutil.copytree(ROOT / "src" / "rotlab", copy / "src" / "rotlab", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "conf", copy / "conf")
    task, test = blocks("python")
    package = copy / "src" / "rotlab"
    (package / "tasks" / "max.py").write_text(task, encoding="utf-8")
    replace(package / "tasks" / "registry.py", '"ternary")', '"ternary", "max")')
    replace(package / "vocab.py", '"SEP"),', '"SEP"),\n    "MAX",')
    (copy / "conf" / "task" / "max.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    (copy / "test_max.py").write_text(test, encoding="utf-8")
    return copy


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def run_in(copy: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "ROTLAB_CACHE_DIR": str(copy / "cache")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_task_walk_through(with_max: Path) -> None:
    printed = run_in(with_max, "-m", "rotlab.cli", "contexts", "MAX 31,45", "--task", "max")
    documented = re.findall(r"^    (GO .*)$", blocks("python")[0], flags=re.MULTILINE)
    assert printed.splitlines() == documented
    run_in(with_max, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_max.py")
    sizes = ["recipe.max_steps=2", "recipe.batch_size=8", "data.test_problems=20", "evaluation.every_n_steps=1"]
    trained = run_in(
        with_max, "-m", "rotlab.cli", "train", "task=max", "difficulty=3", "recipe=fast", "recipe.warmup_steps=1",
        "logger.wandb.enabled=false", f"runs_dir={with_max / 'runs'}", *sizes,
    )  # fmt: skip
    assert "finished at step 2" in trained


def test_the_benches_are_all_named() -> None:
    assert set(re.findall(r"^rotlab bench (\w+)", README, flags=re.MULTILINE)) | {"gpu"} == set(BENCHES)
    assert "rotlab bench gpu" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_python_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [example] = blocks("py")
    exec(example, {})
    first, second, data = capsys.readouterr().out.splitlines()[:3]
    assert (first, second) == ("408+351 759 True 5", "77+5 82 True 3")
    assert data.startswith("GO ")
