"""Which cells fit a context window: every cell of the paper's Tables 3 to 5, by the rule of DESIGN section 4."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rotlab.contexts.fit import CONTEXTS, Fit, fit, largest_fitting, require_fit
from rotlab.tasks import SAMPLERS, TASKS, Sampler

TRANSFORMER, LSTM = 2048, 512
Row = tuple[int, str, tuple[int, ...], tuple[int, ...]]

# Window, task, difficulties for which a table has a CoT figure, and those for which it has none.
ROWS: list[Row] = [
    # Table 3
    (TRANSFORMER, "add", (8, 16, 24), (32, 40, 48, 56, 64)),
    (TRANSFORMER, "sub", (8, 16, 24), (32, 40, 48, 56, 64)),
    (TRANSFORMER, "mul", (2, 4), (8, 12, 16, 20, 24, 28, 32)),
    (TRANSFORMER, "div", (2, 4), (8, 12, 16, 20, 24, 28, 32)),
    # Table 4
    (TRANSFORMER, "lcs", (3,), (4, 8, 12, 16, 20, 24, 28, 32)),
    (TRANSFORMER, "lps", (4, 7), (8, 16, 24, 32, 40, 48, 56)),
    (TRANSFORMER, "knapsack", (2, 4), (6, 8, 10, 12)),
    (TRANSFORMER, "mcm", (2,), (4, 6, 8, 10, 12)),
    # Table 5
    (LSTM, "add", (2, 4, 6, 8, 10), (12, 14, 16)),
    (LSTM, "sub", (2, 4, 6, 8, 10), (12, 14, 16)),
    (LSTM, "mul", (2,), (3, 4, 5, 6, 7, 8)),
    (LSTM, "div", (1,), (2, 3, 4, 5, 6, 7, 8)),
]


@pytest.fixture(autouse=True)
def nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What was found before is not read, nor what is found here kept."""
    monkeypatch.setattr("rotlab.contexts.fit.CACHE_FOLDER", tmp_path)
    return tmp_path


def samplers(task: str) -> list[Sampler]:
    """The table's own, and the default where it is another."""
    return [sampler for (name, _), sampler in SAMPLERS.items() if name == task]


def assert_all_fit(window: int, task: str, difficulties: tuple[int, ...], method: str) -> None:
    for difficulty in difficulties:
        for sampler in samplers(task):
            found = fit(sampler, difficulty, method, window)
            assert found.fits, f"{task}-{difficulty} {sampler.sampling}: {found.longest}"
            assert found.longest <= window


def name_of(row: Row) -> str:
    return f"{row[1]}-{row[0]}"


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_largest_chains_of_the_tables_fit(row: Row) -> None:
    window, task, fitting, _ = row
    assert_all_fit(window, task, fitting[-1:], "cot")


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_chains_that_the_tables_lack_do_not_fit(row: Row) -> None:
    window, task, _, missing = row
    for difficulty in missing:
        for sampler in samplers(task):
            found = fit(sampler, difficulty, "cot", window)
            assert not found.fits, f"{task}-{difficulty} {sampler.sampling}: {found.longest}"
            assert found.longest > window


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_other_chains_of_the_tables_fit(row: Row) -> None:
    window, task, fitting, _ = row
    assert_all_fit(window, task, fitting[:-1], "cot")


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_largest_recursions_of_the_tables_fit(row: Row) -> None:
    window, task, _, missing = row
    assert_all_fit(window, task, missing[-1:], "rot")


# DESIGN section 4: the longest of 10,000 contexts, and the first difficulty that is over the window.
@pytest.mark.parametrize(
    ("task", "fitting", "window"),
    [("mul", 4, 2048), ("lps", 7, 2048), ("mcm", 2, 2048), ("mul", 2, 512), ("div", 1, 512), ("knapsack", 4, 2048)],
)
def test_the_next_difficulty_is_the_first_that_does_not_fit(task: str, fitting: int, window: int) -> None:
    [sampler] = samplers(task)
    assert fit(sampler, fitting, "cot", window).fits
    assert not fit(sampler, fitting + 1, "cot", window).fits


