"""The command line as Hydra reads it, and the folder of YAML files that it speaks about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from rotlab.config.build import first_line
from rotlab.config.checks import ConfigError
from rotlab.config.places import conf_dir
from rotlab.tasks import TASKS

HYDRA_VERSION = "1.3"  # the behaviour that is asked for, whichever newer version is installed


@dataclass(frozen=True)
class Command:
    """A parsed command line. shows: it asks to print something and stop; completes: that is for the shell."""

    overrides: tuple[str, ...]
    multirun: bool
    shows: bool
    completes: bool
    config_name: str
    folders: tuple[Path, ...]  # of YAML files, the one with config.yaml first

    def options(self, group: str) -> list[str]:
        """The names that one may choose in a group, sorted."""
        files: set[str] = set()
        for base in (folder / group for folder in self.folders):
            files |= {path.relative_to(base).with_suffix("").as_posix() for path in base.rglob("*.yaml")}
        return sorted(files | set(TASKS)) if group == "task" else sorted(files)

    def groups(self) -> list[str]:
        """The names of the groups, Hydra's own left out."""
        names = {path.name for folder in self.folders for path in folder.iterdir() if path.is_dir()}
        return sorted(name for name in names - {"hydra"} if self.options(name))

    def search(self) -> list[str]:
        """The override that makes Hydra look into the folders after the first."""
        extra = [QuotedString(f"file://{folder}", Quote.single).with_quotes() for folder in self.folders[1:]]
        return [f"hydra.searchpath=[{','.join(extra)}]"] if extra else []


def parse(argv: list[str]) -> Command:
    """The command line taken apart. Raises ConfigError for a flag that there isn't."""
    parser = get_args_parser()
    parser.error = _refuse  # type: ignore[method-assign]
    flags, rest = parser.parse_known_intermixed_args(argv)
    for text in rest:
        if text.startswith("-"):
            raise ConfigError(f"unknown flag {text}: settings have no dashes: {_bare(text)}; see --help")
    overrides = (*flags.overrides, *rest)
    main = Path(flags.config_path).absolute() if flags.config_path else conf_dir()
    extra = (Path(flags.config_dir).absolute(),) if flags.config_dir else ()
    for folder in (main, *extra):
        if not folder.is_dir():
            raise ConfigError(f"no folder {folder}: --config-dir and --config-path want an existing one")
    prints = ("help", "hydra_help", "cfg", "info", "shell_completion", "experimental_rerun")
    shows = any(getattr(flags, flag) for flag in prints)
    if (flags.resolve or flags.package) and not shows:
        raise ConfigError("--resolve and --package go with --cfg job")
    return Command(
        overrides=overrides,
        multirun=flags.multirun or "hydra.mode=MULTIRUN" in overrides,
        shows=shows,
        completes=flags.shell_completion,
        config_name=flags.config_name or "config",
        folders=(main, *extra),
    )


def _refuse(message: str) -> NoReturn:
    raise ConfigError(f"{message}; see --help")


def _bare(flag: str) -> str:
    return flag.lstrip("-") if "=" in flag else f"{flag.lstrip('-')}=VALUE"


@contextmanager
def session(command: Command) -> Iterator[None]:
    """Hydra ready to compose from the command's folders; leaves nothing global behind."""
    with initialize_config_dir(str(command.folders[0]), version_base=HYDRA_VERSION, job_name="train"):
        _offer_tasks(command)
        yield


def _offer_tasks(command: Command) -> None:
    """Make every registered task an option of its group, so that a new task needs no YAML file of its own."""
    for task in TASKS.values():
        if not any((folder / "task" / f"{task.name}.yaml").is_file() for folder in command.folders):
            node = {"name": task.name, "sampling": task.samplings[0]}
            ConfigStore.instance().store(name=task.name, node=node, group="task", provider="rotlab")


def swept_by_presets(command: Command) -> dict[str, str]:
    """What presets sweep over (`hydra.sweeper.params`) beside the command's own overrides, within a `session`.

    Raises ConfigError where there is no configuration.
    """
    loader = GlobalHydra.instance().config_loader()
    try:
        config = loader.load_configuration(
            command.config_name, [*command.overrides, *command.search()], RunMode.MULTIRUN
        )
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigError(first_line(error)) from error
    own = {text.partition("=")[0].lstrip("+") for text in command.overrides}
    params = config.hydra.sweeper.get("params") or {}
    return {key: str(value) for key, value in params.items() if key not in own}


def composed(command: Command, overrides: list[str]) -> DictConfig:
    """The configuration of these overrides, within a `session`. Raises ConfigError where there is none."""
    try:
        config = compose(command.config_name, overrides=[*overrides, *command.search()], return_hydra_config=True)
        choices = config.hydra.runtime.choices
        with open_dict(config):
            del config["hydra"]
        return tagged(config, choices)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        reasons = [first_line(part) for part in (error, error.__cause__) if part is not None]
        raise ConfigError(": ".join(dict.fromkeys(reasons))) from error
    except YAMLError as error:
        raise ConfigError(f"a YAML file can't be read: {error}") from error


def tagged(config: DictConfig, choices: Mapping[str, Any]) -> DictConfig:
    """The configuration with the preset among W&B's tags, as nothing else in it says which one was chosen."""
    preset, tags = choices.get("experiment"), OmegaConf.select(config, "logger.wandb.tags")
    # Tags that are no list are refused where all values are checked.
    if isinstance(preset, str) and isinstance(tags, ListConfig) and preset not in tags:
        OmegaConf.update(config, "logger.wandb.tags", [*tags, preset])
    return config
