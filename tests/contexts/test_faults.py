"""What a mistaken rule is told: recursion without an end, and questions that nobody answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.package_copy import copy_package, replace_once, run_python

FAULTY = '''
from rotlab.tasks.kit import ASK, ASK_TAIL, put, put_span, question, symbol_ids, without_first
from rotlab.tasks.task import ProblemType

LPS, LCS, MCM, KNAPSACK = symbol_ids("LPS LCS MCM KNAPSACK")


def circular(v):
    """LPS n asks LCS n, LCS n asks LPS n."""
    put(v, LCS)
    put_span(v, without_first(question(v)))
    return ASK


def back(v):
    put(v, LPS)
    put_span(v, without_first(question(v)))
    return ASK_TAIL


def endless(v):
    """MCM n asks MCM nn."""
    put(v, MCM)
    put_span(v, without_first(question(v)))
    put_span(v, without_first(question(v)))
    return ASK


def unknown(v):
    """KNAPSACK n asks n."""
    put_span(v, without_first(question(v)))
    return ASK


def type_of(name, mark, rule):
    return ProblemType(name, mark, rule, symbols=mark, pattern=mark + r"\\d+", example=mark + " 1", plain=True)


TYPES = (
    type_of("a", "LPS", circular), type_of("b", "LCS", back), type_of("c", "MCM", endless),
    type_of("d", "KNAPSACK", unknown),
)
TASK = None
'''

PROGRAM = """
import json
from rotlab.contexts import unfold
said = {}
for question in ("LPS 12", "MCM 1", "KNAPSACK 7"):
    try:
        unfold(question)
    except ValueError as error:
        said[question] = str(error)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("faulty")
    package = copy_package(folder, ("sub", "faulty"))
    (package / "tasks" / "faulty.py").write_text(FAULTY, encoding="utf-8")
    replace_once(package / "contexts" / "solving.py", r"1 << 22, 1 << 30", "1 << 12, 1 << 14")
    done = run_python("-c", PROGRAM, package=package, environment={"NUMBA_DISABLE_JIT": "1"})
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_a_question_that_waits_for_itself(said: dict[str, str]) -> None:
    assert said["LPS 12"] == "the rules came from 'GO LCS 12=' to 'GO LPS 12=': its answer depends on itself"


def test_a_question_without_a_type(said: dict[str, str]) -> None:
    assert said["KNAPSACK 7"] == "the rules came from 'GO KNAPSACK 7=' to 'GO 7=': no problem type has its mark"


def test_questions_without_an_end(said: dict[str, str]) -> None:
    message = said["MCM 1"]
    assert message.startswith("the rules came from 'GO MCM 1111")
    assert " ... " in message
    assert message.endswith("1=': it takes over a billion tokens, or its recursion has no end")
    assert len(message) < 600
