"""`rotlab bench inference`: free-running problems/s of the engine against plain recursion, with one trained network."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from rotlab.cli.bench.naive import Failed, Naive, Network, whole_contexts, with_cache
from rotlab.data.test_set import problem_set
from rotlab.inference.engine import Engine
from rotlab.inference.frame import Limits
from rotlab.inference.free_running import right_answers
from rotlab.inference.recursion import Request
from rotlab.models.trained import Trained, load_checkpoint

_QUESTIONS, _FEW = 1_000, 20
_SLOTS = (512, 64)
# Plain recursion is Python's own, which is not much deeper.
_NAIVE_HEIGHT = 200


def run(arguments: argparse.Namespace) -> int:
    """Print a row for each way to solve. Raises ValueError for a run that can't be read, or of another method."""
    trained = load_checkpoint(arguments.run)
    cell = trained.cell
    if cell.method != "rot":
        raise ValueError(f"{arguments.run} was trained under method={cell.method}: plain recursion needs method=rot")
    problems = problem_set(cell, _QUESTIONS, trained.config.data.test_seed)
    questions = [problems.tokens_of(i).tobytes() for i in range(len(problems))]
    print(f"{cell.name}, {trained.config.architecture.name}, step {trained.step:,}; problems of its test set")
    print(f"{'':<28}{'problems':>9}{'right':>9}{'problems/s':>12}{'tokens/s':>10}{'occupied':>10}{'against it':>12}")
    rows = [_engine(trained, questions, slots, memo) for slots, memo in ((_SLOTS[0], True), (_SLOTS[1], True))]
    rows.append(_engine(trained, questions, _SLOTS[0], False))
    # Of all lengths alike: a twentieth's middle each.
    stride = max(1, len(questions) // _FEW)
    few = sorted(questions, key=len)[stride // 2 :: stride][:_FEW]
    rows.append(_plain(trained, "plain, with a cache", few, with_cache(trained.backbone, cell.vocabulary)))
    rows.append(_plain(trained, "plain", few, whole_contexts(trained.backbone, cell.vocabulary)))
    for row in rows:
        against = rows[0][1] / row[1]
        print(f"{row[0]}{f'{against:,.0f} x' if against >= 10 else f'{against:.1f} x':>12}")
    return 0


def _engine(trained: Trained, questions: Sequence[bytes], slots: int, memo: bool) -> tuple[str, float]:
    """A row without its last column, and problems/s."""
    cell = trained.cell
    engine = Engine(
        trained.backbone, cell.vocabulary, cell.method, Limits(cell.context_limit), slots=slots, memo=memo
    )  # fmt: skip
    engine.solve(map(Request, questions[:1]))  # what is compiled is loaded at the first call
    started = time.perf_counter()
    outcomes, tally = engine.solve(map(Request, questions))
    seconds = time.perf_counter() - started
    name = f"{slots} slots" + ("" if memo else ", no memo")
    right = _right([outcome.answer for outcome in outcomes], questions)
    return _row(name, len(questions), right, seconds, tally.tokens, tally.seated / tally.seatable), (
        len(questions) / seconds
    )


def _plain(
    trained: Trained, name: str, questions: Sequence[bytes], fresh: Callable[[], Network]
) -> tuple[str, float]:  # fmt: skip
    naive = Naive(fresh, trained.cell.vocabulary, Limits(trained.cell.context_limit, height=_NAIVE_HEIGHT))
    answers: list[bytes | None] = []
    tokens, started = 0, time.perf_counter()
    for question in questions:
        try:
            answers.append(naive.answer(question))
        except Failed:
            answers.append(None)
        tokens += naive.tokens
    seconds = time.perf_counter() - started
    row = _row(name, len(questions), _right(answers, questions), seconds, tokens, None)
    return row, len(questions) / seconds


def _right(answers: Sequence[bytes | None], questions: Sequence[bytes]) -> float:
    gold = right_answers(list(questions))
    return sum(answer == known for answer, known in zip(answers, gold, strict=True)) / len(gold)


def _row(name: str, problems: int, right: float, seconds: float, tokens: int, occupied: float | None) -> str:
    share = "" if occupied is None else f"{occupied:.2f}"
    speeds = f"{problems / seconds:>12,.2f}{tokens / seconds:>10,.0f}"
    return f"{name:<28}{problems:>9,}{right:>9.3f}{speeds}{share:>10}"
