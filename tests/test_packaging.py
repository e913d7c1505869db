"""What is installed: the wheel holds the package and conf/, and one version is written everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import rotlab

ROOT = Path(__file__).resolve().parents[1]
BUILD_INPUTS = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "conf", "src")


def files_under(folder: Path, pattern: str) -> set[str]:
    """The files under `folder` whose names match, relative to it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob(pattern) if path.is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout, built from a copy (a build leaves files behind) and without the network."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheel")
    for name in BUILD_INPUTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, copy / name)
    # As a build folder that was left before a file of conf/ was renamed.
    stale = copy / "build" / "lib" / "rotlab" / "conf" / "stale.yaml"
    stale.parent.mkdir(parents=True)
    stale.touch()
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "-w", out, copy], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel is unpacked, as a site-packages."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_the_wheel_holds_every_file_of_conf(installed: Path) -> None:
    conf = files_under(ROOT / "conf", "*.yaml")
    assert "config.yaml" in conf
    assert files_under(installed / "rotlab" / "conf", "*") == conf


def test_the_wheel_holds_the_package_and_nothing_else(installed: Path) -> None:
    package = {f"rotlab/{name}" for name in files_under(ROOT / "src" / "rotlab", "*.py")}
    assert files_under(installed, "*.py") == package
    assert (installed / "rotlab" / "py.typed").is_file()
    assert {path.name for path in installed.iterdir()} == {"rotlab", f"rotlab-{rotlab.__version__}.dist-info"}


def test_the_wheel_installs_the_command(installed: Path) -> None:
    metadata = installed / f"rotlab-{rotlab.__version__}.dist-info"
    assert "rotlab = rotlab.cli:main" in (metadata / "entry_points.txt").read_text()
    assert (metadata / "licenses" / "LICENSE").is_file()


def test_an_installed_package_finds_its_conf(installed: Path, tmp_path: Path) -> None:
    ask = [sys.executable, "-c", "from rotlab.config import conf_dir; print(conf_dir())"]
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(ask, check=False, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.stdout.strip() == str(installed / "rotlab" / "conf"), done.stderr


def test_the_citation_names_the_version() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited is not None
    assert cited[1] == rotlab.__version__


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text()


def test_every_declared_dependency_is_pinned() -> None:
    declared = re.findall(r'^    "([\w-]+)>=', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    pinned = re.findall(r"^([\w-]+)==", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    assert {"torch", "pytest"} <= set(declared) <= set(pinned)
