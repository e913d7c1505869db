"""The contexts of a solved question as a tree, for a terminal or a file."""

from __future__ import annotations

from itertools import takewhile

from rich.markup import escape
from rich.tree import Tree

from rotlab.inference.memo import Asked
from rotlab.inference.solver import Solution, right_context
from rotlab.vocab import notation

# Columns that a level is indented by, and that are left for a context.
_INDENTED, _LEFT = 4, 40


def plural(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def tree(solution: Solution, method: str, most: int, width: int) -> Tree:
    """At most so many contexts; what was solved before is not unfolded again, nor what is too deep for the width.

    A tail call hangs beside the context that ends with it, as its answer is the answer of both.
    """
    top, levels = solution.top, max(2, (width - _LEFT) // _INDENTED)
    drawn = Tree(_label(Asked(top, False), method, False, solution.failure))
    shown, left_out = {top}, 0
    # What is still to be drawn, in which branch, and how deep it hangs there.
    stack = [(asked, drawn, 1) for asked in reversed(top.asks)]
    while stack:
        asked, branch, level = stack.pop()
        again = asked.node in shown
        if not again and (len(shown) >= most or level > levels):
            left_out += 1
            continue
        twig = branch.add(_label(asked, method, again))
        if not again:
            shown.add(asked.node)
            stack += [(one, *((branch, level) if one.tail else (twig, level + 1))) for one in reversed(asked.node.asks)]
    if left_out:
        drawn.add(f"[dim]... and what {plural(left_out, 'more question')} took[/]")
    return drawn


def _label(asked: Asked, method: str, again: bool, failure: str | None = None) -> str:
    """A context, the first token that the rules write otherwise as [written|right]; why it has no answer."""
    node = asked.node
    mark = "[yellow]TAIL[/] " if asked.tail else ""
    failure = failure or node.failure or ("" if node.settled else "given up")
    why = f" [red]{failure}[/]" if failure else ""
    if again:
        return f"{mark}[dim]{escape(notation(node.question + (node.answer or b'')))} (above)[/]{why}"
    written, right = node.context or node.question, right_context(node.question, method)
    if right is None:
        return f"{mark}{escape(notation(written))}{why}"
    # What was given up, or failed, may well have been right as far as it came.
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(written, right, strict=False))))
    text = escape(notation(written[:alike]))
    if alike < len(written):
        wrong, due = notation(written[alike : alike + 1]), notation(right[alike : alike + 1]) or "nothing"
        text += f" [red]{escape(f'[{wrong}|{due}]')}[/] {escape(notation(written[alike + 1 :]))}".rstrip()
    return f"{mark}{text.lstrip()}{why}"
