"""One run recorded by several tools: each connection once, with the best measurement of each quantity.

Goodput is that of the first tool of `GOODPUT`; windows and events are those of polls, the RTT without queues is that of
a capture. A connection is identified by both addresses and ports. Its tools must have counted the same bytes in the
same time. A flow begins at the same moment for all of them, which aligns the windows of one with the goodput of
another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers.conservation import refuse_other_bytes
from tcpfair.sources.readers.observed import UNKNOWN_CC, Observed, ObservedFlow

GOODPUT = ("iperf3", "pcap", "tshark", "ss", "tcp_info", "tcp_probe")  # best first; of these a folder may have several
WINDOWS = ("ss", "tcp_info", "tcp_probe")
RTT = ("pcap", "tshark")
TOGETHER_S = 1.0  # starts that agree within this, beyond the errors of their clocks, are one
STRAY_SHARE = 0.01  # of the bytes of the largest flow: a separate connection that only one tool recorded


def merged(by_tool: Mapping[str, Observed]) -> Observed:
    """The recordings of one run by several tools of `GOODPUT`, one for each tool, as one."""
    first, *others = (tool for tool in GOODPUT if tool in by_tool)
    flows, remarks = list(by_tool[first].flows), list(by_tool[first].remarks)
    least_bytes = STRAY_SHARE * max(flow.total_bytes[-1] for flow in flows)
    for tool in others:
        left = list(by_tool[tool].flows)
        for place, flow in enumerate(flows):
            twin = next((other for other in left if other.ends == flow.ends and all(flow.ends)), None)
            if twin is None:
                remarks.append(f"{flow.name}: not in the recording of {tool}")
                continue
            left.remove(twin)
            flows[place] = _with(flow, twin, tool)
        stray = next((other for other in left if other.total_bytes[-1] > least_bytes), None)
        if stray:
            raise InputError(
                f"{stray.file}: {stray.name}: a flow that {first} did not record; give its report too, or choose one of "
                f"{', '.join(by_tool)} as format in trace.yaml"
            )
        remarks += by_tool[tool].remarks
    remarks.append(f"one run by {first}, {', '.join(others)}: goodput is that of {first}")
    return Observed(
        backend=first,
        flows=tuple(flows),
        files=tuple(file for each in (first, *others) for file in by_tool[each].files),
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _with(flow: ObservedFlow, twin: ObservedFlow, tool: str) -> ObservedFlow:
    """``flow`` with the recording of the same connection by ``tool``, on the better of both clocks."""
    if UNKNOWN_CC not in (flow.cc, twin.cc) and flow.cc != twin.cc:
        raise InputError(f"{twin.file}: {twin.name}: cc: {twin.cc!r}, but {flow.cc!r} in {flow.file.name}")
    shift_s = flow.start_s - twin.start_s  # from the times of one to those of the other
    better: dict[str, object] = {"cc": twin.cc if flow.cc == UNKNOWN_CC else flow.cc}
    if flow.clock_s is None:
        better["clock_s"] = None if twin.clock_s is None else twin.clock_s - shift_s
        better["clock_error_s"] = twin.clock_error_s
    elif twin.clock_s is not None:
        later_s = twin.clock_s + twin.start_s - flow.clock_s - flow.start_s
        if abs(later_s) > flow.clock_error_s + twin.clock_error_s + TOGETHER_S:
            shift_s += later_s  # one began recording later than the other
        elif twin.clock_error_s < flow.clock_error_s:
            better["clock_s"], better["clock_error_s"] = twin.clock_s - shift_s, twin.clock_error_s
    refuse_other_bytes(flow, twin.times_s + shift_s, twin.total_bytes, f"{twin.file}: {twin.name}")
    if tool in WINDOWS and len(twin.windows):
        better["windows"] = twin.windows.assign(t_s=twin.windows["t_s"] + shift_s)
        better["events"] = twin.events.assign(t_s=twin.events["t_s"] + shift_s)
        better["mss_bytes"] = twin.mss_bytes if twin.mss_bytes > 0 else flow.mss_bytes
    if np.isfinite(twin.rtt_s) and (tool in RTT or not np.isfinite(flow.rtt_s)):
        better["rtt_s"] = twin.rtt_s
    return replace(flow, **better)
