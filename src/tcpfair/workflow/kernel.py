"""Connections to the kernels of notebooks through Unix sockets in a private folder, out of reach of any network.

Over TCP, the default, a kernel listens on ports of the machine and needs a loopback interface.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from traitlets.config import Config

_LONGEST_BYTES = 100  # of a socket's path; Linux takes 107, macOS 103
_NUMBER = "-5"  # a kernel has five sockets


@contextmanager
def sockets() -> Iterator[dict[str, Any]]:
    """Settings for ``papermill.execute_notebook`` within the block; none if the path of temporary folders is too long."""
    folder = Path(tempfile.mkdtemp(prefix="tcpfair-"))
    place = str(folder / "kernel")
    try:
        if len(os.fsencode(place + _NUMBER)) > _LONGEST_BYTES:
            yield {}
        else:
            yield {"config": Config({"KernelManager": {"transport": "ipc", "ip": place}})}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
