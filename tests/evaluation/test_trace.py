from __future__ import annotations

from rotlab.contexts import unfold
from rotlab.evaluation import trace
from rotlab.tasks import parse_question
from tests.evaluation.stub import Stub, always, cell_of, never

QUESTION = "34*5"


def test_contexts_stand_in_order_of_creation() -> None:
    cell = cell_of("mul", 2)
    traced = trace(Stub(cell, never), cell, parse_question(QUESTION)[0])
    assert [one.context for one in traced] == [str(context) for context in unfold(QUESTION)]
    assert {one.right for one in traced} == {True}
    assert str(traced[0]).startswith("ok     GO 34*5= GO 4*5=20 STOP")


def test_a_mistake_is_marked() -> None:
    cell = cell_of("mul", 2)
    traced = trace(Stub(cell, always), cell, parse_question(QUESTION)[0])
    assert {one.right for one in traced} == {False}
    for one in traced:
        right_part, _, mark = one.mistake.rpartition(" [")
        assert one.context.startswith(right_part)
        assert mark.endswith("]")
        assert str(one) == f"wrong  {one.mistake}"


def test_what_is_too_long_is_said() -> None:
    cell = cell_of("mul", 2, limit=20)
    traced = trace(Stub(cell, never), cell, parse_question(QUESTION)[0])
    lengths = [len(context.tokens) for context in unfold(QUESTION)]
    assert [one.right for one in traced] == [None if length > 20 else True for length in lengths]
    assert str(traced[0]) == f"over   {lengths[0]} tokens, over the limit of 20"


def test_nothing_fits() -> None:
    cell = cell_of("mul", 2, "cot", limit=20)
    [only] = trace(Stub(cell, never), cell, parse_question(QUESTION)[0])
    assert only.right is None
