"""Whether a cell fits: none of the first 10,000 contexts of a fixed stream is longer than the limit."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

from rotlab.compiled import CACHE_FOLDER
from rotlab.contexts.driver import Drawer
from rotlab.contexts.render import readable_length
from rotlab.contexts.stream import LONGEST, OVERLONG
from rotlab.rng import FIT
from rotlab.tasks import Sampler

CONTEXTS = 10_000
_FIT_SEED = 0
_STEP = 250


@dataclass(frozen=True)
class Fit:
    """longest: the longest context seen, or the first that was over the limit."""

    fits: bool
    longest: int


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
    longest = 0
    for start in range(0, CONTEXTS, _STEP):
        _, job = drawer.batch(_FIT_SEED, FIT, start, start + _STEP, stop_at_overlong=True)
        longest = max(longest, int(job[LONGEST]))
        if job[OVERLONG]:
            return Fit(False, int(job[LONGEST]))
    return Fit(True, longest)


def largest_fitting(sampler: Sampler, below: int, method: str, limit: int) -> int | None:
    """The largest difficulty under `below` that fits, by bisection; None if not even the smallest does."""
    low, high = sampler.task.min_difficulty, below
    if not fit(sampler, low, method, limit).fits:
        return None
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
    length = readable_length(found.longest)
    raise ValueError(
        f"{name}-{difficulty} does not fit under method={method}: a context has {length} tokens, the limit is "
        f"{limit:,}; {instead} (or write {other}method.allow_overlong=true to leave overlong contexts out of "
        f"training and count them wrong)"
    )
