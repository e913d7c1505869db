"""Contexts: the memoised driver over the rules, and what it yields for the three methods."""

from rotlab.contexts.unfold import Context, lengths, unfold

__all__ = ["Context", "lengths", "unfold"]
