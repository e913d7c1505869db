"""A task in plain Python, through the same protocol as the compiled ones: Euclid, by the compiled division."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.package_copy import copy_package, replace_once, run_python

GCD = '''
"""The greatest common divisor: GO GCD 48,18= GO 48÷18=2 R 12 STOP TAIL GCD 18,12= THINK"""

from collections.abc import Iterator

from rotlab.rng import Draw, below
from rotlab.tasks.kit import (
    ASK_TAIL, Span, View, answer, answers, ask, begin_question, cursor, full, put, put_number, question, say_number,
    size, split, symbol_ids, value, without_first,
)
from rotlab.tasks.task import ProblemType, Task

GCD, COMMA, OVER, R = symbol_ids("GCD , ÷ R")


def put_gcd(v: View, a: Span, b: Span) -> None:
    put(v, GCD)
    put_number(v, a)
    put(v, COMMA)
    put_number(v, b)


def rule(v: View) -> int:
    a, b = split(v, without_first(question(v)), COMMA)
    if answers(v) == 0:
        return ask(v, a, OVER, b)
    _, remainder = split(v, answer(v, 0), R)
    if size(remainder) == 1 and value(v, remainder) == 0:
        return say_number(v, b)
    put_gcd(v, b, remainder)
    return ASK_TAIL


def put_positive(v: View, draw: Draw, digits: int) -> Span:
    lo = cursor(v)
    put(v, 1 + below(draw, 9))
    for _ in range(below(draw, digits)):
        put(v, below(draw, 10))
    return Span(lo, cursor(v))


def sample(v: View, draw: Draw, digits: int) -> None:
    a, b = put_positive(v, draw, digits), put_positive(v, draw, digits)
    if full(v):
        return
    begin_question(v)
    put_gcd(v, a, b)


def questions(digits: int) -> Iterator[str]:
    return (f"GCD {a},{b}" for a in range(1, 10**digits) for b in range(1, 10**digits))


TYPES = (
    ProblemType(
        "gcd", "GCD", rule, symbols="GCD ,", pattern=r"GCD([1-9]\\d*),([1-9]\\d*)", example="GCD 48,18",
        asks=("div",), plain=True,
    ),
)
TASK = Task(
    name="gcd", summary="greatest common divisor", unit="digits", samplers={"by_length": sample},
    space=lambda digits: (10**digits - 1) ** 2, questions=questions,
)
'''

PROGRAM = """
import json
from rotlab.contexts import lengths, unfold
from rotlab.contexts.driver import sample_questions
from rotlab.data.cell import Cell
from rotlab.data.stream import TrainingStream
from rotlab.data.test_set import overlap, problem_set
from rotlab.tasks import SAMPLERS, TYPES, vocabulary
from rotlab.vocab import notation

def trained_on(method, **options):
    cell = Cell("gcd", 2, method, "by_length", 512)
    stream = TrainingStream(cell, seed=0, batch_size=20, steps=2, **options)
    rows = [row for group in stream[1].groups for row in group.inputs_BT.tolist()]
    return sorted(notation(cell.vocabulary.full_V[[token for token in row if token]]) for row in rows)

