"""The engine: many questions solved together, each by recursion over contexts (App. B)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

import torch

from rotlab.inference.frame import Limits
from rotlab.inference.recursion import Outcome, Recursion, Request, Tally
from rotlab.inference.runner import Runner
from rotlab.inference.sampling import Sampling
from rotlab.models.backbone import Reader
from rotlab.vocab import Vocabulary

SLOTS = 512


class Engine:
    """A model, and how it is to be run.

    backbone: in evaluation mode, on the device. method: "wt", "cot" or "rot". slots: contexts that run at a time.
    memo: solve a question once, whoever asks it; the answers are the same without, only slower. Results depend on
    neither slots nor memo nor what else is solved beside, but for the last bits of logits.
    """

    def __init__(
        self, backbone: Reader, vocabulary: Vocabulary, method: str, limits: Limits, *,
        device: torch.device | None = None, slots: int = SLOTS, memo: bool = True, sampling: Sampling | None = None,
    ) -> None:  # fmt: skip
        self.vocabulary, self.limits, self.sampling = vocabulary, limits, sampling or Sampling()
        self._backbone, self._method = backbone, method
        self._device = device or torch.device("cpu")
        self._slots, self._memo = slots, memo
        # The memory of its cache is used again, by one call at a time.
        self._runner: Runner | None = None
        self._lock = Lock()

    def solve(
        self, requests: Iterable[Request], told: Callable[[int], None] | None = None
    ) -> tuple[list[Outcome], Tally]:
        """The outcomes in the order of the requests, and what was counted; `told` hears how many are done."""
        given = list(requests)
        # The longest first: what takes the most steps in a row must not begin last.
        order = sorted(range(len(given)), key=lambda i: -len(given[i].question))
        in_order = ((i, given[i]) for i in order)
        # A question has one context that runs.
        slots = min(self._slots, max(1, len(given)))
        recursion = Recursion(in_order, self._method, self.limits, slots, self._memo)
        with self._lock:
            self._run(recursion, told)
        outcomes = recursion.outcomes
        return [outcomes[number] for number in range(len(outcomes))], recursion.tally

    def _run(self, recursion: Recursion, told: Callable[[int], None] | None) -> None:
        places = recursion.scheduler.places
        if self._runner is None or self._runner.places < places:
            self._runner = Runner(self._backbone, self.vocabulary, places, self._device)
        full_V = self.vocabulary.full_V
        while running := recursion.running():
            for frames, logits_BV in self._runner.read(running):
                recursion.hear(frames, full_V[self.sampling.choose(logits_BV, frames)].tolist())
            if told is not None:
                told(len(recursion.outcomes))
