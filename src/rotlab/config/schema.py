"""The typed configuration of one run: its keys and which values are possible. Defaults stand in conf/."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

from rotlab.config.checks import (
    Beta,
    Bounds,
    ConfigError,
    Count,
    Filled,
    Name,
    Natural,
    NonNegative,
    Positive,
    Section,
    Share,
    checked,
    listing,
    unknown,
)  # fmt: skip
from rotlab.tasks import METHODS, MOST_DIFFICULTY, TASKS

# Upper bounds are far above what is of use: a slip of the finger must not ask for the memory that it would take.
Difficulty = Annotated[int, Bounds(1, MOST_DIFFICULTY)]
Few = Annotated[int, Bounds(1, 1024)]
Size = Annotated[int, Bounds(1, 65_536)]
Window = Annotated[int, Bounds(1, 1_000_000)]
Problems = Annotated[int, Bounds(1, 10_000_000)]
Seed = Annotated[int, Bounds(0, 2**32 - 1)]


@dataclass(frozen=True)
class TaskConfig(Section):
    """What is learnt. sampling: how operands are drawn (App. G), one of the task's `samplings`."""

    path: ClassVar[str] = "task"
    name: str
    sampling: str

    def check(self) -> None:
        if self.name not in TASKS:
            raise ConfigError(unknown("task", self.name, TASKS))
        samplings = TASKS[self.name].samplings
        if self.sampling not in samplings:
            raise ConfigError(f"task.sampling={self.sampling}: for {self.name} write {listing(samplings)}")


@dataclass(frozen=True)
class MethodConfig(Section):
    """How a problem is written down. allow_overlong: train although some contexts exceed the limit."""

    path: ClassVar[str] = "method"
    name: str
    allow_overlong: bool

    def check(self) -> None:
        if self.name not in METHODS:
            raise ConfigError(unknown("method", self.name, METHODS))


@dataclass(frozen=True)
class PaperSchedule(Section):
    """Steps of the paper's training of this architecture (App. J), which recipe=paper refers to."""

    path: ClassVar[str] = "architecture.paper_schedule"
    max_steps: Count
    halve_every: Count


@dataclass(frozen=True)
class GroupOverhead(Section):
    """What one more group of a batch costs on a device, in tokens: it is made where it saves more padding."""

    path: ClassVar[str] = "architecture.group_overhead"
    cpu: Natural
    gpu: Natural


@dataclass(frozen=True)
class ArchitectureConfig(Section):
    """The network. context_limit: tokens; shape: the sizes that the named architecture has beside it."""

    path: ClassVar[str] = "architecture"
    name: Name
    context_limit: Window
    group_overhead: GroupOverhead
    paper_schedule: PaperSchedule
    shape: dict[str, int]

    def check(self) -> None:
        for name, size in self.shape.items():
            checked(self.key(name), size, Size)


@dataclass(frozen=True)
class RecipeConfig(Section):
    """How the network is trained. Steps are optimizer steps; decay_to is a share of learning_rate.

    schedule "halving" halves the rate every `halve_every` steps; "warmup_decay" raises it over `warmup_steps`
    and lowers it to `decay_to` at `max_steps`. What the schedule doesn't read is None. embedding_scale: standard
    deviation of the fresh embeddings.
    """

    path: ClassVar[str] = "recipe"
    name: Name
    optimizer: Literal["adam", "adamw", "muon"]
    learning_rate: Positive
    betas: tuple[Beta, Beta]
    weight_decay: NonNegative
    batch_size: Window
    accumulation: Count
    gradient_clip: NonNegative
    embedding_scale: Positive
    max_steps: Count
    schedule: Literal["halving", "warmup_decay"]
    halve_every: Count | None
    warmup_steps: Natural | None
    decay_to: Share | None

    READS: ClassVar[dict[str, tuple[str, ...]]] = {
        "halving": ("halve_every",),
        "warmup_decay": ("warmup_steps", "decay_to"),
    }

    def check(self) -> None:
        for schedule, names in self.READS.items():
            for key, value in ((self.key(name), getattr(self, name)) for name in names):
                if schedule == self.schedule and value is None:
                    raise ConfigError(f"{key} has no value, but recipe.schedule={schedule} reads it: set it")
                if schedule != self.schedule and value is not None:
                    unread = f"recipe.schedule={self.schedule} doesn't read it"
                    raise ConfigError(f"{key}={value} has no effect, as {unread}: write {key}=null")


