"""What an evaluation found."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class WrongSample:
    """A context that the model got wrong; `position` counts its tokens from 0, the first wrong one.

    context: the gold context up to there, then what was written and what was expected, in marks: `...[got|expected]`.
    """

    type: str
    question: str
    expected: str
    got: str
    position: int
    context: str


@dataclass
class TypeCounts:
    """Unique contexts of one problem type; problems_right: those right together with all that they ask ("deep")."""

    contexts: int = 0
    contexts_right: int = 0
    problems_right: int = 0


@dataclass
class Report:
    """Counts of one evaluation, over all unique contexts and by problem type.

    overlong: contexts over the limit, counted wrong. tokens: of the other ones, without padding.
    """

    problems: int = 0
    problems_right: int = 0
    tops_right: int = 0
    contexts: int = 0
    contexts_right: int = 0
    overlong: int = 0
    tokens: int = 0
    seconds: float = 0.0
    types: dict[str, TypeCounts] = field(default_factory=dict)
    wrong_samples: list[WrongSample] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """The share of problems whose every context is right ("deep")."""
        return self.problems_right / self.problems

    def metrics(self, prefix: str = "eval") -> dict[str, float]:
        """Flat figures by name: `eval/problem` (deep), `eval/top` (shallow), `eval/context`, ...; then by type.

        A type's every context is the top of a problem, so `eval/<type>/context` is its `top` as well.
        """
        figures = {
            "problem": self.accuracy,
            "top": self.tops_right / self.problems,
            "context": self.contexts_right / self.contexts,
            "contexts": self.contexts,
            "tokens": self.tokens,
            "overlong": self.overlong,
            "seconds": self.seconds,
        }
        for name, counts in sorted(self.types.items()):
            figures[f"{name}/problem"] = counts.problems_right / counts.contexts
            figures[f"{name}/context"] = counts.contexts_right / counts.contexts
            figures[f"{name}/contexts"] = counts.contexts
        return {f"{prefix}/{name}": float(value) for name, value in figures.items()}
