"""What rules and samplers are written with: spans of digits, and saying the next thing.

A rule sees a `View` of one context: its question and the answers received so far, as spans of the arena's text. It
says one thing, the next sub-question, a tail sub-question or the answer, token by token, and returns which of the
three it was. A number is a span of digit tokens, most significant first, of any length; an empty span counts as 0.

Rules are pure: when the arena is too small for what a rule says, what it said is dropped, the arena grows and the
rule is asked again. So writing past the end is allowed and only moves the cursor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rotlab.compiled import compiled
from rotlab.native import copy_tokens, fill_tokens, find_token
from rotlab.vocab import GO, ID, Tokens

# What a rule says next.
ASK, ASK_TAIL, ANSWER = 1, 2, 3

# The head of `frame`: where the next token goes, and where a sampler's question starts.
CURSOR, START, FIRST_FRAME = 0, 1, 2
# One frame, from its base: the frame below it, its row in the memo, whether it waits for a tail's answer, its
# question, how many answers it has; then for each answer the row that gave it and its span.
BELOW, ROW, IN_TAIL, Q_LO, Q_HI, N_ANSWERS, ANSWERS = 0, 1, 2, 3, 4, 5, 6


class View(NamedTuple):
    """A context as a rule sees it: `text` holds every token, `frame[base:]` says which ones are this context's."""

    text: Tokens
    frame: NDArray[np.int64]
    base: int


class Span(NamedTuple):
    """The tokens lo .. hi-1 of the text."""

    lo: int
    hi: int


@compiled
def aligned(at: int) -> int:
    """The first multiple of eight from `at` on: where texts begin in the arena."""
    return (at + 7) & ~7


# --- reading -------------------------------------------------------------------------------------------------------


@compiled
def question(v: View) -> Span:
    """The question without GO and `=`."""
    return Span(v.frame[v.base + Q_LO] + 1, v.frame[v.base + Q_HI] - 1)


@compiled
def answers(v: View) -> int:
    """How many answers this context has received."""
    return v.frame[v.base + N_ANSWERS]


@compiled
def answer(v: View, i: int) -> Span:
    """The i-th answer without its STOP."""
    at = v.base + ANSWERS + 3 * i
    return Span(v.frame[at + 1], v.frame[at + 2] - 1)


@compiled
def token(v: View, span: Span) -> int:
    """The first token of a span that isn't empty; of a digit it is the value."""
    return int(v.text[span.lo])


@compiled
def size(span: Span) -> int:
    """The number of tokens."""
    return span.hi - span.lo


@compiled
def first(span: Span) -> Span:
    """The first token; of an empty span nothing."""
    return Span(span.lo, min(span.lo + 1, span.hi))


@compiled
def last(span: Span) -> Span:
    """The last token; of an empty span nothing (as a number: 0)."""
    return Span(max(span.lo, span.hi - 1), span.hi)


@compiled
def without_first(span: Span) -> Span:
    """All but the first token."""
    return Span(min(span.lo + 1, span.hi), span.hi)


@compiled
def without_last(span: Span) -> Span:
    """All but the last token: of a number its tenth, rounded down."""
    return Span(span.lo, max(span.lo, span.hi - 1))


@compiled
def find(v: View, span: Span, symbol: int) -> int:
    """Where `symbol` first stands in the span; its end if nowhere."""
    return find_token(v.text, span.lo, span.hi, symbol)


@compiled
def split(v: View, span: Span, symbol: int) -> tuple[Span, Span]:
    """What stands before and after the first `symbol` of the span."""
    at = find(v, span, symbol)
    return Span(span.lo, at), Span(min(at + 1, span.hi), span.hi)


@compiled
def count(v: View, span: Span, symbol: int) -> int:
    """How often `symbol` stands in the span."""
    n = 0
    for at in range(span.lo, span.hi):
        if v.text[at] == symbol:
            n += 1
    return n


@compiled
def value(v: View, span: Span) -> int:
    """A number of at most 18 digits as an integer."""
    total = 0
    for at in range(span.lo, span.hi):
        total = total * 10 + int(v.text[at])
    return total


@compiled
def number(v: View, span: Span) -> Span:
    """The span without leading zeros (empty for 0)."""
    lo = span.lo
    while lo < span.hi and v.text[lo] == 0:
        lo += 1
    return Span(lo, span.hi)


@compiled
def compare(v: View, a: Span, b: Span) -> int:
    """-1, 0 or 1 as the number a is less than, equal to or greater than b."""
    a = number(v, a)
    b = number(v, b)
    if size(a) != size(b):
        return -1 if size(a) < size(b) else 1
    for i in range(size(a)):
        left, right = v.text[a.lo + i], v.text[b.lo + i]
        if left != right:
            return -1 if left < right else 1
    return 0


# --- writing -------------------------------------------------------------------------------------------------------


@compiled
def cursor(v: View) -> int:
    """Where the next token goes."""
    return v.frame[CURSOR]


@compiled
def rewind(v: View, at: int) -> None:
    """Drop what was written from `at` on."""
    v.frame[CURSOR] = at


@compiled
def full(v: View) -> bool:
    """Whether more was written than the arena holds: who reads back what he wrote asks this first."""
    return v.frame[CURSOR] > v.text.size


