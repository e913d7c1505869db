from __future__ import annotations

import contextlib
import json
import os
import pty
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.loggers import Logger

from rotlab.config import ConfigError
from rotlab.training import wandb_run
from rotlab.training.loggers import MetricsCsv, build_loggers, finishing, log_wrong_samples
from rotlab.training.wandb_run import WandbRun
from tests.training.toy import Recorder, begun, config, fit, log, rows
from tests.wandb_reader import read_runs

ROOT = Path(__file__).parents[2]
FAKE_KEY = "f" * 40


@dataclass
class Wrong:
    type: str
    question: str
    expected: str
    got: str
    position: int


SAMPLES = [Wrong("div", f"GO 7 6 ÷ {digit} =", "1 9 STOP", "1 8 STOP", digit) for digit in range(4)]


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever runs the tests may be logged in to W&B; nothing here may be sent there."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_DIR", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("NETRC", str(home / "netrc"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(home))


class TestMetricsCsv:
    def test_a_line_says_step_name_and_value(self, tmp_path: Path) -> None:
        log([MetricsCsv(tmp_path)], {"train/loss": 1 / 3, "eval/contexts": 12}, 50)
        expected = "step,name,value\n50,train/loss,0.3333333333333333\n50,eval/contexts,12\n"
        assert (tmp_path / "metrics.csv").read_text() == expected

    def test_new_names_leave_earlier_bytes_alone(self, tmp_path: Path) -> None:
        csv = MetricsCsv(tmp_path)
        log([csv], {"train/loss": 1.0}, 1)
        before = csv.path.read_bytes()
        log([csv], {"eval/problem": 0.5, "eval/add/context": 0.9}, 2)
        assert csv.path.read_bytes().startswith(before)
        assert rows(tmp_path) == [
            (1, "train/loss", 1.0),
            (2, "eval/problem", 0.5),
            (2, "eval/add/context", 0.9),
        ]

    def test_opening_again_appends(self, tmp_path: Path) -> None:
        for step in (1, 2):
            log([MetricsCsv(tmp_path)], {"train/loss": 1.0}, step)
        assert [step for step, _, _ in rows(tmp_path)] == [1, 2]

    def test_a_torn_last_line_is_cut_off(self, tmp_path: Path) -> None:
        log([MetricsCsv(tmp_path)], {"train/loss": 1.0}, 1)
        with (tmp_path / "metrics.csv").open("a") as file:
            file.write("2,train/lo")
        log([MetricsCsv(tmp_path)], {"train/loss": 3.0}, 3)
        assert rows(tmp_path) == [(1, "train/loss", 1.0), (3, "train/loss", 3.0)]

    @pytest.mark.parametrize("beginning", ["", "step,na"])
    def test_a_torn_header_is_mended(self, tmp_path: Path, beginning: str) -> None:
        (tmp_path / "metrics.csv").write_text(beginning)
        log([MetricsCsv(tmp_path)], {"train/loss": 1.0}, 1)
        assert rows(tmp_path) == [(1, "train/loss", 1.0)]

    def test_somebody_elses_file_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "metrics.csv").write_text("epoch,loss\n1,2")
        with pytest.raises(ConfigError, match="not a metrics file of rotlab"):
            MetricsCsv(tmp_path)
        assert (tmp_path / "metrics.csv").read_text() == "epoch,loss\n1,2"

    def test_rows_survive_a_process_that_is_killed(self, tmp_path: Path) -> None:
        csv, child = MetricsCsv(tmp_path), os.fork()
        if child == 0:
            log([csv], {"train/loss": 1.0}, 7)
            os.kill(os.getpid(), 9)
        os.waitpid(child, 0)
        assert rows(tmp_path) == [(7, "train/loss", 1.0)]


