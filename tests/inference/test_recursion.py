"""Long chains, deep recursions, and networks that never end: within bounds, with the right reason."""

from __future__ import annotations

import pytest

from rotlab.inference.engine import Engine
from rotlab.inference.frame import Limits
from rotlab.inference.recursion import Outcome, Request, Tally
from rotlab.vocab import EQUALS, STOP, Vocabulary, decode, encode, notation
from tests.inference.networks import Saying

NUMBERS = Vocabulary(["PAD", *"0123456789", "GO", "STOP", "THINK", "TAIL", "="])


def counting(last: int, word: str) -> Saying:
    """To the question n it asks n + 1, by GO or TAIL, and answers what it hears; at `last` it answers 7."""

    def says(read: bytearray) -> str:
        number = int("".join(decode(read[1 : read.index(EQUALS)])))
        own = decode(read[max(read.find(EQUALS), read.rfind(STOP)) + 1 :])
        written = ["7", "STOP"] if number == last or STOP in read else [word, *str(number + 1), "=", "THINK"]
        return written[len(own)]

    return Saying(NUMBERS, says)


def solve(
    network: Saying, questions: list[str], limits: Limits, slots: int = 4, memo: bool = True
) -> tuple[list[Outcome], Tally]:
    engine = Engine(network, NUMBERS, "rot", limits, slots=slots, memo=memo)
    return engine.solve(Request(encode(f"GO {question} =").tobytes()) for question in questions)


def told(outcome: Outcome) -> str:
    return outcome.failure or notation(outcome.answer or b"")


