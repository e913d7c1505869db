"""What the tests of this folder share: configurations from command lines."""

from __future__ import annotations

from rotlab.config import Config
from rotlab.config.app import configured


def build(*argv: str) -> Config:
    """The configuration of a command line."""
    return configured(*argv)


def leaves(node: object, path: str = "") -> dict[str, object]:
    """The settings of a plain configuration by their dotted keys."""
    if not isinstance(node, dict):
        return {path: node}
    found: dict[str, object] = {}
    for name, value in node.items():
        found |= leaves(value, f"{path}.{name}".lstrip("."))
    return found
