"""`rotlab contexts` as one types it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from rotlab.cli import main
from rotlab.contexts import unfold
from tests.package_copy import run_python

MUL = """\
GO 34*5= GO 4*5=20 STOP GO 3*5=15 STOP TAIL 150+20= THINK
GO 4*5=20 STOP
GO 3*5=15 STOP
GO 150+20= GO 0+0=0 STOP GO 15+2=17 STOP 170 STOP
GO 0+0=0 STOP
GO 15+2= GO 5+2=7 STOP 17 STOP
GO 5+2=7 STOP
"""
ADD_CHAIN = "GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP\n"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["contexts", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error."""
    assert main(["contexts", *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


def objects(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed(capsys, "--json", *arguments).splitlines()]


def words(text: str) -> list[str]:
    return text.split()


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "34*5", "--task", "mul", "--method", "rot") == MUL
    assert printed(capsys, "34*5") == MUL
    assert printed(capsys, "34*5", "--method", "wt") == "GO 34*5=170 STOP\n"
    assert printed(capsys, "40+35", "--method", "cot") == ADD_CHAIN


def test_json_holds_the_four_fields(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_, last = objects(capsys, "34*5")
    assert first == {
        "type": "mul",
        "tokens": words("GO 3 4 * 5 = GO 4 * 5 = 2 0 STOP GO 3 * 5 = 1 5 STOP TAIL 1 5 0 + 2 0 = THINK"),
        "segments": ["Q"] * 6 + (["Q_sub"] * 5 + ["A_sub"] * 3) * 2 + ["Q_sub"] * 8 + ["A_sub"],
        "targets": [
            *["PAD"] * 6, *words("GO 4 * 5 = THINK PAD PAD GO 3 * 5 = THINK PAD PAD TAIL 1 5 0 + 2 0 = THINK"),
        ],
    }  # fmt: skip
    assert last == {
        "type": "add",
        "tokens": words("GO 5 + 2 = 7 STOP"),
        "segments": ["Q"] * 5 + ["A"] * 2,
        "targets": [*["PAD"] * 5, "7", "STOP"],
    }


def test_json_of_a_chain(capsys: pytest.CaptureFixture[str]) -> None:
    [chain] = objects(capsys, "40+35", "--method", "cot")
    assert chain["tokens"] == words("GO 4 0 + 3 5 = GO 0 + 5 = 5 STOP GO 4 + 3 = 7 STOP 7 5 STOP")
    assert chain["segments"] == ["Q"] * 7 + ["T"] * 14 + ["A"] * 3
    assert chain["targets"] == ["PAD"] * 7 + chain["tokens"][7:]


def test_json_spells_signs_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    line = printed(capsys, "MCM 4x2,2x8,8x3", "--json", "--method", "wt")
    assert "×" in line
    assert "\\u" not in line
    assert "÷" in printed(capsys, "76/29", "--json")


def test_several_questions_are_named_as_they_were_given(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["76/29", " GO 34*5 =", "MCM 4x2,2x8"]
    found = objects(capsys, *given)
    assert list(dict.fromkeys(one["question"] for one in found)) == given
    for question in given:
        expected = [vars(context) for context in unfold(question)]
        named = [one for one in found if one["question"] == question]
        assert [{name: one[name] for name in expected[0]} for one in named] == expected
    assert printed(capsys, "34*5", "40+35", "--method", "cot").endswith(ADD_CHAIN)


def test_questions_from_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("34*5\n\n  \n40+35"))
    assert {one["question"] for one in objects(capsys, "-")} == {"34*5", "40+35"}
    monkeypatch.setattr("sys.stdin", io.StringIO("40+35\n"))
    assert {one["question"] for one in objects(capsys, "-")} == {"40+35"}
    monkeypatch.setattr("sys.stdin", io.StringIO("40+35\n"))
    assert printed(capsys, "1+1", "-", "--method", "cot") == "GO 1+1=2 STOP\n" + ADD_CHAIN
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert printed(capsys, "-") == ""


def test_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "34*5", "--count") == "34*5: 7 contexts, 105 tokens, longest 31, mean 15.0\n"
    assert printed(capsys, "34*5", "--count", "--method", "wt").startswith("34*5: 1 context of 10 tokens")
    lines = printed(capsys, "40+35", "1+1", "--count", "--method", "cot").splitlines()
    assert lines == [
        "40+35: 1 context of 24 tokens",
        "1+1: 1 context of 7 tokens",
    ]


def test_a_chain_is_counted_without_being_built(capsys: pytest.CaptureFixture[str]) -> None:
    question = f"{'0123456789' * 2} LCS {'9876543210' * 2}"
    tokens = printed(capsys, question, "--count", "--method", "cot").split(" of ")[1].split()[0]
    assert int(tokens.replace(",", "")) > 10**10


def test_the_limit_is_checked_before_anything_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, f"{'0' * 32} LCS {'1' * 32}", "--method", "cot")
    assert "over 10^18 tokens, over the limit of 1,000,000" in line
    assert "would have 24 tokens, over the limit of 23" in refused(capsys, "40+35", "--method", "cot", "--limit", "23")
    assert printed(capsys, "40+35", "--method", "cot", "--limit", "24") == ADD_CHAIN


def test_a_question_of_another_task_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "34*5", "--task", "add") == "error: '34*5' is a mul question, which add never asks"
    assert printed(capsys, "34 VS 5", "--task", "div") == "GO 34 VS 5= GT STOP\n"
    assert "mcm never asks" in refused(capsys, "EQUAL 3,4", "--task", "mcm")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "is no question; questions look like 408+351, 432-216"),
        ("12", "is no question"),
        ("3 plus 4", "'plus' is not a symbol"),
        ("3-5", "the first operand must not be less than the second"),
        ("7/0", "the divisor must not be 0"),
        ("LPS", "write one like 'LPS 41253261'"),
    ],
)
def test_bad_questions(capsys: pytest.CaptureFixture[str], question: str, said: str) -> None:
    assert said in refused(capsys, question)


def test_what_stands_before_a_bad_question_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contexts", "1+1", "3-5"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "GO 1+1=2 STOP\n"
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: questions"),
        (["1+1", "--method", "tot"], "choose from"),
        (["1+1", "--task", "ad"], "choose from"),
        (["1+1", "--limit", "many"], "invalid int value: 'many'"),
        (["1+1", "--jason"], "unrecognized arguments: --jason"),
    ],
)
def test_bad_flags(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["contexts", *arguments])
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_as_a_process() -> None:
    done = run_python("-m", "rotlab.cli", "contexts", "-", "--json", "--method", "wt", given="76÷29\n34*5\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == ["76÷29", "34*5"]
    done = run_python("-m", "rotlab.cli", "contexts", "3-5")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: '3-5' is no sub question: the first operand must not be less than the second\n"


def test_a_reader_that_has_seen_enough() -> None:
    """`rotlab contexts ... | head -1` ends quietly."""
    program = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-m', 'rotlab.cli', 'contexts', *['9' * 300 + '+1'] * 50]\n"
        "running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
        "running.stdout.readline()\n"
        "running.stdout.close()\n"
        "print(running.stderr.read().decode(), running.wait())\n"
    )
    assert run_python("-c", program).stdout == " 0\n"
