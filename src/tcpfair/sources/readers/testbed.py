"""One run of the testbed: a dumbbell of Linux network namespaces, as a folder.

``meta.json``           the run: rate, RTTs, algorithms, start times, buffer, wall clock of t = 0
``flowN.iperf.json``    iperf3's report of flow N = 1, 2, ...; one per flow of meta.json, or the run is refused
``sN.tcp.csv``          TCP_INFO polls at the sender of flow N; optional, gives windows and events
``queue.csv``           counters of the bottleneck queue; optional, gives the link

Each may be gzipped, with ``.gz`` after its name. A missing or short report is refused: zeros would count as starvation.

TCP_INFO and queue are on the wall clock from meta.json's t0. iperf3's intervals count from the planned start of the flow, but its
control connection delays the first byte by 0.2-0.4 s, so goodput is up to 0.4 s late against windows and link.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, model_validator

from tcpfair.errors import InputError
from tcpfair.files.checksums import CHECKSUMS
from tcpfair.papers.recordings import SIDECAR
from tcpfair.runs.recorded import RTT_ERROR
from tcpfair.sources.readers import conservation, iperf3, tcp_info
from tcpfair.sources.readers import polls as polled
from tcpfair.sources.readers.observed import Observed, ObservedFlow, ObservedLink
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import between, check_increasing, located, read_csv, read_json, validated
from tcpfair.units import BITS_PER_BYTE, MS_PER_S

NAME = "testbed"
ACCEPTS = "testbed runs (a folder with meta.json and flowN.iperf.json[.gz])"

META = "meta.json"
UNUSED = "not used"  # begins the remark on additional files of a recording
FRAME_BYTES = 1514  # Ethernet header and 1500 of IP
PAYLOAD_BYTES = 1448  # 1500 less IP and TCP headers with timestamps
RTT_SLACK_S = 0.005  # addition of hosts and clocks to a round trip
FEW_PKTS = 20  # retransmitted needlessly, or dropped and not yet retransmitted when the polls ended
QUEUE_COLUMNS = {  # type, least and largest value
    "t": ("float64", 0, 1e11),
    "backlog": ("float64", 0, 1e12),
    "drops": ("int64", 0, tcp_info.COUNT_MAX),
    "bytes": ("int64", 0, tcp_info.COUNT_MAX),
}

Positive = Annotated[float, Field(gt=0, le=1e13, allow_inf_nan=False)]
NonNegative = between(float, 0, 1e13, allow_inf_nan=False)


class Meta(BaseModel):
    """The used part of ``meta.json``; ``rtt`` in ms, ``start`` and ``dur`` in s, ``rate`` in bit/s."""

    rate: Positive
    rtt: list[Positive] = Field(min_length=1)
    cc: list[str] = Field(min_length=1)
    start: list[NonNegative]
    dur: Annotated[float, Field(gt=0, le=86_400)]
    bottleneck: Literal["tbf", "wire"]
    ovh: between(int, 0, 1000)
    buf_bytes: Positive
    t0: between(float, 0, 1e11)
    kernel: str

    @model_validator(mode="after")
    def _one_per_flow(self) -> Meta:
        for name in ("rtt", "start"):
            if len(getattr(self, name)) < len(self.cc):
                raise ValueError(f"{name} must have a value for each of the {len(self.cc)} flows in cc")
        if max(self.start[: len(self.cc)]) >= self.dur:
            raise ValueError("start must be before dur, the end of the run, for every flow")
        return self

    @property
    def wire_bytes(self) -> int:
        """Bytes that a full frame takes on the bottleneck, with preamble, checksum and gap."""
        return FRAME_BYTES + self.ovh

    @property
    def queued_bytes(self) -> int:
        """Bytes by which a full frame fills the queue: the kernel's TBF does not count the overhead."""
        return FRAME_BYTES if self.bottleneck == "tbf" else self.wire_bytes

    @property
    def parameters(self) -> dict[str, float]:
        """The scenario as columns of ``runs``."""
        return {
            "capacity_bps": self.rate,
            "wire_bytes": self.wire_bytes,
            "payload_bytes": PAYLOAD_BYTES,
            "buffer_bytes": self.buf_bytes,
            "buffer_pkts": self.buf_bytes / self.queued_bytes,
        }


def sniff(path: Path) -> bool:
    """Whether ``path`` is a folder with a ``meta.json``."""
    return (path / META).is_file()


def read(path: Path, said: Sidecar) -> Observed:
    """The run in folder ``path``: goodput per iperf3 interval, and windows, events and link where they were recorded."""
    meta = read_meta(path / META)
    polls_files, flows, resent = [], [], 0
    for flow_id in range(1, len(meta.cc) + 1):  # longer lists of rtt and start are the testbed's defaults
        flow = _flow(path, flow_id, meta)
        polls_file = _find(path, f"s{flow_id}.tcp.csv")
        if polls_file:
            with located(polls_file):
                flow, resent_of_flow = _polled(flow, polls_file, meta)
            resent += resent_of_flow
            polls_files.append(polls_file)
        flows.append(flow)
    if len({flow.interval_s for flow in flows}) > 1:
        raise InputError(f"{path}: intervals: of different length; run all flows with the same iperf3 --interval")
    queue_file, link = _find(path, "queue.csv"), None
    if queue_file:
        with located(queue_file):
            link = _link(queue_file, meta)
            # drops of the queue equal the senders' retransmissions, except needless and pending ones
            dropped = int(link["dropped_pkts"].iloc[-1])  # since the queue was created
            is_unlike = abs(dropped - resent) > 0.5 * max(dropped, resent) + FEW_PKTS
            if len(polls_files) == len(flows) and is_unlike:
                raise InputError(f"drops: {dropped} in all, but the senders sent {resent} packets again")
    files = [path / META, *(flow.file for flow in flows), *polls_files, *([queue_file] if queue_file else [])]
    beside = (*files, path / SIDECAR, path / CHECKSUMS)
    unused = sorted(file.name for file in path.iterdir() if file not in beside)
    return Observed(
        backend=NAME,
        flows=tuple(flows),
        files=tuple(files),
        parameters=meta.parameters,
        link=None if link is None else ObservedLink(link, meta.t0),
        duration_s=meta.dur,
        provenance={"kernel": meta.kernel, "bottleneck": meta.bottleneck},
        remarks=(f"{UNUSED}: {', '.join(unused)}",) if unused else (),
    )


