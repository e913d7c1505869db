"""One LSTM layer with a projection over contexts of unequal lengths, for the CPU, where torch's own takes its time.

On a CPU torch.nn.LSTM runs a projected layer one small operation after another, and autograd each of them again. Here
all contexts step together, each for as long as it lasts, so that nothing is padded; what needs no earlier step is one
matrix product over all places; and every step writes into what was allocated once.

Places P are *packed*: all first tokens, then all second ones, and so on, longer contexts before shorter ones. So step
t is a run of `counts[t]` places, whose contexts are the first ones of the step before. H is the number of cells, V that
of projected values. The four gates stand in the order input, forget, output, cell: the first three are squashed alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.amp import custom_bwd, custom_fwd
from torch.autograd.function import once_differentiable


class Workspace:
    """Memory that is used again and again: to get it from the system each time took a third of a step."""

    def __init__(self) -> None:
        self._free: list[Tensor] = []

    def take(self, like: Tensor, size: int) -> Tensor:
        """`size` numbers of any value, of the type of `like`."""
        fitting = [i for i, one in enumerate(self._free) if one.dtype == like.dtype and len(one) >= size]
        if fitting:
            return self._free.pop(min(fitting, key=lambda i: len(self._free[i])))
        if self._free:
            self._free.pop()  # too small, as all others are
        return like.new_empty(size)

    def give(self, memory: Tensor) -> None:
        """What `take` gave is not needed any more."""
        self._free.append(memory)


class Recurrence(torch.autograd.Function):
    """projected_PV = apply(inputs_PE, counts, workspace, kept, input_4HE, hidden_4HV, bias_4H, projection_VH).

    kept: a backward pass may follow (within `forward`, torch doesn't tell).
    """

    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(
        ctx: Any, inputs_PE: Tensor, counts: Sequence[int], workspace: Workspace, kept: bool, input_4HE: Tensor,
        hidden_4HV: Tensor, bias_4H: Tensor, projection_VH: Tensor,
    ) -> Tensor:  # fmt: skip
        P, (V, H) = len(inputs_PE), projection_VH.shape
        memory = workspace.take(inputs_PE, 7 * P * H)
        gates_P4H = torch.addmm(bias_4H, inputs_PE, input_4HE.T, out=memory[: 4 * P * H].view(P, 4 * H))
        cells_PH, squashed_PH, hidden_PH = memory[4 * P * H : 7 * P * H].view(3, P, H).unbind()
        projected_PV = inputs_PE.new_empty(P, V)
        hidden_V4H, projection_HV = hidden_4HV.T.contiguous(), projection_VH.T.contiguous()
        own = (gates_P4H[:, : 3 * H], cells_PH, squashed_PH, hidden_PH, projected_PV)
        cells_before = projected_before = cells_PH[:0]
        for gates, enter, forget, leave, cell, squashable, cells, squashed, hidden, projected in by_step(
            counts, (gates_P4H, *gates_P4H.split(H, dim=1), *own)
        ):
            first, now = len(cells_before) == 0, len(cells)
            if not first:
                gates.addmm_(projected_before[:now], hidden_V4H)
            squashable.sigmoid_()
            torch.mul(enter, cell.tanh_(), out=cells)
            if not first:
                cells.addcmul_(forget, cells_before[:now])
            torch.mul(leave, torch.tanh(cells, out=squashed), out=hidden)
            torch.mm(hidden, projection_HV, out=projected)
            cells_before, projected_before = cells, projected
        if not kept:
            workspace.give(memory)
            return projected_PV
        ctx.counts, ctx.workspace, ctx.memory = counts, workspace, memory
        ctx.save_for_backward(
            inputs_PE, input_4HE, hidden_4HV, projection_VH, gates_P4H, cells_PH, squashed_PH, hidden_PH, projected_PV
        )
        return projected_PV

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cpu")
    def backward(ctx: Any, given_PV: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        inputs_PE, input_4HE, hidden_4HV, projection_VH, gates_P4H, cells_PH, squashed_PH, hidden_PH, projected_PV = (
            ctx.saved_tensors
        )
        total_PV, scratch = given_PV.clone(), ctx.workspace.take(gates_P4H, gates_P4H.numel())
        grads_P4H = scratch[: gates_P4H.numel()].view(gates_P4H.shape)
        through_time(ctx.counts, total_PV, grads_P4H, hidden_4HV, projection_VH, gates_P4H, cells_PH, squashed_PH)
        # What a gate read: the input, and what the same context projected a step before.
        read_PX = torch.cat([inputs_PE, one_step_later(projected_PV, ctx.counts)], dim=1)
        input_E4H, hidden_V4H = (read_PX.T @ grads_P4H).split([inputs_PE.shape[1], projected_PV.shape[1]])
        gradients = (
            grads_P4H @ input_4HE, None, None, None, input_E4H.T, hidden_V4H.T, grads_P4H.sum(0), total_PV.T @ hidden_PH
        )  # fmt: skip
        ctx.workspace.give(scratch)
        ctx.workspace.give(ctx.memory)
        return gradients


def through_time(
    counts: Sequence[int], total_PV: Tensor, grads_P4H: Tensor, hidden_4HV: Tensor, projection_VH: Tensor,
    gates_P4H: Tensor, cells_PH: Tensor, squashed_PH: Tensor,
) -> None:  # fmt: skip
    """Fill grads_P4H, the gradient of the gates before they were squashed, from the last step to the first.

    total_PV comes with the gradient of the projections as the next layer has it; what later steps add is added.
    """
    aten, H = torch.ops.aten, cells_PH.shape[1]
    before_PH = one_step_later(cells_PH, counts)
    arrays = (
        total_PV, grads_P4H, grads_P4H[:, : 3 * H], *grads_P4H.split(H, dim=1), gates_P4H[:, : 3 * H],
        *gates_P4H.split(H, dim=1), before_PH, squashed_PH,
    )  # fmt: skip
    carried = after = cells_PH[:0]
    for step in reversed(list(by_step(counts, arrays))):
        total, grads, grads3, to_enter, to_forget, to_leave, to_cell, gates3, enter, forget, leave, cell, *rest = step
        before, squashed = rest
        if len(after):
            total[: len(after)].addmm_(after, hidden_4HV)
        hidden = total @ projection_VH
        torch.mul(hidden, squashed, out=to_leave)
        cells = aten.tanh_backward(hidden.mul_(leave), squashed)
        cells[: len(carried)].add_(carried)
        torch.mul(cells, cell, out=to_enter)
        torch.mul(cells, before, out=to_forget)
        torch.mul(cells, enter, out=to_cell)
        aten.sigmoid_backward.grad_input(grads3, gates3, grad_input=grads3)
        aten.tanh_backward.grad_input(to_cell, cell, grad_input=to_cell)
        carried, after = cells.mul_(forget), grads


def by_step(counts: Sequence[int], arrays: Iterable[Tensor]) -> Iterable[tuple[Tensor, ...]]:
    """For each step its part of every array of places."""
    return zip(*(array.split(list(counts)) for array in arrays), strict=True)


def one_step_later(values_PX: Tensor, counts: Sequence[int]) -> Tensor:
    """For each place what the same context had a step before; zeros for the first step."""
    steps = values_PX.split(list(counts))
    earlier = [before[:n] for before, n in zip(steps, counts[1:], strict=False)]
    return torch.cat([torch.zeros_like(steps[0]), *earlier])


def step_on(
    inputs_PE: Tensor, counts: Sequence[int], layer: Sequence[Tensor], projected_BV: Tensor, cells_BH: Tensor
) -> Tensor:
    """projected_PV of a layer from where its contexts stand, which it moves on; without gradients, on any device.

    layer: the layer's weights as torch has them, its gates in the order input, forget, cell, output.
    """
    input_4HE, hidden_4HV, input_bias_4H, hidden_bias_4H, projection_VH = layer
    gates_P4H = torch.addmm(input_bias_4H + hidden_bias_4H, inputs_PE, input_4HE.T)
    steps = []
    for gates in gates_P4H.split(list(counts)):
        now = len(gates)
        enter, forget, cell, leave = gates.addmm_(projected_BV[:now], hidden_4HV.T).chunk(4, dim=1)
        cells = cells_BH[:now].mul_(forget.sigmoid_()).addcmul_(enter.sigmoid_(), cell.tanh_())
        steps.append((leave.sigmoid_() * cells.tanh()) @ projection_VH.T)
        projected_BV[:now] = steps[-1]
    return torch.cat(steps)
