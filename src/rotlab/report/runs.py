"""Runs as their directories tell: manifest.json, metrics.csv and wrong_samples.jsonl, and nothing heavier."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rotlab.config.status import DOES_NOT_FIT, FINISHED
from rotlab.training.manifest import NAME, Manifest, read_manifest

METRICS, SAMPLES = "metrics.csv", "wrong_samples.jsonl"
_HEADER = "step,name,value"
# The end of a run's name: see config.identity.
_RUN_NAME = re.compile(r"-s\d+-[0-9a-f]{8}$")

Curves = Mapping[str, Sequence[tuple[int, float]]]


@dataclass(frozen=True)
class Run:
    """One readable run. label: its directory as the user would write it; curves: (step, value) by name, in order of
    steps; samples: the wrong samples of its last evaluation that has some; settings: its configuration, flat.
    """

    label: str
    directory: Path
    manifest: Manifest
    task: str
    sampling: str
    difficulty: int
    method: str
    architecture: str
    context_limit: int
    seed: int
    settings: Mapping[str, Any]
    curves: Curves
    samples: Sequence[Mapping[str, Any]]

    @property
    def finished(self) -> bool:
        """Whether it counts in the means."""
        return self.manifest.status == FINISHED and self.manifest.accuracy is not None

    @property
    def fits(self) -> bool:
        """Whether it is a run at all: a sweep notes a cell whose contexts don't fit as one."""
        return self.manifest.status != DOES_NOT_FIT

    @property
    def training(self) -> str:
        """Recipe and steps where they aren't the paper's; empty where they are."""
        recipe, steps = self.settings.get("recipe.name"), self.manifest.max_steps
        its_own = (recipe, steps) != ("paper", self.settings.get("architecture.paper_schedule.max_steps"))
        return f"recipe={recipe}, {steps:,} steps" if its_own else ""

    @property
    def standing(self) -> str:
        """Status and step, as in `interrupted at step 400 of 1,000 (SIGTERM)`."""
        one = self.manifest
        reason = f" ({_one_line(one.reason)})" if one.reason else ""
        return f"{one.status} at step {one.step:,} of {one.max_steps:,}{reason}"


@dataclass(frozen=True)
class Problem:
    """A directory that is left out, or something in it, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class Collection:
    """What lies below the given directories: runs and problems, in the order of their labels."""

    runs: tuple[Run, ...]
    problems: tuple[Problem, ...]


def collect(directories: Iterable[Path]) -> Collection:
    """The runs below `directories`; those missing, damaged or there twice are problems.

    Of runs of one name the finished one stays, else the one that came furthest, else the first by label. Raises
    ValueError where there is no run at all.
    """
    given = list(directories)
    found: list[Run] = []
    problems = [Problem(str(one), "there is no such directory") for one in given if not one.is_dir()]
    for label, directory in _run_directories(one for one in given if one.is_dir()):
        try:
            run, faults = _read(label, directory)
        except ValueError as error:
            problems.append(Problem(label, _one_line(str(error))))
        else:
            found.append(run)
            problems += faults
    kept, twice = _without_twins(found)
    problems = sorted(problems + twice, key=lambda problem: (problem.label, problem.reason))
    if not kept:
        named = "".join(f"; {problem.label}: {problem.reason}" for problem in problems)
        raise ValueError(f"no run below {', '.join(map(str, given))}: name directories that hold runs{named}")
    return Collection(tuple(kept), tuple(problems))


def _run_directories(given: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Label and path of each directory that is, or was meant as, a run; none twice. Links aren't followed."""
    seen = set()
    for top in given:
        for name, folders, files in os.walk(top):
            folders.sort()
            directory = Path(name)
            if not ({NAME, METRICS} & set(files) or _RUN_NAME.search(directory.resolve().name)):
                continue
            folders.clear()
            if directory.resolve() not in seen:
                seen.add(directory.resolve())
                yield directory.as_posix(), directory


