"""How the workflow talks to the kernels of notebooks: through sockets in a folder of its own, which no network reaches.

Over TCP, as is the default, a kernel answers on ports of the machine, and without a loopback interface not at all.
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
    """Settings for ``papermill.execute_notebook`` that hold within the block; none where temporary folders lie too deep."""
    folder = Path(tempfile.mkdtemp(prefix="tcpfair-"))
    place = str(folder / "kernel")
    try:
        if len(os.fsencode(place + _NUMBER)) > _LONGEST_BYTES:
            yield {}
        else:
            yield {"config": Config({"KernelManager": {"transport": "ipc", "ip": place}})}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
