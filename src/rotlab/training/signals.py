"""The signals that end a run, and passing them on to the processes that it runs in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# SLURM warns by SIGUSR1 where it is asked to (--signal=USR1@60); a terminal that is closed sends SIGHUP.
SIGNALS = tuple(
    number for name in ("SIGTERM", "SIGINT", "SIGUSR1", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)


@contextmanager
def passed_on(send: Callable[[int], object]) -> Iterator[list[int]]:
    """Within it, this process's signals are others' to answer, by `send`; yields those that came, in order.

    Only the main thread hears signals; elsewhere this does nothing.
    """
    heard: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        send(number)

    listens = threading.current_thread() is threading.main_thread()
    taken = [number for number in SIGNALS if listens and signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in taken}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
