"""Questions as text in, answers out; free-running accuracy beside the teacher-forced one."""

from __future__ import annotations

import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from rotlab.cli.bench.naive import Naive, whole_contexts
from rotlab.data.cell import Cell
from rotlab.data.test_set import problem_set
from rotlab.evaluation import Evaluator, trace
from rotlab.inference import Limits, LongerThanTrained, Rules, Sampling, Solver
from rotlab.inference.engine import Engine
from rotlab.inference.free_running import FreeReport, FreeRunner, right_answers
from rotlab.inference.memo import Node
from rotlab.inference.recursion import Outcome, Request, Tally
from rotlab.inference.rules import Read
from rotlab.inference.solver import contexts_of, right_context
from rotlab.models import Backbone
from rotlab.models.trained import load_checkpoint
from rotlab.tasks import parse_question, vocabulary
from rotlab.vocab import EQUALS, PAD, notation
from tests.inference.networks import half_trained
from tests.inference.test_engine import require_same

EXAMPLE = Path(__file__).parents[2] / "examples" / "add"
MUL = Cell("mul", 3, "rot", "log_uniform", 2048)


class TestSolver:
    def test_it_answers_and_says_how(self) -> None:
        solution = Solver.from_run(EXAMPLE).solve(["408+351"])[0]
        assert (solution.question, solution.answer, solution.right, solution.failure) == ("408+351", "759", True, None)
        assert (solution.contexts, solution.depth) == (5, 2)
        contexts = [notation(node.context) for node in contexts_of(solution.top)]
        assert contexts[:2] == ["GO 408+351= GO 8+1=9 STOP GO 40+35=75 STOP 759 STOP", "GO 8+1=9 STOP"]

    def test_the_rules_can_be_the_model(self) -> None:
        solutions = Solver(Rules(vocabulary("mul", "rot"), "rot"), MUL).solve(["782*409", "7*8", "12+30"])
        assert [solution.answer for solution in solutions] == ["319838", "56", "42"]
        tails = [node for node in contexts_of(solutions[0].top) if node.tailed]
        assert len(tails) > 1
        assert all(notation(node.context).endswith("= THINK") for node in tails)

    def test_samples_follow_one_another(self) -> None:
        solver = Solver.from_run(EXAMPLE, sampling=Sampling(temperature=3.0, seed=1))
        solutions = solver.solve(["408+351", "7+8"], samples=3)
        assert [(one.question, one.sample) for one in solutions] == [
            (q, s) for q in ("408+351", "7+8") for s in range(3)
        ]
        again = solver.solve(["7+8", "408+351"], samples=3, seeds=[1, 1])
        assert [one.answer for one in again] == [one.answer for one in solutions[3:] + solutions[:3]]
        assert len({one.answer for one in solver.solve(["408+351"], samples=20)}) > 1

    def test_limits_can_be_set(self) -> None:
        low = Solver.from_run(EXAMPLE, height=1).solve(["408+351", "7+8"])
        assert [solution.failure for solution in low] == ["height", None]
        assert [one.failure for one in Solver.from_run(EXAMPLE, reach=3).solve(["408+351"])] == ["reach"]

    def test_longer_questions_are_warned_of(self) -> None:
        solver = Solver.from_run(EXAMPLE)
        with pytest.warns(LongerThanTrained, match=r"numbers of at most 4 digits"):
            solver.solve(["12345+1"])
        with pytest.warns(LongerThanTrained) as caught:
            solver.solve(["1+1", "12345+1"])
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solver.solve(["1234+5678"])

    @pytest.mark.parametrize(
        ("question", "message"),
        [
            ("12*3", r"'12\*3' shows '\*', which this network doesn't know: it was trained on add-4"),
            ("12+", "is no add question"),
            ("hello", "is not a symbol"),
            ("", "is no question"),
        ],
    )
    def test_what_is_no_question_is_refused(self, question: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Solver.from_run(EXAMPLE).solve([question])

    def test_questions_that_only_others_ask_are_refused(self) -> None:
        cell = Cell("mul", 3, "wt", "log_uniform", 2048)
        solver = Solver(Rules(vocabulary("ternary_mul", "rot"), "wt"), Cell("mul", 2, "rot", "log_uniform", 99))
        with pytest.raises(ValueError, match=r"is a ternary_mul question, which a network trained on mul-2 under rot"):
            solver.solve(["1*2*3"])
        assert Solver(Rules(cell.vocabulary, "wt"), cell).solve(["12*34"])[0].answer == "408"

    def test_impossible_numbers_are_refused(self) -> None:
        solver = Solver.from_run(EXAMPLE)
        with pytest.raises(ValueError, match=r"questions is one text, '1\+1': write a list"):
            solver.solve("1+1")
        with pytest.raises(ValueError, match="samples is 0"):
            solver.solve(["1+1"], samples=0)
        with pytest.raises(ValueError, match="there are 2 seeds for 1 questions"):
            solver.solve(["1+1"], seeds=[1, 2])
        with pytest.raises(ValueError, match="seeds must be whole numbers"):
            solver.solve(["1+1"], seeds=[0.5])  # type: ignore[list-item]
        with pytest.raises(ValueError, match=r"question 2: 5 is no text"):
            solver.solve(["1+1", 5])  # type: ignore[list-item]
        with pytest.raises(ValueError, match=r"the limit of context is 9,999: the network's window has 2,048 tokens"):
            Solver(Rules(solver.cell.vocabulary, "rot"), solver.cell, limits=Limits(9_999))


def test_a_solver_may_be_used_by_several_threads() -> None:
    """One after another: its cache is one."""
    solver = Solver.from_run(EXAMPLE)
    questions = [f"{a}+{b}" for a in range(10, 90, 8) for b in (3, 27)]
    with ThreadPoolExecutor(3) as pool:
        for solutions in pool.map(solver.solve, [questions] * 3):
            assert all(solution.right for solution in solutions)


def test_right_answers_are_those_of_the_rules() -> None:
    question = parse_question("12*34")[0].tobytes()
    assert [notation(answer) for answer in right_answers([question])] == ["408 STOP"]
    context = right_context(question, "rot")
    assert context is not None
    assert notation(context) == "GO 12*34= GO 12*4=48 STOP GO 12*3=36 STOP TAIL 360+48= THINK"
    assert right_context(b"\x0b\x01\x0f", "rot") is None


@pytest.fixture(scope="module", params=["transformer", "lstm"])
def network(request: pytest.FixtureRequest) -> tuple[Cell, Backbone]:
    return half_trained(request.param)


def test_a_trained_network_equals_the_plain_recursion(network: tuple[Cell, Backbone]) -> None:
    """Half-trained, in float64, so that near-ties can't decide; and the repository's own."""
    example = load_checkpoint(EXAMPLE)
    for (cell, backbone), problems in ((network, 40), ((example.cell, example.backbone), 12)):
        limits = Limits(60, 8, 40)
        questions = _questions(cell, problems)
        exact = backbone.double()
        naive = Naive(whole_contexts(exact, cell.vocabulary), cell.vocabulary, limits)
        for slots in (2, 512):
            outcomes, _ = Engine(exact, cell.vocabulary, "rot", limits, slots=slots).solve(map(Request, questions))
            for question, outcome in zip(questions, outcomes, strict=True):
                require_same(naive, question, outcome)
        backbone.float()


def _questions(cell: Cell, n: int) -> list[bytes]:
    problems = problem_set(cell, n, seed=1)
    return [problems.tokens_of(i).tobytes() for i in range(len(problems))]


def test_what_is_right_teacher_forced_is_right_free_running(network: tuple[Cell, Backbone]) -> None:
    """A law, as the contexts that the network then writes are the right ones, unless near-ties fall differently."""
    cell, backbone = network
    forced, free = _right_both_ways(cell, backbone)
    assert len(forced) == Evaluator(cell, problem_set(cell, 400, seed=1)).run(backbone).problems_right
    assert 10 < len(forced) < 360, "the network is half-trained"
    if not forced <= free:
        exactly_forced, exactly_free = _right_both_ways(cell, backbone.double())
        backbone.float()
        assert exactly_forced <= exactly_free


def _right_both_ways(cell: Cell, backbone: Backbone) -> tuple[set[bytes], set[bytes]]:
    """Which of 400 questions are right teacher-forced, and which run free."""
    questions = _questions(cell, 400)
    engine = Engine(backbone, cell.vocabulary, "rot", Limits(cell.context_limit))
    outcomes, _ = engine.solve(map(Request, questions))
    answered = zip(questions, outcomes, right_answers(questions), strict=True)
    traced = {question: trace(backbone, cell, np.frombuffer(question, np.uint8)) for question in questions}
    forced = {question for question, contexts in traced.items() if all(context.right for context in contexts)}
    return forced, {question for question, outcome, answer in answered if outcome.answer == answer}


class Shortcut(Rules):
    """Follows the rules, but answers a sum with a one-digit number at once."""

    def _next(self, cache: Read, read: bytearray) -> int:
        question = bytes(read[: read.index(EQUALS) + 1])
        [answer] = right_answers([question])
        own = read[len(question) :]
        if re.search(r"\+\d=$", notation(question)) and answer.startswith(own):
            return answer[len(own)]
        return super()._next(cache, read)

    def __call__(self, tokens_BT: Tensor) -> Tensor:
        """logits_BTV, where a context has come to the end of its question."""
        B, T = tokens_BT.shape
        logits_BTV, cache = torch.zeros(B, T, len(self._vocabulary)), self.new_cache(1)
        for b, full_T in enumerate(self._vocabulary.full_V[tokens_BT.numpy()]):
            read = bytearray(full_T.tobytes())
            for t in range(read.index(EQUALS), len(read.rstrip(bytes([PAD])))):
                logits_BTV[b, t, self._vocabulary.compact_S[self._next(cache, read[: t + 1])]] = 1
        return logits_BTV


def test_the_converse_does_not_hold() -> None:
    """Each accuracy has its own name: another way to the right answer is wrong teacher-forced, and right run free."""
    cell = Cell("add", 3, "rot", "log_uniform", 2048)
    problems, network = problem_set(cell, 100, seed=1), Shortcut(cell.vocabulary, "rot")
    forced = Evaluator(cell, problems).run(network).metrics()
    free = FreeRunner(cell, problems, 100).run(network).metrics()
    assert forced["eval/problem"] < 0.9
    assert forced["eval/context"] < 0.9
    assert free["eval/free"] == 1.0


class TestFreeRunning:
    def test_it_counts(self, network: tuple[Cell, Backbone]) -> None:
        cell, backbone = network
        runner = FreeRunner(cell, problem_set(cell, 400, seed=1), 300)
        report = runner.run(backbone)
        outcomes, tally = Engine(backbone, cell.vocabulary, "rot", runner.limits).solve(
            map(Request, _questions(cell, 300))
        )
        figures = report.metrics()
        assert figures["eval/free"] == report.right / 300
        assert figures["eval/free/problems"] == report.problems == 300
        ended = {name: figures[f"eval/free/{name}"] for name in ("wrong", "overflow", "cycle", "malformed", "height")}
        assert report.right + sum(ended.values()) + figures["eval/free/reach"] == 300
        assert sum(outcome.failure is not None for outcome in outcomes) == report.failures.total()
        assert (report.tokens, report.contexts) == (tally.tokens, tally.contexts)
        assert report.tokens_unaided == sum(outcome.tokens_unaided for outcome in outcomes)
        assert figures["eval/free/deepest"] == max(outcome.depth for outcome in outcomes)
        assert figures["eval/free/hit_rate"] == tally.known / tally.asked

    @pytest.mark.parametrize("method", ["wt", "cot", "rot"])
    def test_every_method_runs(self, method: str) -> None:
        cell = Cell("mul", 2, method, "log_uniform", 4096)
        report = FreeRunner(cell, problem_set(cell, 50, seed=1), 1_000).run(Rules(cell.vocabulary, method))
        assert (report.problems, report.accuracy) == (50, 1.0)
        assert (report.deepest > 0) == (method == "rot")

    def test_reach_is_three_times_what_the_rules_take(self) -> None:
        cell = Cell("lcs", 7, "rot", "uniform", 2048)
        problems = problem_set(cell, 60, seed=1)
        solved = Solver(Rules(cell.vocabulary, "rot"), cell).solve(
            [notation(problems.tokens_of(i)) for i in range(50)]
        )  # fmt: skip
        assert FreeRunner(cell, problems, 50).limits.reach == 3 * max(solution.contexts for solution in solved) > 100
        assert FreeRunner(cell, problems, 50, reach=7).limits.reach == 7
        report = FreeRunner(cell, problems, 50, reach=7).run(Rules(cell.vocabulary, "rot"))
        assert report.failures == {"reach": sum(solution.contexts - 1 > 7 for solution in solved)}

    def test_what_does_not_fit_is_counted_as_overflow(self) -> None:
        cell = Cell("add", 9, "rot", "log_uniform", 40)
        report = FreeRunner(cell, problem_set(cell, 100, seed=1), 100).run(Rules(cell.vocabulary, "rot"))
        assert report.failures["overflow"] > 0
        assert report.right == 100 - report.failures["overflow"]


def test_tokens_without_a_memo_may_be_more_than_a_float_holds() -> None:
    outcome = Outcome(b"", None, 1, 0, 1, 10**400, Node(b"", (0, 0), 0))
    report = FreeReport()
    report.count([outcome], [b""], Tally())
    assert report.metrics()["eval/free/tokens_unaided"] == 1e300


def test_bfloat16_runs() -> None:
    solution = Solver.from_run(EXAMPLE, dtype=torch.bfloat16).solve(["4+3"])[0]
    assert solution.answer == "7"
