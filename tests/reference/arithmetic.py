"""Addition, subtraction, multiplication, comparison, division, ternary forms (App. H.1 to H.5, H.9)."""

from __future__ import annotations

from tests.reference.problem import Problem, Thought, digits, integer, joined

Pair = tuple[int, int]
Triple = tuple[int, int, int]


class Add(Problem):
    """H.1: the last digits, then the carry, then the rests."""

    name = "add"

    @staticmethod
    def thought(args: Pair) -> list[Thought]:
        left, right = args
        if left < 10 and right < 10:
            return []
        left_last, right_last = left % 10, right % 10
        left_rest, right_rest = left // 10, right // 10
        thoughts = [Thought(Add, (left_last, right_last))]
        if left_last + right_last >= 10:
            thoughts.append(Thought(Add, (left_rest, 1)))
            left_rest += 1
        if left_rest > 0 and right_rest > 0:
            thoughts.append(Thought(Add, (left_rest, right_rest)))
        return thoughts

    @staticmethod
    def question(args: Pair) -> list[str]:
        return [*digits(args[0]), "+", *digits(args[1])]

    @staticmethod
    def answer(args: Pair) -> list[str]:
        return digits(args[0] + args[1])


class Sub(Problem):
    """H.2: the last digit always borrows ten. The first operand is not less than the second."""

    name = "sub"

    @staticmethod
    def thought(args: Pair) -> list[Thought]:
        left, right = args
        if left <= 19 and right <= 9:
            return []
        left_last, right_last = left % 10 + 10, right % 10
        left_rest, right_rest = left // 10, right // 10
        thoughts = [Thought(Sub, (left_last, right_last))]
        if left_last - right_last < 10:
            thoughts.append(Thought(Sub, (left_rest, 1)))
            left_rest -= 1
        if right_rest > 0:
            thoughts.append(Thought(Sub, (left_rest, right_rest)))
        return thoughts

    @staticmethod
    def question(args: Pair) -> list[str]:
        return [*digits(args[0]), "-", *digits(args[1])]

    @staticmethod
    def answer(args: Pair) -> list[str]:
        assert args[0] >= args[1], args
        return digits(args[0] - args[1])


class Mul(Problem):
    """H.3: one operand is split into its last digit and its rest; the sum is a tail."""

    name = "mul"

    @staticmethod
    def thought(args: Pair) -> list[Thought]:
        left, right = args
        if left <= 1 or right <= 1:
            return []
        if left <= 9 and right <= 9:
            return []
        if right < 10:
            low, high = (left % 10, right), (left // 10, right)
        else:
            low, high = (left, right % 10), (left, right // 10)
        total = (high[0] * high[1] * 10, low[0] * low[1])
        return [Thought(Mul, low), Thought(Mul, high), Thought(Add, total, tail=True)]

    @staticmethod
    def question(args: Pair) -> list[str]:
        return [*digits(args[0]), "*", *digits(args[1])]

    @staticmethod
    def answer(args: Pair) -> list[str]:
        return digits(args[0] * args[1])


class Compare(Problem):
    """H.4: numbers of digits at once, then the first digits, then the rests without leading zeros."""

    name = "compare"

    @staticmethod
    def thought(args: Pair) -> list[Thought]:
        left, right = args
        if left < 10 and right < 10:
            return []
        left_digits, right_digits = digits(left), digits(right)
        if len(left_digits) != len(right_digits):
            return []
        first = (int(left_digits[0]), int(right_digits[0]))
        thoughts = [Thought(Compare, first)]
        if first[0] == first[1]:
            rests = integer("".join(left_digits[1:])), integer("".join(right_digits[1:]))
            thoughts.append(Thought(Compare, rests))
        return thoughts

    @staticmethod
    def question(args: Pair) -> list[str]:
        return [*digits(args[0]), "VS", *digits(args[1])]

    @staticmethod
    def answer(args: Pair) -> list[str]:
        if args[0] == args[1]:
            return ["EQ"]
        return ["LT"] if args[0] < args[1] else ["GT"]


class Div(Problem):
    """H.5: a division by a positive integer with quotient and remainder."""

    name = "div"

    @staticmethod
    def thought(args: Pair) -> list[Thought]:
        left, right = args
        thoughts = [Thought(Compare, (left, right))]
        if left <= right:
            return thoughts
        thoughts.append(Thought(Compare, (left, right * 10)))
        if left <= right * 10:
            thoughts.append(Thought(Sub, (left, right)))
            thoughts.append(Thought(Div, (left - right, right)))
        else:
            rest, last = left // 10, left % 10
            thoughts.append(Thought(Div, (rest, right)))
            thoughts.append(Thought(Div, (rest % right * 10 + last, right)))
        return thoughts

    @staticmethod
    def question(args: Pair) -> list[str]:
        return [*digits(args[0]), "÷", *digits(args[1])]

    @staticmethod
    def answer(args: Pair) -> list[str]:
        dividend, divisor = args
        quotient, remainder = divmod(dividend, divisor)
        return [*digits(quotient), "R", *digits(remainder)]


class TernaryAdd(Problem):
    """H.9: the sum of the first two, then a tail."""

    name = "ternary_add"

    @staticmethod
    def thought(args: Triple) -> list[Thought]:
        first, second, third = args
        return [Thought(Add, (first, second)), Thought(Add, (first + second, third), tail=True)]

    @staticmethod
    def question(args: Triple) -> list[str]:
        return joined([digits(number) for number in args], "+")

    @staticmethod
    def answer(args: Triple) -> list[str]:
        return digits(sum(args))


class TernaryMul(Problem):
    """H.9: the product of the first two, then a tail."""

    name = "ternary_mul"

    @staticmethod
    def thought(args: Triple) -> list[Thought]:
        first, second, third = args
        return [Thought(Mul, (first, second)), Thought(Mul, (first * second, third), tail=True)]

    @staticmethod
    def question(args: Triple) -> list[str]:
        return joined([digits(number) for number in args], "*")

    @staticmethod
    def answer(args: Triple) -> list[str]:
        return digits(args[0] * args[1] * args[2])
