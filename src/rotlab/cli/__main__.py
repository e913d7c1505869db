"""`python -m rotlab.cli` is `rotlab`."""

import sys

from rotlab.cli import main

sys.exit(main())