@pytest.mark.parametrize("memo", [True, False])
@pytest.mark.parametrize("length", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_chain_of_20_000_tail_calls(memo: bool, length: int) -> None:
    """A tenth of it where time is short."""
    near = str(length - 10)
    outcomes, tally = solve(counting(length, "TAIL"), ["0", near, near], Limits(40), 4, memo)
    assert [told(outcome) for outcome in outcomes] == ["7 STOP"] * 3
    assert [outcome.contexts for outcome in outcomes] == [length + 1, 11, 11]
    assert [outcome.depth for outcome in outcomes] == [0, 0, 0]
    assert tally.contexts == (length + 1 if memo else length + 1 + 22)


@pytest.mark.parametrize("memo", [True, False])
@pytest.mark.parametrize("depth", [1_000, pytest.param(5_000, marks=pytest.mark.slow)])
def test_a_recursion_5_000_deep(memo: bool, depth: int) -> None:
    """A fifth of it where time is short."""
    limits = Limits(40, height=depth)
    outcomes, _ = solve(counting(depth, "GO"), ["0", str(depth - 100)], limits, 4, memo)
    assert [told(outcome) for outcome in outcomes] == ["7 STOP", "7 STOP"]
    assert [(outcome.contexts, outcome.depth) for outcome in outcomes] == [(depth + 1, depth), (101, 100)]


@pytest.mark.parametrize("slots", [1, 4, 64])
@pytest.mark.parametrize("order", [1, -1])
def test_height_is_judged_by_top_level_question(slots: int, order: int) -> None:
    """The contexts are the same, but only from where they were asked they stand too deep."""
    starts = [0, 139, 140, 141, 250, 0, 200][::order]
    outcomes, _ = solve(counting(300, "GO"), [str(start) for start in starts], Limits(40, height=160), slots)
    assert [told(outcome) for outcome in outcomes] == ["height" if start < 140 else "7 STOP" for start in starts]


@pytest.mark.parametrize("slots", [1, 4, 64])
@pytest.mark.parametrize("word", ["GO", "TAIL"])
def test_reach_is_judged_by_top_level_question(slots: int, word: str) -> None:
    starts = [0, 199, 200, 250]
    outcomes, _ = solve(counting(300, word), [str(start) for start in starts], Limits(40, reach=100), slots)
    assert [told(outcome) for outcome in outcomes] == ["reach", "reach", "7 STOP", "7 STOP"]


@pytest.mark.parametrize("word", ["GO", "TAIL"])
def test_counting_without_end_ends(word: str) -> None:
    limits = Limits(60, height=100, reach=150)
    starts = [*range(0, 300, 7), 10**20]
    outcomes, tally = solve(counting(-1, word), [str(start) for start in starts], limits)
    assert {told(outcome) for outcome in outcomes} == {"height" if word == "GO" else "reach"}
    assert tally.contexts < 1_500, "nobody goes on with what no question needs any more"


@pytest.mark.parametrize("slots", [1, 4])
def test_a_question_that_exceeds_a_limit_is_not_tried_again(slots: int) -> None:
    outcomes, tally = solve(counting(-1, "GO"), ["5"] * 40, Limits(60, height=30), slots)
    assert {told(outcome) for outcome in outcomes} == {"height"}
    assert tally.contexts < 40


def misbehaving(read: bytearray) -> str:
    """Well for even questions, and for others in the way that their last digit says."""
    question = decode(read[1 : read.index(EQUALS)])
    own = decode(read[read.index(EQUALS) + 1 :])
    asked = question if question[-1] == "3" else [*question[:-1], str((int(question[-1]) + 2) % 10)]
    script = {
        "1": ["1"],  # never stops
        "3": ["GO", *asked, "=", "THINK"],  # asks itself
        "5": ["GO", *asked, "=", "THINK"],  # asks 7, which asks 9, which asks
        "7": ["GO", *asked, "=", "THINK"],
        "9": ["GO", *question[:-1], "5", "=", "THINK"],  # 5 again
    }.get(question[-1], ["4", "2", "STOP"])
    return script[min(len(own), len(script) - 1)]


@pytest.mark.parametrize("slots", [1, 2, 64])
@pytest.mark.parametrize("memo", [True, False])
def test_what_misbehaves_ends_and_the_others_are_right(slots: int, memo: bool) -> None:
    questions = [str(number) for number in range(100)]
    outcomes, _ = solve(Saying(NUMBERS, misbehaving), questions, Limits(30), slots, memo)
    reasons = {"1": "overflow", "3": "cycle", "5": "cycle", "7": "cycle", "9": "cycle"}
    assert [told(outcome) for outcome in outcomes] == [reasons.get(question[-1], "42 STOP") for question in questions]


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        ("THINK", "malformed"),
        ("1 = THINK", "malformed"),
        ("PAD", "malformed"),
        ("STOP", "STOP"),
        ("GO 3 = THINK", "cycle"),
        ("TAIL 3 = THINK", "cycle"),
        ("GO TAIL 4 = THINK", "7 STOP"),
        ("TAIL GO 4 = THINK 8 STOP", "8 STOP"),
        ("GO THINK 9 STOP", "overflow"),
        ("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "overflow"),
        ("GO 5 = THINK 9 STOP", "overflow"),
    ],
)
def test_what_a_context_says(writes: str, expected: str) -> None:
    """At the question 3; 4 is answered by 7, and all else never ends."""

    def says(read: bytearray) -> str:
        if read[:3] == encode("GO 4 =").tobytes():
            return ["7", "STOP"][len(read) - 3]
        if read[:3] != encode("GO 3 =").tobytes():
            return "1"
        said = decode(encode(writes))
        if STOP in read:
            return said[said.index("THINK") + 1 + len(read) - read.index(STOP) - 1]
        return said[len(read) - 3]

    assert told(solve(Saying(NUMBERS, says), ["3"], Limits(16))[0][0]) == expected


def test_a_think_never_cuts_at_a_word_of_the_question_or_of_a_pasted_answer() -> None:
    """The answer to 1 holds GO and 5; the THINK after it has none of its own before it."""

    def says(read: bytearray) -> str:
        texts = {"1": "GO 5 STOP", "2": "GO 1 = THINK THINK", "5": "6 STOP"}
        said = decode(encode(texts[decode(read)[1]]))
        return "THINK" if STOP in read else said[len(read) - 3]

    assert [told(outcome) for outcome in solve(Saying(NUMBERS, says), ["1", "2"], Limits(20))[0]] == [
        "GO 5 STOP",
        "malformed",
    ]


@pytest.mark.parametrize(("name", "value"), [("context", 0), ("height", 0), ("reach", -1)])
def test_impossible_limits_are_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"the limit of {name} is {value}: it must be at least 1"):
        Limits(**{"context": 10, name: value})


def test_impossible_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="slots is 0: it must be at least 1"):
        solve(counting(3, "GO"), ["0"], Limits(20), slots=0)
