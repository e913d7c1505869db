"""Compiled code never outlives its source, and says what the same Python says."""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path

import numba
import pytest

from rotlab import compiled
from tests.package_copy import PACKAGE, copy_package, replace_once, run_python

COVERED = ("compiled.py", "vocab.py", "native.py", "rng.py", "tasks", "contexts")


# --- the cache -----------------------------------------------------------------------------------------------------


def contexts(package: Path, cache: Path) -> str:
    kept = {"ROTLAB_CACHE_DIR": str(cache)}
    done = run_python("-m", "rotlab.cli", "contexts", "11+1", package=package, environment=kept)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_edited_rule_shows_in_the_next_process(tmp_path: Path) -> None:
    """Numba alone would go on serving the old rule: the driver that calls it stands in another file."""
    package, cache = copy_package(tmp_path, ("add",)), tmp_path / "cache"
    before = contexts(package, cache)
    assert before == "GO 11+1= GO 1+1=2 STOP 12 STOP\nGO 1+1=2 STOP\n"
    rule = package / "tasks" / "add.py"
    original = rule.read_text(encoding="utf-8")
    replace_once(rule, r"token\(v, left\) \+ token\(v, right\)\)", "token(v, left) + token(v, right) + 1)")
    assert contexts(package, cache) == "GO 11+1= GO 1+1=3 STOP 13 STOP\nGO 1+1=3 STOP\n"
    rule.write_text(original, encoding="utf-8")
    assert contexts(package, cache) == before
    assert len(list((cache / "rotlab").iterdir())) == 2, "the first version's code is used again"


def test_any_compiled_source_changes_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = copy_package(tmp_path)
    monkeypatch.setattr(compiled, "_PACKAGE", package)
    hashes = {compiled.source_hash()}
    for number, source in enumerate(sources_of(package), start=2):
        source.write_text(source.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        hashes.add(compiled.source_hash())
        assert len(hashes) == number, source
    (package / "tasks" / "new.py").write_text("", encoding="utf-8")
    (package / "tasks" / "add.py").rename(package / "tasks" / "plus.py")
    assert compiled.source_hash() not in hashes


def test_nothing_else_changes_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = copy_package(tmp_path)
    monkeypatch.setattr(compiled, "_PACKAGE", package)
    assert compiled.source_hash() == source_hash_of_numba(numba.__version__, monkeypatch)
    assert compiled.source_hash() != source_hash_of_numba("0.0.0", monkeypatch)
    before = compiled.source_hash()
    shutil.rmtree(package / "training")
    assert compiled.source_hash() == before


def source_hash_of_numba(version: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(numba, "__version__", version)
        return compiled.source_hash()


def sources_of(package: Path) -> list[Path]:
    rooms = (package / room for room in COVERED)
    return [file for room in rooms for file in (sorted(room.rglob("*.py")) if room.is_dir() else [room])]


def test_every_compiled_function_stands_where_the_hash_looks() -> None:
    elsewhere = set(PACKAGE.rglob("*.py")) - set(sources_of(PACKAGE))
    assert len(elsewhere) > 10
    for source in elsewhere:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            assert not {module.split(".")[0] for module in modules} & {"numba", "compiled"}, source


def test_compiled_code_goes_where_it_is_told(tmp_path: Path) -> None:
    own = tmp_path / "own" / "rotlab" / compiled.source_hash()
    announced = "rotlab: the first start after an edit compiles, for about a minute\n"
    assert where(ROTLAB_CACHE_DIR=str(tmp_path / "own")) == (own, announced)
    assert where(ROTLAB_CACHE_DIR=str(tmp_path / "own")) == (own, "")
    folder, _ = where(ROTLAB_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert folder == tmp_path / "xdg" / "rotlab" / compiled.source_hash()
    folder, _ = where(ROTLAB_CACHE_DIR="", XDG_CACHE_HOME="", HOME=str(tmp_path))
    assert folder == tmp_path / ".cache" / "rotlab" / compiled.source_hash()


def where(**environment: str) -> tuple[Path, str]:
    """The cache folder of a new process, and what it writes to standard error."""
    done = run_python("-c", "from rotlab.compiled import CACHE_FOLDER; print(CACHE_FOLDER)", environment=environment)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip()), done.stderr


def test_an_unwritable_cache_is_replaced_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_temporary(*where(ROTLAB_CACHE_DIR=str(tmp_path / "file"), TMPDIR=str(tmp_path)), tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_is_replaced_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "rotlab" / compiled.source_hash()).mkdir(parents=True, mode=0o555)
    assert_temporary(*where(ROTLAB_CACHE_DIR=str(tmp_path), TMPDIR=str(tmp_path)), tmp_path)


def assert_temporary(folder: Path, said: str, temporary: Path) -> None:
    assert folder.is_dir()
    assert (folder.parent, folder.name[:7]) == (temporary, "rotlab-")
    assert "compiled code can't be kept" in said
    assert "a temporary folder is used" in said


def test_numba_keeps_its_own_cache_for_others() -> None:
    assert str(compiled.CACHE_FOLDER) != numba.config.CACHE_DIR


# --- without compilation -------------------------------------------------------------------------------------------

FINGERPRINTS = """
import hashlib
from rotlab.contexts import lengths, unfold
from rotlab.contexts.driver import Drawer, sample_questions
from rotlab.data.cell import Cell
from rotlab.data.test_set import problem_set
from rotlab.rng import TRAIN
from rotlab.tasks import METHODS, SAMPLERS, TASKS, TYPES
from rotlab.vocab import notation

for one in TYPES:
    for method in METHODS:
        print(one.name, method, lengths(one.example, method), *unfold(one.example, method), sep="|")
for (task, sampling), sampler in SAMPLERS.items():
    for difficulty in (TASKS[task].min_difficulty, 3):
        method = "cot" if difficulty == 1 else "rot"
        batch, job = Drawer(sampler, difficulty, method, 400).batch(7, TRAIN, 0, 12)
        end = batch.offsets[-1]
        parts = batch.offsets, batch.tokens[:end], batch.segments[:end], job
        print(task, sampling, difficulty, hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
for task, difficulty in (("add", 40), ("div", 40), ("mcm", 5), ("sort", 5), ("knapsack", 5)):
    sampler = SAMPLERS[task, TASKS[task].samplings[0]]
    for question in sample_questions(sampler, difficulty, 2**40 + 1, 20):
        print(notation(question))
for task, difficulty in (("sub", 1), ("lcs", 3)):
    cell = Cell(task, difficulty, "rot", TASKS[task].samplings[0], 512)
    print(task, problem_set(cell, 60, 1).content_hash)
"""


def test_plain_python_gives_the_same_contexts_and_the_same_stream() -> None:
    """And overflows nowhere: a warning would be an error."""
    interpreted = run_python("-W", "error", "-c", FINGERPRINTS, environment={"NUMBA_DISABLE_JIT": "1"})
    assert interpreted.returncode == 0, interpreted.stderr
    done = run_python("-c", FINGERPRINTS)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 150
    for ours, theirs in zip(done.stdout.splitlines(), interpreted.stdout.splitlines(), strict=True):
        assert ours == theirs
