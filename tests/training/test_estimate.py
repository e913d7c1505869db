from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import lightning.pytorch as pl
import pytest

from rotlab.training import estimate
from rotlab.training.estimate import Estimate, Schedule, expected_seconds, judging_seconds, readable
from tests.training.toy import Recorder, fit, log


class Clock:
    """Time that moves only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(estimate, "time", clock)
    return clock


def run(
    callback: Estimate,
    clock: Clock,
    seconds: list[float],
    first: int = 0,
    max_steps: int = 1000,
    device: str = "cpu",
) -> None:
    """Steps that take the given seconds; each second step is followed by an evaluation of 50 s."""
    trainer: Any = SimpleNamespace(global_step=first, max_steps=max_steps, loggers=[], is_global_zero=True)
    module: Any = SimpleNamespace(device=SimpleNamespace(type=device))
    callback.on_train_start(trainer, module)
    for taken in seconds:
        clock.now += taken
        trainer.global_step += 1
        callback.on_train_batch_end(trainer, module, None, None, 0)
        if trainer.global_step % 2 == 0:
            clock.now += 50
            log(trainer.loggers, {"eval/problem": 0.5, "eval/seconds": 50.0}, trainer.global_step)


@pytest.mark.parametrize(
    ("step", "max_steps", "every", "evaluations"),
    [
        (0, 100, 20, 5),
        (0, 101, 20, 6),
        (19, 100, 20, 5),
        (20, 100, 20, 4),
        (99, 100, 20, 1),
        (100, 100, 20, 0),
        (100, 101, 20, 1),
        (0, 5, 20, 1),
        (0, 100, 0, 0),
    ],
)
def test_evaluations_left(step: int, max_steps: int, every: int, evaluations: int) -> None:
    happen = [at for at in range(step + 1, max_steps + 1) if every and (at % every == 0 or at == max_steps)]
    assert Schedule(evaluate_every=every).evaluations_left(step, max_steps) == evaluations == len(happen)


def test_probes_left() -> None:
    assert Schedule(probe_every=30).probes_left(30, 100) == 2
    assert Schedule().probes_left(0, 100) == 0


def test_expected_seconds() -> None:
    assert expected_seconds(0.5, 100, 3, 10.0) == 80.0


def test_judging_is_a_third_of_training() -> None:
    assert judging_seconds(256 * 30, 0.1, 256) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (60, "1 min 0 s"),
        (750, "12 min 30 s"),
        (3_600, "1 h"),
        (12_000, "3 h 20 min"),
        (187_200, "2 d 4 h"),
        (-1, "0 s"),
    ],
)
def test_readable(seconds: float, text: str) -> None:
    assert readable(seconds) == text


def test_compiling_and_evaluations_are_not_counted(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    callback = Estimate(Schedule(evaluate_every=100), lambda step_seconds: 200 * step_seconds)
    run(callback, clock, [60.0, 5.0] + [0.1] * 30)
    expected = "expected time: 5 min 0 s (1,000 steps of 100 ms, 10 evaluations of some 20 s)\n"
    assert capsys.readouterr().out == expected


def test_slow_steps_are_told_early(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run(Estimate(Schedule()), clock, [40.0, 25.0, 25.0], max_steps=100, device="mps")
    assert capsys.readouterr().out == "expected time: 41 min 40 s (100 steps of 25 s)\n"


def test_probes_are_counted_where_known(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    callback = Estimate(Schedule(probe_every=100), probe_seconds=lambda step_seconds: 2.0)
    run(callback, clock, [0.1] * 20)
    assert capsys.readouterr().out == "expected time: 2 min 0 s (1,000 steps of 100 ms)\n"


def test_without_an_evaluators_word_it_says_so(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run(Estimate(Schedule(evaluate_every=100)), clock, [0.1] * 20)
    expected = "expected time: 1 min 40 s (1,000 steps of 100 ms, the 10 evaluations not counted)\n"
    assert capsys.readouterr().out == expected


def test_a_resumed_run_counts_what_is_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    callback = Estimate(Schedule(evaluate_every=100), lambda step_seconds: 20.0)
    run(callback, clock, [0.1] * 20, first=500)
    assert "1 min 50 s" not in (output := capsys.readouterr().out)
    assert output == "expected time: 2 min 30 s (500 steps of 100 ms, 5 evaluations of some 20 s)\n"


def test_a_long_run_on_a_cpu_is_told_what_to_try(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run(Estimate(Schedule()), clock, [1.0] * 20, max_steps=500_000)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "expected time: 5 d 18 h (500,000 steps of 1 s)"
    for words in ("recipe=fast", "smaller difficulty", "experiment=quickstart"):
        assert words in second


def test_an_hour_on_another_device_is_no_matter(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run(Estimate(Schedule()), clock, [1.0] * 20, max_steps=500_000, device="mps")
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_in_a_real_run_it_speaks_once(capsys: pytest.CaptureFixture[str]) -> None:
    trainer = fit(50, [Estimate(Schedule(evaluate_every=25)), Recorder(every=10)])
    lines = [line for line in capsys.readouterr().out.splitlines() if "expected time" in line]
    assert len(lines) == 1
    assert re.fullmatch(r"expected time: \d s \(50 steps of [\d.]+ ms, the 2 evaluations not counted\)", lines[0])
    assert trainer.loggers == []


@pytest.mark.parametrize("steps", [10, 20])
def test_a_short_run_needs_no_estimate(steps: int, capsys: pytest.CaptureFixture[str]) -> None:
    callbacks: list[pl.Callback] = [Estimate(Schedule())]
    fit(steps, callbacks)
    assert "expected" not in capsys.readouterr().out
