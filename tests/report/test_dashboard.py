"""W&B's pages of a project: what is sent, that it speaks of what training logs, and what happens without W&B."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rotlab.cli import COMMANDS, main
from rotlab.tasks import METHODS, TASKS

# Made by `rotlab dashboard --project rotlab --out tests/report/dashboard.json`: look at what has changed in it.
GOLDEN = Path(__file__).with_name("dashboard.json")
ARGUMENTS = ["dashboard", "--project", "rotlab"]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(child)


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    """What stands in the file."""
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


def test_the_specification_is_the_one_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first", "second"):
        assert main([*ARGUMENTS, "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text(encoding="utf-8") == GOLDEN.read_text(encoding="utf-8")
    assert "second: a report and a workspace of rotlab, not sent" in capsys.readouterr().out


def test_every_task_and_method_has_its_runs(golden: dict[str, Any]) -> None:
    found = set()
    for runs in (one for one in nodes(golden["report"]) if "selections" in one):
        wanted = {item["key"]["name"]: item["value"] for item in runs["filters"]["filters"]}
        if "task.value.name" in wanted:
            found.add((wanted["task.value.name"], wanted["method.value.name"]))
    assert found == {(task, method) for task in TASKS for method in METHODS}


def test_ids_are_unique_within_a_page(golden: dict[str, Any]) -> None:
    for page in ("report", "workspace"):
        ids = [one["__id__"] for one in nodes(golden[page]) if "viewType" in one]
        assert len(set(ids)) == len(ids) > 14


def test_it_speaks_of_what_training_logs(golden: dict[str, Any], tmp_path: Path) -> None:
    from rotlab.training.run import run
    from tests.config.compose import leaves
    from tests.training.configs import tiny_config

    config = tiny_config(tmp_path, "evaluation.free_running=3")
    directory = run(config).directory
    with (directory / "metrics.csv").open() as file:
        logged = {row["name"] for row in csv.DictReader(file)} | {"step"}
    assert (directory / "wrong_samples.jsonl").stat().st_size > 0
    text = json.dumps(golden)
    curves = {name for one in nodes(golden) for name in one.get("metrics", []) if isinstance(name, str)}
    summaries = set(re.findall(r'"summary:([^"]+)"', text))
    assert {"eval/problem", "probe/problem", "speed/contexts_per_s", "data/wait_share", "eval/free"} <= curves
    assert curves | summaries <= logged
    assert {one["xAxis"] for one in nodes(golden) if "metrics" in one and "xAxis" in one} == {"step"}
    keys = {one["key"]["name"] for one in nodes(golden) if "op" in one and "key" in one}
    keys |= {one["groupBy"] for one in nodes(golden) if "groupBy" in one} - {"group"}
    keys |= set(re.findall(r'"config:([^"]+)"', text))
    settings = leaves(config.to_dict())
    assert {".".join(part for part in key.split(".") if part != "value") for key in keys} <= settings.keys()


class StandIn:
    """W&B's interface, so far as a page needs it: takes what is sent, and answers that it is there."""

    def __init__(self, **options: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        self.default_entity = "somebody"
        self._service_api = SimpleNamespace(app_url="https://wandb.example", execute_graphql=self.take)

    def projects(self, entity: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="rotlab")]

    def take(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        self.sent.append(variables)
        view = {"id": f"id{len(self.sent)}", "name": variables["name"], "spec": variables["spec"]}
        return {"upsertView": {"view": view}}


class TestWithoutOut:
    def test_without_a_key_it_is_printed(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: dict[str, Any]
    ) -> None:
        monkeypatch.setattr("rotlab.training.wandb_run.wandb_mode", lambda requested: ("offline", "no key"))
        assert main([*ARGUMENTS, "--entity", "us"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out) == {**golden, "entity": "us"}
        assert err == "W&B: nothing was made (no key); the specification:\n"

    def test_what_is_sent_is_what_is_written(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: dict[str, Any]
    ) -> None:
        """To a stand-in: nobody has seen W&B itself show these pages."""
        stand_in = StandIn()
        monkeypatch.setattr("rotlab.training.wandb_run.wandb_mode", lambda requested: ("online", ""))
        monkeypatch.setattr("wandb.Api", lambda **options: stand_in)
        assert main(ARGUMENTS) == 0
        report, workspace = stand_in.sent
        assert json.loads(report["spec"]) == golden["report"]["spec"]
        assert json.loads(workspace["spec"]) == golden["workspace"]["spec"]
        assert {(sent["entityName"], sent["projectName"]) for sent in stand_in.sent} == {("somebody", "rotlab")}
        assert [line.partition("?")[0] for line in capsys.readouterr().out.splitlines()] == [
            f"https://wandb.example/somebody/rotlab/reports/{golden['report']['title'].replace(' ', '-')}--id1",
            "https://wandb.example/somebody/rotlab",
        ]

    def test_where_wandb_fails_it_is_printed_too(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: dict[str, Any]
    ) -> None:
        def dead(**options: Any) -> None:
            raise ConnectionError("no route\nto host")

        monkeypatch.setattr("rotlab.training.wandb_run.wandb_mode", lambda requested: ("online", ""))
        monkeypatch.setattr("wandb.Api", dead)
        assert main(ARGUMENTS) == 1
        out, err = capsys.readouterr()
        assert json.loads(out) == golden
        assert err == "W&B: nothing was made (ConnectionError: no route to host); the specification:\n"


@pytest.mark.parametrize("project", ["", " ", "a/b", "x" * 129])
def test_a_name_that_no_project_has(project: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--project", project]) == 2
    assert "write a name of 1 to 128 characters" in capsys.readouterr().err


def test_a_file_that_cant_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--out", str(tmp_path / "none" / "file")]) == 2
    assert "can't be written: No such file or directory" in capsys.readouterr().err


def test_without_the_library_it_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("wandb_workspaces", "wandb_workspaces.reports.v2"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(ARGUMENTS) == 2
    assert capsys.readouterr().err == "error: wandb-workspaces isn't installed: pip install 'rotlab[dashboard]'\n"


def test_nothing_else_imports_the_library() -> None:
    names = [f"rotlab.cli.{name}" for name in COMMANDS] + ["rotlab.report.dashboard", "rotlab.training.run"]
    program = f"import importlib, sys\nfor name in {names}: importlib.import_module(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "rotlab.cli.dashboard" in done.stdout
    assert "wandb_workspaces" not in done.stdout
