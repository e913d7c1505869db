"""What is collected from run directories, and what is left out and why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rotlab.config.status import FAILED, INTERRUPTED, RUNNING
from rotlab.report.runs import Collection, collect
from rotlab.training.manifest import Manifest
from rotlab.training.run import run
from tests.package_copy import run_python
from tests.report.runs import make_run
from tests.training.configs import tiny_config

ADD = ("task=add", "difficulty=8")


def reasons(collection: Collection, folder: Path) -> dict[str, str]:
    return {Path(one.label).relative_to(folder).as_posix(): one.reason for one in collection.problems}


def test_a_run_as_its_directory_tells(tmp_path: Path) -> None:
    directory = make_run(tmp_path / "deep" / "er", *ADD, "method=wt", seed=3, right=[100, 250])
    [one] = collect([tmp_path]).runs
    assert (one.task, one.difficulty, one.method, one.architecture, one.seed) == ("add", 8, "wt", "transformer", 3)
    assert (one.sampling, one.context_limit, one.finished) == ("log_uniform", 2048, True)
    assert one.label == directory.as_posix()
    assert one.curves == {"train/loss": [(50, 1.5)], "eval/problem": [(100, 0.1), (200, 0.25)]}
    assert [sample["context"] for sample in one.samples] == ["GO 8+1=[<7>|9]"]


def test_a_trained_run_can_be_read(tmp_path: Path) -> None:
    outcome = run(tiny_config(tmp_path, "task=sort", "difficulty=3", "recipe.max_steps=4"))
    [one] = collect([tmp_path]).runs
    assert one.finished
    assert one.manifest == outcome.manifest
    assert one.curves["eval/problem"][-1] == (4, outcome.manifest.accuracy)
    assert collect([tmp_path]).problems == ()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("manifest.json", None, "manifest.json is missing"),
        ("manifest.json", b'{"format": 1, ', "manifest.json can't be read (JSONDecodeError"),
        ("manifest.json", b'{"format": 7}', "its format is 7, not 1"),
        ("metrics.csv", None, "metrics.csv is missing"),
        ("metrics.csv", b"epoch,loss\n1,2\n", "its first line is 'epoch,loss'"),
        ("metrics.csv", b"step,name,value\n1,a\n", "metrics.csv can't be read"),
        ("metrics.csv", b"step,name,value\n1,a,\xff\n", "metrics.csv can't be read"),
    ],
)
def test_missing_and_damaged_runs_are_named(tmp_path: Path, name: str, content: bytes | None, reason: str) -> None:
    make_run(tmp_path, *ADD, seed=0)
    damaged = make_run(tmp_path, *ADD, seed=1)
    (damaged / name).unlink()
    if content is not None:
        (damaged / name).write_bytes(content)
    found = collect([tmp_path])
    assert [one.seed for one in found.runs] == [0]
    assert reason in reasons(found, tmp_path)[damaged.name]
    assert list(reasons(found, tmp_path)) == [damaged.name]


def test_a_manifest_without_a_cell_is_damaged(tmp_path: Path) -> None:
    make_run(tmp_path, *ADD)
    Manifest(name="other", config={"task": {"name": "add"}}, max_steps=5).write(tmp_path)
    with pytest.raises(ValueError, match="describes no run"):
        collect([tmp_path])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"name": "mul"', '"name": "../mul"', "describes no run"),
        ('"difficulty": 8', '"difficulty": "8"', "describes no run"),
        ('"right": 500', '"right": 5000', "more right problems than problems"),
    ],
)
def test_an_impossible_manifest_is_damaged(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = make_run(tmp_path, "task=mul", "difficulty=8") / "manifest.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ValueError, match=reason):
        collect([tmp_path])


def test_an_empty_run_directory_is_named(tmp_path: Path) -> None:
    make_run(tmp_path, *ADD)
    (tmp_path / "add-8-rot-transformer-s9-0123abcd").mkdir()
    (tmp_path / "other").mkdir()
    named = {"add-8-rot-transformer-s9-0123abcd": "manifest.json is missing"}
    assert reasons(collect([tmp_path]), tmp_path) == named


def test_a_torn_last_line_is_no_damage(tmp_path: Path) -> None:
    directory = make_run(tmp_path, *ADD)
    for name in ("metrics.csv", "wrong_samples.jsonl"):
        with (directory / name).open("a") as file:
            file.write('{"st')
    found = collect([tmp_path])
    assert found.problems == ()
    assert len(found.runs[0].samples) == 1


def test_damaged_samples_are_named_and_the_run_counts(tmp_path: Path) -> None:
    directory = make_run(tmp_path, *ADD)
    (directory / "wrong_samples.jsonl").write_text("[1]\n")
    found = collect([tmp_path])
    assert len(found.runs) == 1
    assert "the run counts all the same" in reasons(found, tmp_path)[directory.name]


def test_of_twins_the_finished_one_counts(tmp_path: Path) -> None:
    make_run(tmp_path / "a", *ADD, right=[10] * 9, status=INTERRUPTED)
    kept = make_run(tmp_path / "b", *ADD)
    shutil.copytree(kept, tmp_path / "c")
    found = collect([tmp_path])
    assert [Path(one.label) for one in found.runs] == [kept]
    twins = {"a/" + kept.name, "c"}
    assert set(reasons(found, tmp_path)) == twins
    assert {one.reason for one in found.problems} == {f"the same run as {kept.as_posix()}, which counts"}


def test_a_directory_given_twice_is_one(tmp_path: Path) -> None:
    directory = make_run(tmp_path, *ADD)
    found = collect([tmp_path, directory])
    assert len(found.runs) == 1
    assert found.problems == ()


@pytest.mark.parametrize("status", [RUNNING, INTERRUPTED, FAILED])
def test_an_unfinished_run_does_not_count(tmp_path: Path, status: str) -> None:
    directory = make_run(tmp_path, *ADD, "recipe=paper", right=[1, 2, 3], status=status)
    content = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**content, "reason": "out of\nmemory"}))
    [one] = collect([tmp_path]).runs
    assert not one.finished
    assert one.standing == f"{status} at step 300 of 500,000 (out of memory)"


def test_no_run_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no run below .*nowhere: there is no such directory"):
        collect([tmp_path, tmp_path / "nowhere"])


def test_a_missing_directory_is_named_beside_others(tmp_path: Path) -> None:
    make_run(tmp_path, *ADD)
    assert reasons(collect([tmp_path, tmp_path / "nowhere"]), tmp_path) == {"nowhere": "there is no such directory"}


def test_a_report_imports_neither_torch_nor_lightning() -> None:
    program = "import sys, rotlab.report.write; print({'torch', 'lightning', 'matplotlib'} & set(sys.modules))"
    assert run_python("-c", program).stdout == "set()\n"
