"""The other small commands: sample, list, and what the parser itself answers."""

from __future__ import annotations

import re

import pytest

import rotlab
from rotlab.cli import COMMANDS, main
from rotlab.contexts import unfold
from rotlab.contexts.driver import sample_questions
from rotlab.tasks import METHODS, SAMPLERS, TASKS, TYPES, parse_question
from rotlab.vocab import notation
from tests.package_copy import run_python


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    return line


# --- sample --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_samples_are_questions(capsys: pytest.CaptureFixture[str], task: str) -> None:
    """Each can be given to `rotlab contexts` as it is."""
    lines = printed(capsys, "sample", "--task", task, "--difficulty", "3", "-n", "5")
    assert len(lines) == 5
    assert [parse_question(line)[1].name for line in lines] == [task] * 5
    assert unfold(lines[0])


def test_samples_are_the_training_stream_s(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "sample", "--task", "mul", "--difficulty", "6", "-n", "7", "--seed", "3")
    stream = sample_questions(SAMPLERS["mul", "log_uniform"], 6, 3, 7)
    assert lines == [notation(question[1:-1]) for question in stream]
    assert lines != printed(capsys, "sample", "--task", "mul", "--difficulty", "6", "-n", "7")


def test_forty_samples_unless_asked_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(printed(capsys, "sample", "--task", "lcs", "--difficulty", "4")) == 40


def test_another_sampling(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 40 uniform numbers of 20 digits hardly one has less than 17; of log-uniform ones most have."""
    words = ["sample", "--task", "add", "--difficulty", "20"]
    short = [
        sum(len(number) < 17 for line in printed(capsys, *words, *more) for number in line.split("+"))
        for more in ([], ["--sampling", "uniform"])
    ]
    assert short[0] > 40
    assert short[1] < 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--task", "add", "--difficulty", "0"], "the smallest difficulty of add is 1 (digits)"),
        (["--task", "add", "--difficulty", "-1"], "the smallest difficulty of add is 1 (digits)"),
        (["--task", "sort", "--difficulty", "1"], "the smallest difficulty of sort is 2 (terms)"),
        (["--task", "mul", "--difficulty", "3", "--sampling", "uniform"], "mul has no sampling 'uniform'"),
        (["--task", "mul", "--difficulty", "3", "-n", "0"], "-n must be at least 1"),
        (["--task", "mul", "--difficulty", "3", "--seed", "-1"], "--seed from 0 to"),
    ],
)
def test_impossible_samples(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    line = refused(capsys, "sample", *arguments)
    assert line.startswith("error: ")
    assert said in line


# --- list ----------------------------------------------------------------------------------------------------------


def test_list_has_a_line_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    sections: dict[str, dict[str, str]] = {}
    for line in printed(capsys, "list"):
        if line.startswith("  "):
            name, _, summary = line.strip().partition(" ")
            sections[next(reversed(sections))][name] = summary.strip()
        else:
            sections[line] = {}
    assert list(sections) == ["tasks", "problem types", "methods", "architectures", "recipes"]
    assert list(sections["tasks"]) == list(TASKS)
    assert list(sections["methods"]) == list(METHODS)
    assert {"transformer", "lstm"} <= set(sections["architectures"])
    assert {"paper", "fast"} <= set(sections["recipes"])
    types = sections.pop("problem types")
    assert types == {one.name: one.example for one in TYPES}
    assert all(len(summary) > 20 for section in sections.values() for summary in section.values())
    assert "difficulty in matrices" in sections["tasks"]["mcm"]
    assert "log_uniform or uniform" in sections["tasks"]["add"]


# --- the parser ----------------------------------------------------------------------------------------------------


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """Exit code, output and errors of what argparse answers itself."""
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    captured = capsys.readouterr()
    return caught.value.code, captured.out, captured.err


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = answered(capsys, "--help")
    assert code == 0
    for name, summary in COMMANDS.items():
        assert re.search(rf"^ +{name} +{summary.split()[0]}", out, flags=re.MULTILINE)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "train"])
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = answered(capsys, command, "--help")
    assert code == 0
    assert out.startswith(f"usage: rotlab {command}")
    assert COMMANDS[command].split()[0].capitalize() in out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(capsys, "--version") == (0, f"rotlab {rotlab.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["nope"], ["sample"], ["sample", "--task", "ad", "--difficulty", "3"]])
def test_bad_commands(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = answered(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "usage: rotlab" in err


def test_as_a_process() -> None:
    done = run_python("-m", "rotlab.cli", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rotlab {rotlab.__version__}\n", "")


def test_a_program_s_name_and_arguments_are_read_from_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["anything", "contexts", "1+1"])
    assert main() == 0
    assert capsys.readouterr().out == "GO 1+1=2 STOP\n"
