"""The evaluator against a stub network whose faults are known, and a count of them the slow way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rotlab.contexts import driver, unfold
from rotlab.contexts.verdicts import UNKNOWN
from rotlab.data.cell import Cell
from rotlab.data.test_set import ProblemSet, problem_set
from rotlab.evaluation import Evaluator, Report, WrongSample, evaluator
from rotlab.vocab import ID, notation
from tests.evaluation.stub import (
    Stub,
    always,
    cell_of,
    count,
    in_class,
    never,
    question_of,
    right_targets,
    wrong_position,
)  # fmt: skip

CELLS = {
    "add": 4, "sub": 4, "mul": 3, "div": 3, "lcs": 4, "lps": 5, "knapsack": 3, "mcm": 2, "sort": 5,
}  # fmt: skip

LARGER = {
    "add": 16, "sub": 16, "mul": 8, "div": 8, "lcs": 10, "lps": 12, "knapsack": 4, "mcm": 4, "sort": 16,
}  # fmt: skip


def judged(cell: Cell, stub: Stub, problems: ProblemSet, **options: Any) -> Report:
    """What the evaluator finds of a stub; no question may have been fed to it twice."""
    report = Evaluator(cell, problems, **options).run(stub)
    assert set(stub.seen.values()) <= {1}
    assert stub.seen.total() == report.contexts - report.overlong
    return report


def assert_counts(report: Report, cell: Cell, problems: ProblemSet) -> None:
    expected = count(cell, problems, in_class)
    assert report.problems == len(problems)
    found = {name: (one.contexts, one.contexts_right, one.problems_right) for name, one in report.types.items()}
    assert found == expected.by_type
    for name in ("problems_right", "tops_right", "contexts", "contexts_right", "overlong", "tokens"):
        assert getattr(report, name) == getattr(expected, name), name


def figures(report: Report) -> dict[str, float]:
    """The metrics of a report but for the time that it took."""
    return {name: figure for name, figure in report.metrics().items() if name != "eval/seconds"}


@pytest.mark.parametrize("task", CELLS)
def test_counts_are_those_of_unfolding_each_problem(task: str) -> None:
    cell = cell_of(task, CELLS[task])
    problems = problem_set(cell, 2000, seed=1)
    stub = Stub(cell, in_class)
    report = judged(cell, stub, problems)
    assert_counts(report, cell, problems)
    assert 0 < report.problems_right < report.tops_right < report.problems
    assert stub.largest_batch <= 32_768


@pytest.mark.slow
@pytest.mark.parametrize("task", LARGER)
def test_counts_of_larger_problems(task: str) -> None:
    cell = cell_of(task, LARGER[task])
    problems = problem_set(cell, 500, seed=1)
    assert_counts(judged(cell, Stub(cell, in_class), problems), cell, problems)


@pytest.mark.parametrize(("task", "method"), [("add", "cot"), ("sort", "cot"), ("add", "wt"), ("lcs", "wt")])
def test_one_context_a_problem_without_recursion(task: str, method: str) -> None:
    cell = cell_of(task, 3, method)
    problems = problem_set(cell, 2000, seed=1)
    report = judged(cell, Stub(cell, in_class), problems)
    assert_counts(report, cell, problems)
    assert report.contexts == report.problems == 2000
    assert 0 < report.problems_right == report.tops_right < 2000


@pytest.mark.parametrize(("method", "limit"), [("cot", 40), ("rot", 28)])
def test_overlong_contexts_are_wrong(method: str, limit: int) -> None:
    cell = cell_of("add", 3, method, limit)
    problems = problem_set(cell, 1000, seed=1)
    report = judged(cell, Stub(cell, in_class), problems)
    assert_counts(report, cell, problems)
    assert 0 < report.overlong < report.contexts


def test_nothing_fits() -> None:
    cell = cell_of("lcs", 32, "cot", 2048)
    report = judged(cell, Stub(cell), problem_set(cell, 10, seed=1))
    assert (report.accuracy, report.overlong, report.tokens) == (0.0, 10, 0)


@pytest.mark.parametrize("task", CELLS)
@pytest.mark.parametrize("method", ["rot", "wt"])
def test_neither_shards_nor_batches_change_a_count(task: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cell_of(task, CELLS[task], method)
    problems = problem_set(cell, 150, seed=1)
    whole = judged(cell, Stub(cell, in_class), problems)
    for rows in (1, 97):
        monkeypatch.setattr(evaluator, "_ROWS_PER_SHARD", rows)
        assert figures(judged(cell, Stub(cell, in_class), problems)) == figures(whole)
    stub = Stub(cell, in_class)
    assert figures(judged(cell, stub, problems, tokens_per_batch=200)) == figures(whole)
    assert stub.largest_batch <= 200


@pytest.mark.parametrize("method", ["rot", "cot", "wt"])
def test_without_faults_everything_is_right(method: str) -> None:
    cell = cell_of("mul", 2, method)
    report = judged(cell, Stub(cell, never), problem_set(cell, 300, seed=1))
    assert report.accuracy == 1.0
    shares = [figure for name, figure in report.metrics().items() if name.endswith(("/problem", "/top", "/context"))]
    assert set(shares) == {1.0}
    assert report.wrong_samples == []


def test_a_whole_space_is_judged() -> None:
    cell = cell_of("sub", 1)
    problems = problem_set(cell, 30_000, seed=1)
    assert problems.whole_space
    assert judged(cell, Stub(cell, in_class), problems).problems == 55


def test_memory_is_a_table_of_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One place of 17 bytes for each unique context, the table being a quarter to half full; no shard stays."""
    tables, rows = [], []
    record, solve_shard = evaluator.record, driver.solve_shard

    def recorded(*given: Any) -> Any:
        tables.append(record(*given))
        return tables[-1]

    def solved(*given: Any) -> Any:
        memo, end = solve_shard(*given)
        rows.append(evaluator.n_rows(memo))
        return memo, end

    monkeypatch.setattr(evaluator, "record", recorded)
    monkeypatch.setattr(driver, "solve_shard", solved)
    monkeypatch.setattr(evaluator, "_ROWS_PER_SHARD", 1000)
    cell = cell_of("lcs", 5)
    report = judged(cell, Stub(cell, in_class), problem_set(cell, 1000, seed=1))
    assert len(tables) > 10
    assert max(rows) < 1100
    table = tables[-1]
    used = table.verdict_N != UNKNOWN
    assert used.sum() == table.used[0] == report.contexts == len(np.unique(table.keys_N2[used], axis=0))
    assert tables[0].verdict_N.size < table.verdict_N.size <= 4 * report.contexts


