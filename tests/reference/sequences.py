"""Common and palindromic subsequences, merge sort, and equality of two digits (App. H.6, H.7, H.11)."""

from __future__ import annotations

from functools import lru_cache

from tests.reference.arithmetic import Add, Compare
from tests.reference.problem import Problem, Thought, digits, joined

Numbers = tuple[int, ...]
# Larger than the number of distinct sub-problems of the paper's largest problem (1,600 for LPS-56).
_MEMO = 1 << 14


def _spelled_with_length(sequence: Numbers) -> list[str]:
    return [*map(str, sequence), ";", *digits(len(sequence))]


class Equal(Problem):
    """Whether two digits are the same."""

    name = "equal"

    @staticmethod
    def thought(args: tuple[int, int]) -> list[Thought]:
        return []

    @staticmethod
    def question(args: tuple[int, int]) -> list[str]:
        return ["EQUAL", str(args[0]), ",", str(args[1])]

    @staticmethod
    def answer(args: tuple[int, int]) -> list[str]:
        return ["TRUE"] if args[0] == args[1] else ["FALSE"]


@lru_cache(maxsize=_MEMO)
def longest_common(left: Numbers, right: Numbers) -> Numbers:
    """The longest common subsequence that H.6 finds; of equally long ones the one with `left` shortened."""
    if not left or not right:
        return ()
    if left[-1] == right[-1]:
        return (*longest_common(left[:-1], right[:-1]), left[-1])
    shorter_left, shorter_right = longest_common(left[:-1], right), longest_common(left, right[:-1])
    return shorter_left if len(shorter_left) >= len(shorter_right) else shorter_right


class LCS(Problem):
    """H.6: the longest common subsequence, from the last digits backwards."""

    name = "lcs"

    @staticmethod
    def thought(args: tuple[Numbers, Numbers]) -> list[Thought]:
        left, right = args
        if not left or not right:
            return []
        thoughts = [Thought(Equal, (left[-1], right[-1]))]
        if left[-1] == right[-1]:
            return [*thoughts, Thought(LCS, (left[:-1], right[:-1]))]
        first, second = (left[:-1], right), (left, right[:-1])
        lengths = len(longest_common(*first)), len(longest_common(*second))
        return [*thoughts, Thought(LCS, first), Thought(LCS, second), Thought(Compare, lengths)]

    @staticmethod
    def question(args: tuple[Numbers, Numbers]) -> list[str]:
        return [*map(str, args[0]), "LCS", *map(str, args[1])]

    @staticmethod
    def answer(args: tuple[Numbers, Numbers]) -> list[str]:
        return _spelled_with_length(longest_common(*args))


@lru_cache(maxsize=_MEMO)
def longest_palindrome(sequence: Numbers) -> Numbers:
    """The palindrome that H.7 finds; of two equally long ones the one without the last digit."""
    if len(sequence) == 1:
        return sequence
    same_ends = sequence[0] == sequence[-1]
    if len(sequence) == 2:
        return sequence if same_ends else sequence[:1]
    if same_ends:
        return (sequence[0], *longest_palindrome(sequence[1:-1]), sequence[-1])
    without_last, without_first = longest_palindrome(sequence[:-1]), longest_palindrome(sequence[1:])
    return without_last if len(without_last) >= len(without_first) else without_first


class LPS(Problem):
    """H.7: the longest palindromic subsequence, both ends compared (the paper prints `args[0], args[1]`)."""

    name = "lps"

    @staticmethod
    def thought(args: Numbers) -> list[Thought]:
        if len(args) == 1:
            return []
        thoughts = [Thought(Equal, (args[0], args[-1]))]
        if len(args) == 2:
            return thoughts
        if args[0] == args[-1]:
            inner = args[1:-1]
            return [*thoughts, Thought(LPS, inner), Thought(Add, (len(longest_palindrome(inner)), 2))]
        first, second = args[:-1], args[1:]
        lengths = len(longest_palindrome(first)), len(longest_palindrome(second))
        return [*thoughts, Thought(LPS, first), Thought(LPS, second), Thought(Compare, lengths)]

    @staticmethod
    def question(args: Numbers) -> list[str]:
        return ["LPS", *map(str, args)]

    @staticmethod
    def answer(args: Numbers) -> list[str]:
        return _spelled_with_length(longest_palindrome(args))


def _spelled(terms: Numbers) -> list[str]:
    return joined([digits(term) for term in terms], ",")


class Merge(Problem):
    """H.11: two sorted sequences into one; equal heads take the right one."""

    name = "merge"

    @staticmethod
    def thought(args: tuple[Numbers, Numbers]) -> list[Thought]:
        left, right = args
        thoughts = [Thought(Compare, (left[0], right[0]))]
        if left[0] < right[0] and len(left) > 1:
            thoughts.append(Thought(Merge, (left[1:], right)))
        elif left[0] >= right[0] and len(right) > 1:
            thoughts.append(Thought(Merge, (left, right[1:])))
        return thoughts

    @staticmethod
    def question(args: tuple[Numbers, Numbers]) -> list[str]:
        return ["MERGE", *_spelled(args[0]), "SEP", *_spelled(args[1])]

    @staticmethod
    def answer(args: tuple[Numbers, Numbers]) -> list[str]:
        return _spelled(tuple(sorted(args[0] + args[1])))


class MergeSort(Problem):
    """H.11: both halves, the left one the longer, then the merge as a tail."""

    name = "sort"

    @staticmethod
    def thought(args: Numbers) -> list[Thought]:
        if len(args) < 2:
            return []
        half = (len(args) + 1) // 2
        left, right = args[:half], args[half:]
        halves = tuple(sorted(left)), tuple(sorted(right))
        return [Thought(MergeSort, left), Thought(MergeSort, right), Thought(Merge, halves, tail=True)]

    @staticmethod
    def question(args: Numbers) -> list[str]:
        return ["SORT", *_spelled(args)]

    @staticmethod
    def answer(args: Numbers) -> list[str]:
        return _spelled(tuple(sorted(args)))
