"""Where a run's figures go: metrics.csv and wrong_samples.jsonl in its directory, and Weights & Biases.

Only rank 0 has loggers. Metrics are flat dicts of numbers, steps are optimizer steps.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only

from rotlab.config import ConfigError
from rotlab.training.quiet_logger import QuietLogger
from rotlab.training.wandb_run import WandbRun, start_wandb

if TYPE_CHECKING:
    from rotlab.config import Config


class MetricsCsv(QuietLogger):
    """metrics.csv, one figure a line: `step,name,value`, as in `1000,train/loss,0.25`.

    Long rather than wide, because a new name then needs no new column: the file is append-only from its first
    byte, a crash can't lose what stands in it, and `grep eval/problem metrics.csv` is a curve. As a wide
    table: `pandas.read_csv(path).pivot(index="step", columns="name", values="value")`. Full precision.

    Each call opens the file, writes its lines at once and closes it, so that they survive the process. A torn
    last line (a full disk) is cut off when a later process opens the directory. Wrong samples go to
    wrong_samples.jsonl beside it, in the same way. A resumed run comes by steps that an earlier process has logged
    already: what stands (`known`, pairs of step and name) is not written again.

    Raises ConfigError if run_dir holds a metrics.csv of another format.
    """

    HEADER = b"step,name,value\n"

    def __init__(self, run_dir: Path) -> None:
        super().__init__()
        self.path = run_dir / "metrics.csv"
        self.samples_path = run_dir / "wrong_samples.jsonl"
        run_dir.mkdir(parents=True, exist_ok=True)
        found = self.path.read_bytes() if self.path.exists() else b""
        if not (found.startswith(self.HEADER) or self.HEADER.startswith(found)):
            raise ConfigError(f"{self.path} is not a metrics file of rotlab: move it away")
        for path in (self.path, self.samples_path):
            _cut_torn_line(path)
        if len(found) < len(self.HEADER):
            _append(self.path, self.HEADER.decode())
        self.known = _known(self.path)
        self._known_samples = _known_samples(self.samples_path)

    @property
    def save_dir(self) -> str:
        return str(self.path.parent)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        assert step is not None, "metrics are logged with their optimizer step"
        assert not any(set(",\n") & set(name) for name in metrics), "names stand in a CSV file unquoted"
        fresh = {name: value for name, value in metrics.items() if (step, name) not in self.known}
        _append(self.path, "".join(f"{step},{name},{_shown(value)}\n" for name, value in fresh.items()))

    def log_samples(self, samples: Sequence[dict[str, Any]], step: int) -> None:
        if step in self._known_samples:
            return
        lines = (json.dumps({"step": step, **sample}, ensure_ascii=False) + "\n" for sample in samples)
        _append(self.samples_path, "".join(lines))


def build_loggers(config: Config, run_dir: Path, *, wandb_id: str | None = None) -> list[Logger]:
    """The loggers that config.logger asks for; none on ranks other than 0. Prints where W&B's figures are.

    wandb_id continues that W&B run. Raises ConfigError where logger.wandb.mode=online and there is no key.
    """
    if rank_zero_only.rank != 0:  # type: ignore[attr-defined]
        return []
    loggers: list[Logger] = []
    known: frozenset[tuple[int, str]] = frozenset()
    if config.logger.csv:
        csv = MetricsCsv(run_dir)
        loggers, known = [csv], csv.known
    if config.logger.wandb.enabled:
        run = start_wandb(config, run_dir, wandb_id)
        loggers += [WandbRun(run, known if wandb_id else frozenset())] if run is not None else []
    return loggers


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


def _append(path: Path, text: str) -> None:
    with path.open("ab") as file:
        file.write(text.encode())


def _known(path: Path) -> frozenset[tuple[int, str]]:
    lines = (line.split(",", 2) for line in path.read_text(encoding="utf-8").splitlines()[1:])
    return frozenset((int(step), name) for step, name, _ in lines)


def _known_samples(path: Path) -> frozenset[int]:
    if not path.exists():
        return frozenset()
    return frozenset(json.loads(line)["step"] for line in path.read_text(encoding="utf-8").splitlines())


def _cut_torn_line(path: Path) -> None:
    if path.exists():
        content = path.read_bytes()
        os.truncate(path, content.rfind(b"\n") + 1)


def _shown(value: Any) -> str:
    number = value.item() if hasattr(value, "item") else value
    return repr(number)
