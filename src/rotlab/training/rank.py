"""One of several processes that train a run together: `python -m rotlab.training.rank`, started by `launch`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from typing import NoReturn

from rotlab.config import ConfigError, RunFailed, from_dict
from rotlab.config.app import FAILED, REFUSED
from rotlab.training.interruption import Interrupted
from rotlab.training.run import run


def main() -> int:
    """Read a configuration from standard input and train this rank's share; the exit code."""
    config = from_dict(json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_the_launcher, daemon=True).start()
    first = os.environ["RANK"] == "0"
    if not first:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        run(config)
        return 0
    except (ConfigError, RunFailed) as error:
        if first:  # the others say the same
            print(f"error: {error}", file=sys.stderr)
        return REFUSED if isinstance(error, ConfigError) else FAILED


def _end_with_the_launcher() -> None:
    """Standard input ends when the launcher does, however it was ended."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _end(code: int) -> NoReturn:
    """End a failed rank without tidying up: threads that wait for other ranks don't survive that."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    try:
        exit_code = main()
    except Interrupted as stop:
        exit_code = int(stop.code or 0)
    except Exception:
        traceback.print_exc()
        exit_code = FAILED
    if exit_code != 0:
        _end(exit_code)
