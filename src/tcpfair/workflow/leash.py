"""Runs a command that does not outlive who started it: ``python leash.py COMMAND...`` with a pipe as its standard input.

The other end of the pipe is held by the process that waits for the command. When that process is gone, however it ended, the
pipe says so, and the command is ended with all that it started: asked first, so that what is finished is kept. Until then the
leash, which is given the locks of the run, holds them. When the command is killed, what it started is asked to end too. The
leash has to be the first of its process group; it imports the standard library alone, as it runs beside every workflow.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

_GRACE_S = 10.0  # between asking and ending


def main(command: list[str]) -> int:
    """Run ``command``; its exit status."""
    for name in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # meant for the command, which has them too; reset in it, as it is started
        signal.signal(name, lambda number, frame: None)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        threading.Thread(target=_watch, args=(process,), daemon=True).start()
        status = process.wait()
    if status < 0:  # killed: its steps work on for nobody, and are asked to end
        os.killpg(0, signal.SIGTERM)
    return 128 - status if status < 0 else status


def _watch(process: subprocess.Popen) -> None:
    """End the whole process group when standard input ends."""
    while os.read(0, 1024):
        pass
    if process.poll() is not None:
        return
    os.killpg(0, signal.SIGTERM)
    began_s = time.monotonic()
    while process.poll() is None and time.monotonic() - began_s < _GRACE_S:
        time.sleep(0.1)
    time.sleep(0.5)  # steps end a little later than what started them
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
