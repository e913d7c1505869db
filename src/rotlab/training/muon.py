"""Muon for the hidden weight matrices, AdamW for everything else, as one optimizer.

Muon (Jordan et al., 2024) takes the momentum of a matrix and moves along its nearest orthogonal matrix, found by a few
Newton-Schulz steps. torch.optim.Muon does it in bfloat16, a matrix at a time: on a CPU that took 20 times as long as
the batched float32 steps here (811 against 41 ms for the paper's Transformer, one core).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

# Each of Newton-Schulz's steps maps a singular value s to a s + b s^3 + c s^5, which drives all of them towards 1.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_STEPS = 5
# Trainings here may be a few hundred steps long: a momentum of 0.95 remembers too much of their start.
_MOMENTUM = 0.9
# An orthogonal step of 0.2 for each row's root mean square is about as long as one of AdamW's; hidden matrices bear
# twice that, the embeddings don't.
_LENGTH = 0.4


class Muon(torch.optim.Optimizer):
    """One rate for all: `matrices` pairs hidden matrices with how many equal blocks of rows each stacks.

    Blocks (a query, a key and a value projection in one matrix, say) are orthogonalised one by one.
    """

    def __init__(
        self, matrices: Iterable[tuple[Tensor, int]], others: Iterable[Tensor], lr: float,
        betas: tuple[float, float], weight_decay: float,
    ) -> None:  # fmt: skip
        pairs = list(matrices)
        groups: list[dict[str, Any]] = [
            {"params": [matrix for matrix, _ in pairs], "blocks": [blocks for _, blocks in pairs]},
            {"params": list(others), "blocks": None},
        ]
        super().__init__(groups, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every weight that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        hidden, others = self.param_groups
        self._step_matrices(hidden)
        self._step_others(others)
        return loss

    def _step_matrices(self, group: dict[str, Any]) -> None:
        by_shape: dict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = {}
        for matrix, blocks in zip(group["params"], group["blocks"], strict=True):
            momentum = self.state[matrix].setdefault("momentum", torch.zeros_like(matrix))
            momentum.lerp_(matrix.grad, 1 - _MOMENTUM)
            ahead = matrix.grad.lerp(momentum, _MOMENTUM)
            matrix.mul_(1 - group["lr"] * group["weight_decay"])
            for update, block in zip(ahead.chunk(blocks), matrix.chunk(blocks), strict=True):
                tall = update.shape[0] > update.shape[1]
                pair = (update.mT, block.mT) if tall else (update, block)
                by_shape.setdefault(tuple(pair[0].shape), []).append(pair)
        for shape, pairs in by_shape.items():
            orthogonal_NRC = orthogonalised(torch.stack([update for update, _ in pairs]))
            for (_, block), step in zip(pairs, orthogonal_NRC, strict=True):
                block.add_(step, alpha=-group["lr"] * _LENGTH * max(shape) ** 0.5)

    def _step_others(self, group: dict[str, Any]) -> None:
        parameters = group["params"]
        for parameter in parameters:
            if not self.state[parameter]:
                zeros = torch.zeros_like
                self.state[parameter].update(
                    mean=zeros(parameter), square=zeros(parameter), step=torch.zeros((), device=parameter.device)
                )
        states = [self.state[parameter] for parameter in parameters]
        adamw(
            parameters, [parameter.grad for parameter in parameters], [state["mean"] for state in states],
            [state["square"] for state in states], [], [state["step"] for state in states], fused=True, amsgrad=False,
            beta1=group["betas"][0], beta2=group["betas"][1], lr=group["lr"], weight_decay=group["weight_decay"],
            eps=1e-8, maximize=False,
        )  # fmt: skip


def orthogonalised(matrices_NRC: Tensor) -> Tensor:
    """About the nearest orthogonal matrix of each, R <= C: singular values between 0.7 and 1.2."""
    x_NRC = matrices_NRC / (matrices_NRC.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(_STEPS):
        gram_NRR = x_NRC @ x_NRC.mT
        polynomial_NRR = torch.baddbmm(gram_NRR, gram_NRR, gram_NRR, beta=_B, alpha=_C)
        x_NRC = torch.baddbmm(x_NRC, polynomial_NRR, x_NRC, beta=_A)
    return x_NRC
