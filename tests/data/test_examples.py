"""`rotlab.dataset`: the training stream's examples, one by one."""

from __future__ import annotations

import re

import pytest
import torch
from torch.utils.data import DataLoader

import rotlab
from rotlab.data.cell import Cell
from rotlab.data.stream import TrainingStream
from tests.data.examples import of_steps


@pytest.mark.parametrize("method", ["wt", "cot", "rot"])
def test_they_are_those_of_the_training_stream(method: str) -> None:
    assert {"dataset", "Solver"} <= set(dir(rotlab))
    ours = rotlab.dataset("mul", 2, method, seed=3)
    stream = TrainingStream(Cell("mul", 2, method, "log_uniform", 2048), seed=3, batch_size=16, steps=2)
    theirs = of_steps([stream[0], stream[1]])
    assert [tuple(map(tuple, map(torch.Tensor.tolist, ours[i]))) for i in range(32)] == theirs


def test_a_loader_with_workers_gives_each_once() -> None:
    data = rotlab.dataset("add", 3, size=24)
    batches = list(DataLoader(data, batch_size=8, num_workers=2, collate_fn=data.collate))
    assert len(data) == 24
    for number, (inputs_BT, targets_BT) in enumerate(batches):
        for row in range(8):
            example = data[8 * number + row]
            length = len(example.inputs_T)
            assert inputs_BT[row, :length].equal(example.inputs_T)
            assert targets_BT[row, :length].equal(example.targets_T)
            assert not inputs_BT[row, length:].any()
            assert not targets_BT[row, length:].any()


def test_its_text_is_what_its_ids_say() -> None:
    data = rotlab.dataset("lcs", 3, seed=1)
    for i in (0, 5, -1):
        inputs = "".join(data.vocabulary.symbols[token] for token in data[i].inputs_T.tolist())
        assert re.sub(" ", "", data.text(i)).startswith(inputs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ad", 3), "task 'ad' doesn't exist; the tasks are add"),
        (("add", 0), "the smallest difficulty of add is 1"),
        (("add", 3, "rott"), "method 'rott' doesn't exist"),
    ],
)
def test_what_does_not_exist_is_refused(arguments: tuple[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rotlab.dataset(*arguments)
    with pytest.raises(ValueError, match="size is 0"):
        rotlab.dataset("add", 3, size=0)


def test_there_are_no_more_than_its_size() -> None:
    with pytest.raises(IndexError, match="there are 5 examples"):
        rotlab.dataset("add", 3, size=5)[5]
    assert len(list(rotlab.dataset("add", 3, size=5))) == 5


def test_nothing_else_is_at_hand() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'datasets'"):
        rotlab.datasets  # noqa: B018
