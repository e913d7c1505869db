"""Problems solved by a model's own recursion: a batched engine for App. B."""

from rotlab.inference.frame import Limits
from rotlab.inference.rules import Rules
from rotlab.inference.sampling import Sampling
from rotlab.inference.solver import LongerThanTrained, Solution, Solver, contexts_of

__all__ = ["Limits", "LongerThanTrained", "Rules", "Sampling", "Solution", "Solver", "contexts_of"]
