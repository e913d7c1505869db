"""One process at a time works on a run directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from rotlab.config import ConfigError
from rotlab.training.manifest import read_manifest

NAME = ".lock"
# Loader processes of a killed run hold its lock until they notice, within seconds.
WAIT_SECONDS = 15.0


@contextmanager
def locked(directory: Path, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Make the directory and hold it. The lock ends with the process, however that ends.

    Raises ConfigError, naming who holds it, where another process keeps it for longer than `wait` seconds.
    """
    lock = FileLock(directory / NAME)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=wait)
    except Timeout:
        holder = _holder(directory)
        raise ConfigError(f"{directory} is being trained by {holder}: wait until it ends, or end it") from None
    except OSError as error:
        raise ConfigError(f"{directory} can't be a run's directory: {error}") from error
    try:
        yield
    finally:
        lock.release()


def _holder(directory: Path) -> str:
    try:
        manifest = read_manifest(directory)
    except ValueError:
        manifest = None
    if manifest is None or not manifest.sessions:
        return "another process"
    session = manifest.sessions[-1]
    return f"process {session['pid']} on {session['host']} since {session['started']}"
