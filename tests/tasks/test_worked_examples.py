"""Every worked example of the paper, bit for bit, and what else is fixed about each procedure."""

from __future__ import annotations

import pytest

from rotlab.contexts import Context, unfold
from tests.reference.paper import COT_READINGS, EXAMPLES, PREFIXES, WT_READINGS, Example, Reading, symbols


def named(entry: Example | Reading) -> str:
    return f"{entry.source}: {entry.question}"


def context_of(problem: str, question: str) -> list[str]:
    """The context that answers `question` while `problem` is solved."""
    start = symbols(f"GO {question}=")
    [tokens] = [one.tokens for one in unfold(problem) if one.tokens[: len(start)] == start]
    return tokens


def questions(problem: str, problem_type: str) -> list[str]:
    """The questions of one type that are asked while `problem` is solved, in order of creation."""
    found = [one.tokens for one in unfold(problem) if one.type == problem_type]
    return ["".join(tokens[1 : tokens.index("=")]) for tokens in found]


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_contexts_of_the_paper(example: Example) -> None:
    contexts = unfold(example.question)
    for number, text in example.contexts.items():
        assert contexts[number - 1].tokens == symbols(text), f"X^{number}"
    assert not example.complete or len(contexts) == len(example.contexts)


@pytest.mark.parametrize("reading", COT_READINGS, ids=named)
def test_cot_of_the_paper(reading: Reading) -> None:
    [context] = unfold(reading.question, "cot")
    assert context.tokens == symbols(reading.context)


@pytest.mark.parametrize("reading", WT_READINGS, ids=named)
def test_answers_of_the_paper(reading: Reading) -> None:
    [context] = unfold(reading.question, "wt")
    assert context.tokens == symbols(reading.context)


@pytest.mark.parametrize("reading", PREFIXES, ids=named)
def test_prompts_of_the_paper(reading: Reading) -> None:
    expected = symbols(reading.context)
    assert unfold(reading.question)[0].tokens[: len(expected)] == expected


def test_targets_of_appendix_i() -> None:
    assert unfold("408+351")[2] == Context(
        type="add",
        tokens=symbols("GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP"),
        segments=["Q"] * 7 + (["Q_sub"] * 5 + ["A_sub"] * 2) * 2 + ["A"] * 3,
        targets=["PAD"] * 7 + symbols("GO 0+5= THINK PAD GO 4+3= THINK PAD 75 STOP"),
    )
    [without_thought] = unfold("40+35", "wt")
    assert without_thought == Context(
        type="add",
        tokens=symbols("GO 40+35=75 STOP"),
        segments=["Q"] * 7 + ["A"] * 3,
        targets=["PAD"] * 7 + symbols("75 STOP"),
    )


def test_targets_of_a_tail() -> None:
    """TAIL in the parent only, THINK last in both lists, no answer of its own; the child starts with GO."""
    contexts = unfold("34*5")
    assert contexts[0] == Context(
        type="mul",
        tokens=symbols("GO 34*5= GO 4*5=20 STOP GO 3*5=15 STOP TAIL 150+20= THINK"),
        segments=["Q"] * 6 + (["Q_sub"] * 5 + ["A_sub"] * 3) * 2 + ["Q_sub"] * 8 + ["A_sub"],
        targets=["PAD"] * 6 + symbols("GO 4*5= THINK PAD PAD GO 3*5= THINK PAD PAD TAIL 150+20= THINK"),
    )
    assert contexts[3].type == "add"
    assert contexts[3].tokens[0] == "GO"
    assert contexts[3].targets == ["PAD"] * 8 + symbols("GO 0+0= THINK PAD GO 15+2= THINK PAD PAD 170 STOP")


def test_targets_of_cot() -> None:
    """All that is read through is copied, tails too; it is T between the question and the final answer."""
    [context] = unfold("34*5", "cot")
    assert context.segments == ["Q"] * 6 + ["T"] * (len(context.tokens) - 10) + ["A"] * 4
    assert context.targets == ["PAD"] * 6 + context.tokens[6:]
    assert "THINK" not in context.tokens


