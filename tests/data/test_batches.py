"""Groups of similar length: cut as cheaply as possible, padded on the right."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rotlab.contexts.driver import Drawer
from rotlab.contexts.padding import cut_points
from rotlab.contexts.stream import Batch
from rotlab.data.batches import Group, grouped, passes_of
from rotlab.rng import TRAIN
from rotlab.tasks import METHODS, SAMPLERS, TASKS, vocabulary
from tests.data.examples import of_groups

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=9).map(sorted)


def cost(lengths: list[int], ends: tuple[int, ...], overhead: int, most: int) -> float:
    """Padded tokens and an overhead for each group; infinite if a group of several is too large."""
    total = 0.0
    for start, end in pairwise((0, *ends)):
        area = (end - start) * lengths[end - 1]
        total += area + overhead if area <= most or end - start == 1 else float("inf")
    return total


def every_cut(n: int) -> list[tuple[int, ...]]:
    inner = (chosen for size in range(n) for chosen in combinations(range(1, n), size))
    return [(*chosen, n) for chosen in inner]


@given(LENGTHS, st.integers(0, 100), st.integers(1, 400))
def test_no_other_cut_is_cheaper(lengths: list[int], overhead: int, most: int) -> None:
    ends = tuple(cut_points(np.array(lengths), overhead, most).tolist())
    assert ends in every_cut(len(lengths))
    best = min(cost(lengths, cut, overhead, most) for cut in every_cut(len(lengths)))
    assert cost(lengths, ends, overhead, most) == best


def drawn(task: str, difficulty: int, method: str, count: int) -> Batch:
    return Drawer(SAMPLERS[task, TASKS[task].samplings[0]], difficulty, method, 10**6).batch(3, TRAIN, 0, count)[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("overhead", "most"), [(256, 32_768), (0, 2_000), (10**6, 10**9), (64, 1)])
def test_groups_share_a_batch_out(method: str, overhead: int, most: int) -> None:
    """Each context stands in one group, which is no larger than allowed, and padding changes nothing in it."""
    batch, known = drawn("mul", 3, method, 300), vocabulary("mul", method)
    groups = grouped(batch, known, overhead, most)
    lengths = np.diff(batch.offsets) - 1
    for group in groups:
        assert group.inputs_BT.shape == group.targets_BT.shape
        assert group.inputs_BT.shape[1] == lengths[group.chosen_B].max()
        assert group.inputs_BT.numel() <= most or len(group.chosen_B) == 1
        assert (np.diff(lengths[group.chosen_B]) >= 0).all()
    examples = of_groups(groups)
    assert len(examples) == 300
    for number, example in enumerate(examples):
        start, end = batch.offsets[number], batch.offsets[number + 1]
        assert list(example.inputs) == known.compact_S[batch.tokens[start : end - 1]].tolist()
        assert len(example.targets) == end - start - 1


def test_a_dear_group_is_not_made() -> None:
    batch, known = drawn("mul", 3, "rot", 300), vocabulary("mul", "rot")
    assert len(grouped(batch, known, 10**9, 10**9)) == 1
    areas = [
        sum(group.inputs_BT.numel() for group in grouped(batch, known, overhead, 10**9))
        for overhead in (0, 64, 1024, 10**9)
    ]
    assert areas == sorted(areas)
    assert areas[0] == batch.offsets[-1] - 300, "groups that cost nothing have no padding"


@pytest.mark.parametrize("most", [10**9, 2_000])
def test_lengths_of_a_multiple(most: int) -> None:
    batch, known = drawn("mul", 3, "rot", 300), vocabulary("mul", "rot")
    groups = grouped(batch, known, 10**9, most, 8)
    assert all(group.inputs_BT.shape[1] % 8 == 0 and group.inputs_BT.numel() <= most for group in groups)
    finer = of_groups(grouped(batch, known, 0, 10**9))
    assert of_groups(groups) == finer


def test_one_context_is_one_group() -> None:
    [group] = grouped(drawn("add", 2, "rot", 1), vocabulary("add", "rot"), 256, 1)
    assert len(group.chosen_B) == 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 100))
def test_passes_hold_what_they_may(lengths: list[int], most: int) -> None:
    tokens = [torch.ones((2, length), dtype=torch.uint8) for length in lengths]
    groups = [Group(one, one, np.arange(2)) for one in tokens]
    passes = passes_of(groups, most)
    assert [group for one in passes for group in one] == groups
    areas = [sum(group.inputs_BT.numel() for group in one) for one in passes]
    assert all(area <= most or len(one) == 1 for area, one in zip(areas, passes, strict=True))
    first = [one[0].inputs_BT.numel() for one in passes]
    assert all(area + size > most for area, size in zip(areas, first[1:], strict=False))
