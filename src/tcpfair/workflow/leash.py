"""Runs a command that does not outlive who started it: ``python leash.py COMMAND...`` with a pipe as its standard input.

The other end of the pipe is held by the process that waits for the command. When that process is gone, however it ended, the
pipe closes, and the command is ended with all that it started: first by SIGTERM, so that what is finished is kept. Until then
the leash, which is given the locks of the run, holds them. When the command is killed, what it started is asked to end too.

The leash may be killed as well. It is therefore two processes, each of which ends the group when the other is gone. If both
are killed, Linux sends SIGTERM to the command. The leash has to be the first of its process group; it imports the standard
library alone, as it runs beside every workflow.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

_GRACE_S = 10.0  # between SIGTERM and SIGKILL
_PR_SET_PDEATHSIG = 1  # of Linux' prctl


def main(command: list[str]) -> int:
    """Run ``command``; its exit status."""
    for name in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # meant for the command, which has them too; reset in it, as it is started
        signal.signal(name, lambda number, frame: None)
    first_lives, of_first = os.pipe()
    second = os.fork()
    if second == 0:
        os.close(of_first)
        return _run(command, first_lives)
    os.close(first_lives)
    _, status = os.waitpid(second, 0)
    if os.WIFSIGNALED(status):
        os.killpg(0, signal.SIGTERM)
        time.sleep(_GRACE_S)
        os.killpg(0, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


def _run(command: list[str], first_lives: int) -> int:
    """Run ``command`` until it ends, or the starter (standard input) or the first process of the leash is gone."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_tied()) as process:
        for descriptor in (0, first_lives):
            threading.Thread(target=_watch, args=(process, descriptor), daemon=True).start()
        status = process.wait()
    if status < 0:  # killed: its steps work on for nobody, and are asked to end
        os.killpg(0, signal.SIGTERM)
    return 128 - status if status < 0 else status


def _tied() -> Callable[[], None] | None:
    """A function for a new process: the system sends it SIGTERM when this process has been killed. None elsewhere."""
    if sys.platform != "linux":
        return None
    prctl, leash = ctypes.CDLL(None).prctl, os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != leash:  # killed before
            os.kill(os.getpid(), signal.SIGTERM)

    return tie


def _watch(process: subprocess.Popen, descriptor: int) -> None:
    """End the whole process group when a pipe closes."""
    while os.read(descriptor, 1024):
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
