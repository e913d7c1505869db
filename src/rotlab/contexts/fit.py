"""Whether a cell fits: none of the first 10,000 contexts of a fixed stream is longer than the limit."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass

from rotlab.compiled import CACHE_FOLDER
from rotlab.contexts.driver import Drawer, TooLarge
from rotlab.contexts.render import readable_length
from rotlab.contexts.stream import LONGEST, OVERLONG, PHASE, SAMPLED
from rotlab.rng import FIT
from rotlab.tasks import Sampler

CONTEXTS = 10_000
FIT_SEED = 0
# Contexts between two looks at the clock, and seconds until the first word.
_STEP, _PATIENCE = 5, 4.0


@dataclass(frozen=True)
class Fit:
    """longest: the longest context seen, or the first that was over the limit, at least, unless `exact`.

    0 where problems are so large that none was solved.
    """

    fits: bool
    longest: int
    exact: bool = True


def fit(sampler: Sampler, difficulty: int, method: str, limit: int) -> Fit:
    """Whether a cell fits, found once: it is kept beside the compiled code, which it follows from."""
    cell = f"{sampler.task.name}-{difficulty}-{sampler.sampling}-{method}-{limit}"
    kept = CACHE_FOLDER / f"fit-{cell}.json"
    if kept.is_file():
        return Fit(**json.loads(kept.read_text(encoding="utf-8")))
    found = _look(sampler, difficulty, method, limit)
    partial = kept.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(asdict(found)), encoding="utf-8")
    partial.replace(kept)
    return found


def _look(sampler: Sampler, difficulty: int, method: str, limit: int) -> Fit:
    """Look at the fixed stream of a cell until a context is over the limit; lengths are those of printed contexts."""
    drawer = Drawer(sampler, difficulty, method, limit)
    longest, told = 0, time.monotonic() + _PATIENCE
    for start in range(0, CONTEXTS, _STEP):
        try:
            _, job = drawer.batch(FIT_SEED, FIT, start, start + _STEP, stop_at_overlong=True)
        except TooLarge:
            return Fit(False, 0, exact=False)
        longest = max(longest, int(job[LONGEST]))
        if job[OVERLONG]:
            return Fit(False, int(job[LONGEST]), exact=int(job[PHASE]) != SAMPLED)
        if time.monotonic() > told:
            cell = f"{sampler.task.name}-{difficulty}"
            done = f"{start + _STEP:,} of {CONTEXTS:,}, the longest {longest:,} tokens"
            print(f"measuring contexts of {cell} against the limit of {limit:,}: {done}", file=sys.stderr, flush=True)
            told = time.monotonic() + 5 * _PATIENCE
    return Fit(True, longest)


def largest_fitting(sampler: Sampler, below: int, method: str, limit: int) -> int | None:
    """The largest difficulty under `below`, which doesn't, that fits; None if not even the smallest does.

    By doubling, then bisection: a difficulty far too large takes long to look at.
    """
    low = sampler.task.min_difficulty
    if not fit(sampler, low, method, limit).fits:
        return None
    high = min(2 * low, below)
    while high < below and fit(sampler, high, method, limit).fits:
        low, high = high, min(2 * high, below)
    while high - low > 1:
        middle = (low + high) // 2
        if fit(sampler, middle, method, limit).fits:
            low = middle
        else:
            high = middle
    return low


def require_fit(sampler: Sampler, difficulty: int, method: str, limit: int) -> Fit:
    """The cell's fit; raises ValueError with the length found and the largest difficulty that fits."""
    found = fit(sampler, difficulty, method, limit)
    if found.fits:
        return found
    name = sampler.task.name
    largest = largest_fitting(sampler, difficulty, method, limit)
    instead = f"the largest difficulty that fits is {largest}" if largest else f"no difficulty of {name} fits"
    other = "" if method == "rot" else "method=rot, or "
    size = f"a context has {'' if found.exact else 'at least '}{readable_length(found.longest)} tokens"
    if found.longest == 0:
        size = "a problem has over a billion tokens"
    raise ValueError(
        f"{name}-{difficulty} does not fit under method={method}: {size}, the limit is "
        f"{limit:,}; {instead} (or write {other}method.allow_overlong=true to leave overlong contexts out of "
        f"training and count them wrong)"
    )