@dataclass(frozen=True)
class DataConfig(Section):
    """Test set and stream. tokens_per_pass counts tokens, padding included."""

    path: ClassVar[str] = "data"
    test_problems: Problems
    test_seed: Seed
    holdout: bool
    workers: Literal["auto"] | Annotated[int, Bounds(0, 256)]
    tokens_per_pass: Count
    overfit: bool


@dataclass(frozen=True)
class EvaluationConfig(Section):
    """When and how widely a run is judged. Steps are optimizer steps; stop_at is a share of problems; free_running
    counts problems."""

    path: ClassVar[str] = "evaluation"
    every_n_steps: Count
    stop_at: Annotated[float, Bounds(0, 1, above=True)]
    probe_problems: Problems
    probe_every_n_steps: Count
    tokens_per_batch: Count
    wrong_samples: Natural
    free_running: Natural


@dataclass(frozen=True)
class TrainerConfig(Section):
    """Hardware and display. threads: CPU threads, None for all cores. compile: by torch.compile, with CUDA graphs."""

    path: ClassVar[str] = "trainer"
    accelerator: Literal["auto", "cpu", "gpu"]
    devices: Literal["auto"] | Few
    precision: Literal["fp32", "bf16", "fp16"]
    log_every_n_steps: Count
    save_every_n_steps: Count
    profiler: Literal["simple", "advanced"] | None
    progress: Literal["auto", "rich", "plain", "off"]
    threads: Few | None
    compile: Literal["code", "graphs"] | None

    def check(self) -> None:
        if self.compile == "graphs" and self.accelerator == "cpu":
            raise ConfigError("trainer.compile=graphs needs a GPU: on a CPU write trainer.compile=code or null")
        if self.precision == "fp16" and self.accelerator == "cpu":
            raise ConfigError("trainer.precision=fp16 needs a GPU: on a CPU write trainer.precision=bf16 or fp32")


@dataclass(frozen=True)
class WandbConfig(Section):
    """Weights & Biases. mode "auto" is online where there is a key, else offline."""

    path: ClassVar[str] = "logger.wandb"
    enabled: bool
    project: Filled
    group: Filled | None
    tags: tuple[Filled, ...]
    mode: Literal["auto", "online", "offline"]


@dataclass(frozen=True)
class LoggerConfig(Section):
    """Where figures go. csv: metrics.csv in the run's directory."""

    path: ClassVar[str] = "logger"
    csv: bool
    wandb: WandbConfig


@dataclass(frozen=True)
class Config(Section):
    """One run, completely described. Raises ConfigError where a value or a combination is impossible."""

    task: TaskConfig
    difficulty: Difficulty
    method: MethodConfig
    architecture: ArchitectureConfig
    recipe: RecipeConfig
    data: DataConfig
    evaluation: EvaluationConfig
    trainer: TrainerConfig
    logger: LoggerConfig
    seed: Seed
    runs_dir: Filled
    force: bool

    def check(self) -> None:
        task = TASKS[self.task.name]
        least = task.min_difficulty
        if self.difficulty < least:
            needs = f"{task.name} needs at least {least} {task.unit}"
            raise ConfigError(f"difficulty={self.difficulty}: {needs}: write difficulty={least} or more")
        # Counted only when it matters: the space of a large difficulty is a number of many thousand digits.
        if self.data.holdout and (space := task.space(self.difficulty)) <= self.data.test_problems:
            raise ConfigError(
                f"data.holdout=true: all {space:,} problems of {task.name}-{self.difficulty} are in the test "
                "set, which leaves none to train on: raise difficulty or lower data.test_problems"
            )
        wanted = self.evaluation.free_running
        if wanted > self.data.test_problems:
            raise ConfigError(
                f"evaluation.free_running={wanted}: there are {self.data.test_problems:,} test problems; write "
                "that many at most, or raise data.test_problems"
            )
        devices, accumulation = self.trainer.devices, self.recipe.accumulation
        parts = accumulation * (devices if isinstance(devices, int) else 1)
        if self.recipe.batch_size % parts:
            raise ConfigError(
                f"recipe.batch_size={self.recipe.batch_size} can't be split equally (recipe.accumulation="
                f"{accumulation}, trainer.devices={devices}): write a multiple of {parts}"
            )

    def to_dict(self) -> dict[str, Any]:
        """The configuration as the YAML files spell it, in plain dicts, lists, numbers and text."""
        return _plain(self)


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        node = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}  # type: ignore[arg-type]
        shape = node.pop("shape", {})  # an architecture's own sizes stand beside its other keys
        return {**node, **shape}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, dict) else value
