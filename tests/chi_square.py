"""Pearson's test, for samplers and random numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import torch

LEAST_EXPECTED = 5
"""Outcomes that are expected less often are counted together: the test's approximation fails for them."""

REJECTED = 1e-4
"""Draws are refused below this probability. Seeds are fixed: what passes once passes always."""

Outcome = TypeVar("Outcome", bound=Hashable)


def p_value(observed: Mapping[Outcome, int], probabilities: Mapping[Outcome, float]) -> float:
    """How likely counts as uneven as `observed` are under `probabilities`; 0 if an impossible outcome was seen."""
    if not observed.keys() <= probabilities.keys():
        return 0.0
    total, statistic, classes, rare, rare_expected = sum(observed.values()), 0.0, 0, 0, 0.0
    for outcome, probability in probabilities.items():
        count, expected = observed.get(outcome, 0), probability * total
        if expected < LEAST_EXPECTED:
            rare, rare_expected = rare + count, rare_expected + expected
        else:
            statistic, classes = statistic + (count - expected) ** 2 / expected, classes + 1
    if rare_expected >= LEAST_EXPECTED:
        statistic, classes = statistic + (rare - rare_expected) ** 2 / rare_expected, classes + 1
    assert classes > 1, "too few draws to say anything"
    half = torch.tensor([(classes - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def uniform(outcomes: Iterable[Outcome]) -> dict[Outcome, float]:
    """The same probability for each outcome."""
    listed = list(outcomes)
    return dict.fromkeys(listed, 1 / len(listed))
