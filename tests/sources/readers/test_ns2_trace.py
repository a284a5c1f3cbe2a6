"""Traces of ns-2: two flows (packets of 960 bytes and 40 of headers) share 600 kb/s for 8 s; ns-2 2.35, Debian package.

ns-2 itself printed at the end: the sinks have 311,040 and 279,040 bytes with headers, the first packet of each being empty,
that is 298,560 and 267,840 bytes of payload; ack_ is 311 and 278; 37 packets were dropped (grep -c '^d').
"""

import shutil

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import ns2_trace
from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.sidecar import Sidecar
from tests.sources.readers.edits import NOTHING, SAMPLES, by_name, sample_text, written
from tests.sources.readers.mutations import assert_sound

EVENTS, VARIABLES = SAMPLES / "ns2/two_flows.tr.xz", SAMPLES / "ns2/two_flows.cwnd.gz"


def arrival(t_s, seq, source="0.0"):
    return f"r {t_s} 2 3 tcp 1040 ------- 1 {source} 3.0 {seq} {seq}"


GOOD = [arrival(1 + s / 10, s) for s in range(5)]


def test_goodput_is_what_the_sinks_say(read):
    observed = read(EVENTS)
    assert_sound(observed, "events")
    assert [flow.name for flow in observed.flows] == ["0.0>4.0", "1.0>5.0"]
    assert [flow.total_bytes[-1] for flow in observed.flows] == [298_560, 267_840]
    assert [flow.start_s for flow in observed.flows] == [0.1, 2.0] == [flow.offset_s for flow in observed.flows]
    link = observed.link.table
    assert link["dropped_pkts"].iloc[-1] == 37 and link["queue_pkts"].max() <= 8
    assert link["forwarded_bytes"].iloc[-1] == pytest.approx(600e3 / 8 * 8, rel=0.02)


def test_in_order_and_first_arrivals_against_a_slow_count(read):
    """Line by line, as a sink does it."""
    expected, wanted, arrived = {}, {}, {}
    for line in sample_text(EVENTS).splitlines():
        event, t_s, _, to, kind, size, _, _, src, dst, seq, _ = line.split()
        if event == "r" and kind == "tcp" and to == dst.split(".")[0]:
            have = arrived.setdefault(f"{src}>{dst}", {})
            have.setdefault(int(seq), int(size) - 40)
            rows = expected.setdefault(f"{src}>{dst}", [])
            while (next_one := wanted.setdefault(f"{src}>{dst}", 0)) in have:
                rows.append((float(t_s), have[next_one]))
                wanted[f"{src}>{dst}"] += 1
    for flow in read(EVENTS).flows:
        times, in_bytes = np.array(expected[flow.name]).T
        for at_s in (1.0, 2.5, 3.33, 4.0, 6.71, 7.9):  # edges of bins
            assert np.interp(at_s, flow.times_s, flow.total_bytes) == in_bytes[times < at_s].sum()


def test_out_of_order_waits_and_twice_counts_once(read):
    events = [arrival(t, s) for t, s in ((1.0, 0), (1.1, 2), (1.2, 3), (1.3, 1), (1.4, 2), (1.5, 4), (3.0, 6))]
    observed = read("\n".join(events) + "\n")
    (flow,) = observed.flows
    assert flow.total_bytes[-1] == 5000 and flow.total_received_bytes[-1] == 6000
    assert np.interp(1.25, flow.times_s, flow.total_bytes) == 1000
    assert np.interp(1.25, flow.times_s, flow.total_received_bytes) == 3000
    assert "0.0>3.0: 1 packets arrived behind one that never did, and are not counted as delivered" in observed.remarks


def test_windows_come_from_variables_alone_or_beside_the_events(read, tmp_path):
    observed = ns2_trace.read(VARIABLES, Sidecar.model_validate({"link": {"payload_bytes": 960}}))
    assert [flow.total_bytes[-1] for flow in observed.flows] == [311 * 960, 278 * 960]
    folder = tmp_path / "run"
    folder.mkdir()
    for path in (EVENTS, VARIABLES):
        shutil.copy(path, folder)
    assert ns2_trace.sniff(folder)
    both = read(folder)
    assert {file.name for file in both.files} == {EVENTS.name, VARIABLES.name}
    assert [flow.total_bytes[-1] for flow in both.flows] == [298_560, 267_840]
    windows = both.flows[0].windows
    assert windows["cwnd_pkts"].iloc[0] == 2 and windows["ssthresh_pkts"].iloc[0] == 1000
    assert windows["t_s"].is_monotonic_increasing and windows["cwnd_pkts"].max() > 10
    trace = compose(both, NOTHING, folder)
    assert trace.samples.groupby("flow_id")["delivered_bytes"].sum().tolist() == [298_560, 267_840]
    assert trace.flows["start_s"].tolist() == [0.1, 2.0]


def test_addresses_are_no_numbers(read):
    """Port 1 and port 10 of a node."""
    lines = [arrival(1 + s / 10, s, f"0.{port}") for s in range(5) for port in (1, 10)]
    assert set(by_name(read("\n".join(lines) + "\n"))) == {"0.1>3.0", "0.10>3.0"}


def test_two_simulations_are_refused(read, tmp_path):
    for name in ("out.tr", "other.tr"):
        written(tmp_path, "\n".join(GOOD) + "\n", name)
    with pytest.raises(InputError, match="several files of events"):
        read(tmp_path)
