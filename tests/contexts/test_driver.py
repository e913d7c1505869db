"""The driver through `unfold`: edge cases, refusals, sizes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest

from rotlab.contexts import lengths, unfold
from rotlab.contexts.driver import n_rows, solve_question
from rotlab.contexts.memo import GENERATION, add_question, clear, new_memo
from rotlab.contexts.render import ENDLESS
from rotlab.tasks import METHODS, TYPES, ProblemType, parse_question
from tests.contexts.test_answers import answer

# --- edge cases ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("0+0", "GO 0+0=0 STOP"),
        ("9+9", "GO 9+9=18 STOP"),
        ("0+10", "GO 0+10= GO 0+0=0 STOP 10 STOP"),
        ("5+317", "GO 5+317= GO 5+7=12 STOP GO 0+1=1 STOP GO 1+31=32 STOP 322 STOP"),
        ("19-9", "GO 19-9=10 STOP"),
        ("20-20", "GO 20-20= GO 10-0=10 STOP GO 2-2=0 STOP 0 STOP"),
        ("23-20", "GO 23-20= GO 13-0=13 STOP GO 2-2=0 STOP 3 STOP"),
        ("0*98765", "GO 0*98765=0 STOP"),
        ("98765*1", "GO 98765*1=98765 STOP"),
        ("30*5", "GO 30*5= GO 0*5=0 STOP GO 3*5=15 STOP TAIL 150+0= THINK"),
        ("0÷7", "GO 0÷7= GO 0 VS 7= LT STOP 0 R 0 STOP"),
        ("34÷34", "GO 34÷34= GO 34 VS 34= EQ STOP 1 R 0 STOP"),
        ("1000 VS 1000", "GO 1000 VS 1000= GO 1 VS 1= EQ STOP GO 0 VS 0= EQ STOP EQ STOP"),
        ("1043 VS 1206", "GO 1043 VS 1206= GO 1 VS 1= EQ STOP GO 43 VS 206= LT STOP LT STOP"),
        ("10 VS 9", "GO 10 VS 9= GT STOP"),
        ("EQUAL 3,3", "GO EQUAL 3,3= TRUE STOP"),
        ("LCS", "GO LCS =;0 STOP"),
        ("LCS 234", "GO LCS 234=;0 STOP"),
        ("234 LCS", "GO 234 LCS =;0 STOP"),
        ("LPS 7", "GO LPS 7=7;1 STOP"),
        ("LPS 77", "GO LPS 77= GO EQUAL 7,7= TRUE STOP 77;2 STOP"),
        ("LPS 78", "GO LPS 78= GO EQUAL 7,8= FALSE STOP 7;1 STOP"),
        ("KNAPSACK 5&12@11", "GO KNAPSACK 5&12@11= GO 12 VS 11= GT STOP $0 STOP"),
        ("KNAPSACK 5&12@12", "GO KNAPSACK 5&12@12= GO 12 VS 12= EQ STOP 5&12$5 STOP"),
        ("KNAPSACK 5&12@0", "GO KNAPSACK 5&12@0= GO 12 VS 0= GT STOP $0 STOP"),
        ("MCM 3x9", "GO MCM 3×9=3×9;0 STOP"),
        ("SORT 5", "GO SORT 5=5 STOP"),
        ("SORT 5,5", "GO SORT 5,5= GO SORT 5=5 STOP GO SORT 5=5 STOP TAIL MERGE 5 SEP 5= THINK"),
        ("MERGE 5 SEP 5", "GO MERGE 5 SEP 5= GO 5 VS 5= EQ STOP 5,5 STOP"),
        ("1+2+3", "GO 1+2+3= GO 1+2=3 STOP TAIL 3+3= THINK"),
        ("1*2*3", "GO 1*2*3= GO 1*2=2 STOP TAIL 2*3= THINK"),
    ],
)  # fmt: skip
def test_the_first_context(question: str, first: str) -> None:
    assert str(unfold(question)[0]) == first


def test_a_question_asked_twice_has_one_context() -> None:
    found = unfold("SORT 5,5")
    assert [context.type for context in found] == ["sort", "sort", "merge", "compare"]


@pytest.mark.parametrize("spelling", ["34*5", "GO 34*5=", "GO 34*5", " 3 4 * 5 = ", "34×5", "34x5"])
def test_spellings_of_one_question(spelling: str) -> None:
    assert unfold(spelling) == unfold("34*5")


def test_signs_that_are_hard_to_type() -> None:
    assert unfold("76/29") == unfold("76÷29")
    assert unfold("MCM 4x2,2x8") == unfold("MCM 4×2,2×8")
    assert unfold("2x3x4") == unfold("2*3*4")


@pytest.mark.parametrize("problem_type", TYPES, ids=lambda one: one.name)
def test_every_type_s_example(problem_type: ProblemType) -> None:
    assert unfold(problem_type.example)[0].type == problem_type.name


@pytest.mark.parametrize("method", METHODS)
def test_fields_are_aligned(method: str) -> None:
    for context in unfold("MCM 4x2,2x8,8x3", method):
        assert len(context.tokens) == len(context.segments) == len(context.targets)
        assert set(context.segments) <= {"Q", "Q_sub", "A_sub", "A", "T"}
        end = context.segments.count("Q")
        assert context.segments[:end] == ["Q"] * end
        assert (context.tokens[0], context.tokens[end - 1]) == ("GO", "=")
        assert context.targets[:end] == ["PAD"] * end
        assert "PAD" not in context.tokens
        assert "THINK" not in context.tokens[:-1]
        assert context.targets[-1] == context.tokens[-1]


# --- refusals ------------------------------------------------------------------------------------------------------

NO_QUESTION = [
    "", "   ", "GO", "=", "GO =", "123", "GO 123 =", "12,3", "1=1", "TAIL 1+1", "THINK", "PAD", "STOP 1+1", "1;2",
    "ACC", "1 R 2", "TRUE",
]  # fmt: skip
MALFORMED = [
    ("1+", "add"), ("+1", "add"), ("01+2", "add"), ("1+00", "add"), ("1+-2", "add"), ("GO GO 1+1=", "GO"),
    ("1+1==", "add"),
    ("1+1 STOP", "add"), ("1+2+3+4", "ternary_add"), ("1+2+", "ternary_add"), ("3-5", "must not be less"),
    ("99-100", "must not be less"), ("7/0", "divisor must not be 0"), ("7÷", "div"), ("1*2*", "ternary_mul"),
    ("12 VS", "compare"),
    ("012 VS 3", "compare"), ("EQUAL 12,3", "equal"), ("EQUAL 1", "equal"), ("1 LCS 2 LCS 3", "lcs"), ("LPS", "lps"),
    ("LPS 1,2", "lps"), ("LCS LPS", "lcs"), ("KNAPSACK", "knapsack"), ("KNAPSACK 5&12", "knapsack"),
    ("KNAPSACK @3", "knapsack"),
    ("KNAPSACK 5&0@3", "knapsack"), ("KNAPSACK 0&5@3", "knapsack"), ("KNAPSACK 5&12,@3", "knapsack"),
    ("KNAPSACK 5&12@03", "knapsack"), ("MCM", "mcm"), ("MCM 4x2,3x8", "must share a size"), ("MCM 4x", "mcm"),
    ("MCM 4x0,0x3", "mcm"), ("MCM 4x2|2x8", "mcm"), ("MCM 4x2,2x8 ACC 4x2,2x8;64", "mcm"), ("MCM 4x2|2x8 ACC", "mcm"),
    ("MCM 4x2|3x8 ACC 4x2,2x8;64", "must share a size"), ("SORT", "sort"), ("SORT 1,,2", "sort"), ("SORT 1,", "sort"),
    ("SORT 01,2", "start with 0"), ("MERGE 3,1 SEP 2", "must be in order"), ("MERGE 1 SEP", "merge"),
    ("MERGE 1,2", "merge"), ("MERGE 00 SEP 1", "start with 0"),
]  # fmt: skip


@pytest.mark.parametrize("text", NO_QUESTION)
def test_what_is_no_question(text: str) -> None:
    with pytest.raises(ValueError, match="is no question; questions look like") as caught:
        parse_question(text)
    assert str(caught.value).startswith(f"{text!r} ")
    assert "408+351" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "said"), MALFORMED)
def test_a_malformed_question(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="is no ") as caught:
        parse_question(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_symbol() -> None:
    with pytest.raises(ValueError, match="'plus' is not a symbol"):
        parse_question("3 plus 4")


def test_an_example_is_given() -> None:
    with pytest.raises(ValueError, match=r"is no lps question; write one like 'LPS 41253261'"):
        parse_question("LPS")


# --- lengths and limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("question", ["408+351", "432-216", "34*5", "76/29", "123 LCS 234", "LPS 1232", "SORT 3,1,2"])
def test_lengths_without_building(question: str, method: str) -> None:
    built = [len(context.tokens) for context in unfold(question, method)]
    assert lengths(question, method) == built
    assert unfold(question, method, limit=max(built))
    with pytest.raises(ValueError, match=f"would have {max(built)} tokens, over the limit of {max(built) - 1}"):
        unfold(question, method, limit=max(built) - 1)


def flat_length(question: str) -> int:
    """DESIGN section 4's flat(q) + |q|, from RoT contexts, on Python's integers."""
    contexts = {tuple(one.tokens[: one.segments.count("Q")]): one for one in unfold(question)}

    @cache
    def flat(asked: tuple[str, ...]) -> int:
        one, total = contexts[asked], 0
        for segment, tokens in parts(one.tokens, one.segments):
            if segment == "Q_sub":
                total += len(tokens) + flat(("GO", *tokens[1:]))
            elif segment == "A":
                total += len(tokens)
        return total

    first = next(iter(contexts))
    return len(first) + flat(first)


def parts(tokens: list[str], segments: list[str]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Runs of one segment: neighbouring ones always differ."""
    start = 0
    for end in range(1, len(tokens) + 1):
        if end == len(tokens) or segments[end] != segments[start]:
            yield segments[start], tuple(tokens[start:end])
            start = end


