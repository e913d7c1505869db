"""Questions and their answers, each question once; who waits for whom; limits judged per top-level question."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from rotlab.inference.frame import HEIGHT, REACH, Failure, Frame, Limits

# Of which sample a node is, and, where nothing is shared, under which top-level question.
Stream = tuple[int, int]


class Asked(NamedTuple):
    """One thing that a context asked."""

    node: Node
    tail: bool


class Node:
    """A question, what its context asked so far, and how it ended: with an answer or a failure.

    stream: tells draws of the same question apart. context: the finished context, with THINK at the end of a tail call,
    or what stood there when it was given up, unsettled. written: tokens that the model wrote in it; whole: those under
    it too, as often as an unaided recursion would write them. level: the longest chain of contexts that wait for it.
    height: the most contexts that were nested under it, tail calls not counted.
    """

    __slots__ = (
        "answer", "asks", "context", "failure", "frame", "height", "level", "question", "stream", "waiting",
        "waits_for", "whole", "written",
    )  # fmt: skip

    def __init__(self, question: bytes, stream: Stream, level: int) -> None:
        self.question, self.stream, self.level = question, stream, level
        self.frame: Frame | None = Frame(self, question)
        self.asks: list[Asked] = []
        self.waiting: list[Node] = []
        self.waits_for: Node | None = None
        self.answer: bytes | None = None
        self.failure: Failure | None = None
        self.context = b""
        self.written = self.whole = self.height = 0

    @property
    def settled(self) -> bool:
        """Whether it has ended."""
        return self.answer is not None or self.failure is not None

    @property
    def tailed(self) -> bool:
        """Whether its context ended with a tail call."""
        return bool(self.asks) and self.asks[-1].tail

    def learn(self, asked: Asked) -> None:
        """Count what was done for something it asked."""
        self.height = max(self.height, asked.node.height + (not asked.tail))
        self.whole += asked.node.whole


class Memo:
    """The nodes. Without sharing, a question is remembered only while it is open, to find cycles by."""

    def __init__(self, shared: bool = True) -> None:
        self.shared = shared
        self._nodes: dict[tuple[bytes, Stream], Node] = {}
        self.made = 0

    def node(self, question: bytes, stream: Stream, level: int = 0) -> tuple[Node, bool]:
        """The node of a question, and whether it is new."""
        known = self._nodes.get((question, stream))
        if known is not None:
            return known, False
        node = self._nodes[question, stream] = Node(question, stream, level)
        self.made += 1
        return node, True

    def ask(self, asker: Node, question: bytes, tail: bool) -> tuple[Node, bool, list[Node]]:
        """What the asker asks: its node, whether that is new, and the nodes of a cycle, if this closed one."""
        node, new = self.node(question, asker.stream, asker.level + (not tail))
        asker.asks.append(Asked(node, tail))
        if node.settled:
            asker.learn(asker.asks[-1])
            return node, new, []
        asker.waits_for = node
        node.waiting.append(asker)
        return node, new, [] if new else _cycle_closed_by(asker)

    def settle(
        self, nodes: Iterable[Node], answer: bytes | None, failure: Failure | None
    ) -> tuple[list[Node], list[Node]]:
        """End nodes alike; the nodes that end by it, tail calls and failed askers included, and those that go on."""
        ended, going_on = list(nodes), []
        for node in ended:
            self._end(node, answer, failure)
        for node in ended:
            for asker in node.waiting:
                if asker.settled:
                    continue
                asker.waits_for = None
                asker.learn(asker.asks[-1])
                if asker.tailed or node.failure is not None:
                    self._end(asker, node.answer, node.failure)
                    ended.append(asker)
                else:
                    going_on.append(asker)
            node.waiting = []
        return ended, going_on

    def _end(self, node: Node, answer: bytes | None, failure: Failure | None) -> None:
        node.answer, node.failure = answer, failure
        node.whole += node.written
        node.waits_for = None
        if not self.shared:
            del self._nodes[node.question, node.stream]

    def abandon(self, root: Node, roots: Container[Node]) -> list[Node]:
        """Forget a node that is no top-level question any more, and what only it waits for; the nodes that are gone."""
        gone: list[Node] = []
        node: Node | None = root
        while node is not None and not node.waiting and node not in roots:
            gone.append(node)
            del self._nodes[node.question, node.stream]
            if node.waits_for is not None:
                node.waits_for.waiting.remove(node)
            node = node.waits_for
        _lower_levels(node)
        return gone


def _raise_levels(node: Node | None, level: int) -> None:
    """Along a chain of waiting nodes."""
    while node is not None and node.level < level:
        node.level = level
        level += not node.tailed
        node = node.waits_for


def _lower_levels(node: Node | None) -> None:
    """Along a chain of waiting nodes, whose first one has lost who waited for it."""
    while node is not None:
        levels = [asker.level + (not asker.tailed) for asker in node.waiting]
        level = max(levels, default=0)
        if level == node.level:
            return
        node.level, node = level, node.waits_for


def _cycle_closed_by(asker: Node) -> list[Node]:
    """The nodes of the cycle that the asker is on; none if there is none, and then levels are raised."""
    on_the_way, node = [asker], asker.waits_for
    while node is not None and node is not asker:
        on_the_way.append(node)
        node = node.waits_for
    if node is asker:
        return on_the_way
    _raise_levels(asker.waits_for, asker.level + (not asker.tailed))
    return []


def waiting_roots(node: Node, roots: Container[Node]) -> list[Node]:
    """Those of the roots that are the node or wait for it, through others too."""
    found, seen = [node], {node}
    for one in found:
        new = [asker for asker in one.waiting if asker not in seen]
        seen.update(new)
        found += new
    return [one for one in found if one in roots]


class Extent(NamedTuple):
    """What was done under a top-level question: the first limit that it exceeded; contexts, its own included; the
    depth of nested contexts; tokens written, each question's once."""

    exceeded: Failure | None
    contexts: int
    depth: int
    written: int


def extent(root: Node, limits: Limits) -> Extent:
    """Walk through all that was asked, in the order in which a recursion with a memo asks it (App. K's order).

    What has been asked so far is the beginning of that order, whatever else is solved beside it; so which limit is
    exceeded first doesn't depend on scheduling.
    """
    seen: dict[bytes, Node] = {}
    deepest = written = 0
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        known = seen.get(node.question)
        if known is not None:
            # What failed is seen again only where a cycle closes.
            deepest = max(deepest, depth + known.height if known.answer is not None else 0)
        else:
            seen[node.question] = node
            deepest = max(deepest, depth)
            written += node.written
            stack += [(asked.node, depth + (not asked.tail)) for asked in reversed(node.asks)]
        exceeded = HEIGHT if deepest > limits.height else REACH if len(seen) - 1 > limits.reach else None
        if exceeded is not None:
            return Extent(exceeded, len(seen), deepest, written)
    return Extent(None, len(seen), deepest, written)
