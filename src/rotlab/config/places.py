"""Where the YAML files lie, and whether runs can be written where the user wants them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rotlab.config.checks import ConfigError
from rotlab.config.schema import Config


def conf_dir() -> Path:
    """The folder of the YAML files: in the package of an installed wheel, else conf/ at the checkout's top.

    Raises ConfigError if there is neither.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parents[1] / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise ConfigError(f"no conf/config.yaml in {package} or {package.parents[1]}: install rotlab again")


def require_writable(config: Config) -> None:
    """Make `runs_dir` if need be; ConfigError where nothing can be written in it."""
    folder = Path(config.runs_dir).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Asking for permission isn't enough: a read-only or full disk shows itself only to one who writes.
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x")
    except OSError as error:
        reason = f"can't write there ({error.strerror or error})"
        raise ConfigError(f"runs_dir={config.runs_dir}: {reason}: choose another folder") from None
