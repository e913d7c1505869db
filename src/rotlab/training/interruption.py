"""SIGTERM, Ctrl-C and their like: a run ends where its state is whole, and says so by its exit code."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from rotlab.training.quiet_logger import announce
from rotlab.training.signals import SIGNALS


class Interrupted(SystemExit):
    """A signal asked this process to end; the exit code is the shell's, 128 and the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


class Interruption:
    """Within it, a signal raises Interrupted: at once, or, while `hold` is on, when `check` is called.

    `hold` belongs around what must not be torn, an optimizer step. A second Ctrl-C doesn't wait.
    Only the main thread hears signals; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self._asked: int | None = None
        self._hold = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in SIGNALS}
            self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def listen(self) -> None:
        """Take the signals (again: Lightning puts a handler of its own before ours)."""
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if self._before.get(number) is not signal.SIG_IGN:  # as under nohup
                    signal.signal(number, self._hear)

    @property
    def asked(self) -> bool:
        """Whether a signal has come."""
        return self._asked is not None

    def hold(self) -> None:
        """From now on a signal waits for `check`."""
        self._hold = True

    def check(self) -> None:
        """Raise Interrupted if a signal has come."""
        if self._asked is not None:
            raise Interrupted(self._asked)

    def end(self) -> None:
        """Raise Interrupted; by a signal that came to a fellow process if none came here."""
        raise Interrupted(self._asked or signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Give a signal that long to come."""
        deadline = time.monotonic() + seconds
        while not self.asked and time.monotonic() < deadline:
            time.sleep(0.05)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within it a signal doesn't wait: nothing can be torn here."""
        held, self._hold = self._hold, False
        try:
            self.check()
            yield
        finally:
            self._hold = held

    def _hear(self, number: int, frame: FrameType | None) -> None:
        impatient = self._asked is not None and number == signal.SIGINT
        self._asked = number
        if impatient or not self._hold:
            raise Interrupted(number)
        announce(f"{signal.Signals(number).name}: stopping after this step")
