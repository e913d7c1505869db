"""The test set: unique, its own, the same for every method, and never changed unawares."""

from __future__ import annotations

import numpy as np
import pytest

from rotlab.contexts.driver import Drawer, sample_questions
from rotlab.contexts.memo import add_question
from rotlab.data.cell import Cell
from rotlab.data.stream import TrainingStream
from rotlab.data.test_set import ProblemSet, overlap, problem_set
from rotlab.rng import PROBE, TEST, TRAIN
from rotlab.tasks import METHODS, SAMPLERS, TASKS, parse_question
from rotlab.vocab import notation
from tests.data.examples import digest, of_steps

# Hashes of the first 500 test problems of data.test_seed=1, and of the first 500 training examples of seed 0 under rot.
# Accuracies were measured on these data: a change makes them incomparable, and belongs into the changelog.
GOLDEN = {
    ("add", 4, "log_uniform"): ("19fa2b04924e764d", "331bc3f00b51f09f"),
    ("add", 32, "log_uniform"): ("95a141999d122b18", "8406b8a6e0f0dcb5"),
    ("add", 24, "uniform"): ("10f61809410786ed", "ba4657b77a4b651e"),
    ("sub", 8, "log_uniform"): ("40f767f01e8747b5", "47cb4b21b189bd70"),
    ("mul", 3, "log_uniform"): ("89959dbb3f677af0", "e145cdc66a4f4b6a"),
    ("div", 12, "log_uniform"): ("cb205bdadce24597", "fd977a8a0f0ad731"),
    ("lcs", 8, "uniform"): ("bdcf52206ac83264", "9f1a6c8871c7ef11"),
    ("lps", 8, "uniform"): ("fa1b7b35a27b8d26", "06acd81114f0e628"),
    ("knapsack", 4, "uniform"): ("e86bdea9b3412772", "ac9c139c3c638e68"),
    ("mcm", 4, "log_uniform"): ("0a4e33fda9e2e92e", "26f6ecf2f09f188a"),
    ("sort", 8, "log_uniform"): ("ed7c392e2f94a6e8", "1d0ec35a888f0fab"),
}


def cell_of(task: str, difficulty: int, method: str = "rot", sampling: str | None = None) -> Cell:
    return Cell(task, difficulty, method, sampling or TASKS[task].samplings[0], 2048)


def questions(problems: ProblemSet) -> list[str]:
    return [problems.question(i) for i in range(len(problems))]


@pytest.mark.parametrize(("task", "difficulty", "sampling"), GOLDEN)
def test_the_problems_are_those_that_they_were(task: str, difficulty: int, sampling: str) -> None:
    """For every method and context limit."""
    cells = [Cell(task, difficulty, method, sampling, limit) for method in METHODS for limit in (512, 2048)]
    hashes = {problem_set(cell, 500, 1).content_hash for cell in cells}
    assert hashes == {GOLDEN[task, difficulty, sampling][0]}


@pytest.mark.parametrize(("task", "difficulty", "sampling"), GOLDEN)
def test_the_stream_is_the_one_that_it_was(task: str, difficulty: int, sampling: str) -> None:
    stream = TrainingStream(cell_of(task, difficulty, sampling=sampling), seed=0, batch_size=500, steps=1)
    assert digest(of_steps([stream[0]]))[:16] == GOLDEN[task, difficulty, sampling][1]


def test_problems_are_unique_and_found() -> None:
    problems = problem_set(cell_of("mul", 2), 3000, 1)
    found = questions(problems)
    assert len(problems) == len(set(found)) == 3000
    assert not problems.whole_space
    memo = problems.memo
    for question in found[::100]:
        memo, row = add_question(memo, parse_question(question)[0])
        assert notation(memo.text[memo.rows[row, 0] : memo.rows[row, 1]]) == question
        assert row < 3000