WHOLE_CONTEXTS = [
    # The carry goes to the left rest, even when that is 0, and no third sum is asked when a rest is 0.
    ("5+317", "5+317", "GO 5+317= GO 5+7=12 STOP GO 0+1=1 STOP GO 1+31=32 STOP 322 STOP"),
    ("317+5", "317+5", "GO 317+5= GO 7+5=12 STOP GO 31+1=32 STOP 322 STOP"),
    ("5+312", "5+312", "GO 5+312= GO 5+2=7 STOP 317 STOP"),
    ("0+0", "0+0", "GO 0+0=0 STOP"),
    ("9+9", "9+9", "GO 9+9=18 STOP"),
    ("10+10", "10+10", "GO 10+10= GO 0+0=0 STOP GO 1+1=2 STOP 20 STOP"),
    # The last digit always borrows; base cases up to 19 and 9; no leading zeros.
    ("23-20", "23-20", "GO 23-20= GO 13-0=13 STOP GO 2-2=0 STOP 3 STOP"),
    ("19-9", "19-9", "GO 19-9=10 STOP"),
    ("20-9", "20-9", "GO 20-9= GO 10-9=1 STOP GO 2-1=1 STOP 11 STOP"),
    ("19-10", "19-10", "GO 19-10= GO 19-0=19 STOP GO 1-1=0 STOP 9 STOP"),
    ("25-3", "25-3", "GO 25-3= GO 15-3=12 STOP 22 STOP"),
    ("100-1", "100-1", "GO 100-1= GO 10-1=9 STOP GO 10-1=9 STOP 99 STOP"),
    ("0-0", "0-0", "GO 0-0=0 STOP"),
    # The low digit, the rest, and always the sum.
    ("30*5", "30*5", "GO 30*5= GO 0*5=0 STOP GO 3*5=15 STOP TAIL 150+0= THINK"),
    ("30*5", "150+0", "GO 150+0= GO 0+0=0 STOP 150 STOP"),
    ("12*10", "12*10", "GO 12*10= GO 12*0=0 STOP GO 12*1=12 STOP TAIL 120+0= THINK"),
    ("5*34", "5*34", "GO 5*34= GO 5*4=20 STOP GO 5*3=15 STOP TAIL 150+20= THINK"),
    ("1*987", "1*987", "GO 1*987=987 STOP"),
    ("987*0", "987*0", "GO 987*0=0 STOP"),
    ("9*9", "9*9", "GO 9*9=81 STOP"),
    # Different numbers of digits decide at once; the rests lose their leading zeros.
    ("1043 VS 1206", "1043 VS 1206", "GO 1043 VS 1206= GO 1 VS 1= EQ STOP GO 43 VS 206= LT STOP LT STOP"),
    ("1043 VS 1206", "43 VS 206", "GO 43 VS 206= LT STOP"),
    ("1000 VS 1000", "1000 VS 1000", "GO 1000 VS 1000= GO 1 VS 1= EQ STOP GO 0 VS 0= EQ STOP EQ STOP"),
    ("21 VS 12", "21 VS 12", "GO 21 VS 12= GO 2 VS 1= GT STOP GT STOP"),
    # One comparison always, a second one with ten times the divisor unless a <= b.
    ("3/7", "3÷7", "GO 3÷7= GO 3 VS 7= LT STOP 0 R 3 STOP"),
    ("7/7", "7÷7", "GO 7÷7= GO 7 VS 7= EQ STOP 1 R 0 STOP"),
    ("0/5", "0÷5", "GO 0÷5= GO 0 VS 5= LT STOP 0 R 0 STOP"),
    (
        "340/34",
        "340÷34",
        "GO 340÷34= GO 340 VS 34= GT STOP GO 340 VS 340= EQ STOP GO 340-34=306 STOP GO 306÷34=9 R 0 STOP 10 R 0 STOP",
    ),
    (
        "1005/10",
        "1005÷10",
        "GO 1005÷10= GO 1005 VS 10= GT STOP GO 1005 VS 100= GT STOP GO 100÷10=10 R 0 STOP GO 5÷10=0 R 5 STOP"
        " 100 R 5 STOP",
    ),
    # Empty prefixes stay empty; a tie keeps the one with A shortened.
    (
        "1 LCS 2",
        "1 LCS 2",
        "GO 1 LCS 2= GO EQUAL 1,2= FALSE STOP GO LCS 2=;0 STOP GO 1 LCS=;0 STOP GO 0 VS 0= EQ STOP ;0 STOP",
    ),
    ("1 LCS 234", "LCS 234", "GO LCS 234=;0 STOP"),
    ("123 LCS 4", "123 LCS", "GO 123 LCS=;0 STOP"),
    ("1 LCS 1", "1 LCS 1", "GO 1 LCS 1= GO EQUAL 1,1= TRUE STOP GO LCS=;0 STOP 1;1 STOP"),
    ("1 LCS 1", "LCS", "GO LCS=;0 STOP"),
    (
        "12 LCS 21",
        "12 LCS 21",
        "GO 12 LCS 21= GO EQUAL 2,1= FALSE STOP GO 1 LCS 21=1;1 STOP GO 12 LCS 2=2;1 STOP GO 1 VS 1= EQ STOP 1;1 STOP",
    ),
    # One digit: nothing to ask. Two: one comparison, unequal keeps the first. A tie drops the last digit.
    ("LPS 7", "LPS 7", "GO LPS 7=7;1 STOP"),
    ("LPS 77", "LPS 77", "GO LPS 77= GO EQUAL 7,7= TRUE STOP 77;2 STOP"),
    ("LPS 78", "LPS 78", "GO LPS 78= GO EQUAL 7,8= FALSE STOP 7;1 STOP"),
    ("LPS 787", "LPS 787", "GO LPS 787= GO EQUAL 7,7= TRUE STOP GO LPS 8=8;1 STOP GO 1+2=3 STOP 787;3 STOP"),
    (
        "LPS 41253261",
        "LPS 1253261",
        "GO LPS 1253261= GO EQUAL 1,1= TRUE STOP GO LPS 25326=252;3 STOP GO 3+2=5 STOP 12521;5 STOP",
    ),
    (
        "LPS 0123456789876543210",
        "LPS 0123456789876543210",
        "GO LPS 0123456789876543210= GO EQUAL 0,0= TRUE STOP"
        " GO LPS 12345678987654321=12345678987654321;17 STOP"
        " GO 17+2=19 STOP 0123456789876543210;19 STOP",
    ),
    # One item: one comparison. Nothing chosen: $0. A tie excludes: of equal items the last one stays.
    ("KNAPSACK 5&3@3", "KNAPSACK 5&3@3", "GO KNAPSACK 5&3@3= GO 3 VS 3= EQ STOP 5&3$5 STOP"),
    ("KNAPSACK 5&3@2", "KNAPSACK 5&3@2", "GO KNAPSACK 5&3@2= GO 3 VS 2= GT STOP $0 STOP"),
    (
        "KNAPSACK 5&3,4&2@1",
        "KNAPSACK 5&3,4&2@1",
        "GO KNAPSACK 5&3,4&2@1= GO KNAPSACK 4&2@1=$0 STOP GO 3 VS 1= GT STOP $0 STOP",
    ),
    (
        "KNAPSACK 5&3,5&2@3",
        "KNAPSACK 5&3,5&2@3",
        "GO KNAPSACK 5&3,5&2@3= GO KNAPSACK 5&2@3=5&2$5 STOP GO 3 VS 3= EQ STOP GO 3-3=0 STOP"
        " GO KNAPSACK 5&2@0=$0 STOP GO 0+5=5 STOP GO 5 VS 5= EQ STOP 5&2$5 STOP",
    ),
    # Ternary forms end in a tail, also into a base case.
    ("MCM 3x9,9x4,4x5", "3*9*5", "GO 3*9*5= GO 3*9=27 STOP TAIL 27*5= THINK"),
    ("MCM 3x9,9x4,4x5", "27*5", "GO 27*5= GO 7*5=35 STOP GO 2*5=10 STOP TAIL 100+35= THINK"),
    ("MCM 3x9,9x4,4x5", "0+180+135", "GO 0+180+135= GO 0+180=180 STOP TAIL 180+135= THINK"),
    ("MCM 2x3,3x1", "2*3*1", "GO 2*3*1= GO 2*3=6 STOP TAIL 6*1= THINK"),
    ("MCM 2x3,3x1", "6*1", "GO 6*1=6 STOP"),
    # A single matrix costs nothing; the first split has no comparison; no tail when R is a single matrix.
    ("MCM 3x9", "MCM 3×9", "GO MCM 3×9=3×9;0 STOP"),
    (
        "MCM 2x3,3x1",
        "MCM 2×3,3×1",
        "GO MCM 2×3,3×1= GO MCM 2×3=2×3;0 STOP GO MCM 3×1=3×1;0 STOP GO 2*3*1=6 STOP GO 0+0+6=6 STOP 2×3,3×1;6 STOP",
    ),
    # Two splits of equal cost: the left one stays.
    (
        "MCM 2x2,2x2,2x2",
        "MCM 2×2,2×2|2×2 ACC 2×2,(2×2,2×2);16",
        "GO MCM 2×2,2×2|2×2 ACC 2×2,(2×2,2×2);16= GO MCM 2×2,2×2=2×2,2×2;8 STOP GO MCM 2×2=2×2;0 STOP"
        " GO 2*2*2=8 STOP GO 8+0+8=16 STOP GO 16 VS 16= EQ STOP 2×2,(2×2,2×2);16 STOP",
    ),
    # Parentheses around every group of more than one matrix, but not around the whole.
    (
        "MCM 1x9,9x9,9x9,9x9",
        "MCM 1×9,9×9,9×9|9×9 ACC (1×9,9×9),(9×9,9×9);891",
        "GO MCM 1×9,9×9,9×9|9×9 ACC (1×9,9×9),(9×9,9×9);891="
        " GO MCM 1×9,9×9,9×9=(1×9,9×9),9×9;162 STOP GO MCM 9×9=9×9;0 STOP GO 1*9*9=81 STOP"
        " GO 162+0+81=243 STOP GO 243 VS 891= LT STOP ((1×9,9×9),9×9),9×9;243 STOP",
    ),
    # Halves: the left one is the longer. The merge is the sort's tail; merge's own question is none.
    (
        "SORT 3,1,2",
        "SORT 3,1,2",
        "GO SORT 3,1,2= GO SORT 3,1=1,3 STOP GO SORT 2=2 STOP TAIL MERGE 1,3 SEP 2= THINK",
    ),
    ("SORT 3,1,2", "SORT 2", "GO SORT 2=2 STOP"),
    (
        "SORT 3,1,2",
        "MERGE 1,3 SEP 2",
        "GO MERGE 1,3 SEP 2= GO 1 VS 2= LT STOP GO MERGE 3 SEP 2=2,3 STOP 1,2,3 STOP",
    ),
    # It stops when a side would run out.
    ("SORT 3,1,2", "MERGE 3 SEP 2", "GO MERGE 3 SEP 2= GO 3 VS 2= GT STOP 2,3 STOP"),
    ("SORT 1,2", "MERGE 1 SEP 2", "GO MERGE 1 SEP 2= GO 1 VS 2= LT STOP 1,2 STOP"),
    # Equal heads take the right one.
    (
        "SORT 5,9,5,7",
        "MERGE 5,9 SEP 5,7",
        "GO MERGE 5,9 SEP 5,7= GO 5 VS 5= EQ STOP GO MERGE 5,9 SEP 7=5,7,9 STOP 5,5,7,9 STOP",
    ),
    ("SORT 5,9,5", "MERGE 5,9 SEP 5", "GO MERGE 5,9 SEP 5= GO 5 VS 5= EQ STOP 5,5,9 STOP"),
    ("SORT 0,0", "SORT 0,0", "GO SORT 0,0= GO SORT 0=0 STOP GO SORT 0=0 STOP TAIL MERGE 0 SEP 0= THINK"),
]