cell = Cell("gcd", 2, "rot", "by_length", 512)
whole, drawn = problem_set(Cell("gcd", 1, "rot", "by_length", 512), 100, 1), problem_set(cell, 50, 1)
sampler = SAMPLERS["gcd", "by_length"]
asked = [notation(one) for one in sample_questions(sampler, 3, 0, 20)]
print(json.dumps({
    "kinds": [one.name for one in TYPES],
    "contexts": {question: [str(one) for one in unfold(question)] for question in ("GCD 48,18", "GCD 7,7", "GCD 3,6")},
    "chain": [str(one) for one in unfold("GCD 48,18", "cot")],
    "answers": {question: str(unfold(question, "wt")[0]) for question in asked},
    "long": [len(one) for one in sample_questions(sampler, 3000, 0, 5)],
    "symbols": vocabulary("gcd", "rot").symbols,
    "whole": [len(whole), whole.whole_space],
    "drawn": [drawn.question(i) for i in range(len(drawn))],
    "overlap": overlap(cell, drawn, 0),
    "rot": trained_on("rot"), "wt": trained_on("wt"), "cot": trained_on("cot"),
    "held out": trained_on("wt", held_out=drawn.memo),
}))
"""


def with_gcd(folder: Path) -> Path:
    package = copy_package(folder, ("sub", "div", "compare", "gcd"))
    (package / "tasks" / "gcd.py").write_text(GCD.lstrip(), encoding="utf-8")
    replace_once(package / "vocab.py", r'"SEP"\),', '"SEP"), "GCD",')
    return package


def report(folder: Path, **environment: str) -> dict[str, Any]:
    environment["ROTLAB_CACHE_DIR"] = str(folder / "cache")
    done = run_python("-c", PROGRAM, package=with_gcd(folder), environment=environment)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return report(tmp_path_factory.mktemp("gcd"), NUMBA_DISABLE_JIT="1")


def test_plain_types_come_after_the_compiled_ones(found: dict[str, Any]) -> None:
    assert found["kinds"] == ["sub", "div", "compare", "equal", "gcd"]
    assert found["symbols"][0] == "PAD"
    assert {"GCD", ",", "÷", "R", "VS", "-", "THINK", "TAIL"} <= set(found["symbols"])


def test_its_contexts(found: dict[str, Any]) -> None:
    first = found["contexts"]["GCD 48,18"]
    assert first[0] == "GO GCD 48,18= GO 48÷18=2 R 12 STOP TAIL GCD 18,12= THINK"
    assert [line for line in first if "GCD" in line][1:] == [
        "GO GCD 18,12= GO 18÷12=1 R 6 STOP TAIL GCD 12,6= THINK",
        "GO GCD 12,6= GO 12÷6=2 R 0 STOP 6 STOP",
    ]
    assert found["contexts"]["GCD 7,7"][0] == "GO GCD 7,7= GO 7÷7=1 R 0 STOP 7 STOP"
    assert found["contexts"]["GCD 3,6"][0] == "GO GCD 3,6= GO 3÷6=0 R 3 STOP TAIL GCD 6,3= THINK"
    [chain] = found["chain"]
    assert chain.startswith("GO GCD 48,18= GO 48÷18= GO 48 VS 18=")
    assert chain.count("TAIL GCD") == 2
    assert chain.endswith("2 R 0 STOP 6 STOP")


def test_its_answers(found: dict[str, Any]) -> None:
    assert len(found["answers"]) > 15
    for question, context in found["answers"].items():
        a, b = map(int, re.findall(r"\d+", question))
        assert context == f"GO GCD {a},{b}={math.gcd(a, b)} STOP"


def test_its_sampler_may_write_more_than_the_arena_holds(found: dict[str, Any]) -> None:
    assert max(found["long"]) > 2000


def test_its_test_set(found: dict[str, Any]) -> None:
    assert found["whole"] == [81, True]
    assert len(set(found["drawn"])) == 50
    assert 0 < found["overlap"] < 0.2


def test_its_stream(found: dict[str, Any]) -> None:
    for method in ("rot", "wt", "cot"):
        assert len(found[method]) == 20
        assert all(line.startswith("GO ") for line in found[method])
    assert all(line.startswith("GO GCD ") for line in found["wt"] + found["cot"])
    assert any("VS" in line for line in found["rot"])
    asked = {line.split("=")[0] + "=" for line in found["held out"]}
    assert len(asked) > 10
    assert asked.isdisjoint(found["drawn"])


@pytest.mark.slow
def test_the_same_with_everything_else_compiled(found: dict[str, Any], tmp_path: Path) -> None:
    assert report(tmp_path) == found
