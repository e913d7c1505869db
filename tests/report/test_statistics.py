"""Means, intervals, plateaus and differences against numbers worked out by hand or in tables of statistics."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rotlab.config.status import DOES_NOT_FIT, FAILED, RUNNING
from rotlab.report.intervals import beta_cdf, count_interval, deviation, student_interval, t_quantile
from rotlab.report.limits import largest_of_cot, without_runs
from rotlab.report.paper import paper_difficulties, paper_results
from rotlab.report.runs import collect
from rotlab.report.statistics import CellStatistics, largest_solved, plateaued, statistics
from rotlab.report.tables import cell_table, findings, share, solved_table, unfinished_table
from tests.report.runs import make_run


def cells(folder: Path) -> list[CellStatistics]:
    return statistics(collect([folder]).runs)


def evaluations(*right: int, problems: int = 10_000) -> list[dict[str, int]]:
    return [{"step": i, "right": one, "problems": problems} for i, one in enumerate(right)]


# --- intervals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("degrees", "quantile"), [(1, 12.7062), (2, 4.3027), (7, 2.3646), (30, 2.0423)])
def test_quantiles_of_students_t(degrees: int, quantile: float) -> None:
    """As printed in any table."""
    assert t_quantile(degrees) == pytest.approx(quantile, abs=5e-5)


@pytest.mark.parametrize(("x", "a", "b"), [(0.3, 2, 5), (0.9, 3, 1), (0.02, 4, 60), (0.51, 40, 40)])
def test_the_beta_function_is_a_sum_of_binomials(x: float, a: int, b: int) -> None:
    """I_x(a, b) is the chance of a or more successes of a + b - 1."""
    n = a + b - 1
    tail = math.fsum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
    assert beta_cdf(x, a, b) == pytest.approx(tail, abs=1e-12)


def test_the_exact_interval_of_counts() -> None:
    assert count_interval(5, 10) == pytest.approx((0.1871, 0.8129), abs=5e-5)
    assert count_interval(0, 100) == pytest.approx((0, 1 - 0.025 ** (1 / 100)))
    assert count_interval(30_000, 30_000) == pytest.approx((0.025 ** (1 / 30_000), 1))


def test_the_interval_of_three_seeds() -> None:
    """Mean 0.5, deviation 0.1: 0.5 -+ 4.3027 * 0.1 / sqrt(3)."""
    values = (0.4, 0.5, 0.6)
    assert deviation(values) == pytest.approx(0.1)
    assert student_interval(values) == pytest.approx((0.25159, 0.74841), abs=5e-5)
    assert student_interval((0.0, 1.0)) == (0, 1)


# --- cells ---------------------------------------------------------------------------------------------------------


def test_seeds_of_a_cell_together(tmp_path: Path) -> None:
    for seed, right in enumerate((400, 500, 600)):
        make_run(tmp_path, "task=mul", "difficulty=8", "method=wt", seed=seed, right=[300, right])
    make_run(tmp_path, "task=mul", "difficulty=8", "method=wt", seed=3, status=RUNNING)
    make_run(tmp_path, "task=mul", "difficulty=8", "method=wt", seed=4, status=FAILED)
    make_run(tmp_path, "task=mul", "difficulty=8", "method=rot")
    wt, rot = sorted(cells(tmp_path), key=lambda cell: cell.key.method, reverse=True)
    assert wt.n == 3
    assert wt.mean == pytest.approx(0.5)
    assert wt.deviation == pytest.approx(0.1)
    assert (wt.low, wt.high) == pytest.approx((0.25159, 0.74841), abs=5e-5)
    assert wt.uncounted == {"failed": 1, "running": 1}
    assert wt.difference == pytest.approx(0.5 - 0.340)
    assert not wt.differs
    assert (rot.n, rot.mean, rot.deviation) == (1, 1.0, None)
    assert (rot.low, rot.high) == pytest.approx((0.025 ** (1 / 1000), 1))


def test_seeds_that_all_agree_have_the_interval_of_one(tmp_path: Path) -> None:
    for seed in range(2):
        make_run(tmp_path, "task=add", "difficulty=8", "method=wt", seed=seed, right=[900])
    [cell] = cells(tmp_path)
    assert cell.deviation == 0
    assert (cell.low, cell.high) == count_interval(900, 1000)
    assert cell.differs, "the paper has 0.863"


def test_other_settings_are_another_cell(tmp_path: Path) -> None:
    add = ("task=add", "difficulty=8", "method=rot")
    make_run(tmp_path, *add, "task.sampling=uniform")
    make_run(tmp_path, *add)
    make_run(tmp_path, *add, "recipe=fast", seed=1)
    make_run(tmp_path, *add, "recipe=fast", "trainer.threads=2", seed=2)
    assert sorted((cell.key.settings, cell.n) for cell in cells(tmp_path)) == [
        ("recipe=fast", 2),
        ("recipe=paper task.sampling=log_uniform", 1),
        ("recipe=paper task.sampling=uniform", 1),
    ]


@pytest.mark.parametrize(
    ("right", "done"),
    [
        ((9000, 9500, 10_000), True),  # all right
        ((10_000,), True),
        ((9000, 9500, 9900), False),
        ((9000, 9010, 9020), True),  # 20 more; the standard error of the difference is 42
        ((9000, 9010, 9090), False),
        ((9500, 9000, 8800), True),  # falling
        ((0, 9000, 9000, 9000), True),  # what was before doesn't matter
        ((0, 0, 10), False),
        ((5000, 9000), None),
    ],
)
def test_plateaus(right: tuple[int, ...], done: bool | None) -> None:
    assert plateaued(evaluations(*right)) is done


def test_the_largest_that_is_solved() -> None:
    assert largest_solved({2: 1.0, 4: 0.99, 8: 0.9}) == (4, None)
    assert largest_solved({2: 1.0, 4: 0.9, 8: 0.995}) == (8, 4)
    assert largest_solved({2: 0.5}) == (None, None)


# --- the paper -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "table", "mean", "deviation"),
    [
        (("gpt3", "mcm", 4, "rot"), 2, 0.992, None),
        (("transformer", "add", 16, "wt"), 3, 0.370, 0.475),
        (("transformer", "mul", 32, "rot"), 3, 0.999, 0.000),
        (("transformer", "knapsack", 12, "rot"), 4, 0.988, 0.029),
        (("lstm", "sub", 10, "cot"), 5, 0.443, 0.377),
        (("lstm", "div", 8, "rot"), 5, 0.914, 0.090),
    ],
)
def test_the_paper_s_numbers(
    key: tuple[str, str, int, str], table: int, mean: float, deviation: float | None
) -> None:  # fmt: skip
    result = paper_results()[key]
    assert (result.table, result.mean, result.deviation) == (table, mean, deviation)


def test_the_paper_s_tables_are_whole() -> None:
    tables = [result.table for result in paper_results().values()]
    assert {table: tables.count(table) for table in (2, 3, 4, 5)} == {2: 32, 3: 78, 4: 63, 5: 74}
    assert paper_difficulties("mcm") == (2, 3, 4, 6, 8, 10, 12)
    assert paper_difficulties("sort") == ()


# --- tables --------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_and_what_has_no_run(tmp_path: Path) -> None:
    """Mul-4 fits, Mul-5 doesn't (2,048 tokens): the paper has no CoT figure from Mul-8 on."""
    for difficulty, method in ((4, "rot"), (5, "rot"), (4, "wt")):
        make_run(tmp_path, "task=mul", f"difficulty={difficulty}", f"method={method}", right=[100, 200, 985])
    found = findings(collect([tmp_path]))
    others = {(key.difficulty, key.method): fits for key, fits in found.others.items()}
    assert others == {(5, "cot"): False, (5, "wt"): True}
    assert without_runs(found.runs, found.cells) == found.others
    table = cell_table(found)
    shown = {(row[3], row[4]): row[5] for row in table.rows}
    assert shown == {
        ("4", "wt"): "0.9850 †", ("4", "rot"): "0.9850 †", ("5", "wt"): "no run", ("5", "cot"): "does not fit",
        ("5", "rot"): "0.9850 †",
    }  # fmt: skip
    assert table.rows[0][-1] == "1 of 1 had not plateaued"
    assert solved_table(found).rows == (("transformer", "mul", "none", "2", "none", "32"),)
    assert largest_of_cot("mul", "log_uniform", {4, 5}, 2048) == 4


