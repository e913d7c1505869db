"""Training on one device in this process, or on several with a process for each, which this one looks after."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial

import torch

from rotlab.config import Config, ConfigError
from rotlab.training.run import run
from rotlab.training.signals import passed_on
from rotlab.training.together import STARTED

# So long may the others take to end by themselves once one has.
GRACE_SECONDS = 20.0
_POLL_SECONDS = 0.2


def train(config: Config) -> None:
    """Train as configured. Raises what `run` raises; SystemExit where one of several processes failed."""
    size = devices_of(config)
    require_slurm_agrees(size)
    if size == 1:
        run(config)
        return
    code = _look_after(_started(config, size))
    if code != 0:
        raise SystemExit(code)


def devices_of(config: Config) -> int:
    """How many devices a configuration asks for. Raises ConfigError where there are fewer."""
    wanted, accelerator = config.trainer.devices, config.trainer.accelerator
    there = torch.cuda.device_count() if accelerator != "cpu" and torch.cuda.is_available() else 0
    if wanted == "auto":
        return max(1, there)
    if there and wanted > there:
        raise ConfigError(f"trainer.devices={wanted}, but {there} GPUs are visible: write trainer.devices={there}")
    return wanted


def require_slurm_agrees(size: int) -> None:
    """Raise ConfigError where SLURM has made room for another number of processes than the run will start."""
    tasks = os.environ.get("SLURM_NTASKS")
    if not tasks or os.environ.get("SLURM_JOB_NAME") in ("bash", "interactive") or (tasks == "1" and size == 1):
        return
    raise ConfigError(
        f"SLURM_NTASKS={tasks} contradicts trainer.devices={size}: rotlab starts a process for each device by itself; "
        "ask SLURM for one task with that many GPUs or cores, and unset SLURM_NTASKS in the job's script"
    )


def _started(config: Config, size: int) -> list[subprocess.Popen[str]]:
    """A process for each rank, which reads the configuration from its standard input and notes when that ends."""
    given = json.dumps(config.to_dict()) + "\n"
    shared = {**os.environ, "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    if config.trainer.threads is None:
        shared.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // size)))
    processes = []
    for rank in range(size):
        environment = {**shared, STARTED: "1", "RANK": str(rank), "LOCAL_RANK": str(rank), "NODE_RANK": "0"}
        process = subprocess.Popen(
            [sys.executable, "-m", "rotlab.training.rank"], env=environment, stdin=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()
        processes.append(process)
    return processes


def _look_after(processes: list[subprocess.Popen[str]]) -> int:
    """Wait until all have ended; one that fails ends the others. The first failure's exit code, or 0."""
    code, deadline, killed = 0, float("inf"), set[int]()
    with passed_on(partial(_send, processes)):
        while None in (codes := [process.poll() for process in processes]):
            failed = [ended for ended in codes if ended]
            if failed and code == 0:
                code, deadline = failed[0], time.monotonic() + GRACE_SECONDS
                _send(processes, signal.SIGTERM)
            if time.monotonic() > deadline:
                # Whoever waits for a rank that is gone hears nothing else.
                killed |= set(_send(processes, signal.SIGKILL))
            time.sleep(_POLL_SECONDS)
    for rank, process in enumerate(processes):
        if process.returncode < 0 and rank not in killed:
            name = signal.Signals(-process.returncode).name
            print(f"error: the process of device {rank} was ended by {name}, and with it the run", file=sys.stderr)
    code = code or next((one.returncode for one in processes if one.returncode != 0), 0)
    return code if code >= 0 else 128 - code


def _send(processes: list[subprocess.Popen[str]], number: int) -> list[int]:
    """Send a signal to all that live; the ranks of those."""
    alive = [rank for rank, process in enumerate(processes) if process.poll() is None]
    for rank in alive:
        processes[rank].send_signal(number)
    return alive


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
