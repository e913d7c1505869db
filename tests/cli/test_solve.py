"""`rotlab solve`, `rotlab export`, and `rotlab evaluate --free-running`, as they are typed."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import torch
from rich.console import Console

from rotlab.cli import main
from rotlab.cli.bench import inference
from rotlab.cli.recursion_tree import tree
from rotlab.data.cell import Cell
from rotlab.inference.rules import Read, Rules
from rotlab.inference.solver import Solver
from rotlab.models.trained import load_checkpoint
from rotlab.tasks import TASKS
from rotlab.vocab import ID
from tests.cli.test_commands import printed, refused

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "add")


class TestSolve:
    def test_it_shows_the_recursion(self, capsys: pytest.CaptureFixture[str]) -> None:
        first, top, *rest, last = printed(capsys, "solve", EXAMPLE, "408+351")
        assert first == "408+351 = 759  right"
        assert top == "GO 408+351= GO 8+1=9 STOP GO 40+35=75 STOP 759 STOP"
        assert [line.lstrip("│├└─ ") for line in rest] == [
            "GO 8+1=9 STOP",
            "GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP",
            "GO 0+5=5 STOP",
            "GO 4+3=7 STOP",
        ]
        assert last == "5 contexts, 2 deep; 39 tokens written, 39 without a memo"

    def test_repeated_contexts_are_folded(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = printed(capsys, "solve", EXAMPLE, "22+22")
        assert sum("GO 2+2=4 STOP" in line for line in lines[2:-1]) == 2
        assert sum(line.endswith("GO 2+2=4 STOP (above)") for line in lines) == 1

    def test_tails_and_failures_are_marked(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["solve", EXAMPLE, "408+351", "--height", "1"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines == [
            "408+351 = no answer: height, contexts are nested deeper than the limit",
            "GO 408+351= GO 8+1=9 STOP GO 40+35= height",
            "├── GO 8+1=9 STOP",
            "└── GO 40+35= GO 0+5= given up",
            "    └── GO 0+5= given up",
            "4 contexts, 2 deep; 22 tokens written, 22 without a memo",
        ]
        assert main(["solve", EXAMPLE, "408+351", "--height", "1", "--json"]) == 1
        contexts = json.loads(capsys.readouterr().out)["recursion"]
        assert [context["context"] for context in contexts] == [
            "GO 408+351= GO 8+1=9 STOP GO 40+35=", "GO 8+1=9 STOP", "GO 40+35= GO 0+5=", "GO 0+5="
        ]  # fmt: skip
        assert [context["failure"] for context in contexts] == ["given up", None, "given up", "given up"]

    def test_a_wrong_context_is_shown_with_the_right_answer(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["solve", EXAMPLE, "77777777+88888888"]) == 1
        text, warned = capsys.readouterr()
        assert re.search(r"\[[^|]+\|[^]]+\]", text)
        assert warned.startswith("warning: '77777777+88888888' is longer than the add questions")

    def test_many_questions(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "questions").write_text("4+5\n\n 6+7 \n")
        monkeypatch.setattr(sys, "stdin", io.StringIO("8+9\n1+1\n"))
        lines = printed(capsys, "solve", EXAMPLE, "2+3", "-", "--file", str(tmp_path / "questions"), "--quiet")
        answers = {"2+3": 5, "8+9": 17, "1+1": 2, "4+5": 9, "6+7": 13}
        assert lines == [*(f"{question} = {answer}  right" for question, answer in answers.items()), "5 of 5 right"]

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = [json.loads(line) for line in printed(capsys, "solve", EXAMPLE, "12+3", "4+4", "--json")]
        assert [one["question"] for one in found] == ["12+3", "4+4"]
        assert [one["answer"] for one in found] == ["15", "8"]
        assert all(one["right"] for one in found)
        contexts = found[0]["recursion"]
        assert contexts[0]["context"] == "GO 12+3= GO 2+3=5 STOP 15 STOP"
        assert [contexts[place]["context"] for place in contexts[0]["asks"]] == ["GO 2+3=5 STOP"]
        assert found[0]["contexts"] == len(contexts) == 2

    def test_samples(self, capsys: pytest.CaptureFixture[str]) -> None:
        flags = ["--samples", "3", "--temperature", "0.1", "--top-k", "2", "--seed", "4", "--slots", "2", "--quiet"]
        lines = printed(capsys, "solve", EXAMPLE, "2+3", *flags)
        assert lines == [*(f"2+3 (sample {i}) = 5  right" for i in range(3)), "3 of 3 right"]

    def test_only_so_many_contexts_are_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = printed(capsys, "solve", EXAMPLE, "408+351", "--most", "2", "--no-memo")
        assert len(lines) == 5
        assert lines[3].endswith("... and what 1 more question took")
        assert lines[4] == "5 different contexts, 2 deep; 39 tokens written, 39 with a memo"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((EXAMPLE,), "no question: write one"),
            ((EXAMPLE, "12*3"), "which this network doesn't know"),
            ((EXAMPLE, "1+1", "--file", "nowhere.txt"), "nowhere.txt can't be read"),
            (("nowhere", "1+1"), "no checkpoint at nowhere"),
            ((EXAMPLE, "1+1", "--slots", "0"), "slots is 0"),
            ((EXAMPLE, "1+1", "--height", "0"), "the limit of height is 0"),
            ((EXAMPLE, "1+1", "--temperature", "-1"), "the temperature is -1.0"),
            ((EXAMPLE, "1+1", "--samples", "0"), "samples is 0"),
            (
                (EXAMPLE, "1+1", "--samples", "2"),
                "nothing is drawn: --samples and --top-k need it, write --temperature",
            ),
            ((EXAMPLE, "1+1", "--top-k", "2"), "nothing is drawn"),
            ((EXAMPLE, "1+1", "2+", "--quiet"), "question 2: '2+' is no add question"),
        ],
    )
    def test_what_is_impossible_is_refused(
        self, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
    ) -> None:
        assert message in refused(capsys, "solve", *arguments)

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
    def test_a_missing_gpu_is_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "write --device cpu" in refused(capsys, "solve", EXAMPLE, "1+1", "--device", "cuda")


class TestTree:
    @staticmethod
    def drawn(task: str, question: str, width: int, network: type[Rules] = Rules) -> list[str]:
        cell = Cell(task, 20, "rot", TASKS[task].samplings[0], 2048)
        [solution] = Solver(network(cell.vocabulary, "rot"), cell).solve([question])
        console = Console(width=width, highlight=False, file=io.StringIO())
        console.print(tree(solution, "rot", 40, width))
        assert isinstance(console.file, io.StringIO)
        return [line.rstrip() for line in console.file.getvalue().splitlines()]

    def test_a_tail_call_follows_its_caller_no_deeper(self) -> None:
        assert self.drawn("sort", "SORT 21,5,54", 120) == [
            "GO SORT 21,5,54= GO SORT 21,5=5,21 STOP GO SORT 54=54 STOP TAIL MERGE 5,21 SEP 54= THINK",
            "├── GO SORT 21,5= GO SORT 21=21 STOP GO SORT 5=5 STOP TAIL MERGE 21 SEP 5= THINK",
            "│   ├── GO SORT 21=21 STOP",
            "│   └── GO SORT 5=5 STOP",
            "├── TAIL GO MERGE 21 SEP 5= GO 21 VS 5= GT STOP 5,21 STOP",
            "│   └── GO 21 VS 5= GT STOP",
            "├── GO SORT 54=54 STOP",
            "└── TAIL GO MERGE 5,21 SEP 54= GO 5 VS 54= LT STOP GO MERGE 21 SEP 54=21,54 STOP 5,21,54 STOP",
            "    ├── GO 5 VS 54= LT STOP",
            "    └── GO MERGE 21 SEP 54= GO 21 VS 54= LT STOP 21,54 STOP",
            "        └── GO 21 VS 54= GO 2 VS 5= LT STOP LT STOP",
            "            └── GO 2 VS 5= LT STOP",
        ]

    def test_what_is_too_deep_for_the_width_is_left_out(self) -> None:
        lines = self.drawn("add", "1" * 12 + "+" + "2" * 12, 60)
        assert lines[-1] == "└── ... and what 1 more question took"
        assert max(line.index("GO") for line in lines if "─ GO" in line) == 4 * 6

    def test_the_first_wrong_token_is_marked(self) -> None:
        class Fives(Rules):
            def _next(self, cache: Read, read: bytearray) -> int:
                says = super()._next(cache, read)
                return ID["5"] if says == ID["7"] else says

        assert self.drawn("add", "12+34", 120, Fives) == [
            "GO 12+34= GO 2+4=6 STOP GO 1+3=4 STOP 46 STOP", "├── GO 2+4=6 STOP", "└── GO 1+3=4 STOP"
        ]  # fmt: skip
        assert self.drawn("add", "13+34", 120, Fives)[:2] == [
            "GO 13+34= GO 3+4= [5|7] STOP GO 1+3=4 STOP 45 STOP",
            "├── GO 3+4= [5|7] STOP",
        ]


def test_the_example_is_small() -> None:
    files = [path for path in Path(EXAMPLE).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2_000_000


class TestExport:
    def test_a_copy_is_half_as_large_and_answers_alike(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        [line] = printed(capsys, "export", EXAMPLE, str(tmp_path / "copy"))
        assert ": add-4 rot, step " in line
        ours, theirs = (load_checkpoint(Path(run)) for run in (tmp_path / "copy", EXAMPLE))
        for name, weight in ours.backbone.state_dict().items():
            assert weight.dtype == torch.float32
            assert weight.equal(theirs.backbone.state_dict()[name])
        printed(capsys, "export", EXAMPLE, str(tmp_path / "whole"), "--dtype", "float32")
        sizes = [(tmp_path / name / "checkpoints" / "last.ckpt").stat().st_size for name in ("copy", "whole")]
        assert sizes[0] < 0.55 * sizes[1]

    def test_nothing_is_overwritten(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        shutil.copytree(EXAMPLE, tmp_path / "there")
        assert "is there already: name another directory" in refused(capsys, "export", EXAMPLE, str(tmp_path / "there"))
        (tmp_path / "file").write_text("")
        assert "can't be written" in refused(capsys, "export", EXAMPLE, str(tmp_path / "file" / "x"))


def evaluated(capsys: pytest.CaptureFixture[str], *flags: str) -> list[str]:
    assert main(["evaluate", EXAMPLE, *flags]) == 0
    return capsys.readouterr().out.splitlines()


class TestFreeRunningEvaluation:
    def test_figures(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = evaluated(capsys, "--free-running", "--problems", "30")
        figures = dict(line.split() for line in lines if line.startswith("eval/"))
        assert figures["eval/free"] == figures["eval/problem"] == "1.0000"
        assert figures["eval/free/malformed"] == "0.0000"

    def test_a_table_over_difficulties(self, capsys: pytest.CaptureFixture[str]) -> None:
        flags = ["--free-running", "--problems", "25", "--difficulty", "3", "7"]
        title, head, *rows = evaluated(capsys, *flags)
        assert title.startswith("add-4 rot, step ")
        assert head.split()[:2] == ["difficulty", "tested"]
        assert "free-running" in head
        easy, hard = (row.split() for row in rows)
        assert easy[:3] == ["3", "25", "1.0000"]
        assert hard[:2] == ["7", "25"]
        assert float(hard[2]) < 0.9
        right = 25 * float(hard[5])
        assert round(right) + sum(map(int, hard[6:])) == 25, "all that is not right is told by its reason"

    def test_json_rows(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = evaluated(capsys, "--json", "--problems", "9", "--difficulty", "1", "2")
        rows = [json.loads(line) for line in lines]
        assert [(row["difficulty"], row["problems"]) for row in rows] == [(1, 9), (2, 9)]
        assert "eval/free" not in rows[0]


def test_rows_of_the_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "_QUESTIONS", 12)
    monkeypatch.setattr(inference, "_FEW", 3)
    _, _, *rows = printed(capsys, "bench", "inference", EXAMPLE)
    assert [row[:28].strip() for row in rows] == [
        "512 slots", "64 slots", "512 slots, no memo", "plain, with a cache", "plain",
    ]  # fmt: skip
    assert [row.split()[-7 if "plain" not in row else -6] for row in rows] == ["12"] * 3 + ["3"] * 2
