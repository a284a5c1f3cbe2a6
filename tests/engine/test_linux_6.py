"""CUBIC of Linux 6 in the engine against recordings of Linux 6.18: data/raw/examples/c1_tbf, and pairs like it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcpfair.engine.dumbbell import DumbbellResult, run
from tcpfair.engine.state import LOSS
from tests.engine.scenarios import dumbbell, events
from tests.sources.readers.polled import polled

RECORDING = Path(__file__).parents[2] / "data" / "raw" / "examples" / "c1_tbf" / "s1.tcp.csv.gz"
POLL_S = 0.1
CAPACITY_BPS, WIRE_BYTES, RTT_S = 100e6, 1538, 0.05
# 625000 bytes of 1514-byte frames (the qdisc counts neither preamble nor gap), of which one is on the wire
BUFFER_PKTS = 625_000 // 1514 - 1
# Share of the flow that came first from 15 to 60 s, when a second joins it at 10 s: five recordings on the same testbed.
RECORDED_SHARES = (0.587, 0.639, 0.733, 0.621, 0.674)


LINK = {"capacity_bps": CAPACITY_BPS, "wire_bytes": WIRE_BYTES, "payload_bytes": 1448, "buffer_pkts": BUFFER_PKTS}
FLOW = {"rtt_s": RTT_S, "ack_every": 2, "reduction": "prr", "iw_pkts": 10}


def simulate(*flows: dict, seed: int = 1, **settings) -> DumbbellResult:
    values = [FLOW | {"cc": "cubic_linux_6"} | flow for flow in flows]
    return run(dumbbell(*values, **LINK, duration_s=60, **settings), seed, log_events=True)


@pytest.fixture(scope="module")
def recorded():
    """The recording, with the time of the first poll at which data had come back."""
    trace = polled(RECORDING)
    return trace, trace.samples.loc[trace.samples["cwnd_pkts"] > 10, "t_s"].iloc[0]


@pytest.fixture(scope="module")
def alone():
    return simulate({}, sample_s=0.001)


def test_first_four_losses_come_when_and_at_the_window_of_the_kernels(recorded, alone):
    trace, data_s = recorded
    theirs = trace.events[trace.events["kind"] == "loss"].iloc[:4]
    ours = events(alone, LOSS)[:4]
    assert ours["cwnd_before"] == pytest.approx(theirs["cwnd_before"].to_numpy(), abs=2)
    assert ours["w_max"] == pytest.approx(theirs["w_max"].to_numpy(), abs=2)
    # data had come back for up to a poll, and a loss shows up to a poll late
    assert ours["t_s"] - RTT_S == pytest.approx(theirs["t_s"].to_numpy() - data_s, rel=0.05, abs=POLL_S)
    assert np.diff(ours["t_s"]) == pytest.approx(np.diff(theirs["t_s"]), rel=0.02, abs=POLL_S)


def test_slow_start_ends_where_the_kernels_hystart_ends_it(recorded, alone):
    trace, _ = recorded
    theirs = trace.samples["ssthresh_pkts"]
    ours = alone.ssthresh_pkts[:, 0]
    ended = np.flatnonzero(ours < 1e9)[0]  # until then there is none
    assert ours[ended] == pytest.approx(theirs[np.isfinite(theirs)].iloc[0], rel=0.01)


def test_window_until_the_first_loss_is_the_kernels_at_every_poll(recorded, alone):
    """5 % per RTT: eight polls. When the data started is known to a poll only, so the best of all such times counts."""
    trace, data_s = recorded
    first_loss_s = trace.events.loc[trace.events["kind"] == "loss", "t_s"].iloc[0]
    polls = trace.samples[np.isfinite(trace.samples["ssthresh_pkts"]) & (trace.samples["t_s"] < first_loss_s)]
    assert len(polls) == 8
    starts_s = data_s - np.arange(RTT_S, RTT_S + POLL_S, 0.001)
    curves = [np.interp(polls["t_s"], alone.t_s + start_s, alone.cwnd_pkts[:, 0]) for start_s in starts_s]
    worst = np.abs(curves - polls["cwnd_pkts"].to_numpy()).max(axis=1)
    assert worst.min() < 2  # of 538 to 822 packets


def test_without_the_growth_before_the_first_loss_it_would_come_seconds_later(alone):
    kernel_2_6_32 = {"forget_on_timeout": 1, "beta": 0.3, "hystart_train": 1, "hystart_delay": 1}
    older = simulate({"cc": "cubic", "params": kernel_2_6_32})
    assert events(alone, LOSS)["t_s"][0] < 1.3
    assert events(older, LOSS)["t_s"][0] > 5


def test_shares_of_two_flows_scatter_about_the_recorded_ones():
    """Hosts add tenths of a millisecond, and two runs never start alike."""
    shares = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        rtts_s = RTT_S * (1 + 0.002 * random.random(2))
        starts_s = np.array([0.0, 10.0]) + 0.2 * random.random(2)
        flows = [{"rtt_s": rtt_s, "start_s": start_s} for rtt_s, start_s in zip(rtts_s, starts_s, strict=True)]
        delivered = simulate(*flows, seed=seed, jitter_s=2e-4).delivered_pkts
        got = delivered[-1] - delivered[14]
        shares.append(got[0] / got.sum())
    assert min(RECORDED_SHARES) < np.mean(shares) < max(RECORDED_SHARES)
    assert np.min(shares) < min(RECORDED_SHARES) + 0.02
    assert np.max(shares) > max(RECORDED_SHARES) - 0.05
