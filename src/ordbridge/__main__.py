"""``python -m ordbridge``: the command line."""

import sys

from ordbridge.cli import main

sys.exit(main())
