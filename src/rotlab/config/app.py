"""The entry of `train.py` and `rotlab train`: a command line in, one run or a sweep of runs out.

A single run is composed and started without Hydra around it; a sweep goes through Hydra's sweeper and
launcher, so that its plugins work; flags that only print go to `hydra.main`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import partial
from itertools import islice, product

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig

from rotlab.config.build import first_line, from_hydra
from rotlab.config.checks import ConfigError, RunFailed
from rotlab.config.command import HYDRA_VERSION, Command, composed, parse, session, tagged
from rotlab.config.overrides import check_overrides
from rotlab.config.places import require_writable
from rotlab.config.schema import Config

Run = Callable[[Config], object]

REFUSED = 2  # the exit code of a command that can't be carried out as it was given
FAILED = 1
_MOST_COMPOSED = 20  # jobs of a sweep that are composed before the first starts, at a fifth of a second each


def launch(run: Run, argv: list[str] | None = None) -> int:
    """Call `run` with the configuration that `argv` (default: the process's arguments) describes.

    Returns the exit code. With --multirun, `run` is called once for each combination of values. A
    ConfigError, whether the command is at fault or `run` refuses it, becomes one line on standard error and
    the code 2, a RunFailed one line and the code 1; other exceptions pass. In a sweep all of them are shown at
    once, the other jobs run, and the code is not 0.
    """
    arguments = sys.argv[1:] if argv is None else argv
    try:
        check_overrides(arguments)
        command = parse(arguments)
        if command.shows:
            return _show(command, arguments)
        if command.multirun:
            return _sweep(run, command)
        config = _configured(command)
        require_writable(config)
        run(config)
        return 0
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    except RunFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED


def configured(*overrides: str) -> Config:
    """The configuration that `train.py OVERRIDES` would train. Raises ConfigError where it would refuse."""
    check_overrides(list(overrides))
    return _configured(parse(list(overrides)))


def _configured(command: Command) -> Config:
    with session(command):
        return from_hydra(composed(command, list(command.overrides)))


def _show(command: Command, arguments: list[str]) -> int:
    """Leave --help, --cfg, --info and the like to Hydra, which reads `sys.argv` only."""
    folder = str(command.folders[0])
    main = hydra.main(config_path=folder, config_name=command.config_name, version_base=HYDRA_VERSION)
    kept, sys.argv = sys.argv, [sys.argv[0], *arguments]
    try:
        main(_nothing)()
    except ValueError as error:
        raise ConfigError(str(error)) from error
    finally:
        sys.argv = kept
    return 0


def _nothing(composed_config: DictConfig) -> None:
    """What hydra.main runs when a flag only prints: nothing."""


def _sweep(run: Run, command: Command) -> int:
    with session(command):
        for overrides in _first_jobs(command):
            require_writable(from_hydra(composed(command, overrides)))
        overrides = [*command.overrides, *command.search(), "hydra.mode=MULTIRUN"]
        app = GlobalHydra.instance().hydra
        assert app is not None
        try:
            app.multirun(command.config_name, partial(_job, run), overrides)
        except _JobFailed as error:
            return error.exit_code
        except HydraException as error:
            raise ConfigError(first_line(error)) from error
    return 0


def _first_jobs(command: Command) -> list[list[str]]:
    """The overrides of the jobs of a sweep that are checked before its first job starts: all of a small one.

    Of a large one, jobs that hold every value once; what only a combination forbids is refused at its turn.
    """
    loader = GlobalHydra.instance().config_loader()
    choices: list[list[str]] = []
    for override in OverridesParser.create(loader).parse_overrides(list(command.overrides)):
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


class _JobFailed(Exception):
    """A job of a sweep that failed and has said so; its only use is the exit code."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def _job(run: Run, job_config: DictConfig) -> object:
    """One job of a sweep. A failure is shown at once: Hydra shows the first one only, and only at the end."""
    job = HydraConfig.get()
    title = f"job {job.job.num} ({' '.join(job.overrides.task)})"
    print(title, flush=True)
    try:
        config = from_hydra(tagged(job_config, job.runtime.choices))
        require_writable(config)
        return run(config)
    except ConfigError as error:
        print(f"error: {title}: {error}", file=sys.stderr, flush=True)
        raise _JobFailed(REFUSED) from None
    except RunFailed as error:
        print(f"error: {title}: {error}", file=sys.stderr, flush=True)
        raise _JobFailed(FAILED) from None
    except Exception:
        print(f"error: {title} failed:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        raise _JobFailed(FAILED) from None