def test_metrics_are_flat_numbers_by_name() -> None:
    cell = cell_of("add", 2)
    metrics = judged(cell, Stub(cell, in_class), problem_set(cell, 200, seed=1)).metrics()
    overall = ("problem", "top", "context", "contexts", "tokens", "overlong", "seconds")
    expected = {f"eval/{name}" for name in overall} | {
        f"eval/add/{name}" for name in ("problem", "context", "contexts")
    }
    assert set(metrics) == expected
    assert {type(figure) for figure in metrics.values()} == {float}
    assert set(judged(cell, Stub(cell), problem_set(cell, 5, seed=1)).metrics("probe")) == {
        name.replace("eval/", "probe/") for name in expected
    }


@pytest.mark.parametrize("task", CELLS)
def test_the_stub_knows_the_targets(task: str) -> None:
    for method, difficulty in (("rot", CELLS[task]), ("cot", 2), ("wt", CELLS[task])):
        problems = problem_set(cell_of(task, difficulty, method), 20, seed=1)
        for context in unfold(problems.question(0), method):
            expected = [None if target == "PAD" else target for target in context.targets[1:]]
            assert right_targets(context.tokens[:-1], method) == expected


def test_a_wrong_sample_marks_the_wrong_token() -> None:
    cell = cell_of("add", 3)
    report = judged(cell, Stub(cell, always), problem_set(cell, 50, seed=1), wrong_samples=100)
    assert len(report.wrong_samples) == 100
    for sample in report.wrong_samples:
        context = unfold(sample.question)[0]
        targets = right_targets(context.tokens[:-1], "rot")
        at = wrong_position(question_of(context.tokens), targets)
        expected = targets[at] or ""
        got = cell.vocabulary.symbols[(cell.vocabulary.symbols.index(expected) + 1) % len(cell.vocabulary)]
        before = notation(ID[symbol] for symbol in context.tokens[: at + 1])
        assert sample == WrongSample(
            context.type, sample.question, expected, got, at + 1, f"{before} [{got}|{expected}]"
        )
    assert {sample.expected for sample in report.wrong_samples} >= {"THINK", "STOP", "GO", "1"}


def test_of_many_wrong_tokens_the_first_is_marked() -> None:
    """A network that writes nothing but padding."""
    cell = cell_of("mul", 2)

    def idle(tokens_BT: Tensor) -> Tensor:
        return torch.zeros(*tokens_BT.shape, len(cell.vocabulary))

    report = Evaluator(cell, problem_set(cell, 50, seed=1)).run(idle)
    assert report.contexts_right == 0
    for sample in report.wrong_samples:
        context = unfold(sample.question)[0]
        at = context.tokens.index("=") + 1
        assert (sample.position, sample.got, sample.expected) == (at, "PAD", context.tokens[at])
        assert sample.context == f"{sample.question} [PAD|{context.tokens[at]}]"


@pytest.mark.parametrize("cap", [0, 3])
def test_wrong_samples_are_capped(cap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "_ROWS_PER_SHARD", 20)
    cell = cell_of("add", 3)
    report = judged(cell, Stub(cell, always), problem_set(cell, 50, seed=1), wrong_samples=cap)
    assert len(report.wrong_samples) == cap
    assert report.problems_right == report.contexts_right == 0
