"""A run in Weights & Biases: online with a key, else offline; never a prompt, never the end of a training.

wandb is imported where it is used, as its import takes a second.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotlab.config import ConfigError, cell_name
from rotlab.training.quiet_logger import QuietLogger, announce

if TYPE_CHECKING:
    import wandb

    from rotlab.config import Config

# What W&B may cost where the network is dead: a start that fails (beside two starts of its service, so that
# 10 s are kept on a busy machine), and an end that can't upload.
START_SECONDS = 4.0
FINISH_SECONDS = 10.0
# With a dead network, wandb 0.31 blocks the caller for 19 s on each table; one such wait is enough.
SLOW_TABLE_SECONDS = 5.0


class WandbRun(QuietLogger):
    """One W&B run, which never ends ours: when W&B fails, one line says so and training goes on without it.

    Not Lightning's WandbLogger: that one joins a run left open by an earlier job, sets WANDB_MODE for the
    whole process, turns nested configuration into text, lets errors of W&B through, and never finishes a run.
    """

    def __init__(self, run: wandb.Run, known: Collection[tuple[int, str]] = ()) -> None:
        """known: steps and names of figures that the run has already, which are not sent again."""
        super().__init__()
        self.known = known
        self._run: wandb.Run | None = run
        self._id = run.id
        self._files = Path(run.dir).parent
        self._tables = True
        # A step of our own and not run.log's: W&B drops a row whose step is older than the last one logged.
        # No summary=: that of a metric is its last value already, and summary="last" moves it to eval/problem.last.
        run.define_metric("step")
        run.define_metric("*", step_metric="step")

    @property
    def version(self) -> str:
        """W&B's id of the run; `build_loggers(..., wandb_id=...)` continues it."""
        return self._id

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        assert step is not None, "metrics are logged with their optimizer step"
        fresh = {name: value for name, value in metrics.items() if (step, name) not in self.known}
        if fresh:
            self._log({**fresh, "step": step})

    def log_samples(self, samples: Sequence[dict[str, Any]], step: int) -> None:
        import wandb

        if not samples or not self._tables or (step, "eval/problem") in self.known:
            return
        columns: list[str | int] = list(samples[0])
        rows = [list(sample.values()) for sample in samples]
        started = time.monotonic()
        with _data_directory(self._files):
            self._log({"eval/wrong_samples": wandb.Table(columns=columns, data=rows), "step": step})
        if time.monotonic() - started > SLOW_TABLE_SECONDS:
            self._tables = False
            announce("W&B: the network is slow, no more tables of wrong samples are sent")

    def finish(self, exit_code: int) -> None:
        """End the run, failed unless exit_code is 0; waits FINISH_SECONDS at most. Idempotent."""
        run, self._run = self._run, None
        if run is None:
            return
        try:
            run.finish(exit_code=exit_code)
        except Exception as error:  # see _log
            announce(f"W&B: the end wasn't sent ({_one_line(error)}); later: wandb sync {self._files}")

    def _log(self, row: dict[str, Any]) -> None:
        if self._run is None:
            return
        try:
            self._run.log(row)
        except Exception as error:  # wandb raises whatever its service process, sockets and parsers raise
            self._run = None
            announce(f"W&B: stopped logging ({_one_line(error)}); what came before is in {self._files}")


def require_key(config: Config) -> None:
    """Raise ConfigError where logger.wandb.mode=online and there is no key."""
    if config.logger.wandb.enabled and config.logger.wandb.mode == "online":
        wandb_mode("online")


