"""A run that is not what it says is refused: each check, with a run that passes all as a start."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.sources.testbed import checks
from tcpfair.sources.testbed.setup import make_setup

T0_S = 1000.0
SETUP = make_setup(
    {"rate_bps": 10e6, "duration_s": 20, "flows": [{"cc": "reno", "rtt_ms": 50}], "bottleneck": "relay"}, "x"
)
RELAY = dict.fromkeys(("unread_pkts", "unsent_pkts", "full_rings_pkts", "oversized_pkts", "strange_pkts"), 0)
RELAY["latest_s"] = 0.001


def polls(losses_s: tuple[float, ...] = (5.0, 12.0), **changes) -> pd.DataFrame:
    """A flow that resends a packet 0.1 s after each drop and is in recovery until then."""
    t_s = np.arange(0.0, 20.5, 0.02)
    state, resent = np.zeros(len(t_s), int), np.zeros(len(t_s), int)
    for loss_s in losses_s:
        state[(t_s > loss_s + 0.06) & (t_s < loss_s + 0.16)] = 3
        resent[t_s >= loss_s + 0.1] += 1
    table = {"t": T0_S + t_s, "sport": 1, "ca_state": state, "lost": 0, "retrans": 0, "total_retrans": resent}
    table |= {"dsack_dups": 0, "min_rtt_us": 50_100, "bytes_acked": (t_s * 1e6).astype(int)}
    return pd.DataFrame(table | {"sndbuf_limited_us": 0, "rwnd_limited_us": 0} | changes)


def queue(losses_s: tuple[float, ...] = (5.0, 12.0), rate_bps: float = 9.5e6) -> pd.DataFrame:
    t_s = np.arange(-0.5, 21, 0.01)
    drops = sum((t_s >= loss_s).astype(int) for loss_s in losses_s) + np.zeros(len(t_s), int)
    carried = (np.clip(t_s, 0, None) * rate_bps / 8).astype(int)
    return pd.DataFrame({"t": T0_S + t_s, "backlog": 0, "drops": drops, "bytes": carried})


def result(**changes) -> dict:
    made = {"t0": T0_S, "bottleneck": "relay", "relay": RELAY, "rtt_probe_ms": [50.2], "clock_step_s": 0.0}
    return {**made, "counters": [{"RetransSegs": 2, "TCPDSACKRecv": 0}], **changes}


RESULT, POLLS, QUEUE = result(), polls(), queue()


def faults(found=RESULT, delivered=20e6, table=POLLS, link=QUEUE) -> list[str]:
    at = checks.counted(SETUP, T0_S, [table], link)
    return list(checks.faults(SETUP, found, [delivered], [table], link, at))


def test_a_sound_run_passes():
    assert faults() == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"found": result(relay=RELAY | {"unread_pkts": 3})}, "3 packets were not read in time"),
        ({"found": result(relay=RELAY | {"oversized_pkts": 1})}, "an offload is on"),
        ({"found": result(relay=RELAY | {"latest_s": 0.05})}, "late by 50.0 ms"),
        ({"found": result(rtt_probe_ms=[52.5])}, "takes 52.50 ms, set are 50"),
        ({"found": result(rtt_probe_ms=[float("nan")])}, "flow 1: a round trip"),
        ({"found": result(clock_step_s=-0.5)}, "the clock stepped by -0.5 s"),
        ({"table": polls(min_rtt_us=40_000)}, "TCP saw 40.00 ms"),
        ({"table": polls(sndbuf_limited_us=10_000_000)}, "its own buffer, not the network, held it back for 50 %"),
        ({"table": polls(rwnd_limited_us=2_000_000)}, "the receiver's window"),
        ({"table": polls().query("not 1007 < t < 1007.6")}, "no poll for 0.6"),
        ({"link": queue(losses_s=(5.0,))}, "1 packets dropped at the bottleneck until 20.0 s, 2 retransmitted"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(wrong, says):
    (line,) = faults(**wrong)
    assert says in line


def test_needless_retransmissions_are_told_from_losses():
    table = polls(dsack_dups=0)
    table.loc[table["t"] > T0_S + 12.3, "dsack_dups"] = 1
    assert faults(table=table, link=queue(losses_s=(5.0,))) == []


def test_the_comparison_waits_until_all_drops_are_known():
    """A drop at the very end is not missed by the sender, only not yet noticed."""
    late = queue(losses_s=(5.0, 12.0, 19.95))
    assert faults(link=late) == []
    at = checks.counted(SETUP, T0_S, [polls()], late)
    assert (at.drops, at.retransmissions) == (2, 2)
    assert at.at_s < 19.95


def test_a_run_without_a_quiet_moment_is_compared_at_its_end():
    table = polls(ca_state=3)
    assert checks.counted(SETUP, T0_S, [table], queue()) is None
    assert faults(table=table) == []
    (line,) = faults(result(counters=[{"RetransSegs": 9, "TCPDSACKRecv": 0}]), table=table)
    assert "2 packets dropped at the bottleneck, 9 retransmitted" in line


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"link": queue(rate_bps=20e6)}, "the bottleneck carried"),
        ({"delivered": 30e6}, "bytes were delivered"),
        ({"link": queue().head(1)}, "was not polled"),
    ],
)
def test_more_than_the_link_carries_or_a_queue_that_nobody_watched_is_refused(wrong, says):
    assert any(says in line for line in faults(**wrong))
