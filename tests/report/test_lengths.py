"""Context lengths and tokens of problems against contexts that are written out and counted."""

from __future__ import annotations

from functools import cache

import pytest

from rotlab.contexts import Context, unfold
from rotlab.contexts.driver import draw_questions, n_rows
from rotlab.contexts.fit import CONTEXTS, FIT_SEED, fit
from rotlab.contexts.measured import measure
from rotlab.contexts.memo import QUESTION, QUESTION_END
from rotlab.contexts.render import ENDLESS
from rotlab.report.lengths import UNAIDED, WITH_MEMO, WITHOUT_THOUGHT, lengths, paper_cells
from rotlab.rng import FIT
from rotlab.tasks import METHODS, SAMPLERS, TASKS
from rotlab.vocab import notation

SMALL = {"add": 12, "sub": 12, "mul": 3, "div": 4, "lcs": 5, "lps": 6, "knapsack": 4, "mcm": 4, "sort": 5}


def questions(task: str, problems: int) -> list[str]:
    memo = draw_questions(SAMPLERS[task, TASKS[task].samplings[0]], SMALL[task], FIT_SEED, FIT, problems, problems)
    rows = memo.rows[: n_rows(memo)]
    return [notation(memo.text[row[QUESTION] : row[QUESTION_END]]) for row in rows]


def spoken(context: Context) -> int:
    return sum(target != "PAD" for target in context.targets)


def asked(context: Context) -> list[str]:
    """The questions of a context, each as it begins its own."""
    found: list[list[str]] = []
    for token, segment in zip(context.tokens, context.segments, strict=True):
        if segment == "Q_sub":
            if token in ("GO", "TAIL"):
                found.append([])
            found[-1].append("GO" if token == "TAIL" else token)
    return [" ".join(question) for question in found]


def whole(contexts: list[Context]) -> int:
    """The tokens of a recursion that remembers nothing, by recursion."""
    by_question = {}
    for context in contexts:
        question = [t for t, segment in zip(context.tokens, context.segments, strict=True) if segment == "Q"]
        by_question[" ".join(question)] = context

    @cache
    def tokens(question: str) -> int:
        context = by_question[question]
        return spoken(context) + sum(map(tokens, asked(context)))

    return tokens(next(iter(by_question)))


@pytest.mark.parametrize("task", TASKS)
def test_lengths_and_tokens_are_those_of_written_contexts(task: str) -> None:
    drawn = questions(task, 25)
    assert len(drawn) == 25, "none twice: each stands for one problem of the stream"
    [found] = lengths([(task, SMALL[task])], 25)
    for method in ("wt", "cot"):
        counted = [len(unfold(question, method)[0].tokens) for question in drawn]
        assert (found.contexts[method].mean, found.contexts[method].most) == (sum(counted) / 25, max(counted))
    recursions = [unfold(question) for question in drawn]
    answers = [sum(segment == "A" for segment in unfold(question, "wt")[0].segments) for question in drawn]
    expected = {
        WITHOUT_THOUGHT: answers,
        WITH_MEMO: [sum(map(spoken, contexts)) for contexts in recursions],
        UNAIDED: [whole(contexts) for contexts in recursions],
    }
    assert {count: (one.mean, one.most) for count, one in found.tokens.items()} == {
        count: (sum(counted) / 25, max(counted)) for count, counted in expected.items()
    }
    longest = max(len(context.tokens) for contexts in recursions for context in contexts)
    assert 0 < found.contexts["rot"].mean <= found.contexts["rot"].most <= longest


@pytest.mark.parametrize("method", METHODS)
def test_the_longest_is_what_decides_whether_a_cell_fits(method: str) -> None:
    [found] = lengths([("add", 8)])
    assert found.contexts[method].most == fit(SAMPLERS["add", "log_uniform"], 8, method, 2048).longest


def test_the_paper_s_example_of_lcs_32() -> None:
    """App. M: more than 10^18 tokens without a memo; counts end at 2^60."""
    [found] = lengths([("lcs", 32)], 40)
    assert found.tokens[UNAIDED].saturated
    assert found.tokens[UNAIDED].most == ENDLESS > 10**18
    assert found.tokens[WITH_MEMO].most < 10**5


def test_processes_find_the_same() -> None:
    cells = [("add", 2), ("add", 4), ("mul", 2)]
    assert lengths(cells, 50, processes=2) == lengths(cells, 50)


def test_a_measure_is_the_start_of_a_longer_one() -> None:
    sampler = SAMPLERS["sort", "log_uniform"]
    assert (measure(sampler, 6, 0, FIT, 10) == measure(sampler, 6, 0, FIT, 20)[:10]).all()


def test_every_task_has_the_paper_s_cells() -> None:
    cells = paper_cells()
    assert {task for task, _ in cells} == set(TASKS)
    assert {("add", 64), ("mul", 32), ("lcs", 32), ("mcm", 12), ("sort", 64)} <= set(cells)
    assert CONTEXTS == 10_000
