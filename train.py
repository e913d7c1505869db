"""Train one network, or a sweep of them: `python train.py --help` tells how."""

import sys

from rotlab.cli.train import run_overrides

if __name__ == "__main__":
    sys.exit(run_overrides())
