"""The error for a file that no reader recognises: its probable tool, and the shortest table to convert it to."""

from __future__ import annotations

import re
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.sources.readers.text import head_bytes

SMALLEST_TABLE = "time,flow,bytes\n1,a,1250000\n2,a,1180000\n"
_LOOKS_LIKE = (
    (rb"\A\s*\Z", "an empty file"),
    (rb"\APK\x03\x04", "a spreadsheet or zip archive"),
    (rb"\A(?:%PDF|\x89PNG|\xff\xd8\xff|<svg)", "a figure, without its numbers"),
    (
        rb"\A(?:\x93NUMPY|\x89HDF|MATLAB|\x80[\x02-\x05]|SQLite format)",
        "numbers that numpy, Matlab or a database saved",
    ),
    (rb"\A\s*<(?:!DOCTYPE|html)", "a web page"),
    (rb"Client connecting to|Server listening on (?:TCP|UDP) port", "iperf2's text"),
    (rb'"qlog_version"', "a qlog of QUIC"),
    (rb"MIGRATED TCP|Interim result:", "netperf's text"),
    (rb"nuttcp", "nuttcp's text"),
    (rb"^Attaching \d+ probe", "bpftrace's text"),
    (rb"^\d[\d:.]* IP6? \S+ > ", "tcpdump's text; write the capture itself with tcpdump -w"),
    (rb'"(?:TCPInfo|AppInfo|BBRInfo)"', "a result of NDT7"),
    (rb"cwnd:\d", "ss without the lines of its sockets; scripts/poll_ss.sh writes good ones"),
    (rb"\A\s*[{\[]", "JSON of another tool"),
    (rb"\A[-+.\d\seE,;]+$", "a table of numbers whose columns have no names"),
)


def refusal(file: Path, sidecar: str) -> InputError:
    """The error for ``file``, in one line; ``sidecar`` is the name of its trace.yaml."""
    begin = head_bytes(file)
    words = next((words for pattern, words in _LOOKS_LIKE if re.search(pattern, begin, re.MULTILINE)), "")
    return InputError(
        f"{file}: no reader recognises it{f' (it looks like {words})' if words else ''}; give the tool's own output "
        f"(data/raw/README.md lists the formats), or a table such as {' / '.join(SMALLEST_TABLE.split())}: "
        f"a line for each flow and interval, which ends at time (s); `columns:` in {sidecar} states other names"
    )
