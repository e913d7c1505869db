"""Every worked example of the paper, as text: the one place where its contexts are written down.

A context is written as on paper, digits together: `GO 408+351= GO 8+1=9 STOP ...`; `symbols` splits it. Its
number counts unique contexts in order of creation, as the paper does everywhere but twice in H.7.
"""

from __future__ import annotations

import re
from typing import NamedTuple


def symbols(text: str) -> list[str]:
    """The symbols of a context as written in this file: words, and single characters."""
    return re.findall(r"[A-Z]+|\S", text)


class Example(NamedTuple):
    """Contexts of one question by their number; `complete` says that the paper lists all of them."""

    source: str
    question: str
    contexts: dict[int, str]
    complete: bool = False


class Reading(NamedTuple):
    """A context of one question, read as a whole (cot, wt) or to its end so far (`prefix`)."""

    source: str
    question: str
    context: str


ADDITION = Example(
    "Figure 1, App. E and F",
    "408+351",
    {
        1: "GO 408+351= GO 8+1=9 STOP GO 40+35=75 STOP 759 STOP",
        2: "GO 8+1=9 STOP",
        3: "GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP",
        4: "GO 0+5=5 STOP",
        5: "GO 4+3=7 STOP",
    },
    complete=True,
)

EXAMPLES = [
    ADDITION,
    Example(
        "App. F",
        "34*5",
        {
            1: "GO 34*5= GO 4*5=20 STOP GO 3*5=15 STOP TAIL 150+20= THINK",
            2: "GO 4*5=20 STOP",
            3: "GO 3*5=15 STOP",
            4: "GO 150+20= GO 0+0=0 STOP GO 15+2=17 STOP 170 STOP",
            5: "GO 0+0=0 STOP",
            6: "GO 15+2= GO 5+2=7 STOP 17 STOP",
            7: "GO 5+2=7 STOP",
        },
        complete=True,
    ),
    # The heading says 27+65, the contexts are those of 317+65.
    Example(
        "App. H.1",
        "317+65",
        {
            1: "GO 317+65= GO 7+5=12 STOP GO 31+1=32 STOP GO 32+6=38 STOP 382 STOP",
            2: "GO 7+5=12 STOP",
            3: "GO 31+1= GO 1+1=2 STOP 32 STOP",
            4: "GO 1+1=2 STOP",
            5: "GO 32+6= GO 2+6=8 STOP 38 STOP",
            6: "GO 2+6=8 STOP",
        },
        complete=True,
    ),
    Example(
        "App. H.2",
        "432-216",
        {
            1: "GO 432-216= GO 12-6=6 STOP GO 43-1=42 STOP GO 42-21=21 STOP 216 STOP",
            2: "GO 12-6=6 STOP",
            3: "GO 43-1= GO 13-1=12 STOP 42 STOP",
            4: "GO 13-1=12 STOP",
            5: "GO 42-21= GO 12-1=11 STOP GO 4-2=2 STOP 21 STOP",
            6: "GO 12-1=11 STOP",
            7: "GO 4-2=2 STOP",
        },
        complete=True,
    ),
    Example(
        "App. H.3",
        "43*21",
        {
            1: "GO 43*21= GO 43*1=43 STOP GO 43*2=86 STOP TAIL 860+43= THINK",
            2: "GO 43*1=43 STOP",
            3: "GO 43*2= GO 3*2=6 STOP GO 4*2=8 STOP TAIL 80+6= THINK",
            4: "GO 3*2=6 STOP",
            5: "GO 4*2=8 STOP",
            6: "GO 80+6= GO 0+6=6 STOP 86 STOP",
            7: "GO 0+6=6 STOP",
            8: "GO 860+43= GO 0+3=3 STOP GO 86+4=90 STOP 903 STOP",
            9: "GO 0+3=3 STOP",
            10: "GO 86+4= GO 6+4=10 STOP GO 8+1=9 STOP 90 STOP",
            11: "GO 6+4=10 STOP",
            12: "GO 8+1=9 STOP",
        },
        complete=True,
    ),
    Example(
        "App. H.4",
        "153 VS 159",
        {
            1: "GO 153 VS 159= GO 1 VS 1= EQ STOP GO 53 VS 59= LT STOP LT STOP",
            2: "GO 1 VS 1= EQ STOP",
            3: "GO 53 VS 59= GO 5 VS 5= EQ STOP GO 3 VS 9= LT STOP LT STOP",
            4: "GO 5 VS 5= EQ STOP",
            5: "GO 3 VS 9= LT STOP",
        },
        complete=True,
    ),
    Example(
        "App. H.5",
        "76÷29",
        {
            1: "GO 76÷29= GO 76 VS 29= GT STOP GO 76 VS 290= LT STOP GO 76-29=47 STOP GO 47÷29=1 R 18 STOP 2 R 18 STOP",
            2: "GO 76 VS 29= GO 7 VS 2= GT STOP GT STOP",
            3: "GO 7 VS 2= GT STOP",
            4: "GO 76 VS 290= LT STOP",
            5: "GO 76-29= GO 16-9=7 STOP GO 7-1=6 STOP GO 6-2=4 STOP 47 STOP",
            9: "GO 47÷29= GO 47 VS 29= GT STOP GO 47 VS 290= LT STOP GO 47-29=18 STOP GO 18÷29=0 R 18 STOP 1 R 18 STOP",
            10: "GO 47 VS 29= GO 4 VS 2= GT STOP GT STOP",
            11: "GO 4 VS 2= GT STOP",
            12: "GO 47 VS 290= LT STOP",
            13: "GO 47-29= GO 17-9=8 STOP GO 4-1=3 STOP GO 3-2=1 STOP 18 STOP",
            17: "GO 18÷29= GO 18 VS 29= LT STOP 0 R 18 STOP",
            18: "GO 18 VS 29= GO 1 VS 2= LT STOP LT STOP",
        },
    ),
    Example(
        "App. H.6",
        "123 LCS 234",
        {
            1: "GO 123 LCS 234= GO EQUAL 3,4= FALSE STOP GO 12 LCS 234=2;1 STOP GO 123 LCS 23=23;2 STOP"
            " GO 1 VS 2= LT STOP 23;2 STOP",
            2: "GO EQUAL 3,4= FALSE STOP",
            3: "GO 12 LCS 234= GO EQUAL 2,4= FALSE STOP GO 1 LCS 234=;0 STOP GO 12 LCS 23=2;1 STOP"
            " GO 0 VS 1= LT STOP 2;1 STOP",
            21: "GO 123 LCS 23= GO EQUAL 3,3= TRUE STOP GO 12 LCS 2=2;1 STOP 23;2 STOP",
            23: "GO 1 VS 2= LT STOP",
        },
    ),
    # The paper's X^10 and X^14 are the ninth and thirteenth unique ones: EQUAL 1,2 is asked twice before.
    Example(
        "App. H.7",
        "LPS 1232",
        {
            1: "GO LPS 1232= GO EQUAL 1,2= FALSE STOP GO LPS 123=1;1 STOP GO LPS 232=232;3 STOP"
            " GO 1 VS 3= LT STOP 232;3 STOP",
            2: "GO EQUAL 1,2= FALSE STOP",
            3: "GO LPS 123= GO EQUAL 1,3= FALSE STOP GO LPS 12=1;1 STOP GO LPS 23=2;1 STOP GO 1 VS 1= EQ STOP 1;1 STOP",
            9: "GO LPS 232= GO EQUAL 2,2= TRUE STOP GO LPS 3=3;1 STOP GO 1+2=3 STOP 232;3 STOP",
            13: "GO 1 VS 3= LT STOP",
        },
    ),
    Example(
        "App. H.8",
        "KNAPSACK 3&9,4&2,9&5@10",
        {
            1: "GO KNAPSACK 3&9,4&2,9&5@10= GO KNAPSACK 4&2,9&5@10=4&2,9&5$13 STOP GO 9 VS 10= LT STOP"
            " GO 10-9=1 STOP GO KNAPSACK 4&2,9&5@1=$0 STOP GO 0+3=3 STOP GO 3 VS 13= LT STOP 4&2,9&5$13 STOP",
            2: "GO KNAPSACK 4&2,9&5@10= GO KNAPSACK 9&5@10=9&5$9 STOP GO 2 VS 10= LT STOP GO 10-2=8 STOP"
            " GO KNAPSACK 9&5@8=9&5$9 STOP GO 9+4=13 STOP GO 13 VS 9= GT STOP 4&2,9&5$13 STOP",
            11: "GO 9 VS 10= LT STOP",
            12: "GO 10-9=1 STOP",
            13: "GO KNAPSACK 4&2,9&5@1= GO KNAPSACK 9&5@1=$0 STOP GO 2 VS 1= GT STOP $0 STOP",
            17: "GO 0+3=3 STOP",
            18: "GO 3 VS 13= LT STOP",
        },
    ),
    Example(
        "App. H.10",
        "MCM 3×9,9×4,4×5",
        {
            1: "GO MCM 3×9,9×4,4×5= GO MCM 3×9=3×9;0 STOP GO MCM 9×4,4×5=9×4,4×5;180 STOP GO 3*9*5=135 STOP"
            " GO 0+180+135=315 STOP TAIL MCM 3×9,9×4|4×5 ACC 3×9,(9×4,4×5);315= THINK",
            32: "GO MCM 3×9,9×4|4×5 ACC 3×9,(9×4,4×5);315= GO MCM 3×9,9×4=3×9,9×4;108 STOP"
            " GO MCM 4×5=4×5;0 STOP GO 3*4*5=60 STOP GO 108+0+60=168 STOP"
            " GO 168 VS 315= LT STOP (3×9,9×4),4×5;168 STOP",
        },
    ),
]

