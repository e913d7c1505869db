"""The one list of this room's files, and the tables that the driver and everybody else read from it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from rotlab.compiled import choice_of, compiled
from rotlab.tasks.task import METHODS, ProblemType, Task
from rotlab.vocab import ID, SYMBOLS, Tokens, Vocabulary, decode, encode

# A new task or subroutine is one more name here.
FILES = ("add", "sub", "mul", "div", "lcs", "lps", "knapsack", "mcm", "sort", "compare", "ternary")

_MODULES = tuple(import_module(f"rotlab.tasks.{name}") for name in FILES)

TASKS: dict[str, Task] = {module.TASK.name: module.TASK for module in _MODULES if module.TASK is not None}

# Compiled types first: a kind beyond the table of compiled rules is a plain one.
TYPES: tuple[ProblemType, ...] = tuple(sorted((t for module in _MODULES for t in module.TYPES), key=lambda t: t.plain))
KIND: dict[str, int] = {t.name: kind for kind, t in enumerate(TYPES)}
COMPILED_RULES = tuple(t.rule for t in TYPES if not t.plain)
N_COMPILED = len(COMPILED_RULES)


@dataclass(frozen=True)
class Sampler:
    """One sampler of one task; `number` is its place in the tables below."""

    number: int
    task: Task
    sampling: str
    plain: bool

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to a loader process by name: a task holds functions that can't be pickled."""
        return _sampler, (self.task.name, self.sampling)


_SAMPLERS = sorted(
    ((task, name, TYPES[KIND[task.name]].plain) for task in TASKS.values() for name in task.samplers),
    key=lambda sampler: sampler[2],
)
SAMPLERS: dict[tuple[str, str], Sampler] = {
    (task.name, name): Sampler(number, task, name, plain) for number, (task, name, plain) in enumerate(_SAMPLERS)
}


def _sampler(task: str, sampling: str) -> Sampler:
    return SAMPLERS[task, sampling]


COMPILED_SAMPLERS = tuple(task.samplers[name] for task, name, plain in _SAMPLERS if not plain)
N_COMPILED_SAMPLERS = len(COMPILED_SAMPLERS)


def _marks() -> np.ndarray[Any, Any]:
    """kind by [whether the mark stands twice, mark]; -1 where no type has it."""
    table_2S = np.full((2, len(SYMBOLS)), -1, dtype=np.int64)
    for kind, problem_type in enumerate(TYPES):
        mark = ID[problem_type.mark]
        for twice in (0, 1) if not problem_type.twice else (1,):
            if table_2S[twice, mark] < 0 or TYPES[table_2S[twice, mark]].twice < problem_type.twice:
                table_2S[twice, mark] = kind
    return table_2S


MARKS_2S = _marks()


@compiled
def kind_of(text: Tokens, lo: int, hi: int) -> int:
    """The kind of the question GO ... = that stands in text[lo:hi]; -1 if it has no type's mark."""
    at = lo + 1
    while at < hi - 1 and text[at] < 10:
        at += 1
    mark = text[at]
    at += 1
    while at < hi - 1 and text[at] < 10:
        at += 1
    return MARKS_2S[1 if at < hi and text[at] == mark else 0, mark]


compiled_rule = choice_of(COMPILED_RULES, "kind", "v")
compiled_sampler = choice_of(COMPILED_SAMPLERS, "number", "v", "draw", "difficulty")


def reached(name: str) -> tuple[ProblemType, ...]:
    """A type and every type under it, in the order that its rule and theirs name them."""
    found = [name]
    for asked in found:
        found += [other for other in TYPES[KIND[asked]].asks if other not in found]
    return tuple(TYPES[KIND[one]] for one in found)


def vocabulary(name: str, method: str) -> Vocabulary:
    """The symbols of a task under a method: V of DESIGN section 5."""
    types = reached(name)
    symbols = ["PAD", *"0123456789", "GO", "STOP", "=", *types[0].symbols.split()]
    if method != "wt":
        symbols += ["TAIL", *(symbol for t in types for symbol in (t.symbols + " " + t.inner_symbols).split())]
    if method == "rot":
        symbols.append("THINK")
    return Vocabulary(sorted(dict.fromkeys(symbols), key=lambda s: (s != "PAD", ID[s])))


def parse_question(text: str) -> tuple[Tokens, ProblemType]:
    """A question as the paper writes it, with or without GO and `=`, as tokens GO ... =, and its type.

    `/` is read as `÷`, `x` as `×`, and a `×` between numbers alone as `*`. Raises ValueError with an example of what
    to write if it is no question of any type.
    """
    symbols = decode(encode(text))
    if symbols[:1] == ["GO"]:
        symbols = symbols[1:]
    if symbols[-1:] == ["="]:
        symbols = symbols[:-1]
    if all(symbol.isdigit() or symbol == "×" for symbol in symbols):
        symbols = ["*" if symbol == "×" else symbol for symbol in symbols]
    tokens = np.array([ID[symbol] for symbol in ("GO", *symbols, "=")], dtype=np.uint8)
    kind = int(kind_of(tokens, 0, len(tokens)))
    if kind < 0:
        examples = ", ".join(TYPES[KIND[name]].example for name in TASKS)
        raise ValueError(f"{text!r} is no question; questions look like {examples}")
    TYPES[kind].validate("".join(symbols), text)
    return tokens, TYPES[kind]


__all__ = ["KIND", "METHODS", "SAMPLERS", "TASKS", "TYPES", "Sampler", "parse_question", "reached", "vocabulary"]
