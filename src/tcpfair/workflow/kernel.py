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

_RUNTIME = "JUPYTER_RUNTIME_DIR"
_NAME = "kernel-00000000-0000-0000-0000-000000000000-ipc-5"  # of a socket; where it stands comes before
_LONGEST_BYTES = 100  # of a socket's path; Linux takes 107, macOS 103


@contextmanager
def sockets() -> Iterator[dict[str, Any]]:
    """Settings for ``papermill.execute_notebook`` that hold within the block; none where temporary folders lie too deep."""
    folder = Path(tempfile.mkdtemp(prefix="tcpfair-"))
    before = os.environ.get(_RUNTIME)
    try:
        if len(os.fsencode(folder / _NAME)) > _LONGEST_BYTES:
            yield {}
            return
        os.environ[_RUNTIME] = str(folder)
        yield {"config": Config({"KernelManager": {"transport": "ipc"}})}
    finally:
        if before is None:
            os.environ.pop(_RUNTIME, None)
        else:
            os.environ[_RUNTIME] = before
        shutil.rmtree(folder, ignore_errors=True)
