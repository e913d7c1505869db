"""A process that another one has started to train: it reads its configuration, and ends when the other does."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable

from rotlab.config import Config, ConfigError, RunFailed, from_dict
from rotlab.config.sweep import FAILED, REFUSED


def serve(train: Callable[[Config], object], told: bool = True) -> None:
    """Train as standard input says and end the process if that fails. told: what is refused is said on standard error.

    A failed process ends without tidying up: threads that wait for other ranks don't survive that.
    """
    code = _code(train, told)
    if code != 0:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _code(train: Callable[[Config], object], told: bool) -> int:
    config = from_dict(json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_the_launcher, daemon=True).start()
    try:
        train(config)
        return 0
    except (ConfigError, RunFailed) as error:
        if told:
            print(f"error: {error}", file=sys.stderr)
        return REFUSED if isinstance(error, ConfigError) else FAILED
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FAILED if stop.code else 0
    except KeyboardInterrupt:  # before the run listens itself
        return 128 + signal.SIGINT
    except Exception:
        traceback.print_exc()
        return FAILED


def _end_with_the_launcher() -> None:
    """Standard input ends when the launcher does, however it was ended."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)
