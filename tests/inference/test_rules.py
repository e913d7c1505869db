"""With the rules as the model every problem is solved by recursion, under every method."""

from __future__ import annotations

import pytest

from rotlab.contexts.driver import sample_questions
from rotlab.inference.engine import Engine
from rotlab.inference.frame import Limits
from rotlab.inference.free_running import right_answers
from rotlab.inference.recursion import Request
from rotlab.inference.rules import Rules
from rotlab.tasks import SAMPLERS, TASKS, vocabulary

NO_LIMIT = Limits(1_000_000)
MIDDLING = {
    "add": 8, "sub": 8, "mul": 4, "div": 4, "lcs": 4, "lps": 6, "knapsack": 3, "mcm": 3, "sort": 6,
}  # fmt: skip
# Of Tables 3 and 4.
LARGEST = {
    "add": 64, "sub": 64, "mul": 32, "div": 32, "lcs": 32, "lps": 56, "knapsack": 12, "mcm": 12, "sort": 64,
}  # fmt: skip


def require_all_right(task: str, difficulty: int, problems: int, memo: bool = True, method: str = "rot") -> None:
    words = vocabulary(task, method)
    sampler = SAMPLERS[task, TASKS[task].samplings[0]]
    questions = [question.tobytes() for question in sample_questions(sampler, difficulty, 7, problems)]
    engine = Engine(Rules(words, method), words, method, NO_LIMIT, memo=memo)
    outcomes, tally = engine.solve(map(Request, questions))
    assert [outcome.answer for outcome in outcomes] == right_answers(questions)
    if memo:
        assert tally.contexts == len({node.question for node in _nodes(outcomes)})


def _nodes(outcomes: list) -> list:
    """All nodes of all recursions, each once."""
    seen = dict.fromkeys(outcome.top for outcome in outcomes)
    found = list(seen)
    for node in found:
        new = [asked.node for asked in node.asks if asked.node not in seen]
        seen.update(dict.fromkeys(new))
        found += dict.fromkeys(new)
    return found


@pytest.mark.parametrize("task", TASKS)
def test_middling_problems_are_right(task: str) -> None:
    require_all_right(task, MIDDLING[task], 200)


@pytest.mark.parametrize("task", TASKS)
def test_they_are_right_without_a_memo(task: str) -> None:
    require_all_right(task, {"mul": 3, "div": 3, "lcs": 3, "lps": 4, "knapsack": 2, "mcm": 2}.get(task, 4), 20, False)


@pytest.mark.parametrize("task", ["add", "mul", "lcs", "sort"])
@pytest.mark.parametrize("method", ["wt", "cot"])
def test_other_methods_are_right(task: str, method: str) -> None:
    require_all_right(task, 3, 50, method=method)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_thousand_middling_problems_are_right(task: str) -> None:
    require_all_right(task, MIDDLING[task], 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_largest_problems_of_the_paper_are_right(task: str) -> None:
    require_all_right(task, LARGEST[task], 20)
