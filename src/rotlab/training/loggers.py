"""Where a run's figures go: metrics.csv and wrong_samples.jsonl in its directory, and Weights & Biases.

Only the first rank has loggers. Metrics are flat dicts of numbers, steps are optimizer steps.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning.pytorch.loggers import Logger

from rotlab.config import ConfigError
from rotlab.config.status import RUNNING
from rotlab.training.manifest import Manifest
from rotlab.training.quiet_logger import QuietLogger
from rotlab.training.wandb_run import WandbRun, start_wandb

if TYPE_CHECKING:
    import wandb

    from rotlab.config import Config


class MetricsCsv(QuietLogger):
    """metrics.csv, one figure a line: `step,name,value`, as in `1000,train/loss,0.25`.

    Long rather than wide, because a new name then needs no new column: the file is append-only from its first
    byte, a crash can't lose what stands in it, and `grep eval/problem metrics.csv` is a curve. As a wide
    table: `pandas.read_csv(path).pivot(index="step", columns="name", values="value")`. Full precision.

    Each call opens the file, writes its lines at once and closes it, so that they survive the process; `sync` makes
    them survive the machine. A torn last line (a full disk) is cut off when a later process opens the directory. Wrong
    samples go to wrong_samples.jsonl beside it, in the same way; those of a step that is not in `done` may be torn and
    are cut off whole. A resumed run comes by steps that an earlier process has logged already: what stands (`known`,
    pairs of step and name) is not written again.

    Raises ConfigError if run_dir holds a metrics.csv or wrong_samples.jsonl of another format.
    """

    HEADER = b"step,name,value\n"

    def __init__(self, run_dir: Path, done: Collection[int] = ()) -> None:
        super().__init__()
        self.path = run_dir / "metrics.csv"
        self.samples_path = run_dir / "wrong_samples.jsonl"
        run_dir.mkdir(parents=True, exist_ok=True)
        try:
            self.known = _known(self.path, self.HEADER)
        except (ValueError, OSError) as error:
            raise ConfigError(f"{self.path} is not a metrics file of rotlab: move it away") from error
        try:
            self._known_samples = _known_samples(self.samples_path, done)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ConfigError(f"{self.samples_path} is not a file of wrong samples: move it away") from error
        self._write({})

    @property
    def save_dir(self) -> str:
        return str(self.path.parent)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        assert step is not None, "metrics are logged with their optimizer step"
        assert not any(set(",\n") & set(name) for name in metrics), "names stand in a CSV file unquoted"
        fresh = {name: value for name, value in metrics.items() if (step, name) not in self.known}
        self._write({f"{step},{name}": value for name, value in fresh.items()})

    def _write(self, values: Mapping[str, float]) -> None:
        lines = "".join(f"{key},{_shown(value)}\n" for key, value in values.items())
        with self.path.open("ab") as file:
            # Also where the file was deleted meanwhile.
            file.write((b"" if file.tell() else self.HEADER) + lines.encode())

    def sync(self) -> None:
        """Have the disk hold what was logged."""
        with self.path.open("ab") as file:
            os.fsync(file.fileno())

    def log_samples(self, samples: Sequence[dict[str, Any]], step: int) -> None:
        if step in self._known_samples:
            return
        lines = (json.dumps({"step": step, **sample}, ensure_ascii=False) + "\n" for sample in samples)
        with self.samples_path.open("ab") as file:
            file.write("".join(lines).encode())


def build_loggers(config: Config, run_dir: Path, manifest: Manifest) -> list[Logger]:
    """The loggers that config.logger asks for, for the first rank. Prints where W&B's figures are.

    They go on with what the run's earlier processes have logged. Raises ConfigError where logger.wandb.mode=online and
    there is no key.
    """
    loggers: list[Logger] = []
    known: dict[tuple[int, str], float] = {}
    if config.logger.csv:
        csv = MetricsCsv(run_dir, manifest.steps_evaluated)
        loggers, known = [csv], csv.known
    if config.logger.wandb.enabled and (run := start_wandb(config, run_dir, manifest.wandb_id)) is not None:
        loggers.append(_continued(run, known, manifest))
    return loggers


def _continued(run: wandb.Run, known: Mapping[tuple[int, str], float], manifest: Manifest) -> WandbRun:
    """The W&B run, which is not sent again what it has."""
    if manifest.wandb_id is None:
        return WandbRun(run)
    if manifest.status != RUNNING or not manifest.sessions:
        return WandbRun(run, known)
    # A process that was killed may have taken with it what it had logged: W&B writes late. It is sent again.
    ours, since = WandbRun(run), int(manifest.sessions[-1]["from_step"])
    for lost in sorted({step for step, _ in known if since <= step <= manifest.step}):
        ours.log_metrics({name: value for (step, name), value in known.items() if step == lost}, lost)
    ours.known = frozenset(row for row in known if row[0] <= manifest.step)
    return ours


def wandb_id(loggers: Sequence[Logger]) -> str | None:
    """W&B's id of the run, None where it isn't logged there."""
    return next((logger.version for logger in loggers if isinstance(logger, WandbRun)), None)


@contextmanager
def finishing(loggers: Sequence[Logger]) -> Iterator[None]:
    """Finish the W&B run on leaving: failed if an exception (also Ctrl-C, or sys.exit with a code) passes.

    Everything a run logs belongs inside: an unfinished run stays open beside those of a multirun's next jobs.
    """
    exit_code = 1
    try:
        yield
        exit_code = 0
    except SystemExit as error:
        exit_code = 0 if error.code in (None, 0) else 1
        raise
    finally:
        for logger in loggers:
            if isinstance(logger, WandbRun):
                logger.finish(exit_code)


def log_wrong_samples(loggers: Sequence[Logger], samples: Sequence[Any], step: int, cap: int) -> None:
    """Log the first `cap` wrong samples (dataclasses or dicts with the same keys) of an evaluation at `step`.

    They go to wrong_samples.jsonl in the run's directory, an object a line, and to a table in W&B.
    """
    plain = [asdict(sample) if is_dataclass(sample) else dict(sample) for sample in samples[:cap]]  # type: ignore[arg-type]
    for logger in loggers:
        if isinstance(logger, MetricsCsv | WandbRun):
            logger.log_samples(plain, step)


def _known(path: Path, header: bytes) -> dict[tuple[int, str], float]:
    """The rows of a metrics.csv by step and name, without a torn last one, which is cut off."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    if not (content.startswith(header) or header.startswith(content)):
        raise ValueError("another header")
    whole = content[: content.rfind(b"\n") + 1]
    rows = [line.split(",", 2) for line in whole.decode().splitlines()[1:]]
    known = {(int(step), name): float(value) for step, name, value in rows}
    os.truncate(path, len(whole))
    return known


def _known_samples(path: Path, done: Collection[int]) -> frozenset[int]:
    """The steps of a wrong_samples.jsonl, which is cut off at the first that is not done, or torn."""
    if not path.exists():
        return frozenset()
    steps, end = set(), 0
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n") or (step := json.loads(line)["step"]) not in done:
            break
        steps.add(step)
        end += len(line)
    os.truncate(path, end)
    return frozenset(steps)


def _shown(value: Any) -> str:
    number = value.item() if hasattr(value, "item") else value
    return repr(number)
