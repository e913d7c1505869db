"""The tasks: one short file each, holding its rules, its samplers, its limits and a worked trace."""

from rotlab.tasks.registry import (
    KIND,
    SAMPLERS,
    TASKS,
    TYPES,
    Sampler,
    parse_question,
    reached,
    vocabulary,
)  # fmt: skip
from rotlab.tasks.task import METHODS, MOST_DIFFICULTY, ProblemType, Task

__all__ = [
    "KIND", "METHODS", "MOST_DIFFICULTY", "SAMPLERS", "TASKS", "TYPES", "ProblemType", "Sampler", "Task",
    "parse_question", "reached", "vocabulary",
]  # fmt: skip
