"""The typed configuration of a run, and the Hydra edge that builds it (`rotlab.config.app`)."""

from rotlab.config.build import from_dict, from_hydra
from rotlab.config.checks import ConfigError, RunFailed
from rotlab.config.identity import cell_name, config_hash, run_directory, run_name
from rotlab.config.places import conf_dir
from rotlab.config.schema import Config

__all__ = [
    "Config",
    "ConfigError",
    "RunFailed",
    "cell_name",
    "conf_dir",
    "config_hash",
    "from_dict",
    "from_hydra",
    "run_directory",
    "run_name",
]