def test_longest_contexts_are_those_that_were_measured() -> None:
    """Where nearly every problem has the longest one, 10,000 draws find it."""
    for task, difficulty, longest in (("lcs", 3, 611), ("lps", 7, 1392), ("mul", 2, 211), ("div", 1, 264)):
        assert fit(samplers(task)[0], difficulty, "cot", 2048) == Fit(True, longest)


@pytest.mark.parametrize(("task", "difficulty"), [("add", 64), ("sub", 64), ("mcm", 12)])
def test_a_recursion_may_not_fit_either(task: str, difficulty: int) -> None:
    sampler = samplers(task)[-1]
    assert sampler.sampling == {"mcm": "log_uniform"}.get(task, "uniform")
    assert not fit(sampler, difficulty, "rot", LSTM).fits


def test_the_limit_counts_the_printed_context() -> None:
    """lcs-1: `GO 3 LCS 4= GO EQUAL 3,4= ... STOP` has 37 tokens at most, the final STOP included."""
    [sampler] = samplers("lcs")
    assert fit(sampler, 1, "rot", 37) == Fit(True, 37)
    assert fit(sampler, 1, "rot", 36) == Fit(False, 37)


def test_a_cell_is_looked_at_once(nothing_known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = SAMPLERS["add", "uniform"]
    first = fit(sampler, 2, "rot", 2048)
    monkeypatch.setattr("rotlab.contexts.fit._look", None)
    assert fit(sampler, 2, "rot", 2048) == first
    [kept] = nothing_known.iterdir()
    assert json.loads(kept.read_text()) == {"fits": True, "longest": first.longest, "exact": True}
    for other in (
        (SAMPLERS["add", "log_uniform"], 2, "rot", 2048),
        (sampler, 3, "rot", 2048),
        (sampler, 2, "wt", 2048),
    ):
        with pytest.raises(TypeError):
            fit(*other)


def test_the_largest_difficulty_that_fits_is_found() -> None:
    sampler = SAMPLERS["sort", "log_uniform"]
    one_by_one = [n for n in range(2, 9) if fit(sampler, n, "cot", LSTM).fits]
    assert one_by_one == list(range(2, one_by_one[-1] + 1))
    assert largest_fitting(sampler, 8, "cot", LSTM) == one_by_one[-1]
    assert largest_fitting(sampler, one_by_one[-1] + 1, "cot", LSTM) == one_by_one[-1]
    assert largest_fitting(sampler, 8, "cot", 20) is None


@pytest.mark.parametrize(
    ("task", "difficulty", "largest"),
    [("mul", 5, 4), ("mul", 32, 4), ("knapsack", 6, 4), ("lcs", 32, 3), ("mcm", 4, 2)],
)
def test_the_refusal_says_what_fits(task: str, difficulty: int, largest: int) -> None:
    [sampler] = samplers(task)
    longest = fit(sampler, difficulty, "cot", TRANSFORMER).longest
    with pytest.raises(ValueError, match=f"{task}-{difficulty} does not fit under method=cot") as caught:
        require_fit(sampler, difficulty, "cot", TRANSFORMER)
    message = str(caught.value)
    assert f"a context has {longest:,} tokens, the limit is 2,048" in message or "over 10^18 tokens" in message
    assert f"the largest difficulty that fits is {largest} (" in message
    assert "method.allow_overlong=true" in message
    assert "\n" not in message


def test_the_refusal_where_nothing_fits() -> None:
    with pytest.raises(ValueError, match="a context has at least 10 tokens, the limit is 5; no difficulty of"):
        require_fit(SAMPLERS["add", "log_uniform"], 3, "rot", 5)
    assert require_fit(SAMPLERS["add", "log_uniform"], 3, "rot", 2048).fits


def test_the_rule_s_numbers() -> None:
    assert CONTEXTS == 10_000
    assert {row[1] for row in ROWS} < set(TASKS)