def _without_twins(runs: Sequence[Run]) -> tuple[list[Run], list[Problem]]:
    best: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: (not run.finished, -run.manifest.step, run.label)):
        best.setdefault(run.manifest.name, run)
    kept = sorted(best.values(), key=lambda run: run.label)
    twice = [run for run in runs if best[run.manifest.name] is not run]
    return kept, [Problem(run.label, f"the same run as {best[run.manifest.name].label}, which counts") for run in twice]


def _read(label: str, directory: Path) -> tuple[Run, list[Problem]]:
    """The run in a directory, and what of it is not to be had. Raises ValueError for a missing or damaged one."""
    try:
        manifest = read_manifest(directory)
    except ValueError as error:
        # The message names the path as this machine has it.
        raise ValueError(str(error).replace(str(directory / NAME), NAME)) from error
    if manifest is None:
        raise ValueError(f"{NAME} is missing")
    curves = _curves(directory / METRICS, manifest)
    problems = []
    try:
        samples = _samples(directory / SAMPLES)
    except ValueError as error:
        samples, problems = [], [Problem(label, f"{SAMPLES} can't be read ({error}); the run counts all the same")]
    return _run(label, directory, manifest, curves, samples), problems


def _run(
    label: str, directory: Path, manifest: Manifest, curves: Curves, samples: Sequence[Mapping[str, Any]]
) -> Run:  # fmt: skip
    config = manifest.config
    try:
        task, architecture, method = config["task"], config["architecture"], config["method"]
        names = (task["name"], task["sampling"], method["name"], architecture["name"])
        numbers = (config["difficulty"], architecture["context_limit"], config["seed"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{NAME} describes no run (its configuration lacks {error})") from error
    # Names become parts of file names.
    if not (all(re.fullmatch(r"[\w-]+", str(one)) for one in names) and all(isinstance(one, int) for one in numbers)):
        raise ValueError(f"{NAME} describes no run (its configuration holds {names + numbers})")
    if not all(0 <= one["right"] <= one["problems"] for one in manifest.evaluations):
        raise ValueError(f"{NAME} has more right problems than problems")
    return Run(
        label, directory, manifest, task=names[0], sampling=names[1], difficulty=numbers[0], method=names[2],
        architecture=names[3], context_limit=numbers[1], seed=numbers[2], settings=dict(_flat(config)), curves=curves,
        samples=samples,
    )  # fmt: skip


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _curves(path: Path, manifest: Manifest) -> Curves:
    """A run's figures. A torn last line, which a crash leaves, is no figure."""
    if not path.exists():
        if not manifest.evaluations or not dict(_flat(manifest.config)).get("logger.csv", True):
            return {}
        raise ValueError(f"{METRICS} is missing")
    try:
        lines = _whole_lines(path)
        if lines[:1] not in ([_HEADER], []):
            raise ValueError(f"its first line is {lines[0][:80]!r}, not {_HEADER!r}")
        rows = [line.split(",", 2) for line in lines[1:]]
        curves: dict[str, dict[int, float]] = {}
        for step, name, value in rows:
            curves.setdefault(name, {})[int(step)] = float(value)
    except (ValueError, OSError) as error:
        raise ValueError(f"{METRICS} can't be read ({_one_line(str(error))})") from error
    return {name: sorted(curve.items()) for name, curve in sorted(curves.items())}


def _samples(path: Path) -> list[dict[str, Any]]:
    """The wrong samples of the last step that has some."""
    if not path.exists():
        return []
    try:
        samples = [json.loads(line) for line in _whole_lines(path)]
        last = max((sample["step"] for sample in samples), default=None)
        return [{key: str(value) for key, value in one.items()} for one in samples if one["step"] == last]
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise ValueError(f"{type(error).__name__}: {_one_line(str(error))}") from error


def _whole_lines(path: Path) -> list[str]:
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1].decode().splitlines()


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:200]}..."
