"""The benches measure what they say; how fast that is, no test says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rotlab.cli.bench import data, evaluation
from rotlab.contexts import unfold
from rotlab.contexts.driver import Drawer, sample_questions
from rotlab.contexts.stream import Batch
from rotlab.data.cell import Cell
from rotlab.data.module import DataOptions, RotDataModule
from rotlab.data.test_set import problem_set
from rotlab.rng import TRAIN
from rotlab.tasks import SAMPLERS
from rotlab.vocab import notation
from tests.cli.test_commands import printed
from tests.data.examples import Example, of_steps


def unpadded(examples: list[Example], cell: Cell) -> Batch:
    """Examples as contexts one after another: the inputs, and the last target, which ends the context."""
    full_V = cell.vocabulary.full_V
    contexts = [full_V[[*one.inputs, one.targets[-1]]] for one in examples]
    offsets = np.cumsum([0, *map(len, contexts)]).astype(np.int64)
    tokens = np.concatenate(contexts).astype(np.uint8)
    return Batch(tokens, np.zeros_like(tokens), offsets)


@pytest.mark.parametrize(("task", "difficulty", "sampling"), [data.CELLS[1], data.CELLS[5]])
def test_the_hash_is_that_of_the_data_module(task: str, difficulty: int, sampling: str) -> None:
    cell = Cell(task, difficulty, "rot", sampling, 2048)
    options = DataOptions(
        batch_size=250, accumulation=1, steps=data.HASHED // 250, seed=0, workers=0, tokens_per_pass=32_768,
        group_overhead=32, test_problems=5, test_seed=1, probe_problems=5, holdout=False, overfit=False,
    )  # fmt: skip
    examples = of_steps(RotDataModule(cell, options).train_dataloader())
    drawn, _ = Drawer(cell.sampler, difficulty, "rot", 2048).batch(0, TRAIN, 0, data.HASHED)
    assert data.digest_of(drawn) == data.digest_of(unpadded(examples, cell))


def test_a_row_of_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "CELLS", (("mul", 3, "log_uniform"),))
    monkeypatch.setattr(data, "_SECONDS", 1e-9)  # a single chunk
    monkeypatch.setattr(data, "_REFERENCE_SECONDS", 0.0)
    _, row = printed(capsys, "bench", "data")
    found = re.fullmatch(r"mul-3 log_uniform +[\d,]+ +[\d,]+ +([\d.]+) +[\d,]+ x  [0-9a-f]{16}", row)
    assert found is not None, row
    questions = [notation(one) for one in sample_questions(SAMPLERS["mul", "log_uniform"], 3, 0, 100)]
    assert float(found[1]) == pytest.approx(sum(len(unfold(one)) for one in questions) / 100, abs=0.051)


def test_an_evaluation_with_a_stub_is_whole() -> None:
    cell = Cell("mul", 3, "rot", "log_uniform", 2048)
    contexts, drawing, seconds, peak = evaluation.stubbed(cell, 40)
    problems = problem_set(cell, 40, seed=0)
    assert contexts == len({str(one) for i in range(40) for one in unfold(problems.question(i))})
    assert min(drawing, seconds, peak) > 0


def test_a_row_of_evaluation(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "CELLS", (("add", 3, "log_uniform"),))
    monkeypatch.setattr(evaluation, "PROBLEMS", 100)
    _, row = printed(capsys, "bench", "evaluation")
    assert re.fullmatch(r"add-3 +100 +[\d,]+ +[\d.]+ s +[\d.]+ s +[\d.]+ GiB +[\d,]+ contexts/s", row), row
