"""An independent reference: the paper's Appendix H in plain Python on integers and tuples.

It shares nothing with `rotlab`: no tokens, no memo table, no compiled code. Each problem type is a class with
the paper's `thought` method, so that it can be read side by side with Appendix H; `contexts` turns them into
the contexts of Appendices D and F. The tests hold `rotlab.contexts.unfold` against it, and `test_reference`
holds it against the paper.
"""

from __future__ import annotations

from tests.reference.contexts import Context, cot_context, cot_length, rot_contexts, wt_context
from tests.reference.notation import notation, parse

__all__ = ["Context", "cot_context", "cot_length", "notation", "parse", "rot_contexts", "wt_context"]
