"""Which contexts hold a place in the model's cache, and which of them run. Nothing here knows of tensors."""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque

from rotlab.inference.frame import Frame


class Scheduler:
    """Seats frames in slots.

    First come those whose answer is there, then sub-questions, the newest first: so that what is begun is finished, and
    few contexts are open at a time. A frame that waits keeps its slot until another needs it, and then has to be read
    anew. Free slots are taken from the lowest on, for what runs to stand close together.
    """

    def __init__(self, slots: int) -> None:
        if slots < 1:
            raise ValueError(f"slots is {slots}: it must be at least 1")
        self.slots = slots
        self.running: dict[Frame, None] = {}
        self._resumed: deque[Frame] = deque()
        self._begun: list[Frame] = []
        self._waiting: OrderedDict[Frame, None] = OrderedDict()
        self._free = list(range(slots))

    @property
    def ready(self) -> int:
        """How many could run but have no slot."""
        return len(self._resumed) + len(self._begun)

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
            self.running[frame] = None
        else:
            self._resumed.append(frame)

    def leave(self, frame: Frame) -> None:
        """A context ended, wherever it was."""
        self.running.pop(frame, None)
        self._waiting.pop(frame, None)
        if frame.slot >= 0:
            heapq.heappush(self._free, frame.slot)
            frame.slot = -1

    def drop(self, gone: set[Frame]) -> None:
        """Contexts that nobody needs any more."""
        for frame in gone:
            self.leave(frame)
        self._resumed = deque(frame for frame in self._resumed if frame not in gone)
        self._begun = [frame for frame in self._begun if frame not in gone]

    def seat(self) -> None:
        """Give slots to what is ready, as far as there are any."""
        while self.ready and len(self.running) < self.slots:
            frame = self._resumed.popleft() if self._resumed else self._begun.pop()
            frame.slot, frame.fed = self._take_slot(), 0
            self.running[frame] = None

    def _take_slot(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        other, _ = self._waiting.popitem(last=False)
        slot, other.slot = other.slot, -1
        return slot
