"""The 0-1 knapsack and matrix chain multiplication (App. H.8, H.10)."""

from __future__ import annotations

from functools import lru_cache

from tests.reference.arithmetic import Add, Compare, Sub, TernaryAdd, TernaryMul
from tests.reference.problem import Problem, Thought, digits, joined

Item = tuple[int, int]
"""A knapsack item: its value and its weight."""
Matrix = tuple[int, int]
"""A matrix: its rows and its columns."""
Matrices = tuple[Matrix, ...]
Load = tuple[tuple[Item, ...], int]
"""Items to choose from and the capacity."""


class Group:
    """Two orders of multiplication, multiplied with each other. Compared by value."""

    __slots__ = ("left", "right")

    def __init__(self, left: Order, right: Order) -> None:
        self.left = left
        self.right = right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and (self.left, self.right) == (other.left, other.right)

    def __hash__(self) -> int:
        return hash((self.left, self.right))


Order = Matrix | Group

# Larger than the number of distinct sub-problems of the paper's largest problem (4,096 for Knapsack-12).
_MEMO = 1 << 14


@lru_cache(maxsize=_MEMO)
def best_load(items: tuple[Item, ...], capacity: int) -> tuple[tuple[Item, ...], int]:
    """The items that H.8 chooses and their value; the first one only if it makes the load strictly better."""
    value, weight = items[0]
    if len(items) == 1:
        return (items, value) if weight <= capacity else ((), 0)
    without, value_without = best_load(items[1:], capacity)
    if weight > capacity:
        return without, value_without
    rest, value_rest = best_load(items[1:], capacity - weight)
    if value_rest + value > value_without:
        return (items[0], *rest), value_rest + value
    return without, value_without


class Knapsack(Problem):
    """H.8: first without the first item, then, if it fits, with it."""

    name = "knapsack"

    @staticmethod
    def thought(args: Load) -> list[Thought]:
        items, capacity = args
        value, weight = items[0]
        if len(items) == 1:
            return [Thought(Compare, (weight, capacity))]
        thoughts = [Thought(Knapsack, (items[1:], capacity)), Thought(Compare, (weight, capacity))]
        if weight <= capacity:
            value_without = best_load(items[1:], capacity)[1]
            value_rest = best_load(items[1:], capacity - weight)[1]
            thoughts += [
                Thought(Sub, (capacity, weight)),
                Thought(Knapsack, (items[1:], capacity - weight)),
                Thought(Add, (value_rest, value)),
                Thought(Compare, (value_rest + value, value_without)),
            ]
        return thoughts

    @staticmethod
    def question(args: Load) -> list[str]:
        items, capacity = args
        return ["KNAPSACK", *_spelled_items(items), "@", *digits(capacity)]

    @staticmethod
    def answer(args: Load) -> list[str]:
        items, value = best_load(*args)
        return [*_spelled_items(items), "$", *digits(value)]


def _spelled_items(items: tuple[Item, ...]) -> list[str]:
    return joined([[*digits(value), "&", *digits(weight)] for value, weight in items], ",")


@lru_cache(maxsize=_MEMO)
def best_order(matrices: Matrices) -> tuple[Order, int]:
    """The order that H.10 finds and its cost; of equally cheap ones the leftmost split."""
    if len(matrices) == 1:
        return matrices[0], 0
    first, rest = matrices[:1], matrices[1:]
    return continued(first, rest, *split_order(first, rest))


def split_order(left: Matrices, right: Matrices) -> tuple[Order, int]:
    """The best order with the last multiplication between `left` and `right`, and its cost."""
    left_order, left_cost = best_order(left)
    right_order, right_cost = best_order(right)
    return Group(left_order, right_order), left_cost + right_cost + left[0][0] * right[0][0] * right[-1][1]


def continued(left: Matrices, right: Matrices, order: Order, cost: int) -> tuple[Order, int]:
    """The best of `order`, of cost `cost`, and of all splits to the right of the given one."""
    while len(right) > 1:
        left, right = (*left, right[0]), right[1:]
        new_order, new_cost = split_order(left, right)
        if new_cost < cost:
            order, cost = new_order, new_cost
    return order, cost


class MCM(Problem):
    """H.10 at the top: the arguments are the matrices, the first split is before the second one."""

    name = "mcm"

    @staticmethod
    def thought(args: Matrices) -> list[Thought]:
        if len(args) == 1:
            return []
        left, right = args[:1], args[1:]
        return [*_split_thoughts(left, right), *_next_split(left, right, *split_order(left, right))]

    @staticmethod
    def question(args: Matrices) -> list[str]:
        return ["MCM", *_spelled_matrices(args)]

    @staticmethod
    def answer(args: Matrices) -> list[str]:
        return _spelled_result(*best_order(args))


class MCMFrom(Problem):
    """H.10 in the middle: this split against the best order and cost so far. Its type is still mcm."""

    name = "mcm"

    @staticmethod
    def thought(args: tuple[Matrices, Matrices, Order, int]) -> list[Thought]:
        left, right, best, best_cost = args
        order, cost = split_order(left, right)
        thoughts = [*_split_thoughts(left, right), Thought(Compare, (cost, best_cost))]
        if cost < best_cost:
            best, best_cost = order, cost
        return thoughts + _next_split(left, right, best, best_cost)

    @staticmethod
    def question(args: tuple[Matrices, Matrices, Order, int]) -> list[str]:
        left, right, best, best_cost = args
        sides = [*_spelled_matrices(left), "|", *_spelled_matrices(right)]
        return ["MCM", *sides, "ACC", *_spelled_result(best, best_cost)]

    @staticmethod
    def answer(args: tuple[Matrices, Matrices, Order, int]) -> list[str]:
        left, right, best, best_cost = args
        order, cost = split_order(left, right)
        if cost < best_cost:
            best, best_cost = order, cost
        return _spelled_result(*continued(left, right, best, best_cost))


def _split_thoughts(left: Matrices, right: Matrices) -> list[Thought]:
    last = (left[0][0], right[0][0], right[-1][1])
    costs = (best_order(left)[1], best_order(right)[1], last[0] * last[1] * last[2])
    return [Thought(MCM, left), Thought(MCM, right), Thought(TernaryMul, last), Thought(TernaryAdd, costs)]


def _next_split(left: Matrices, right: Matrices, order: Order, cost: int) -> list[Thought]:
    if len(right) == 1:
        return []
    return [Thought(MCMFrom, ((*left, right[0]), right[1:], order, cost), tail=True)]


def _spelled_matrices(matrices: Matrices) -> list[str]:
    return joined([[*digits(rows), "×", *digits(columns)] for rows, columns in matrices], ",")


def _spelled_result(order: Order, cost: int) -> list[str]:
    return [*_spelled_order(order), ";", *digits(cost)]


def _spelled_order(order: Order) -> list[str]:
    if not isinstance(order, Group):
        return _spelled_matrices((order,))
    return [*_spelled_side(order.left), ",", *_spelled_side(order.right)]


def _spelled_side(order: Order) -> list[str]:
    return ["(", *_spelled_order(order), ")"] if isinstance(order, Group) else _spelled_order(order)
