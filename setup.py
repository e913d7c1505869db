"""Puts conf/ into the wheel, as rotlab/conf; everything else about the package stands in pyproject.toml.

The YAML stays at the top of the repository, where a reader looks for it: a checkout and an editable install
read it there.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConf(build_py):
    """`build_py` that also takes every YAML file under conf/."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "rotlab", "conf")
        # An earlier build's folder may hold files that have been renamed since.
        shutil.rmtree(target, ignore_errors=True)
        for source in _conf_files():
            copy = target / source.relative_to("conf")
            self.mkpath(str(copy.parent))
            self.copy_file(str(source), str(copy))

    def get_source_files(self) -> list[str]:
        """What a source distribution needs, so that a wheel can be built from one."""
        return [*super().get_source_files(), *map(str, _conf_files())]


def _conf_files() -> list[Path]:
    return sorted(Path("conf").rglob("*.yaml"))


setup(cmdclass={"build_py": BuildWithConf})
