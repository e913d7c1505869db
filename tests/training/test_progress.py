from __future__ import annotations

import re
import sys
from typing import Any

import lightning.pytorch as pl
import pytest

from rotlab.training.estimate import Schedule
from rotlab.training.progress import Progress
from tests.training.toy import Recorder, Toy, fit


def test_plain_lines_one_per_log_interval(capsys: pytest.CaptureFixture[str]) -> None:
    trainer = fit(20, [Recorder(every=5), Progress("plain")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step")]
    assert len(lines) == 4
    for line, step in zip(lines, (5, 10, 15, 20), strict=True):
        assert re.fullmatch(rf"step {step}/20  loss [\d.e-]+  12,346 contexts/s  ETA \d+ s", line)
    assert lines[-1].endswith("ETA 0 s")
    assert trainer.loggers == [], "it stops listening"


@pytest.mark.parametrize("order", [1, -1])
def test_a_line_per_evaluation_and_probe(capsys: pytest.CaptureFixture[str], order: int) -> None:
    callbacks: list[pl.Callback] = [Recorder(every=5, evaluate_every=10), Progress("plain", Schedule(10))]
    fit(10, callbacks[::order])
    output = capsys.readouterr().out
    assert output.count("probe at step 10: problems 0.2500, 0.0 s\n") == 1
    figures = "problems 0.5000, top contexts 0.7500, contexts 0.8750, 1,234 contexts judged, 0.0 s"
    assert output.count(f"evaluation at step 10: {figures}\n") == 1


def test_an_evaluation_after_training_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    class Last(pl.Callback):
        def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
            trainer.loggers[0].log_metrics({"eval/problem": 1.0}, trainer.global_step)

    fit(3, [Progress("plain"), Last()])
    assert "evaluation at step 3: problems 1.0000" in capsys.readouterr().out


def test_the_time_left_counts_evaluations_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 5 evaluations of 0.4 s the two behind are out of the pace, the three ahead are in the time left."""
    pause = Recorder(every=10, evaluate_every=20, evaluation_seconds=0.4)
    fit(50, [pause, Progress("plain", Schedule(evaluate_every=20))], module=Toy())
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step")]
    assert lines[2].startswith("step 30/50")
    assert lines[2].endswith("ETA 1 s"), "two evaluations ahead, at steps 40 and 50"


def test_rich_shows_steps_and_no_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    fit(20, [Recorder(every=5, evaluate_every=20), Progress("rich")])
    output = capsys.readouterr().out
    assert re.search(r"step 20/20  loss [\d.e-]+  12,346 contexts/s  ETA 0 s  probe 0\.2500", output)
    assert "evaluation at step 20: problems 0.5000" in output
    assert "Epoch" not in output
    assert output.count("\n") < 6, "a live line doesn't scroll"


def test_rich_leaves_the_terminal_whole_after_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    class Bomb(pl.Callback):
        def on_train_batch_end(self, trainer: pl.Trainer, *args: Any) -> None:
            raise RuntimeError("boom")

    stdout = sys.stdout
    with pytest.raises(RuntimeError, match="boom"):
        fit(5, [Progress("rich"), Bomb()])
    assert sys.stdout is stdout
    assert "\x1b[?25h" in capsys.readouterr().out, "the cursor is back"


def test_off_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    fit(10, [Recorder(every=5, evaluate_every=5), Progress("off")])
    assert capsys.readouterr().out == ""


def test_auto_is_rich_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fit(5, [Recorder(), Progress("auto")])
    assert capsys.readouterr().out.startswith("step 5/5  loss")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    fit(5, [Recorder(), Progress("auto")])
    assert "\x1b[" in capsys.readouterr().out


def test_an_unknown_mode_is_named() -> None:
    with pytest.raises(ValueError, match="auto, rich, plain or off"):
        Progress("fancy")
