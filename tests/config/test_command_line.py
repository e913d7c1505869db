"""`train.py` itself, as somebody at a terminal meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rotlab.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]


def train(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(ROOT / "train.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "arguments",
    [
        ["task=foo"],
        ["difficulty=08"],
        ["+dificulty=3"],
        ["task=[add,sub]"],
        ["task=sort", "difficulty=1"],
        ["runs_dir=/dev/null/runs"],
        ["-m", "task=add,sort", "difficulty=1"],
        ["-m", "runs_dir=/dev/null/runs", "seed=0,1"],
    ],
    ids=" ".join,
)
def test_bad_input_fails_at_once(tmp_path: Path, arguments: list[str]) -> None:
    done = train(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_help_explains_itself(tmp_path: Path) -> None:
    done = train(tmp_path, "--help")
    assert done.returncode == 0
    for text in (
        "usage: python train.py",
        "architecture: lstm, transformer",
        f"task: {', '.join(sorted(TASKS))}",
        "debug: fdr, overfit, profiler",
        "recipe.max_steps",
        "--multirun",
        "python train.py task=mul difficulty=3 recipe=fast",
    ):
        assert text in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert list(tmp_path.iterdir()) == []


def test_the_configuration_is_printed(tmp_path: Path) -> None:
    done = train(tmp_path, "--cfg", "job", "--resolve", "architecture=lstm", "seed=3")
    assert done.returncode == 0
    assert "max_steps: 800000" in done.stdout
    assert "seed: 3" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_neither_torch_nor_lightning_is_imported() -> None:
    code = "import sys, rotlab.config.app; print({'torch', 'lightning', 'wandb'} & set(sys.modules))"
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "set()"