def read_meta(path: Path) -> Meta:
    """``meta.json``, validated. Raises InputError naming file and field."""
    return validated(Meta, read_json(path), path)


def _find(folder: Path, name: str) -> Path | None:
    """``name`` in ``folder``, plain or gzipped."""
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def _flow(folder: Path, flow_id: int, meta: Meta) -> ObservedFlow:
    """Flow N from its report; its own zero is its planned start."""
    name = f"flow{flow_id}.iperf.json"
    file = _find(folder, name)
    if file is None:
        raise InputError(f"{folder / name}[.gz]: missing; {META} lists {len(meta.cc)} flows, each needs its report")
    report = iperf3.read_report(file)
    planned_cc, start_s = meta.cc[flow_id - 1], meta.start[flow_id - 1]
    end_s = start_s + report.stop_s
    if report.cc not in (planned_cc, iperf3.UNKNOWN_CC):
        raise InputError(f"{file}: end.sender_tcp_congestion: {report.cc!r}, but {META} has {planned_cc!r}")
    if end_s < meta.dur - 0.5 * report.interval_s:
        raise InputError(f"{file}: intervals: {len(report.times_s) - 1} end at {end_s:g} s; {META} has {meta.dur:g} s")
    return ObservedFlow(
        name=f"flow{flow_id}",
        file=file,
        times_s=np.append(0.0, report.times_s[1:]),
        total_bytes=np.append(0.0, np.cumsum(np.diff(report.total_bytes))),
        interval_s=report.interval_s,
        origin=report.origin,
        cc=planned_cc,
        rtt_s=meta.rtt[flow_id - 1] / MS_PER_S,
        clock_s=meta.t0 + start_s,
        offset_s=start_s,
        mss_bytes=PAYLOAD_BYTES,
    )


def _polled(flow: ObservedFlow, path: Path, meta: Meta) -> tuple[ObservedFlow, int]:
    """A flow with the windows and events of its polls, and the number of retransmitted packets.

    Bytes over time must match the report, and the RTT meta.json: otherwise files were swapped, or t0 is wrong.
    """
    polls = tcp_info.read_polls(path)
    t_s = _run_time_s(polls, meta) - flow.offset_s
    acked = polls["bytes_acked"].to_numpy(dtype=float)
    is_whole = acked[0] <= polled.COOKIE_BYTES
    conservation.refuse_other_bytes(flow, t_s, acked, f"{path}: bytes_acked", from_start=is_whole)
    smallest_s, queue_s = polled.smallest_rtt_s(polls), 0.0
    if flow.offset_s > min(meta.start[: len(meta.cc)]):  # with a full queue later flows do not measure the RTT
        queue_s = meta.buf_bytes * BITS_PER_BYTE / meta.rate
    if not RTT_ERROR * flow.rtt_s <= smallest_s <= flow.rtt_s + queue_s + RTT_SLACK_S:
        says = f"an RTT of {flow.rtt_s * MS_PER_S:g} ms and a queue of {queue_s * MS_PER_S:.3g} ms"
        smallest = f"min_rtt_us: {smallest_s * MS_PER_S:.4g} ms"
        raise InputError(f"{smallest}, but {META} has {says}; correct the one that is wrong")
    windows = pd.DataFrame({"t_s": t_s, **polled.windows(polls)})
    return replace(flow, windows=windows, events=polled.losses(polls, t_s)), int(polls["total_retrans"].iloc[-1])


def _run_time_s(table: pd.DataFrame, meta: Meta) -> np.ndarray:
    """Column t, a wall clock, as time since the start of the run; InputError for another run."""
    t_s = table["t"].to_numpy() - meta.t0
    if t_s[0] > meta.dur or t_s[-1] < 0:
        raise InputError(f"t: outside the run, which lasts {meta.dur:g} s from t0 = {meta.t0:.0f} in {META}")
    return t_s


def _link(path: Path, meta: Meta) -> pd.DataFrame:
    """Counters of the forward bottleneck; bytes are frames as the queue counts them, without preamble, checksum and gap."""
    queue = read_csv(path, QUEUE_COLUMNS)
    check_increasing(queue, "t", ("drops", "bytes"))
    return pd.DataFrame(
        {
            "t_s": _run_time_s(queue, meta),
            "forwarded_bytes": queue["bytes"],
            "dropped_pkts": queue["drops"],
            "queue_pkts": queue["backlog"] / meta.queued_bytes,
        }
    )
