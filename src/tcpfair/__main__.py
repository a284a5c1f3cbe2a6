"""``python -m tcpfair``: see tcpfair.workflow.cli."""

import sys

from tcpfair.workflow.cli import main

sys.exit(main())
