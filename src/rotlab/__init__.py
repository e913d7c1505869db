"""Recursion of Thought: exact data, training and evaluation of models that divide and conquer.

The rooms, in the order data flow. A room imports only itself and those above it:

    compiled    how functions are compiled and cached
    vocab       every symbol and its id; text to tokens and back
    native      runs of tokens, by the C library's routines
    rng         random numbers that depend on a seed and an index alone
    tasks       what is asked: samplers, rules, one file per family
    config      typed, checked settings; what Hydra's YAML becomes
    contexts    from a question to its contexts under a method, and their targets
    data        the training stream, the test set, batches
    models      the backbones
    evaluation  accuracy over the unique contexts of a test set
    inference   problems solved by the model's own recursion
    training    one run from start to end
    report      runs collected into tables and figures
    cli         the `rotlab` command

Importing this package imports none of them, so that it costs nothing to ask for the version. At hand in it are

    rotlab.Solver.from_run(run).solve(["408+351"])    answers of a trained network
    rotlab.dataset("mul", 8, seed=0)                  training examples, without Lightning
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rotlab.data.examples import dataset
    from rotlab.inference.solver import Solver

__all__ = ["Solver", "__version__", "dataset"]

_AT_HAND = {"Solver": "rotlab.inference.solver", "dataset": "rotlab.data.examples"}

__version__ = "0.1.0"


def __dir__() -> list[str]:
    return sorted({*globals(), *_AT_HAND})


def __getattr__(name: str) -> Any:
    if name in _AT_HAND:
        return getattr(import_module(_AT_HAND[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
