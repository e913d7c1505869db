"""One of several processes that train a run together: `python -m rotlab.training.rank`, started by `launch`."""

from __future__ import annotations

import os
import sys

from rotlab.training.run import run
from rotlab.training.started import serve

if __name__ == "__main__":
    first = os.environ["RANK"] == "0"
    if not first:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    serve(run, told=first)  # the others would say the same
