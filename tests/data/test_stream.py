"""The training stream: a pure function of seed and index, however it is cut."""

from __future__ import annotations

import dataclasses
import pickle
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch

from rotlab.config import RunFailed
from rotlab.contexts import unfold
from rotlab.contexts.driver import Drawer, sample_questions
from rotlab.data.cell import Cell
from rotlab.data.module import DataOptions, RotDataModule, workers_for
from rotlab.data.step_batch import StepBatch
from rotlab.data.stream import StepsFrom, TrainingStream
from rotlab.data.test_set import problem_set
from rotlab.rng import TRAIN
from rotlab.tasks import METHODS, SAMPLERS, TASKS, parse_question
from rotlab.vocab import ID, notation
from tests.chi_square import REJECTED, p_value
from tests.data.examples import Example, digest, of_steps

MUL = Cell("mul", 3, "rot", "log_uniform", 2048)
OPTIONS = DataOptions(
    batch_size=250, accumulation=1, steps=40, seed=5, workers=0, tokens_per_pass=32_768, group_overhead=256,
    test_problems=20, test_seed=1, probe_problems=5, holdout=False, overfit=False,
)  # fmt: skip


def options(**changes: Any) -> DataOptions:
    return dataclasses.replace(OPTIONS, **changes)


def loaded(cell: Cell = MUL, first_step: int = 0, **changes: Any) -> Iterator[StepBatch]:
    return iter(RotDataModule(cell, options(**changes), first_step).train_dataloader())


def steps_of(cell: Cell, steps: int = 2, batch_size: int = 60, seed: int = 0, **changes: Any) -> list[StepBatch]:
    stream = TrainingStream(cell, seed=seed, batch_size=batch_size, steps=steps, **changes)
    return [stream[step] for step in range(steps)]


def text(cell: Cell, example: Example) -> str:
    """What stands in a model's input."""
    return notation(cell.vocabulary.full_V[list(example.inputs)])


# --- the same stream -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ten_thousand() -> str:
    examples = of_steps(loaded())
    assert len(examples) == 10_000
    return digest(examples)


@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
@pytest.mark.parametrize("workers", [1, 4])
def test_the_same_for_any_number_of_workers(ten_thousand: str, workers: int) -> None:
    assert digest(of_steps(loaded(workers=workers))) == ten_thousand


@pytest.mark.parametrize("accumulation", [1, 2])
def test_the_same_for_two_ranks(ten_thousand: str, accumulation: int) -> None:
    """Batch k is rank 0's slice, then rank 1's."""
    module = RotDataModule(MUL, options(batch_size=200, steps=50, accumulation=accumulation))
    ranks = module.stream(0, 2), module.stream(1, 2)
    steps = [stream[step] for step in range(50) for stream in ranks]
    assert all(step.contexts == 100 for step in steps)
    assert digest(of_steps(steps)) == ten_thousand