@compiled
def put(v: View, symbol: int) -> None:
    """Write one token."""
    at = v.frame[CURSOR]
    if at < v.text.size:
        v.text[at] = symbol
    v.frame[CURSOR] = at + 1


@compiled
def put_span(v: View, span: Span) -> None:
    """Write a copy of a span."""
    at = v.frame[CURSOR]
    end = at + max(0, size(span))
    v.frame[CURSOR] = end
    if end <= v.text.size:
        copy_tokens(v.text, at, v.text, span.lo, span.hi)


@compiled
def put_number(v: View, span: Span) -> None:
    """Write a span as a number: without leading zeros, 0 if nothing is left."""
    digits = number(v, span)
    if size(digits) == 0:
        put(v, 0)
    put_span(v, digits)


@compiled
def put_int(v: View, n: int) -> None:
    """Write an integer n >= 0."""
    power = 10
    while n >= power:
        power *= 10
    while power > 10:
        power //= 10
        digit = n // power
        put(v, digit)
        n -= digit * power
    put(v, n)


@compiled
def reserve(v: View, length: int) -> Span:
    """The next `length` tokens, zeroed, for a number that is computed from its last digit; empty if they don't fit."""
    lo = v.frame[CURSOR]
    v.frame[CURSOR] = lo + length
    if lo + length > v.text.size:
        return Span(0, 0)
    fill_tokens(v.text, lo, lo + length, 0)
    return Span(lo, lo + length)


@compiled
def put_sum(v: View, a: Span, b: Span) -> Span:
    """Write a + b, perhaps with a leading zero; the written span."""
    out = reserve(v, max(size(a), size(b)) + 1)
    carry = 0
    for i in range(1, size(out) + 1):
        carry += (int(v.text[a.hi - i]) if i <= size(a) else 0) + (int(v.text[b.hi - i]) if i <= size(b) else 0)
        v.text[out.hi - i] = carry % 10
        carry //= 10
    return out


@compiled
def put_difference(v: View, a: Span, b: Span) -> Span:
    """Write a - b for a >= b, perhaps with leading zeros; the written span."""
    b = number(v, b)
    out = reserve(v, size(a))
    borrow = 0
    for i in range(1, size(out) + 1):
        digit = int(v.text[a.hi - i]) - (int(v.text[b.hi - i]) if i <= size(b) else 0) - borrow
        borrow = 1 if digit < 0 else 0
        v.text[out.hi - i] = digit + 10 * borrow
    return out


@compiled
def put_product(v: View, a: Span, b: Span) -> Span:
    """Write a * b, perhaps with leading zeros; the written span."""
    out = reserve(v, size(a) + size(b))
    if size(out) == 0:
        return out
    for i in range(1, size(a) + 1):
        carry = 0
        for j in range(1, size(b) + 2):
            if i + j - 1 > size(out):
                break
            at = out.hi - (i + j - 1)
            carry += int(v.text[at])
            if j <= size(b):
                carry += int(v.text[a.hi - i]) * int(v.text[b.hi - j])
            v.text[at] = carry % 10
            carry //= 10
    return out


@compiled
def put_next(v: View, span: Span) -> None:
    """Write the number after `span`'s: 1 R 18 -> 2 R 18 needs no sub-question."""
    at = span.hi - 1
    while at >= span.lo and v.text[at] == 9:
        at -= 1
    if at < span.lo:
        put(v, 1)
    for i in range(span.lo, span.hi):
        put(v, v.text[i] if i < at else int(v.text[i]) + 1 if i == at else 0)


# --- saying --------------------------------------------------------------------------------------------------------


@compiled
def ask(v: View, left: Span, operator: int, right: Span) -> int:
    """Ask for `left operator right`, both as numbers."""
    put_number(v, left)
    put(v, operator)
    put_number(v, right)
    return ASK


@compiled
def ask_tail(v: View, left: Span, operator: int, right: Span) -> int:
    """Hand over to `left operator right`, both as numbers."""
    ask(v, left, operator, right)
    return ASK_TAIL


@compiled
def say_symbol(v: View, symbol: int) -> int:
    """Answer with one symbol."""
    put(v, symbol)
    return ANSWER


@compiled
def say_int(v: View, n: int) -> int:
    """Answer with an integer n >= 0."""
    put_int(v, n)
    return ANSWER


@compiled
def say_number(v: View, span: Span) -> int:
    """Answer with a span as a number."""
    put_number(v, span)
    return ANSWER


@compiled
def begin_question(v: View) -> None:
    """A sampler's question starts here; what it wrote before was for its own use."""
    v.frame[START] = v.frame[CURSOR] = aligned(v.frame[CURSOR])
    put(v, GO)


def symbol_ids(symbols: str) -> Any:
    """The ids of symbols separated by blanks, for the constants at the head of a task's file."""
    unknown = [symbol for symbol in symbols.split() if symbol not in ID]
    if unknown:
        raise ValueError(f"no symbol yet: {' '.join(unknown)}; a new one is a word in SYMBOLS of rotlab/vocab.py")
    ids = tuple(ID[symbol] for symbol in symbols.split())
    return ids[0] if len(ids) == 1 else ids