LPS_COUNTING_REPEATS = Example(
    "App. H.7",
    "LPS 1232",
    {
        10: "GO LPS 232= GO EQUAL 2,2= TRUE STOP GO LPS 3=3;1 STOP GO 1+2=3 STOP 232;3 STOP",
        14: "GO 1 VS 3= LT STOP",
    },
)

COT_READINGS = [
    # The paper prints `0+5 STOP` and `4+3 STOP`.
    Reading(
        "App. F",
        "408+351",
        "GO 408+351= GO 8+1=9 STOP GO 40+35= GO 0+5=5 STOP GO 4+3=7 STOP 75 STOP 759 STOP",
    ),
    Reading(
        "App. F",
        "34*5",
        "GO 34*5= GO 4*5=20 STOP GO 3*5=15 STOP TAIL 150+20= GO 0+0=0 STOP GO 15+2= GO 5+2=7 STOP 17 STOP 170 STOP",
    ),
]

WT_READINGS = [
    Reading("App. I", "40+35", "GO 40+35=75 STOP"),
    Reading("App. G.1", "7÷3", "GO 7÷3=2 R 1 STOP"),
    Reading("App. G.2.1", "1234 LCS 2468", "GO 1234 LCS 2468=24;2 STOP"),
    # The paper prints 12321;5, which is as long, but not what the procedure of H.7 finds.
    Reading("App. G.2.2", "LPS 41253261", "GO LPS 41253261=12521;5 STOP"),
    Reading("App. G.2.3", "KNAPSACK 5&12,25&15,19&18@40", "GO KNAPSACK 5&12,25&15,19&18@40=25&15,19&18$44 STOP"),
    Reading("App. G.2.4", "MCM 4×2,2×8,8×3", "GO MCM 4×2,2×8,8×3=4×2,(2×8,8×3);72 STOP"),
    Reading("App. G.2.5", "SORT 139,160,434,796,41", "GO SORT 139,160,434,796,41=41,139,160,434,796 STOP"),
]

# The prompts and right completions of App. L, in our spelling; each is the start of a context.
PREFIXES = [
    Reading("App. L", "16434 VS 10116", "GO 16434 VS 10116= GO 1 VS 1= EQ STOP GO 6434 VS 116="),
    Reading(
        "App. L",
        "480944951825591*44302536017",
        "GO 480944951825591*44302536017= GO 480944951825591*7=3366614662779137 STOP"
        " GO 480944951825591*4430253601=2130708104708096051703191 STOP"
        " TAIL 21307081047080960517031910+3366614662779137= THINK",
    ),
    Reading(
        "App. L",
        "1054620*15",
        "GO 1054620*15= GO 1054620*5=5273100 STOP GO 1054620*1=1054620 STOP TAIL 10546200+5273100= THINK",
    ),
    Reading("App. L", "1069034 VS 891506", "GO 1069034 VS 891506= GT STOP"),
]
