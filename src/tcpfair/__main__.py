"""``python -m tcpfair``: see tcpfair.cli."""

import sys

from tcpfair.cli import main

sys.exit(main())