@pytest.mark.parametrize("question", ["40*35", "340/34", "LPS 41253261", "MCM 4x2,2x8,8x3", "1234 LCS 2468"])
def test_a_chain_s_length_is_the_sum_of_its_parts(question: str) -> None:
    assert lengths(question, "cot") == [flat_length(question)]


def test_an_endless_chain_is_refused_at_once() -> None:
    question = f"{'0' * 32} LCS {'1' * 32}"
    assert lengths(question, "cot") == [ENDLESS]
    assert flat_length(question) > ENDLESS
    with pytest.raises(ValueError, match=r"would have over 10\^18 tokens, over the limit of 1,000,000"):
        unfold(question, "cot")


def test_three_thousand_digits() -> None:
    """Deeper than Python's recursion limit, and more contexts than any of the paper's."""
    left, right = 10**3000 - 1, 7 * 10**2999 + 1
    question = f"{left}+{right}"
    assert answer(question) == str(left + right)
    found = lengths(question)
    assert len(found) > 6000
    assert max(found) > 15_000
    assert lengths(question, "cot")[0] > sum(found) // 2


def test_a_long_chain_of_tails() -> None:
    """Waiting frames pass an answer on without a stack; links of all of them find room at once."""
    for digits in range(2, 40):
        question = f"{10**digits - 1}*{10**digits - 1}"
        assert answer(question) == str((10**digits - 1) ** 2)
    for matrices in range(2, 14):
        chain = ",".join(f"{i}x{i + 1}" for i in range(1, matrices + 1))
        assert answer(f"MCM {chain}").count("×") == matrices


def test_a_memo_of_any_size_finds_its_questions() -> None:
    for size in (1, 3, 55, 100):
        memo = new_memo(size)
        for number in range(300):
            memo, row = add_question(memo, parse_question(f"{number % 150}+1")[0])
            assert row == number % 150
        assert n_rows(memo) == 150


def test_an_emptied_memo_forgets() -> None:
    tokens = parse_question("12+34")[0]
    memo, _ = add_question(new_memo(16), tokens)
    memo.state[GENERATION] = (1 << 31) - 2
    for turn in range(4):  # over the last generation and on from the first
        clear(memo)
        memo, first = add_question(memo, parse_question(f"{turn}+1")[0])
        for _ in range(2):
            memo, row = add_question(memo, tokens)
            assert (first, row, n_rows(memo)) == (0, 1, 2)
        assert 1 <= memo.state[GENERATION] < 1 << 31


def test_what_is_solved_is_not_solved_again() -> None:
    memo, row = solve_question(parse_question("34*5")[0])
    assert (n_rows(memo), row) == (len(unfold("34*5")), 0)
