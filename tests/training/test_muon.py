"""Muon: hidden matrices move along orthogonal steps, everything else exactly as AdamW moves it."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import nn

from rotlab.models import build_backbone
from rotlab.training.muon import Muon, orthogonalised

SHAPE = {"d_model": 16, "heads": 2, "feedforward": 32, "layers": 2}


def test_singular_values_come_near_one() -> None:
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonalised(torch.randn(5, 16, 40)))
    assert values.min() > 0.6
    assert values.max() < 1.3


def test_blocks_are_orthogonalised_one_by_one() -> None:
    """A stacked matrix moves as its blocks would as matrices of their own."""
    torch.manual_seed(0)
    stacked = nn.Parameter(torch.randn(24, 8))
    blocks = [nn.Parameter(block.clone()) for block in stacked.detach().chunk(3)]
    gradient = torch.randn(24, 8)
    stacked.grad = gradient.clone()
    for block, part in zip(blocks, gradient.chunk(3), strict=True):
        block.grad = part.clone()
    Muon([(stacked, 3)], [], 0.1, (0.9, 0.99), 0.0).step()
    Muon([(block, 1) for block in blocks], [], 0.1, (0.9, 0.99), 0.0).step()
    torch.testing.assert_close(stacked.detach(), torch.cat([block.detach() for block in blocks]))


def test_everything_else_moves_as_adamw_moves_it() -> None:
    torch.manual_seed(0)
    ours, theirs = (nn.Parameter(torch.ones(7)) for _ in range(2))
    muon = Muon([], [ours], 0.1, (0.8, 0.95), 0.01)
    adamw = torch.optim.AdamW([theirs], lr=0.1, betas=(0.8, 0.95), weight_decay=0.01)
    for _ in range(5):
        ours.grad = theirs.grad = torch.randn(7)
        muon.step()
        adamw.step()
    torch.testing.assert_close(ours, theirs)


def test_a_transformer_names_all_its_hidden_matrices_and_only_those() -> None:
    model = build_backbone("transformer", 9, 32, SHAPE)
    named = {id(matrix) for matrix, _ in model.hidden_matrices()}
    expected = {id(p) for name, p in model.named_parameters() if p.ndim == 2 and name.startswith("blocks.")}
    assert named == expected


def test_its_state_survives_saving() -> None:
    torch.manual_seed(0)
    weights = [nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4))]
    copies = [nn.Parameter(weight.detach().clone()) for weight in weights]
    optimizer = Muon([(weights[0], 1)], [weights[1]], 0.1, (0.9, 0.99), 0.01)
    resumed = Muon([(copies[0], 1)], [copies[1]], 0.1, (0.9, 0.99), 0.01)
    for step in range(4):
        if step == 2:
            resumed.load_state_dict(deepcopy(optimizer.state_dict()))
            for weight, copy in zip(weights, copies, strict=True):
                copy.data.copy_(weight.data)
        for weight, copy in zip(weights, copies, strict=True):
            weight.grad = torch.randn_like(weight)
            copy.grad = weight.grad.clone()
        optimizer.step()
        resumed.step()
    for weight, copy in zip(weights, copies, strict=True):
        assert torch.equal(weight, copy)