def start_wandb(config: Config, run_dir: Path, wandb_id: str | None) -> wandb.Run | None:
    """Start a W&B run, offline where online isn't possible; None where W&B is disabled or broken.

    Raises ConfigError where logger.wandb.mode=online and there is no key.
    """
    # Else wandb 0.31 waits at exit, 12 to 20 s for its own error reports, where the network swallows packets.
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    import wandb

    chosen = config.logger.wandb
    options: dict[str, Any] = {
        "project": chosen.project,
        "name": run_dir.name,
        "group": chosen.group or cell_name(config),
        "tags": _tags(config),
        "dir": run_dir,
        "config": config.to_dict(),
        "id": wandb_id or secrets.token_hex(4),
        "resume": "allow" if wandb_id else None,
        "reinit": "create_new",
    }
    try:
        mode, reason = wandb_mode(chosen.mode)
        if mode == "disabled":
            return None
        if mode == "online":
            try:
                run = wandb.init(mode="online", settings=_wandb_settings(), **options)
                announce(f"W&B: {run.url}")
                return run
            except Exception as error:  # no network, a refused key, a broken proxy
                reason = f"starting online failed, {_one_line(error)}"
                _forget_start(run_dir, options["id"])
        run = wandb.init(mode="offline", settings=_wandb_settings(), **options)
    except ConfigError:
        raise
    except Exception as error:  # see WandbRun._log
        announce(f"W&B: not used, it doesn't start ({_one_line(error)})")
        return None
    announce(f"W&B: offline ({reason}); to upload later: wandb sync {Path(run.dir).parent}")
    return run


def _tags(config: Config) -> list[str]:
    """The user's (a preset's name among them), then what the run is."""
    kinds = (config.task.name, config.method.name, config.architecture.name)
    return list(dict.fromkeys([*config.logger.wandb.tags, *kinds]))


def _forget_start(run_dir: Path, wandb_id: str) -> None:
    """Undo an online start that failed, so that the run can start offline under the same id."""
    import wandb

    # wandb's service process holds the id until it ends.
    wandb.teardown()
    wandb.setup(wandb.Settings(silent=True))
    # `wandb sync --sync-all` would upload what is left of it as a run of its own.
    for leftover in (run_dir / "wandb").glob(f"run-*-{wandb_id}"):
        shutil.rmtree(leftover, ignore_errors=True)


def wandb_mode(requested: str) -> tuple[str, str]:
    """online, offline or disabled, and why. WANDB_MODE counts where auto is requested."""
    import wandb

    # Global, as the messages of logging in heed no other setting.
    environment = wandb.setup(wandb.Settings(silent=True)).settings.mode
    if requested == "offline":
        return "offline", "logger.wandb.mode=offline"
    if environment != "online":
        if requested == "online":
            raise ConfigError(f"logger.wandb.mode=online contradicts WANDB_MODE={environment}: unset one")
        return ("disabled" if environment == "disabled" else "offline"), f"WANDB_MODE={environment}"
    try:
        found, reason = wandb.login(prompt=False, verify=False), "no key"
    except wandb.errors.AuthenticationError as error:
        found, reason = False, _one_line(error)
    if not found and requested == "online":
        raise ConfigError(
            f"logger.wandb.mode=online: {reason}: run `wandb login`, set WANDB_API_KEY, or write mode=auto"
        )
    return ("online", "") if found else ("offline", reason)


def _wandb_settings() -> wandb.Settings:
    """Silent, and with an end; the console stays ours, as capturing it garbles a live progress line."""
    import wandb

    return wandb.Settings(
        silent=True,
        console="off",
        init_timeout=START_SECONDS,
        finish_timeout=FINISH_SECONDS,
        finish_timeout_raises=True,
    )


@contextmanager
def _data_directory(path: Path) -> Iterator[None]:
    """Let wandb stage a table's files in `path`, not in the home directory; only the variable says where."""
    before = os.environ.get("WANDB_DATA_DIR")
    os.environ["WANDB_DATA_DIR"] = str(path / "data")
    try:
        yield
    finally:
        if before is None:
            del os.environ["WANDB_DATA_DIR"]
        else:
            os.environ["WANDB_DATA_DIR"] = before


def _one_line(error: BaseException) -> str:
    first = str(error).strip().partition("\n")[0].replace("<no message>", "").strip()
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
