"""Checkpoints: what one holds, and which files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rotlab.cli import main
from rotlab.models.trained import FORMAT, load_checkpoint
from rotlab.training.run import Outcome


def changed(path: Path, **values: object) -> None:
    """Give entries of a checkpoint other values."""
    torch.save(torch.load(path, weights_only=True) | values, path)


def test_they_hold_plain_containers(finished: Outcome) -> None:
    content = torch.load(finished.directory / "checkpoints" / "last.ckpt", weights_only=True)
    assert content["config"]["task"] == {"name": "sort", "sampling": "log_uniform"}
    assert content["step"] == 8
    assert "THINK" in content["vocabulary"]
    weights, training = content.pop("weights"), content.pop("training")
    assert {type(tensor) for tensor in weights.values()} == {torch.Tensor}
    assert json.loads(json.dumps(content)) == content
    assert set(training) == {"optimizer", "scaler", "random", "figures", "evaluations", "wandb_id"}


def test_a_file_or_a_directory_gives_the_network(finished: Outcome) -> None:
    of_directory = load_checkpoint(finished.directory)
    of_file = load_checkpoint(finished.directory / "checkpoints" / "last.ckpt")
    tokens_BT = torch.ones(2, 5, dtype=torch.int64)
    assert torch.equal(of_directory.backbone(tokens_BT), of_file.backbone(tokens_BT))
    assert not of_directory.backbone.training
    assert (of_directory.cell.name, of_directory.step) == ("sort-3", 8)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:1000]), "can't be read as a checkpoint"),
        (lambda path: path.write_text("weights"), "can't be read as a checkpoint"),
        (lambda path: path.unlink(), "no checkpoint at"),
        (lambda path: torch.save({"state_dict": {}, "global_step": 3}, path), "is no checkpoint of rotlab"),
        (lambda path: torch.save([1, 2], path), "is no checkpoint of rotlab"),
        (lambda path: torch.save({"format": 1}, path), f"is of format 1; this version reads format {FORMAT}"),
        (lambda path: torch.save({"format": FORMAT}, path), "lacks what a checkpoint holds"),
        (lambda path: changed(path, vocabulary=["PAD", "GO"]), "another vocabulary: PAD GO"),
        (lambda path: changed(path, weights={"x": torch.ones(1)}), "can't be used by this version"),
        (lambda path: changed(path, config={}), "can't be used by this version"),
    ],
    ids=["cut", "text", "missing", "foreign", "list", "old", "empty", "vocabulary", "weights", "configuration"],
)
def test_another_file_is_refused_in_one_line(
    finished: Outcome, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object], says: str,
) -> None:  # fmt: skip
    path = tmp_path / "last.ckpt"
    path.write_bytes((finished.directory / "checkpoints" / "last.ckpt").read_bytes())
    damage(path)
    assert main(["evaluate", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
    assert str(path) in err


def test_a_directory_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no checkpoint at"):
        load_checkpoint(tmp_path)
