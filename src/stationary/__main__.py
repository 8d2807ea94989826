"""``python -m stationary`` is the command ``stationary``."""

import sys

from stationary.cli import main

sys.exit(main())
