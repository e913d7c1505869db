"""The paper's two networks: their sizes, and that neither looks ahead."""

from __future__ import annotations

import pytest
import torch
from omegaconf import OmegaConf
from torch import Tensor

from rotlab.config import conf_dir
from rotlab.models import BACKBONES, Backbone, build_backbone, parameter_count
from rotlab.models.transformer import sinusoids
from rotlab.tasks import METHODS, TASKS, vocabulary

# Section 4.1 and App. J of the paper, as DESIGN section 4 lists them.
SHAPES = {
    "transformer": {"d_model": 128, "heads": 2, "feedforward": 256, "layers": 4},
    "lstm": {"embedding": 64, "hidden": 256, "layers": 4},
}
LIMITS = {"transformer": 2048, "lstm": 512}


def paper_s(architecture: str, vocabulary_size: int) -> Backbone:
    torch.manual_seed(0)
    return build_backbone(architecture, vocabulary_size, LIMITS[architecture], SHAPES[architecture]).eval()


def tokens_of(batch: int, length: int, vocabulary_size: int = 24) -> Tensor:
    return torch.randint(1, vocabulary_size, (batch, length), generator=torch.Generator().manual_seed(batch * length))


# --- sizes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task", TASKS)
def test_parameters_of_every_cell(task: str, method: str) -> None:
    """DESIGN section 5."""
    V = len(vocabulary(task, method))
    assert parameter_count(paper_s("transformer", V)) == 529_920 + 257 * V
    assert parameter_count(paper_s("lstm", V)) == 73_728 + 8_256 * V


def test_the_paper_s_536k_and_272k() -> None:
    V = len(vocabulary("sort", "rot"))
    assert V == 24
    assert parameter_count(paper_s("transformer", V)) == 536_088
    assert parameter_count(paper_s("lstm", V)) == 271_872


@pytest.mark.parametrize("architecture", SHAPES)
def test_the_defaults_are_the_paper_s(architecture: str) -> None:
    conf = OmegaConf.to_container(OmegaConf.load(conf_dir() / "architecture" / f"{architecture}.yaml"))
    assert isinstance(conf, dict)
    assert conf.pop("paper_schedule")
    assert conf.pop("group_overhead")
    assert conf == {"name": architecture, "context_limit": LIMITS[architecture], **SHAPES[architecture]}


@pytest.mark.parametrize("architecture", BACKBONES)
def test_the_window_costs_no_parameter(architecture: str) -> None:
    counts = {
        parameter_count(build_backbone(architecture, 20, limit, SHAPES[architecture])) for limit in (16, 512, 4096)
    }
    assert len(counts) == 1
    saved = build_backbone(architecture, 20, 16, SHAPES[architecture]).state_dict()
    build_backbone(architecture, 20, 4096, SHAPES[architecture]).load_state_dict(saved)


# --- what it computes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", BACKBONES)
@torch.no_grad()
def test_later_tokens_change_nothing_before_them(architecture: str) -> None:
    model, tokens_BT = paper_s(architecture, 24), tokens_of(3, 40)
    logits_BTV = model(tokens_BT)
    assert logits_BTV.shape == (3, 40, 24)
    for place in (1, 17, 39):
        changed_BT = tokens_BT.clone()
        changed_BT[:, place:] = 1 + changed_BT[:, place:] % 23
        changed_BTV = model(changed_BT)
        assert torch.equal(changed_BTV[:, :place], logits_BTV[:, :place])
        assert not torch.allclose(changed_BTV[:, place:], logits_BTV[:, place:])


@pytest.mark.parametrize("architecture", BACKBONES)
@torch.no_grad()
def test_padding_on_the_right_changes_nothing(architecture: str) -> None:
    """A ragged batch gives each context what it gets alone."""
    model, lengths = paper_s(architecture, 24), (5, 33, 60)
    rows = [tokens_of(1, length)[0] for length in lengths]
    padded_BT = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    logits_BTV = model(padded_BT)
    for b, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        alone_TV = model(row[None])[0]
        assert torch.allclose(logits_BTV[b, :length], alone_TV, atol=1e-5)


