"""Reads W&B's local record of a run back: what `wandb sync` would upload.

The file is LevelDB's log format after a header of 7 bytes: blocks of 32 KiB, in them chunks of (checksum,
length, kind) and payload; the payloads up to one of kind FULL or LAST are a serialized `Record`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import wandb
from wandb.proto import wandb_internal_pb2

HEADER_BYTES = 7
BLOCK_BYTES = 32 * 1024
CHUNK = struct.Struct("<IHB")
FULL, LAST = 1, 4


@dataclass
class WandbRecord:
    """One W&B run as it stands on disk. exit_code is None where the run was never finished."""

    path: Path
    id: str = ""
    name: str = ""
    project: str = ""
    group: str = ""
    tags: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    step_metrics: dict[str, str] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    tables: list[Path] = field(default_factory=list)
    exit_code: int | None = None

    @property
    def offline(self) -> bool:
        return self.path.parent.name.startswith("offline-run-")

    def series(self, name: str) -> list[tuple[int, Any]]:
        """(step, value) of a metric, in the order of logging."""
        return [(row["step"], row[name]) for row in self.history if name in row]


def read_runs(directory: Path) -> list[WandbRecord]:
    """Every W&B run under a directory, by start time; one continued offline is there once a start.

    Ends this process's W&B service first, which writes the last records after `run.finish()` has returned.
    """
    wandb.teardown()
    return [read_run(path) for path in sorted(directory.rglob("*.wandb"), key=lambda path: path.parent.name)]


def read_run(path: Path) -> WandbRecord:
    """Read one .wandb file; a torn last record is left out."""
    run = WandbRecord(path)
    for payload in _payloads(path.read_bytes()):
        record = wandb_internal_pb2.Record()  # type: ignore[attr-defined]
        record.ParseFromString(payload)
        _apply(record, run)
    return run


def _payloads(data: bytes) -> Iterator[bytes]:
    assert data[:4] == b":W&B", "not a W&B file"
    position, payload = HEADER_BYTES, b""
    while position + CHUNK.size <= len(data):
        left_in_block = BLOCK_BYTES - position % BLOCK_BYTES
        if left_in_block < CHUNK.size:
            position += left_in_block
            continue
        _, length, kind = CHUNK.unpack_from(data, position)
        payload += data[position + CHUNK.size : position + CHUNK.size + length]
        position += CHUNK.size + length
        if kind in (FULL, LAST) and position <= len(data):
            yield payload
            payload = b""


def _apply(record: Any, run: WandbRecord) -> None:
    kind = record.WhichOneof("record_type")
    if kind == "run":
        run.id, run.name, run.project = record.run.run_id, record.run.display_name, record.run.project
        run.group, run.tags = record.run.run_group, list(record.run.tags)
        run.config.update(_values(record.run.config.update))
    elif kind == "config":
        run.config.update(_values(record.config.update))
    elif kind == "metric":
        run.step_metrics[record.metric.glob_name or record.metric.name] = record.metric.step_metric
    elif kind == "history":
        run.history.append(_values(record.history.item))
    elif kind == "summary":
        run.summary.update(_values(record.summary.update))
    elif kind == "files":
        paths = [run.path.parent / "files" / file.path for file in record.files.files]
        run.tables += [path for path in paths if path.name.endswith(".table.json")]
    elif kind == "exit":
        run.exit_code = record.exit.exit_code
    run.config.pop("_wandb", None)


def _values(items: Iterable[Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in items:
        *parents, last = list(item.nested_key) or [item.key]
        node = values
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = json.loads(item.value_json)
    return values
