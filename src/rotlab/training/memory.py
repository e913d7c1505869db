"""How much memory a run holds."""

from __future__ import annotations

import os
from pathlib import Path

import torch

_MIB = 2**20
_STATM = Path("/proc/self/statm")


def memory_figures(device: torch.device) -> dict[str, float]:
    """memory/process_mib: what this process holds now (on Linux); memory/device_mib: a GPU's peak, in MiB."""
    figures = {}
    if _STATM.exists():
        pages = int(_STATM.read_text().split()[1])
        figures["memory/process_mib"] = pages * os.sysconf("SC_PAGE_SIZE") / _MIB
    if device.type == "cuda":
        figures["memory/device_mib"] = torch.cuda.max_memory_allocated(device) / _MIB
    return figures
