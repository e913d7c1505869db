"""The CPU's LSTM computes what torch.nn.LSTM computes, forward and backward, of contexts of any lengths."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rotlab.models.lstm import Model, packing
from rotlab.models.recurrence import Recurrence, Workspace

SHAPES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9)), min_size=1, max_size=5)

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")


def model_of(seed: int = 0) -> Model:
    torch.manual_seed(seed)
    return Model(11, context_limit=64, embedding=7, hidden=13, layers=3).double()


def groups_of(shapes: list[tuple[int, int]]) -> list[Tensor]:
    draw = torch.Generator().manual_seed(len(shapes))
    return [torch.randint(0, 11, shape, generator=draw) for shape in shapes]


def by_torch(model: Model, groups: list[Tensor]) -> Tensor:
    """logits_NV by nn.LSTM, context by context."""
    contexts = [context_T for group in groups for context_T in group]
    return torch.cat([model.lstm(model.embedding(context_T))[0] for context_T in contexts])


def gradients(model: Model, compute: Callable[[], Tensor]) -> list[Tensor]:
    """Of a sum that weighs every logit differently."""
    model.zero_grad()
    logits_NV = compute()
    (logits_NV * torch.linspace(-1, 1, logits_NV.numel(), dtype=logits_NV.dtype).view_as(logits_NV)).sum().backward()
    found = [one.grad for one in model.parameters()]
    return [one.clone() for one in found if one is not None]


@settings(deadline=None)
@given(SHAPES)
def test_it_is_torch_s_lstm(shapes: list[tuple[int, int]]) -> None:
    model, groups = model_of(), groups_of(shapes)
    torch.testing.assert_close(model.forward_groups(groups), by_torch(model, groups), rtol=0, atol=1e-12)
    ours = gradients(model, lambda: model.forward_groups(groups))
    for mine, theirs in zip(ours, gradients(model, lambda: by_torch(model, groups)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)


def test_passes_that_overlap_keep_apart() -> None:
    """Memory is used again once a backward pass is over, not before."""
    model, groups = model_of(), groups_of([(2, 5), (3, 8)])
    alone = gradients(model, lambda: model.forward_groups(groups))
    model.zero_grad()
    first = model.forward_groups(groups)
    with torch.no_grad():
        model.forward_groups(groups_of([(4, 9)]))
    model.forward_groups(groups_of([(4, 9)])).sum().backward()
    model.zero_grad()
    (first * torch.linspace(-1, 1, first.numel(), dtype=first.dtype).view_as(first)).sum().backward()
    for mine, expected in zip([one.grad for one in model.parameters()], alone, strict=True):
        torch.testing.assert_close(mine, expected, rtol=0, atol=0)


def test_memory_is_used_again() -> None:
    workspace, like = Workspace(), torch.empty(0)
    large = workspace.take(like, 100)
    workspace.give(large)
    assert workspace.take(like, 60).data_ptr() == large.data_ptr()
    assert workspace.take(like, 60).data_ptr() != large.data_ptr()  # that is taken
    workspace.give(large)
    assert len(workspace.take(like.double(), 10)) == 10


def test_its_derivative_by_differences() -> None:
    order_P, counts = packing([(2, 3), (1, 4)])
    draw = torch.Generator().manual_seed(0)
    shapes = [(len(order_P), 2), (12, 2), (12, 2), (12,), (2, 3)]
    inputs, *weights = [torch.randn(one, generator=draw, dtype=torch.double, requires_grad=True) for one in shapes]
    assert torch.autograd.gradcheck(
        lambda x, *w: Recurrence.apply(x, counts, Workspace(), True, *w), (inputs, *weights)
    )


def test_places_are_packed_by_time_and_longer_contexts_come_first() -> None:
    order_P, counts = packing([(2, 2), (1, 3)])
    # Contexts a and b of two places (0 1, 2 3), c of three (4 5 6).
    assert order_P.tolist() == [4, 0, 2, 5, 1, 3, 6]
    assert counts == [3, 3, 1]
