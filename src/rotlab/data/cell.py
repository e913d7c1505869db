"""One cell of an experiment as data sees it: which problems, which contexts, which ids."""

from __future__ import annotations

from dataclasses import dataclass

from rotlab.config import Config
from rotlab.config.checks import DoesNotFit
from rotlab.contexts.fit import require_fit
from rotlab.tasks import METHODS, SAMPLERS, TASKS, Sampler, vocabulary
from rotlab.vocab import Vocabulary


@dataclass(frozen=True)
class Cell:
    """Task, difficulty, method, sampling and context limit (in printed tokens, the final STOP or THINK included).

    Raises ValueError for a task, method, sampling or difficulty that doesn't exist.
    """

    task: str
    difficulty: int
    method: str
    sampling: str
    context_limit: int

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task {self.task!r} doesn't exist; the tasks are {', '.join(TASKS)}")
        task = TASKS[self.task]
        if self.method not in METHODS:
            raise ValueError(f"method {self.method!r} doesn't exist; the methods are {', '.join(METHODS)}")
        if self.sampling not in task.samplings:
            raise ValueError(f"{self.task} has no sampling {self.sampling!r}; it has {', '.join(task.samplings)}")
        task.require_difficulty(self.difficulty)

    @property
    def sampler(self) -> Sampler:
        """The sampler of the cell's problems."""
        return SAMPLERS[self.task, self.sampling]

    @property
    def vocabulary(self) -> Vocabulary:
        """The symbols that the cell can show."""
        return vocabulary(self.task, self.method)

    @property
    def name(self) -> str:
        """`mul-3`."""
        return f"{self.task}-{self.difficulty}"


def cell_of(config: Config) -> Cell:
    """The cell that a configuration trains on."""
    task, architecture = config.task, config.architecture
    return Cell(task.name, config.difficulty, config.method.name, task.sampling, architecture.context_limit)


def require_cell_fits(config: Config) -> None:
    """Refuse, with DoesNotFit, a cell whose contexts exceed the window, unless method.allow_overlong is set."""
    if config.method.allow_overlong:
        return
    cell = cell_of(config)
    try:
        require_fit(cell.sampler, cell.difficulty, cell.method, cell.context_limit)
    except ValueError as error:
        raise DoesNotFit(str(error)) from None
