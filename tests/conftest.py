"""For all tests: no account, no home directory of whoever runs them, one thread each."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Before torch and Numba are imported, here or in a process that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"
# Compiled code stays where it is kept for this user, though HOME is another one in the tests.
os.environ.setdefault("ROTLAB_CACHE_DIR", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))

# A shell's background jobs ignore Ctrl-C, those under nohup a hang-up, and so would the runs that the tests interrupt.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# The first call of a compiled function takes its time. The same examples in every run: what passes, passes.
settings.register_profile("rotlab", deadline=None, derandomize=True)
settings.load_profile("rotlab")


@pytest.fixture(autouse=True, scope="session")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that a test logs may go to the W&B account of whoever runs it, or be left in their home."""
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith(("WANDB_", "XDG_"))]:
            environment.delenv(name)
        home = tmp_path_factory.mktemp("home")
        environment.setenv("HOME", str(home))
        environment.setenv("NETRC", str(home / "netrc"))
        yield
