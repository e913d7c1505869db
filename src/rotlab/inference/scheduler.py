"""Which contexts hold a place in the model's cache, and which of them run. Nothing here knows of tensors."""

from __future__ import annotations

from collections import OrderedDict, deque

from rotlab.inference.frame import Frame


class Scheduler:
    """Seats frames in slots.

    First come those whose answer is there, then sub-questions, the newest first: so that what is begun is finished, and
    few contexts are open at a time. Beside the slots of what runs there are as many for what waits; of more that wait,
    those that have waited longest lose theirs, and have to be read anew.
    """

    def __init__(self, slots: int) -> None:
        if slots < 1:
            raise ValueError(f"slots is {slots}: it must be at least 1")
        self.slots, self.places = slots, 2 * slots
        self.running: dict[Frame, None] = {}
        self._seated: deque[Frame] = deque()
        self._resumed: deque[Frame] = deque()
        self._begun: list[Frame] = []
        self._waiting: OrderedDict[Frame, None] = OrderedDict()
        self._free = list(range(self.places))

    @property
    def ready(self) -> int:
        """How many could run but have no slot."""
        return len(self._seated) + len(self._resumed) + len(self._begun)

    @property
    def spare(self) -> int:
        """How many more could run than are running or ready."""
        return self.slots - len(self.running) - self.ready

    def begin(self, frame: Frame) -> None:
        """A new context."""
        self._begun.append(frame)

    def wait(self, frame: Frame) -> None:
        """A running context asked something."""
        del self.running[frame]
        self._waiting[frame] = None

    def resume(self, frame: Frame) -> None:
        """What it waited for is there."""
        if frame in self._waiting:
            del self._waiting[frame]
            self._seated.append(frame)
        else:
            self._resumed.append(frame)

    def leave(self, frame: Frame) -> None:
        """A context ended, wherever it was."""
        self.running.pop(frame, None)
        self._waiting.pop(frame, None)
        if frame.slot >= 0:
            self._free.append(frame.slot)
            frame.slot = -1

    def drop(self, gone: set[Frame]) -> None:
        """Contexts that nobody needs any more."""
        for frame in gone:
            self.leave(frame)
        self._seated = deque(frame for frame in self._seated if frame not in gone)
        self._resumed = deque(frame for frame in self._resumed if frame not in gone)
        self._begun = [frame for frame in self._begun if frame not in gone]

    def seat(self) -> None:
        """Have what is ready run, as far as there are slots."""
        while self.ready and len(self.running) < self.slots:
            if self._seated:
                frame = self._seated.popleft()
            else:
                frame = self._resumed.popleft() if self._resumed else self._begun.pop()
                frame.slot, frame.fed = self._take_slot(), 0
            self.running[frame] = None

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        other, _ = self._waiting.popitem(last=False)
        slot, other.slot = other.slot, -1
        return slot