@pytest.mark.parametrize(("problem", "question", "expected"), WHOLE_CONTEXTS, ids=lambda value: str(value)[:40])
def test_procedures(problem: str, question: str, expected: str) -> None:
    assert context_of(problem, question) == symbols(expected)


def test_a_division_by_a_tenth_subtracts_nine_times() -> None:
    asked = questions("340/34", "div")
    assert asked == [f"{34 * times}÷34" for times in range(10, 0, -1)]
    subtractions = [f"{34 * times}-34" for times in range(10, 1, -1)]
    assert [question for question in questions("340/34", "sub") if question.endswith("-34")] == subtractions
    assert context_of("340/34", "34÷34") == symbols("GO 34÷34= GO 34 VS 34= EQ STOP 1 R 0 STOP")


def test_knapsack_excludes_first() -> None:
    asked = questions("KNAPSACK 3&9,4&2,9&5@10", "knapsack")
    assert asked[:3] == ["KNAPSACK3&9,4&2,9&5@10", "KNAPSACK4&2,9&5@10", "KNAPSACK9&5@10"]


def test_each_question_has_one_context() -> None:
    for question in ("1232 LCS 2321", "LPS 1232", "SORT 3,1,3,1", "MCM 2x2,2x2,2x2,2x2"):
        asked = [tuple(one.tokens[: one.tokens.index("=")]) for one in unfold(question)]
        assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(
    ("spellings", "problem_type"),
    [
        (["GO 408+351=", "408+351", " 408 + 351 = "], "add"),
        (["76÷29", "76/29", "GO 76÷29="], "div"),
        (["MCM 4x2,2x8,8x3", "MCM 4×2,2×8,8×3", "GO MCM 4×2,2×8,8×3="], "mcm"),
        (["LPS 41253261", "GO LPS 41253261="], "lps"),
        (["1234 LCS 2468", "GO 1234 LCS 2468="], "lcs"),
        (["KNAPSACK 5&12,25&15@40", "GO KNAPSACK 5&12,25&15@40="], "knapsack"),
        (["SORT 139,160,41", "GO SORT 139,160,41="], "sort"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_spellings_of_a_question(spellings: list[str], problem_type: str) -> None:
    first, *others = (unfold(spelling) for spelling in spellings)
    assert first[0].type == problem_type
    for other in others:
        assert other == first