def test_a_smaller_set_is_the_beginning_of_a_larger_one() -> None:
    small, large = (questions(problem_set(cell_of("sort", 5), size, 1)) for size in (100, 400))
    assert large[:100] == small


def test_seeds_splits_and_samplings_have_problems_of_their_own() -> None:
    cell = cell_of("add", 20)
    sets = [
        problem_set(cell, 200, 1, TEST),
        problem_set(cell, 200, 2, TEST),
        problem_set(cell, 200, 1, PROBE),
        problem_set(cell, 200, 1, TRAIN),
        problem_set(cell_of("add", 20, sampling="uniform"), 200, 1, TEST),
    ]
    assert len({problems.content_hash for problems in sets}) == len(sets)
    long = [{question for question in questions(problems) if len(question) > 20} for problems in sets]
    assert all(a.isdisjoint(b) for a in long for b in long if a is not b)


def test_the_training_split_is_the_training_stream() -> None:
    cell = cell_of("add", 30)
    stream = (notation(question) for question in sample_questions(cell.sampler, 30, 1, 300))
    assert questions(problem_set(cell, 200, 1, TRAIN)) == list(dict.fromkeys(stream))[:200]


def test_the_content_hash_is_of_the_questions() -> None:
    one, same = problem_set(cell_of("mul", 4), 50, 1), problem_set(cell_of("mul", 4, "cot"), 50, 1)
    assert one.content_hash == same.content_hash
    moved = ProblemSet(one.tokens, one.offsets + np.int64(1), one.memo, False)
    changed = ProblemSet(one.tokens[::-1].copy(), one.offsets, one.memo, False)
    assert len({one.content_hash, moved.content_hash, changed.content_hash}) == 3
    assert len(one.content_hash) == 16


@pytest.mark.parametrize(("task", "difficulty", "size"), [("add", 2, 3000), ("lps", 4, 5000), ("mul", 30, 1000)])
def test_the_overlap_is_counted(task: str, difficulty: int, size: int) -> None:
    cell = cell_of(task, difficulty)
    problems = problem_set(cell, size, 1)
    known, stream = set(questions(problems)), sample_questions(cell.sampler, difficulty, 7, 2000)
    assert overlap(cell, problems, seed=7) == sum(notation(question) in known for question in stream) / 2000


def test_a_whole_space_overlaps_wholly() -> None:
    cell = cell_of("sub", 1)
    assert overlap(cell, problem_set(cell, 1000, 1), seed=0) == 1.0


def test_more_problems_than_can_be_found_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rotlab.data.test_set._DRAWS_PER_PROBLEM", 2)
    with pytest.raises(ValueError, match=r"only \d+ different problems of div-1 were found in 178 draws"):
        problem_set(cell_of("div", 1), 89, 1)


IMPOSSIBLE = {
    ("ad", 4, "rot", "log_uniform"): "task 'ad' doesn't exist; the tasks are add, sub, mul",
    ("add", 4, "tot", "log_uniform"): "method 'tot' doesn't exist; the methods are wt, cot, rot",
    ("mul", 4, "rot", "uniform"): "mul has no sampling 'uniform'; it has log_uniform",
    ("add", 0, "rot", "log_uniform"): r"the smallest difficulty of add is 1 \(digits\)",
    ("sort", 1, "rot", "log_uniform"): r"the smallest difficulty of sort is 2 \(terms\)",
}


@pytest.mark.parametrize(("cell", "message"), IMPOSSIBLE.items())
def test_impossible_cells(cell: tuple[str, int, str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cell(*cell, context_limit=2048)


def test_a_cell_s_parts() -> None:
    cell = cell_of("add", 4, "cot", "uniform")
    assert cell.name == "add-4"
    assert cell.sampler is SAMPLERS["add", "uniform"]
    assert len(cell.vocabulary) == 16
    assert Drawer(cell.sampler, 4, "cot", 100).batch(0, TRAIN, 0, 3)[0].offsets.size == 4