def test_nearly_all_is_not_shown_as_all() -> None:
    assert [share(value) for value in (1.0, 0.99999, 0.99994, 0.0)] == ["1.0000", "0.9999", "0.9999", "0.0000"]


def test_what_a_sweep_refused_for_its_length_is_no_run_that_failed(tmp_path: Path) -> None:
    make_run(tmp_path, "task=mul", "difficulty=5")
    make_run(tmp_path, "task=mul", "difficulty=5", "method=cot", right=(), status=DOES_NOT_FIT)
    found = findings(collect([tmp_path]))
    rows = {row[4]: row[5:] for row in cell_table(found).rows}
    assert rows["cot"] == ("does not fit", "0", "", "", "", "")
    assert unfinished_table(found.runs).rows == ()


def test_training_that_is_not_the_paper_s_is_remarked_where_it_was(tmp_path: Path) -> None:
    make_run(tmp_path, "task=mul", "difficulty=4", right=(900, 900, 900))
    make_run(tmp_path, "task=mul", "difficulty=4", "recipe=fast", "recipe.max_steps=3000", right=(900, 900, 900))
    remarks = {row[2]: row[-1] for row in cell_table(findings(collect([tmp_path]))).rows if row[4] == "rot"}
    assert sorted(remarks.values()) == ["", "not the paper's training (recipe=fast, 3,000 steps)"]
    assert remarks["recipe=paper"] == ""
