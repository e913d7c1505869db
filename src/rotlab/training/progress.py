"""Where a run stands, for somebody who watches: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import lightning.pytorch as pl
from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from rotlab.training.estimate import Schedule, expected_seconds, readable
from rotlab.training.quiet_logger import Listener, announce

REFRESH_SECONDS = 0.25
# The pace is that of the last so many log intervals.
PACE_INTERVALS = 20


class Progress(pl.Callback):
    """Shows step x of max_steps, loss, contexts/s and the time left; and a line for each evaluation.

    It listens as one more of the trainer's loggers: train/loss makes a line, speed/contexts_per_s is shown
    with it; eval/problem makes an evaluation's line (with the other accuracies, eval/contexts, eval/seconds
    where there), probe/problem a probe's. Modes: "rich" a live line, in which probes show too; "plain" a line
    for each log interval and probe; "off"; "auto" rich on a terminal, else plain. It needs
    Trainer(enable_progress_bar=False): Lightning's bar counts epochs.
    """

    def __init__(self, mode: str = "auto", schedule: Schedule | None = None) -> None:
        if mode not in ("auto", "rich", "plain", "off"):
            raise ValueError(f"progress mode {mode!r}: write auto, rich, plain or off")
        self._mode = ("rich" if _on_terminal() else "plain") if mode == "auto" else mode
        self._schedule = schedule or Schedule()
        self._listener = Listener(self._hear)
        self._bar: Bar | None = None
        self._task = TaskID(0)
        self._refreshed = 0.0
        self._max_steps = 0
        self._figures = ""
        self._probe = ""
        self._mark = (0, 0.0)
        self._pace: deque[tuple[int, float]] = deque(maxlen=PACE_INTERVALS)
        self._intervals = 0
        self._evaluation_seconds = 0.0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert trainer.progress_bar_callback is None, "two progress bars: pass enable_progress_bar=False"
        if self._mode != "off" and trainer.is_global_zero:
            self._listener.attach(trainer)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self._mode == "off" or not trainer.is_global_zero:
            return
        self._max_steps = trainer.max_steps
        self._mark = (trainer.global_step, time.monotonic())
        self._pace.clear()
        self._intervals = 0
        if self._mode == "rich":
            # No refreshing thread: it would compete with training for the interpreter.
            self._bar = Bar(
                TextColumn("{task.fields[text]}"),
                BarColumn(bar_width=16),
                auto_refresh=False,
                console=Console(force_terminal=True),
            )
            total = trainer.max_steps if trainer.max_steps > 0 else None
            self._task = self._bar.add_task("", total=total, completed=trainer.global_step, text="")
            self._bar.start()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._bar is not None and time.monotonic() - self._refreshed > REFRESH_SECONDS:
            self._refresh(trainer.global_step)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._close_bar(trainer.global_step)

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        self._close_bar(trainer.global_step)

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        # Not at the end of training: another callback may still evaluate the last step then.
        self._listener.detach(trainer)

    def _close_bar(self, step: int) -> None:
        if self._bar is not None:
            self._refresh(step)
            self._bar.stop()
            self._bar = None

    def _refresh(self, step: int) -> None:
        assert self._bar is not None
        self._refreshed = time.monotonic()
        text = f"{self._place(step)}{self._figures}{self._probe}"
        self._bar.update(self._task, completed=step, text=text, refresh=True)

    def _hear(self, metrics: Mapping[str, float], step: int) -> None:
        if "eval/problem" in metrics:
            self._evaluation_seconds = metrics.get("eval/seconds", 0.0)
            self._mark = (self._mark[0], self._mark[1] + self._evaluation_seconds)
            announce(_judged("evaluation", "eval", metrics, step))
        if "probe/problem" in metrics:
            self._probe = f"  probe {metrics['probe/problem']:.4f}"
            if self._bar is None:
                announce(_judged("probe", "probe", metrics, step))
        if "train/loss" in metrics:
            self._measure_pace(step)
            self._figures = self._shown(metrics, step)
            if self._bar is None:
                announce(f"{self._place(step)}{self._figures}")

    def _measure_pace(self, step: int) -> None:
        """Add the log interval that ends here; the first one, which compiles, gives way to the second."""
        (last_step, since), now = self._mark, time.monotonic()
        self._intervals += 1
        if self._intervals == 2:
            self._pace.clear()
        self._pace.append((step - last_step, now - since))
        self._mark = (step, now)

    def _place(self, step: int) -> str:
        return f"step {step:,}/{self._max_steps:,}" if self._max_steps > 0 else f"step {step:,}"

    def _shown(self, metrics: Mapping[str, float], step: int) -> str:
        text = f"  loss {metrics['train/loss']:.4g}"
        if "speed/contexts_per_s" in metrics:
            text += f"  {metrics['speed/contexts_per_s']:,.0f} contexts/s"
        if self._max_steps > 0 and self._pace:
            step_seconds = sum(seconds for _, seconds in self._pace) / sum(steps for steps, _ in self._pace)
            evaluations = self._schedule.evaluations_left(step, self._max_steps)
            left = expected_seconds(step_seconds, self._max_steps - step, evaluations, self._evaluation_seconds)
            text += f"  ETA {readable(left)}"
        return text


def _judged(what: str, prefix: str, metrics: Mapping[str, float], step: int) -> str:
    """One line about an evaluation or a probe: overall accuracies, how many contexts, seconds."""
    shares = {"problem": "problems", "top": "top contexts", "context": "contexts", "free": "free-running"}
    found = {name: metrics[f"{prefix}/{key}"] for key, name in shares.items() if f"{prefix}/{key}" in metrics}
    parts = [f"{name} {share:.4f}" for name, share in found.items()]
    if f"{prefix}/contexts" in metrics:
        parts.append(f"{metrics[f'{prefix}/contexts']:,.0f} contexts judged")
    if f"{prefix}/seconds" in metrics:
        parts.append(f"{metrics[f'{prefix}/seconds']:.1f} s")
    return f"{what} at step {step:,}: {', '.join(parts)}"


def _on_terminal() -> bool:
    return sys.stdout.isatty() and not Console().is_dumb_terminal
