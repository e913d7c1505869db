"""Training examples taken out of their groups again, for comparisons."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from rotlab.data.batches import Group
from rotlab.data.step_batch import StepBatch


class Example(NamedTuple):
    """One context as a model is trained on it: ids without padding."""

    inputs: tuple[int, ...]
    targets: tuple[int, ...]


def of_groups(groups: Iterable[Group]) -> list[Example]:
    """The examples in the order in which they were drawn; asserts that padding stands on the right, in both."""
    found: dict[int, Example] = {}
    for group in groups:
        rows = zip(group.chosen_B.tolist(), group.inputs_BT.tolist(), group.targets_BT.tolist(), strict=True)
        for number, inputs, targets in rows:
            length = (*inputs, 0).index(0)
            assert not any(inputs[length:])
            assert not any(targets[length:])
            assert number not in found
            found[number] = Example(tuple(inputs[:length]), tuple(targets[:length]))
    assert sorted(found) == list(range(len(found)))
    return [found[number] for number in range(len(found))]


def of_steps(steps: Iterable[StepBatch]) -> list[Example]:
    """The examples of optimizer steps, in order."""
    return [example for step in steps for groups in step.passes for example in of_groups(groups)]


def digest(examples: Iterable[Example]) -> str:
    """A hash of the examples, in order."""
    found = hashlib.sha256()
    for inputs, targets in examples:
        found.update(bytes(inputs) + b"\xff" + bytes(targets) + b"\xff")
    return found.hexdigest()
