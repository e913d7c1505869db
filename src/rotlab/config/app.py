"""The entry of `train.py` and `rotlab train`: a command line in, one run or a sweep of runs out.

A single run is composed and started without Hydra around it; a sweep goes through Hydra's sweeper and
launcher, so that its plugins work; flags that only print go to `hydra.main`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import hydra
from omegaconf import DictConfig

from rotlab.config.build import from_hydra
from rotlab.config.checks import ConfigError, RunFailed
from rotlab.config.command import HYDRA_VERSION, Command, composed, parse, session, swept_by_presets
from rotlab.config.overrides import check_overrides
from rotlab.config.places import require_writable
from rotlab.config.schema import Config
from rotlab.config.sweep import FAILED, REFUSED, Job, sweep

Run = Callable[[Config], object]


def launch(run: Run, argv: list[str] | None = None, job: Job | None = None) -> int:
    """Call `run` with the configuration that `argv` (default: the process's arguments) describes.

    Returns the exit code. With --multirun, `job` (default: `run`) is called once for each combination of values. A
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
            return sweep(job or run, command)
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
    except KeyboardInterrupt:  # before a run listens itself
        return 128 + signal.SIGINT


def configured(*overrides: str) -> Config:
    """The configuration that `train.py OVERRIDES` would train. Raises ConfigError where it would refuse."""
    check_overrides(list(overrides))
    return _configured(parse(list(overrides)))


def _configured(command: Command) -> Config:
    with session(command):
        presets = [text for text in command.overrides if text.partition("=")[0] in ("experiment", "scale")]
        if presets and "cell" in swept_by_presets(command):
            raise ConfigError(f"{' '.join(presets)} is a sweep over cells: add --multirun, or a cell, as cell=add-8")
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