@pytest.mark.parametrize(("batch_size", "accumulation"), [(200, 4), (1000, 1), (2500, 4)])
def test_accumulation_splits_a_batch_and_never_multiplies_it(
    ten_thousand: str, batch_size: int, accumulation: int
) -> None:
    steps = list(loaded(batch_size=batch_size, steps=10_000 // batch_size, accumulation=accumulation))
    assert {step.contexts for step in steps} == {batch_size}
    assert {len(step.passes) for step in steps} == {accumulation}
    assert digest(of_steps(steps)) == ten_thousand


@pytest.mark.parametrize("workers", [0, 2])
def test_resuming_goes_on_exactly(ten_thousand: str, workers: int) -> None:
    first = list(islice(loaded(workers=workers), 13))
    assert digest(of_steps([*first, *loaded(first_step=13, workers=workers)])) == ten_thousand


def test_a_batch_depends_on_its_number_alone() -> None:
    """Whatever the stream was asked before, and of what size."""
    fresh = TrainingStream(MUL, seed=0, batch_size=50, steps=9)
    used = TrainingStream(MUL, seed=0, batch_size=50, steps=9)
    backwards = [digest(of_steps([used[step]])) for step in (8, 7, 3, 0, 3)]
    assert backwards == [digest(of_steps([fresh[step]])) for step in (8, 7, 3, 0, 3)]
    assert len(set(backwards)) == 4


def test_seeds_differ() -> None:
    """Seed s + 1 is not seed s moved by one, and shares hardly a context with it."""
    cell = Cell("mul", 12, "wt", "log_uniform", 2048)
    seeds = [of_steps(steps_of(cell, 2, 100, seed)) for seed in (0, 1, 2, 2**40, 2**40 + 1)]
    assert len({digest(examples) for examples in seeds}) == len(seeds)
    long = [{one.inputs for one in examples if len(one.inputs) > 20} for examples in seeds]
    assert min(map(len, long)) > 50
    assert all(a.isdisjoint(b) for a in long for b in long if a is not b)


def test_overfitting_repeats_the_first_batch() -> None:
    steps = list(loaded(overfit=True, steps=4, batch_size=30))
    assert len({digest(of_steps([step])) for step in steps}) == 1
    assert digest(of_steps(steps[:1])) == digest(of_steps(loaded(steps=1, batch_size=30)))


def test_steps_from() -> None:
    sampler = StepsFrom(3, 7)
    assert list(sampler) == [3, 4, 5, 6]
    assert len(sampler) == 4
    assert list(StepsFrom(7, 7)) == []


def test_a_stream_can_be_sent_to_a_process_that_shares_no_memory() -> None:
    stream = TrainingStream(MUL, seed=0, batch_size=20, steps=2)
    sent: TrainingStream = pickle.loads(pickle.dumps(stream))
    assert (len(sent), digest(of_steps([sent[1]]))) == (2, digest(of_steps([stream[1]])))


def test_an_uneven_split_is_refused() -> None:
    with pytest.raises(ValueError, match=r"batch_size 250 can't be split evenly into 2 rank\(s\) times 4 accum"):
        TrainingStream(MUL, seed=0, batch_size=250, steps=1, ranks=2, accumulation=4)


def test_workers() -> None:
    assert workers_for(3, on_gpu=False) == 3
    assert workers_for("auto", on_gpu=False) == 0
    assert 1 <= workers_for("auto", on_gpu=True) <= 12
    assert workers_for("auto", on_gpu=True, ranks=10**6) == 1


# --- what stands in it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task", TASKS)
def test_examples_are_contexts_shifted_by_one(task: str, method: str) -> None:
    """X without its last token, and Y without its first, of the question that each example starts with."""
    cell = Cell(task, max(2, TASKS[task].min_difficulty), method, TASKS[task].samplings[0], 2048)
    examples, ids = of_steps(steps_of(cell)), cell.vocabulary.compact_S
    types = set()
    for example in examples:
        question = text(cell, example).split("=")[0]
        context = unfold(question, method)[0]
        types.add(context.type)
        assert example.inputs == tuple(ids[[ID[symbol] for symbol in context.tokens[:-1]]])
        assert example.targets == tuple(ids[[ID[symbol] for symbol in context.targets[1:]]])
    assert (len(types) > 1) == (method == "rot" and task not in ("add", "sub"))
    # PAD is a symbol's id only where nothing is learnt.
    assert all(0 not in example.inputs for example in examples)


def test_wt_examples_are_the_problems_in_order() -> None:
    cell = Cell("div", 9, "wt", "log_uniform", 2048)
    drawn = sample_questions(SAMPLERS["div", "log_uniform"], 9, 0, 120)
    found = [text(cell, example).split("=")[0] for example in of_steps(steps_of(cell))]
    assert found == [notation(question).removesuffix("=") for question in drawn]


def test_a_context_is_drawn_uniformly_from_its_problem_s() -> None:
    """lcs-1: five contexts, of which three are of lcs, where the two digits differ; else three, of which two are."""
    cell = Cell("lcs", 1, "rot", "uniform", 2048)
    counts = Counter(parse_question(text(cell, one).split("=")[0])[1].name for one in of_steps(steps_of(cell, 40, 500)))
    expected = {"lcs": 0.9 * 3 / 5 + 0.1 * 2 / 3, "equal": 0.9 / 5 + 0.1 / 3, "compare": 0.9 / 5}
    assert p_value(counts, expected) > REJECTED


def test_counts_of_a_step() -> None:
    for step in steps_of(MUL, batch_size=60, accumulation=3):
        examples = of_steps([step])
        assert (step.contexts, len(examples)) == (60, 60)
        assert step.tokens == sum(len(one.inputs) for one in examples)
        assert step.area == sum(group.inputs_BT.numel() for group in step.groups) >= step.tokens
        assert (step.overlong, step.held_out) == (0, 0)
        moved = step.to(torch.device("cpu"))
        assert digest(of_steps([moved])) == digest(examples)


# --- what is left out ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_overlong_contexts_are_replaced(method: str) -> None:
    """By the next draw of the same example; the others stay as they are."""
    all_of_them = of_steps(steps_of(Cell("mul", 3, method, "log_uniform", 10**6), 4))
    limit = sorted(len(one.inputs) + 1 for one in all_of_them)[len(all_of_them) // 2]
    steps = steps_of(Cell("mul", 3, method, "log_uniform", limit), 4)
    kept = of_steps(steps)
    assert len(kept) == len(all_of_them)
    assert max(len(one.inputs) + 1 for one in kept) <= limit
    too_long = [len(one.inputs) + 1 > limit for one in all_of_them]
    assert [a == b for a, b in zip(kept, all_of_them, strict=True)] == [not one for one in too_long]
    assert sum(step.overlong for step in steps) >= sum(too_long) > 10


def test_a_stream_without_a_fitting_context_is_refused() -> None:
    cell = Cell("add", 2, "rot", "log_uniform", 5)
    says = "^step 1 can't be trained: no example of add at difficulty 2 could be drawn in 10,000 tries: its"
    with pytest.raises(RunFailed, match=says):
        TrainingStream(cell, seed=0, batch_size=2, steps=1)[0]


@pytest.mark.parametrize("method", ["wt", "cot"])
def test_held_out_problems_are_never_trained_on(method: str) -> None:
    cell = Cell("add", 2, method, "uniform", 2048)
    held_out = problem_set(cell, 5000, seed=1)
    tested = {held_out.question(i).split("=")[0] for i in range(len(held_out))}

    def trained(steps: list[StepBatch]) -> list[str]:
        return [text(cell, one).split("=")[0] for one in of_steps(steps)]

    free, held = steps_of(cell, 5), steps_of(cell, 5, held_out=held_out.memo)
    known = [question in tested for question in trained(free)]
    assert 100 < sum(known) < 200
    assert tested.isdisjoint(trained(held))
    same = [a == b for a, b in zip(trained(held), trained(free), strict=True)]
    assert same == [not one for one in known]
    assert sum(step.held_out for step in held) >= sum(known)
    assert sum(step.held_out for step in free) == 0


def test_a_module_holds_its_test_set_out() -> None:
    cell = Cell("add", 2, "wt", "uniform", 2048)
    module = RotDataModule(cell, options(holdout=True, test_problems=5000, steps=2))
    tested = {module.test_problems.question(i).split("=")[0] for i in range(5000)}
    trained = {text(cell, one).split("=")[0] for one in of_steps(module.train_dataloader())}
    assert tested.isdisjoint(trained)
    assert module.overlap == 0


def test_holding_out_everything_is_refused() -> None:
    cell = Cell("add", 1, "rot", "log_uniform", 2048)
    with pytest.raises(ValueError, match="leaves nothing to train on: the test set is all of add-1's 100 problems"):
        RotDataModule(cell, options(holdout=True, test_problems=1000))


def test_a_stream_whose_problems_are_all_held_out_gives_up() -> None:
    cell = Cell("sub", 1, "rot", "log_uniform", 2048)
    everything = problem_set(cell, 55, seed=1).memo
    drawer = Drawer(cell.sampler, 1, "rot", 2048, everything)
    with pytest.raises(ValueError, match="held out for the test set"):
        drawer.batch(0, TRAIN, 0, 1)