class TestWandb:
    def test_a_run_is_read_back_whole(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run_dir = tmp_path / "add-4-rot-s0"
        loggers = build_loggers(config(group="night", tags=("a", "b")), run_dir, begun())  # type: ignore[arg-type]
        with finishing(loggers):
            fit(10, [Recorder(every=5, evaluate_every=10)], loggers)
            log(loggers, {"eval/late": 1.0}, 5)
            log_wrong_samples(loggers, SAMPLES, 10, cap=3)
        (run,) = read_runs(tmp_path)
        assert (run.name, run.project, run.group, sorted(run.tags)) == (
            run_dir.name,
            "rotlab-tests",
            "night",
            ["a", "add", "b", "rot", "transformer"],
        )
        assert run.config["recipe"] == {"name": "fast", "betas": [0.9, 0.999]}
        assert run.step_metrics["*"] == "step"
        assert [step for step, _ in run.series("train/loss")] == [5, 10]
        assert run.series("eval/problem") == [(10, 0.5)]
        assert run.series("eval/late") == [(5, 1.0)], "a point behind the last step is dropped"
        assert run.summary["eval/problem"] == 0.5
        assert run.exit_code == 0
        (table,) = run.tables
        assert len(json.loads(table.read_text())["data"]) == 3
        assert run_dir in run.path.parents
        out = capsys.readouterr()
        assert out.out.count("W&B: offline (no key)") == 1
        assert "wandb:" not in out.out + out.err

    def test_the_last_evaluation_is_the_summary(self, tmp_path: Path) -> None:
        """By the metric's own name, which panels and filters use, and not the best one."""
        loggers = build_loggers(config(csv=False), tmp_path / "one", begun())  # type: ignore[arg-type]
        with finishing(loggers):
            for step, accuracy in ((10, 0.9), (20, 0.75)):
                log(loggers, {"eval/problem": accuracy}, step)
        (run,) = read_runs(tmp_path)
        assert (run.summary["eval/problem"], run.summary["step"]) == (0.75, 20)
        assert run.step_metrics["*"] == "step"

    def test_wrong_samples_stand_in_a_file(self, tmp_path: Path) -> None:
        loggers: list[Logger] = [MetricsCsv(tmp_path)]
        log_wrong_samples(loggers, SAMPLES, 10, cap=2)
        log_wrong_samples(loggers, [], 20, cap=2)
        log_wrong_samples(loggers, [{"type": "mul"}], 30, cap=2)
        lines = (tmp_path / "wrong_samples.jsonl").read_text().splitlines()
        assert [json.loads(line)["step"] for line in lines] == [10, 10, 30]
        assert "7 6 ÷ 0" in lines[0], "signs are readable"

    def test_jobs_of_one_process_get_runs_of_their_own(self, tmp_path: Path) -> None:
        failures: list[BaseException | None] = [None, RuntimeError("NaN"), SystemExit(0), SystemExit(3)]
        for number, failure in enumerate(failures):
            loggers = build_loggers(config(), tmp_path / f"job-{number}", begun())  # type: ignore[arg-type]
            passes_through = pytest.raises(type(failure)) if failure else contextlib.nullcontext()
            with passes_through, finishing(loggers):
                log(loggers, {"train/loss": float(number)}, 1)
                if failure:
                    raise failure
        runs = sorted(read_runs(tmp_path), key=lambda run: run.name)
        assert [run.name for run in runs] == [f"job-{number}" for number in range(4)]
        assert [run.exit_code for run in runs] == [0, 1, 0, 1]
        assert [run.series("train/loss") for run in runs] == [[(1, float(number))] for number in range(4)]

    def test_an_open_run_is_not_joined_by_the_next_job(self, tmp_path: Path) -> None:
        first, second = (build_loggers(config(csv=False), tmp_path / name, begun()) for name in "ab")  # type: ignore[arg-type]
        log(second, {"train/loss": 2.0}, 1)
        log(first, {"train/loss": 1.0}, 1)
        with finishing(first + second):
            pass
        assert {run.name: run.series("train/loss") for run in read_runs(tmp_path)} == {
            "a": [(1, 1.0)],
            "b": [(1, 2.0)],
        }

    def test_an_id_is_kept(self, tmp_path: Path) -> None:
        for _ in range(2):
            loggers = build_loggers(config(csv=False), tmp_path, begun("abc12345"))  # type: ignore[arg-type]
            with finishing(loggers):
                assert loggers[0].version == "abc12345"
            time.sleep(1.1)  # wandb names directories by the second
        assert [run.id for run in read_runs(tmp_path)] == ["abc12345", "abc12345"]

    def test_its_failure_is_not_ours(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        class Broken:
            id, dir = "x", str(tmp_path / "files")

            def define_metric(self, *args: Any, **kwargs: Any) -> None: ...

            def log(self, row: dict[str, Any]) -> None:
                raise ConnectionResetError("Connection lost")

        loggers: list[Logger] = [WandbRun(Broken())]  # type: ignore[arg-type]
        with finishing(loggers):
            for step in range(3):
                log(loggers, {"train/loss": 1.0}, step)
                log_wrong_samples(loggers, SAMPLES, step, cap=1)
        assert capsys.readouterr().out.count("W&B: stopped logging (ConnectionResetError: Connection lost)") == 1

    def test_a_start_that_fails_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(**options: Any) -> None:
            raise OSError("no service")

        monkeypatch.setattr("wandb.init", fail)
        assert [type(logger) for logger in build_loggers(config(), tmp_path, begun())] == [MetricsCsv]  # type: ignore[arg-type]
        assert "W&B: not used, it doesn't start (OSError: no service)" in capsys.readouterr().out

    def test_slow_tables_stop(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wandb_run, "SLOW_TABLE_SECONDS", -1.0)
        loggers = build_loggers(config(csv=False), tmp_path, begun())  # type: ignore[arg-type]
        with finishing(loggers):
            for step in (1, 2):
                log_wrong_samples(loggers, SAMPLES, step, cap=1)
                log(loggers, {"train/loss": 1.0}, step)
        (run,) = read_runs(tmp_path)
        assert len(run.tables) == 1
        assert len(run.series("train/loss")) == 2


class TestChoice:
    def test_csv_alone(self, tmp_path: Path) -> None:
        assert [type(logger) for logger in build_loggers(config(enabled=False), tmp_path, begun())] == [MetricsCsv]  # type: ignore[arg-type]

    def test_online_without_a_key_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"mode=online: no key.*wandb login"):
            build_loggers(config(mode="online"), tmp_path, begun())  # type: ignore[arg-type]

    def test_a_malformed_key_means_offline(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("WANDB_API_KEY", "abc")
        with finishing(build_loggers(config(csv=False), tmp_path, begun())):  # type: ignore[arg-type]
            pass
        assert "40+ characters" in capsys.readouterr().out
        assert read_runs(tmp_path)[0].offline


SCRIPT = """
import os, sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[2], sys.argv[2] + "/src"]
from rotlab.training.loggers import build_loggers, finishing, log_wrong_samples
from tests.training.toy import Recorder, begun, config, fit
print("started", time.time(), flush=True)
loggers = build_loggers(config(), Path(sys.argv[1]), begun())
with finishing(loggers):
    fit(10, [Recorder()], loggers)
    log_wrong_samples(loggers, [{"type": "add"}], 10, cap=1)
"""


@dataclass
class Finished:
    run_dir: Path
    returncode: int
    output: str
    seconds: float


def _run(directory: Path, terminal: bool, **environment: str) -> Finished:
    """SCRIPT in a process of its own that knows no W&B account."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    kept |= {"HOME": str(directory), "NETRC": str(directory / "netrc"), "OMP_NUM_THREADS": "1", **environment}
    descriptor, child = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(directory / "run"), str(ROOT)],
        env=kept,
        stdin=child if terminal else subprocess.DEVNULL,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    output = b""
    with contextlib.suppress(OSError):  # Linux' way of saying that a terminal's other side is closed
        while chunk := os.read(descriptor, 4096):
            output += chunk
    os.close(descriptor)
    returncode, ended, text = process.wait(timeout=60), time.time(), output.decode()
    words = next((line.split() for line in text.splitlines() if line.startswith("started")), None)
    assert words is not None, text
    return Finished(directory / "run", returncode, text, ended - float(words[1]))


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run with a key, and the worst network: it accepts connections and never answers."""
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(100)
        url = f"http://127.0.0.1:{hole.getsockname()[1]}"
        return _run(tmp_path_factory.mktemp("key"), False, WANDB_API_KEY=FAKE_KEY, WANDB_BASE_URL=url)


@pytest.fixture(scope="module")
def on_a_terminal(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run without a key, on a terminal."""
    return _run(tmp_path_factory.mktemp("terminal"), True)


class TestProcess:
    @pytest.mark.slow
    def test_a_key_without_a_network_costs_less_than_ten_seconds(
        self, unanswered: Finished, on_a_terminal: Finished
    ) -> None:
        """From before the loggers to the end. The run without a key takes 3 s on an idle machine; on a
        busy one, only the comparison with it is fair.
        """
        assert unanswered.returncode == 0, unanswered.output
        assert "W&B: offline (starting online failed, CommError" in unanswered.output
        assert FAKE_KEY not in unanswered.output
        assert "wandb:" not in unanswered.output
        assert unanswered.seconds - on_a_terminal.seconds < 8

    def test_it_keeps_the_figures_for_a_later_upload(self, unanswered: Finished) -> None:
        run_dir = unanswered.run_dir
        (run,) = read_runs(run_dir.parent)
        assert run.offline
        assert run.exit_code == 0
        assert [step for step, _ in run.series("train/loss")] == [5, 10]
        assert len(run.tables) == 1
        staged = [path for path in run_dir.parent.rglob("staging/*") if run_dir not in path.parents]
        assert not staged, "tables are staged outside the run's directory"

    def test_a_terminal_without_a_key_gets_no_prompt(self, on_a_terminal: Finished) -> None:
        assert on_a_terminal.returncode == 0, on_a_terminal.output
        assert "W&B: offline (no key)" in on_a_terminal.output
