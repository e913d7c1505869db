"""A copy of the package that a test may edit, and processes that run it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import rotlab

PACKAGE = Path(rotlab.__file__).parent


def copy_package(folder: Path, task_files: tuple[str, ...] | None = None) -> Path:
    """A copy in `folder`/rotlab, reduced to the files `task_files` of its tasks, so that less is compiled."""
    copy = folder / "rotlab"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if task_files is not None:
        replace_once(copy / "tasks" / "registry.py", r"^FILES = .*$", f"FILES = {task_files!r}")
    return copy


def replace_once(path: Path, pattern: str, new: str) -> None:
    """Replace what matches, which must be there once."""
    text, count = re.subn(pattern, lambda _: new, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1, f"{pattern!r} stands {count} times in {path}"
    path.write_text(text, encoding="utf-8")


def run_python(
    *arguments: str, package: Path = PACKAGE, environment: dict[str, str] | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run Python with this copy of the package, more environment variables, and `given` on standard input."""
    variables = {**os.environ, "PYTHONPATH": str(package.parent), **(environment or {})}
    return subprocess.run(
        [sys.executable, *arguments],
        env=variables,
        input=given,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=500,
    )
