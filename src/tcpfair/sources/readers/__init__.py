"""Readers of other tools' recordings: each module has ``sniff(path) -> bool`` and ``read(path) -> Trace``.

`read_any` picks the module. What a reader cannot know it leaves NaN or empty; what it finds damaged, missing or
contradictory it refuses with an InputError of one line.
"""

from __future__ import annotations

from pathlib import Path

from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError
from tcpfair.sources.readers import iperf3, tcp_info, testbed

# a testbed run is a folder of iperf3 reports too, so it is asked first
READERS = (testbed, iperf3, tcp_info)


def read_any(path: Path) -> Trace:
    """The recording at ``path``, a file or a folder, by the first reader that knows it.

    Raises InputError when there is nothing at ``path``, when no reader knows it, and whatever its reader raises.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    for reader in READERS:
        if reader.sniff(path):
            return reader.read(path)
    raise InputError(f"{path}: no reader knows it; accepted are {'; '.join(reader.ACCEPTS for reader in READERS)}")
