"""Documents name tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"))


def test_some_are_named() -> None:
    assert len(NAMED) > 20


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)))
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^ *def {name}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
