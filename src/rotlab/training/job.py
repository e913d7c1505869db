"""What stays the same while a run is worked on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rotlab.config import Config
from rotlab.data.module import RotDataModule
from rotlab.data.ranks import Ranks
from rotlab.models import Backbone
from rotlab.training.interruption import Interruption
from rotlab.training.manifest import Manifest


@dataclass(frozen=True)
class Job:
    """One process's part in a run. data and backbone are ready before anything is written."""

    config: Config
    directory: Path
    device: str
    ranks: Ranks
    data: RotDataModule
    backbone: Backbone
    interruption: Interruption

    def write(self, manifest: Manifest) -> None:
        """Replace the directory's manifest."""
        if self.ranks.first:
            manifest.write(self.directory)