@pytest.mark.parametrize("architecture", BACKBONES)
def test_groups_together_give_what_each_gives(architecture: str) -> None:
    model, groups = paper_s(architecture, 24), [tokens_of(3, 5), tokens_of(1, 1), tokens_of(2, 33)]
    logits_NV = model.forward_groups(groups)
    alone_NV = torch.cat([model(tokens_BT).flatten(0, 1) for tokens_BT in groups])
    assert logits_NV.shape == (3 * 5 + 1 + 2 * 33, 24)
    torch.testing.assert_close(logits_NV, alone_NV, rtol=1e-4, atol=1e-5)
    weight_NV = torch.linspace(-1, 1, logits_NV.numel()).view_as(logits_NV)
    together, apart = (
        torch.autograd.grad((one * weight_NV).sum(), list(model.parameters())) for one in (logits_NV, alone_NV)
    )
    for one, other in zip(together, apart, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("architecture", BACKBONES)
@torch.no_grad()
def test_every_earlier_token_matters(architecture: str) -> None:
    model, tokens_BT = paper_s(architecture, 24), tokens_of(1, 12)
    last_V = model(tokens_BT)[0, -1]
    for place in range(12):
        changed_BT = tokens_BT.clone()
        changed_BT[0, place] = 1 + changed_BT[0, place] % 23
        assert not torch.equal(model(changed_BT)[0, -1], last_V)


@torch.no_grad()
def test_the_transformer_knows_the_order() -> None:
    model, tokens_BT = paper_s("transformer", 24), tokens_of(1, 12)
    swapped_BT = tokens_BT.clone()
    swapped_BT[0, [2, 5]] = tokens_BT[0, [5, 2]]
    assert not torch.allclose(model(tokens_BT)[0, -1], model(swapped_BT)[0, -1])


@pytest.mark.parametrize("architecture", BACKBONES)
@torch.no_grad()
def test_a_full_window(architecture: str) -> None:
    model = build_backbone(architecture, 24, 512, SHAPES[architecture]).eval()
    assert torch.isfinite(model(tokens_of(1, 512))).all()


def test_no_dropout() -> None:
    for architecture in BACKBONES:
        model, tokens_BT = paper_s(architecture, 24), tokens_of(2, 20)
        assert torch.equal(model.train()(tokens_BT), model.eval()(tokens_BT))


def test_positions_are_the_sines_and_cosines_of_vaswani() -> None:
    table_TD = sinusoids(2048, 128)
    place, pair = 1234, 17
    angle = torch.tensor(place / 10_000 ** (2 * pair / 128), dtype=torch.float64)
    assert table_TD[place, 2 * pair].item() == pytest.approx(torch.sin(angle).item(), abs=1e-3)
    assert table_TD[place, 2 * pair + 1].item() == pytest.approx(torch.cos(angle).item(), abs=1e-3)
    assert torch.equal(table_TD[0], torch.tensor([0.0, 1.0]).repeat(64))
    assert (table_TD.norm(dim=1) - 8).abs().max() < 1e-4


@pytest.mark.parametrize("architecture", BACKBONES)
def test_gradients_reach_every_parameter(architecture: str) -> None:
    model = paper_s(architecture, 24)
    model(torch.arange(24)[None]).square().sum().backward()
    assert all(one.grad is not None and one.grad.abs().sum() > 0 for one in model.parameters())


# --- refusals ------------------------------------------------------------------------------------------------------


def test_an_unknown_architecture() -> None:
    with pytest.raises(ValueError, match="architecture 'gru' doesn't exist; the architectures are transformer, lstm"):
        build_backbone("gru", 20, 512, {})


@pytest.mark.parametrize(
    ("architecture", "changes", "message"),
    [
        ("transformer", {"hidden": 3}, "architecture transformer does not take this shape: .*'hidden'"),
        ("lstm", {"heads": 2}, "architecture lstm does not take this shape: .*'heads'"),
        ("transformer", {"heads": 3}, r"architecture.d_model=128 must be a multiple of 2 \* heads = 6"),
        ("transformer", {"d_model": 7, "heads": 1}, "d_model=7 must be a multiple of"),
        ("lstm", {"hidden": 24}, "architecture.hidden=24 must exceed the vocabulary's 24 symbols"),
    ],
)
def test_an_impossible_shape(architecture: str, changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_backbone(architecture, 24, 512, {**SHAPES[architecture], **changes})


@pytest.mark.parametrize("architecture", BACKBONES)
def test_a_missing_part_of_the_shape(architecture: str) -> None:
    shape = {name: size for name, size in SHAPES[architecture].items() if name != "layers"}
    with pytest.raises(ValueError, match=r"does not take this shape: .*layers"):
        build_backbone(architecture, 24, 512, shape)
