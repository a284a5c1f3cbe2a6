"""Flows put together as one trace: by hand where they are sound, one line where they contradict each other."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.observed import LINK, Observed, ObservedFlow, ObservedLink
from tcpfair.sources.readers.sidecar import Sidecar

PATH = Path("recording")


def flow(name="a", rate_bps=8e6, start_s=0.0, stop_s=20.0, interval_s=1.0, **more):
    """A flow with a little more in every second than in the one before, so that no two are twins by chance."""
    times_s = np.arange(start_s, stop_s + interval_s / 2, interval_s)
    steps = rate_bps / 8 * interval_s * (1 + 0.001 * np.arange(1, len(times_s)) * (1 + sum(name.encode()) % 7))
    return ObservedFlow(
        name=name,
        file=Path(f"{name}.json"),
        times_s=times_s,
        total_bytes=np.append(0, np.cumsum(steps)),
        interval_s=interval_s,
        origin="receiver: test",
        cc=more.pop("cc", "reno"),
        **more,
    )


def made(*flows, said=None, **more):
    return compose(Observed("test", tuple(flows), (PATH,), **more), Sidecar.model_validate(said or {}), PATH)


def clocked(name, clock_s, **more):
    return flow(name, clock_s=clock_s, **more)


def windows(cwnd_pkts, srtt_s):
    columns = {"t_s": np.linspace(0, 19, 30), "cwnd_pkts": cwnd_pkts, "ssthresh_pkts": np.inf, "srtt_s": srtt_s}
    return pd.DataFrame(columns)


# --- Sound ---------------------------------------------------------------------------------------------------------


def test_flows_stand_on_one_clock_in_order_of_their_starts():
    run = made(clocked("late", 1003.0, rate_bps=4e6), clocked("early", 1000.0))
    assert run.provenance["names"] == ["early", "late"]
    assert run.flows["start_s"].tolist() == [0.0, 3.0] and run.flows["stop_s"].tolist() == [20.0, 23.0]
    late = run.samples[run.samples["flow_id"] == 2]["delivered_bytes"].to_numpy()
    assert (late[:3] == 0).all() and (late[3:] > 0).all() and len(late) == 23
    assert run.runs["duration_s"].item() == 23.0


def test_bytes_are_kept_whatever_the_intervals():
    one, other = clocked("one", 10.0), clocked("other", 10.25, interval_s=0.5)
    run = made(one, other)
    totals = run.samples.groupby("flow_id")["delivered_bytes"].sum()
    assert totals[1] == pytest.approx(one.total_bytes[-1], abs=2)
    assert run.runs["sample_s"].item() == 1.0
    # the last quarter of a second of the later flow is no whole interval
    assert totals[2] == pytest.approx(np.interp(19.75, other.times_s, other.total_bytes), abs=2)


def test_what_is_said_counts():
    said = {
        "link": {"capacity_bps": 1e8},
        "flows": [
            {"flow": "a", "start_s": 0, "rtt_s": 0.1, "label": "first"},
            {"flow": "b", "start_s": 5, "protocol": "cubic"},
            {"flow": "control", "start_s": 0, "leave_out": True},
        ],
    }
    run = made(flow("a"), flow("b", cc="unknown"), flow("control"), said=said)
    assert run.flows[["protocol", "cc"]].values.tolist() == [["first", "reno"], ["cubic", "cubic"]]
    assert run.flows["start_s"].tolist() == [0, 5] and run.flows["rtt_s"].iloc[0] == 0.1
    assert run.runs["capacity_bps"].item() == 1e8


def test_gaps_are_marked_and_told():
    run = made(flow("a", gaps_s=((4.0, 6.5),)))
    assert run.samples["observed"].tolist()[3:8] == [1, 0, 0, 0.5, 1]
    assert run.provenance["remarks"] == ["a: 1 gaps, 2.5 s in all, the first at 4 s"]


def test_link_is_on_the_flows_clock():
    polls = pd.DataFrame([[t, 100.0 * t, t // 5, t % 3] for t in range(25)], columns=LINK)
    run = made(clocked("a", 1000.0), link=ObservedLink(polls, clock_s=998.0))
    assert run.link["forwarded_bytes"].tolist() == [100] * 20
    # its counter rises from 0.4 at 2 s to 4 at 22 s, of which each interval is rounded
    assert run.link["dropped_pkts"].sum() == 4
    assert run.link["queue_pkts"].tolist()[:3] == [0, 1, 2]  # polled at 3, 4 and 5 s of its own clock


def stated(**flows):
    return {"flows": [{"flow": name, **more} for name, more in flows.items()]}


# --- Contradictions --------------------------------------------------------------------------------------------------

TWIN = flow("a")
REFUSED = {
    "one cookie twice": (
        [clocked("a", 0.0, identity=frozenset({"k1"})), clocked("b", 1.0, identity=frozenset({"k1"}))], {},
        r"b\.json: b: the same flow as a \(k1\)",
    ),
    "one content twice": (
        [TWIN, replace(TWIN, name="b", file=Path("b.json"), clock_s=3.0)], {}, "the same bytes in the same times as a",
    ),
    "no start": ([clocked("a", 0.0), flow("b")], {}, r"b\.json: b: when it started is not recorded"),
    "a start for one alone": (
        [clocked("a", 0.0), clocked("b", 0.0)], stated(a={"start_s": 0}), "b: start_s is missing; give it for all flows or none",
    ),
    "a start that clocks deny": (
        [clocked("a", 100.0), clocked("b", 130.0, start_s=0, stop_s=20)], stated(a={"start_s": 0}, b={"start_s": 10}),
        "start of b: 10 s after a as stated, but 30 s by their clocks",
    ),
    "a start that good clocks deny, among rough ones": (
        [
            clocked("a", 100.0), clocked("b", 100.0, clock_error_s=60.0), clocked("c", 104.0),
            clocked("d", 160.0, clock_error_s=60.0),
        ],
        stated(**{name: {"start_s": 0} for name in "abcd"}), "start of c: 0 s after a as stated, but 4 s by their clocks",
    ),
    "a title that clocks deny": (
        [clocked("a", 100.0, offset_s=0.0), clocked("b", 105.0, offset_s=15.0)], {},
        "start of b: 15 s after a as stated, but 5 s by their clocks",
    ),
    "flows that never meet": (
        [clocked("a", 0.0), clocked("b", 21.0)], {}, r"begins at 21 s, after all others have ended \(20 s\)",
    ),
    "an unknown flow": ([flow("a")], stated(aa={}), "flow 'aa' is unknown; did you mean 'a'"),
    "nothing left": ([flow("a")], stated(a={"leave_out": True}), "no flow in it"),
    "more than the link": (
        [flow("a", 9e6)], {"link": {"capacity_bps": 8e6}}, "above what a link of 8e\\+06 bit/s carries",
    ),
    "more than its payload": (
        [flow("a", 9.8e6)], {"link": {"capacity_bps": 1e7, "wire_bytes": 1500, "payload_bytes": 1400}}, "above what a link",
    ),
    "payload above the wire": (
        [flow("a")], {"link": {"wire_bytes": 1400, "payload_bytes": 1500}}, "must be less than wire_bytes",
    ),
    "an RTT above the smallest seen": ([flow("a", rtt_s=0.02)], stated(a={"rtt_s": 0.05}), "RTTs down to 0.02 s"),
    "an RTT in ms": ([flow("a", rtt_s=0.05)], stated(a={"rtt_s": 50}), "rtt_s: 50 s, but RTTs down to 0.05 s"),
    "an RTT in minutes": (
        [flow("a", rtt_s=0.05)], stated(a={"rtt_s": 0.00005}), "none below 0.05 s was recorded; give seconds",
    ),
    "another protocol": ([flow("a")], stated(a={"protocol": "cubic"}), "'cubic', but it was recorded as 'reno'"),
    "bytes that are nanobytes": ([flow("a", 1e15)], {}, "faster than any link"),
    "a day and more": ([flow("a", stop_s=90_000.0, interval_s=100.0)], {}, "lasts 90000 s; give a run"),
    "an interval longer than the run": ([flow("a")], {"interval_s": 60}, "intervals of 60 s in a run of 20 s"),
    "too many samples": ([flow("a", stop_s=80_000.0, interval_s=100.0)], {"interval_s": 0.001}, "are too many samples"),
    "mostly gaps": ([flow("a", gaps_s=((2.0, 15.0),))], {}, "nothing was recorded in 13 s of 20 s"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_contradictions_are_one_line(name):
    flows, said, says = REFUSED[name]
    with pytest.raises(InputError, match=says):
        made(*flows, said=said)


def test_what_the_recording_and_trace_yaml_say_of_the_link_must_agree():
    with pytest.raises(InputError, match=r"link\.capacity_bps: 5e\+07, but the recording has 1e\+08"):
        made(flow("a"), said={"link": {"capacity_bps": 5e7}}, parameters={"capacity_bps": 1e8})
    run = made(flow("a"), said={"link": {"capacity_bps": 1e8}}, parameters={"capacity_bps": 1.0001e8})
    assert run.runs["capacity_bps"].item() == pytest.approx(1.0001e8)


def test_bursts_behind_a_hole_are_no_contradiction():
    """In-order goodput of a second may exceed the link: what waited behind a lost packet comes at once."""
    steps = np.array([1.0, 1.0, 0.2, 1.8, 1.0, 1.0, 0.9, 1.1, 1.0, 1.0]) * 1e6
    burst = replace(flow("a", stop_s=10.0), total_bytes=np.append(0, np.cumsum(steps)))
    assert made(burst, said={"link": {"capacity_bps": 8e6}}).samples["delivered_bytes"].max() == 1_800_000


def test_the_two_directions_of_a_link_are_two_links():
    there, back = clocked("a", 0.0, rate_bps=7e6), clocked("b", 0.0, rate_bps=7.2e6, direction="reverse")
    run = made(there, back, said={"link": {"capacity_bps": 8e6}})
    assert run.flows["direction"].tolist() == ["forward", "reverse"]
    with pytest.raises(InputError, match="above what a link"):
        made(there, replace(back, direction="forward"), said={"link": {"capacity_bps": 8e6}})
