"""A sweep: every combination of values is a job, and each job's end is told, in a table at the end too."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn
from hydra.errors import HydraException
from omegaconf import DictConfig

from rotlab.config import status
from rotlab.config.build import first_line, from_hydra
from rotlab.config.checks import ConfigError, DoesNotFit, RunFailed
from rotlab.config.command import Command, composed, session, swept_by_presets, tagged
from rotlab.config.identity import run_name
from rotlab.config.overrides import check_cell
from rotlab.config.places import require_writable
from rotlab.config.schema import Config

REFUSED = 2  # the exit code of a command that can't be carried out as it was given
FAILED = 1
_MOST_COMPOSED = 20  # jobs of a sweep that are composed before the first starts, at a fifth of a second each


@dataclass(frozen=True)
class Ended:
    """How a job ended, as `config.status` names it; why, or at what; its exit code."""

    status: str
    reason: str = ""
    exit_code: int = 0
    name: str = ""
    overrides: str = ""


# Trains one configuration; says how it ended, unless it simply did, or raises.
Job = Callable[[Config], "Ended | object"]


def sweep(job: Job, command: Command) -> int:
    """Run every job of a command by Hydra's sweeper and launcher; the exit code, 0 if none failed.

    Raises ConfigError, before the first job starts, for a value or combination that is refused.
    """
    with session(command):
        for overrides in _first_jobs(command):
            require_writable(from_hydra(composed(command, overrides)))
        overrides = [*command.overrides, *command.search(), "hydra.mode=MULTIRUN"]
        app = GlobalHydra.instance().hydra
        assert app is not None
        so_far: list[Ended] = []
        try:
            returned = app.multirun(command.config_name, partial(_ended, job, so_far), overrides)
        except (SystemExit, KeyboardInterrupt):
            print(f"{table(so_far)} so far; the same command goes on", flush=True)
            raise
        except HydraException as error:
            raise ConfigError(first_line(error)) from error
        except Exception as error:
            # A worker or a cluster's job that ended without a word; what its jobs did stands in their directories.
            print(f"error: the launcher gave up: {error}; the same command goes on", file=sys.stderr)
            return FAILED
    ended = [one.return_value for one in _flat(returned)]
    print(table(ended), flush=True)
    return max((one.exit_code for one in ended), default=0)


def _flat(returned: Any) -> Iterator[JobReturn]:
    """What a sweeper returns: jobs, or lists of them."""
    if isinstance(returned, JobReturn):
        yield returned
    else:
        for part in returned:
            yield from _flat(part)


def table(ended: Iterable[Ended]) -> str:
    """A line for each job, and how many ended in which way."""
    rows = [(str(number), one.status, one.name or one.overrides, one.reason) for number, one in enumerate(ended)]
    rows.insert(0, ("job", "status", "run", "result or reason"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    ]
    statuses = [row[1] for row in rows[1:]]
    counts = ", ".join(f"{statuses.count(one):,} {one}" for one in dict.fromkeys(statuses))
    jobs = "1 job" if len(statuses) == 1 else f"{len(statuses):,} jobs"
    return "\n".join([*lines, f"{jobs}: {counts}" if counts else jobs])


def _first_jobs(command: Command) -> list[list[str]]:
    """The overrides of the jobs of a sweep that are checked before its first job starts: all of a small one.

    Of a large one, jobs that hold every value once; what only a combination forbids is refused at its turn.
    """
    loader = GlobalHydra.instance().config_loader()
    choices: list[list[str]] = []
    given = [*command.overrides, *(f"{key}={value}" for key, value in swept_by_presets(command).items())]
    check_cell(text.partition("=")[0] for text in given)
    for override in OverridesParser.create(loader).parse_overrides(given):
        if override.is_discrete_sweep():
            values = islice(override.sweep_string_iterator(), _MOST_COMPOSED)
            choices.append([f"{override.key_or_group}={value}" for value in values])
        elif not override.is_sweep_override():
            choices.append([override.input_line or ""])
    jobs = list(islice(product(*choices), _MOST_COMPOSED + 1))
    if len(jobs) <= _MOST_COMPOSED:
        return [list(job) for job in jobs]
    longest = max(map(len, choices))
    return [[values[job % len(values)] for values in choices] for job in range(longest)]


def _ended(job: Job, so_far: list[Ended], job_config: DictConfig) -> Ended:
    """One job; `so_far` takes how it ended, where this is the sweep's own process.

    A failure is shown at once: Hydra shows the first one only, and only at the end.
    """
    hydras = HydraConfig.get()
    overrides = " ".join(hydras.overrides.task)
    title = f"job {hydras.job.num} ({overrides})"
    print(title, flush=True)
    name = ""
    try:
        check_cell(override.partition("=")[0].lstrip("+") for override in hydras.overrides.task)
        config = from_hydra(tagged(job_config, hydras.runtime.choices))
        name = run_name(config)
        require_writable(config)
        found = job(config)
        ended = found if isinstance(found, Ended) else Ended(status.FINISHED)
    except DoesNotFit as error:
        ended = Ended(status.DOES_NOT_FIT, str(error))
    except ConfigError as error:
        ended = Ended(status.REFUSED, str(error), REFUSED)
    except RunFailed as error:
        ended = Ended(status.FAILED, str(error), FAILED)
    except Exception as error:
        traceback.print_exc()
        ended = Ended(status.FAILED, f"{type(error).__name__}: {error}", FAILED)
    if ended.status != status.FINISHED:
        kind = "note" if ended.status == status.DOES_NOT_FIT else "error"
        print(f"{kind}: {title}: {ended.reason}", file=sys.stderr, flush=True)
    so_far.append(replace(ended, name=name, overrides=overrides))
    return so_far[-1]
