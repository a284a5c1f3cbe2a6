"""CUBIC's versions, kozu2014's family and Constant-Rate in the engine, against their equations."""

from __future__ import annotations

import numpy as np
import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.engine.state import LOSS, RECOVERY_END
from tcpfair.metrics.epochs import growth_slope_pkts_per_s, measured_k_s
from tcpfair.models.cubic import C, cubic_k_s, proposed_k_s, scaled_c
from tcpfair.units import service_time_s
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell, events

SAMPLE_S = 0.01
VERSIONS = {
    "2005": {"clamp_always": 1},
    "Linux 2.6.13": {"linux_2_6_22": 1, "clamp_always": 1, "linux_ack_counting": 1},
    "Linux 2.6.22": {"linux_2_6_22": 1, "linux_ack_counting": 1},
    "Linux 2.6.32": {"forget_on_timeout": 1, "beta": 0.3, "linux_ack_counting": 1},
    "Linux 2.6.32, HyStart": {"forget_on_timeout": 1, "beta": 0.3, "hystart_train": 1, "hystart_delay": 1},
}


# ---------------------------------------------------------------- K

BELOW_PKTS = 0.1  # the plateau is flat: where the window is within this of W_max is sharper to measure


def epochs_without_queue(cc: str, rtt_s: float, params: dict, loss_rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Time from the end of recovery to W_max - BELOW_PKTS (s) and W_max (packets), for epochs that got as far.

    Losses are rare and random and the link has no queue, so that epochs end before and after K.
    """
    flow = {"cc": cc, "rtt_s": rtt_s, "params": {"fast_convergence": 0, "tcp_friendly": 0} | params}
    scenario = dumbbell(
        flow | {"initial_ssthresh_pkts": 500},
        capacity_bps=12e9,
        buffer_pkts=10_000,
        loss_rate=loss_rate,
        duration_s=300,
        sample_s=SAMPLE_S,
    )
    result = run(scenario, 5, log_events=True)
    ends = events(result, RECOVERY_END)
    back_s = measured_k_s(result.t_s, result.cwnd_pkts[:, 0], ends["t_s"], ends["w_max"] - BELOW_PKTS)
    reached = np.isfinite(back_s) & (ends["t_s"] > 20)
    assert reached.sum() >= 5
    return back_s[reached], ends["w_max"][reached]


@pytest.mark.parametrize("rtt_s", [0.03, pytest.param(0.1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "cc, params, expected_k_s",
    [
        ("cubic", {}, lambda w, rtt: cubic_k_s(w)),
        ("cubic", {"beta": 0.3, "forget_on_timeout": 1}, lambda w, rtt: cubic_k_s(w, beta=0.3)),
        ("cubic_rtt", {}, proposed_k_s),
        ("cubic_rtt", {"scaled_C": 1}, proposed_k_s),
        ("cubic_rtt", {"root": 2}, lambda w, rtt: cubic_k_s(w) / np.sqrt(1000 * rtt)),
        ("cubic_rtt", {"by_rtt": 0, "x": 0.7}, lambda w, rtt: 0.7 * cubic_k_s(w)),
        ("cubic_rtt", {"constant_K": 1, "K_s": 1}, lambda w, rtt: np.full_like(w, 1.0)),
        ("cubic_rtt", {"constant_K": 1}, lambda w, rtt: np.full_like(w, 5.0)),
    ],
    ids=["eq 2", "eq 2, Linux 2.6.32", "eq 6", "eqs 6 to 8", "alpha of 1", "eq 9", "K of 1 s", "K of 5 s"],
)
def test_the_window_is_back_at_w_max_after_k(cc, params, expected_k_s, rtt_s):
    """Within 2 % or one RTT of the curve; where ACKs are too few to follow it closely, between that and K."""
    back_s, w_max_pkts = epochs_without_queue(cc, rtt_s, params, loss_rate=4e-6)
    k_s = expected_k_s(w_max_pkts, rtt_s)
    early_s = np.cbrt(BELOW_PKTS / (scaled_c(rtt_s) if "scaled_C" in params else C))
    on_curve_s = k_s - early_s
    followed = (on_curve_s > 12 * rtt_s) & (early_s > 2 * rtt_s)  # a gap shrinks by e per RTT
    tolerance_s = np.maximum(0.02 * k_s, rtt_s)
    assert np.all(back_s >= on_curve_s - tolerance_s)
    assert np.all(back_s <= np.where(followed, on_curve_s, k_s) + tolerance_s)
    assert np.all(followed) or rtt_s == 0.1


def test_k_in_milliseconds_and_in_seconds_differ_by_ten():
    """kozu2014 does not name the unit of RTT in eq. 6; cbrt(1000) = 10 lies between the two readings."""
    k_over_cbrt_w = []
    for rtt_unit_s, loss_rate in ((1, 2e-6), (0.001, 4e-6)):
        back_s, w_max_pkts = epochs_without_queue("cubic_rtt", 0.1, {"rtt_unit_s": rtt_unit_s}, loss_rate)
        k_over_cbrt_w.append(np.mean((back_s + np.cbrt(BELOW_PKTS / C)) / np.cbrt(w_max_pkts)))
    assert k_over_cbrt_w[0] / k_over_cbrt_w[1] == pytest.approx(10, rel=0.03)


# ---------------------------------------------------------------- versions


@pytest.mark.parametrize(
    "cc, params",
    [*(("cubic", params) for params in VERSIONS.values()), ("cubic_rfc9438", {})],
    ids=[*VERSIONS, "RFC 9438"],
)
def test_every_version_lives_with_losses_and_delayed_acks(cc, params):
    flows = [{"cc": cc, "rtt_s": rtt_s, "ack_every": 2, "params": params} for rtt_s in (0.02, 0.1)]
    result = run(dumbbell(*flows, loss_rate=0.002, jitter_s=0.003, duration_s=60), 1, log_events=True)
    assert np.all(np.isfinite(result.cwnd_pkts)) and np.all(result.cwnd_pkts >= 1)
    assert result.ends["reductions"].min() > 10
    assert result.delivered_pkts[-1].min() > 3000


def test_with_the_clamp_everywhere_the_window_returns_in_a_straight_line():
    """By S_max = 1 packet per 0.1 s here, so that it takes longer than K."""
    back_s, w_max_pkts = epochs_without_queue("cubic", 0.1, {"clamp_always": 1, "S_max": 1}, loss_rate=4e-6)
    line_s = (0.2 * w_max_pkts - BELOW_PKTS) / 10
    assert np.all(line_s > 1.2 * cubic_k_s(w_max_pkts))
    assert back_s == pytest.approx(line_s, rel=0.02)


def test_rfc_9438_is_reno_friendly_on_a_short_path():
    """From 0.7 W to W by alpha_cubic packets per RTT, which is W/capacity: 0.51 W^2/(2 alpha capacity) per sawtooth."""
    flow = {"cc": "cubic_rfc9438", "rtt_s": 0.02}
    result = run(dumbbell(flow, buffer_pkts=20, duration_s=60), 1, log_events=True)
    losses = events(result, LOSS)[5:]
    peak, capacity_pps = losses["cwnd_before"].mean(), 1 / service_time_s(PACKET_BYTES, SLOW_BPS)
    alpha_cubic = 3 * 0.3 / 1.7
    sawtooth_s = 0.51 * peak**2 / (2 * alpha_cubic * capacity_pps)
    recovery_s = peak / capacity_pps
    assert np.diff(losses["t_s"]).mean() == pytest.approx(sawtooth_s + recovery_s, rel=0.05)


@pytest.mark.parametrize("detection", ["hystart_train", "hystart_delay"])
def test_hystart_leaves_slow_start_without_a_loss(detection):
    """Buffer of two bandwidth-delay products: the delay shows itself when the window has grown to two."""
    flow = {"cc": "cubic", "rtt_s": 0.05}
    net = {"capacity_bps": 100e6, "buffer_pkts": 1250, "duration_s": 3, "sample_s": SAMPLE_S}
    result = run(dumbbell(flow | {"params": {detection: 1}}, **net), 1, log_events=True)
    assert result.link["dropped"] == 0
    assert result.ssthresh_pkts[-1, 0] < 417 + 1250
    assert result.delivered_pkts[-1, 0] > 0.8 * 3 * 100e6 / 8 / PACKET_BYTES
    assert run(dumbbell(flow, **net), 1).link["dropped"] > 1000


def test_the_ack_train_ends_slow_start_when_it_fills_half_the_round_trip():
    """Windows double to 320 packets a round; 208 ACKs of 0.12 ms are 25 ms, half the RTT: at 320 + 208 packets."""
    flow = {"cc": "cubic", "rtt_s": 0.05, "params": {"hystart_train": 1}}
    result = run(dumbbell(flow, capacity_bps=100e6, buffer_pkts=1250, duration_s=2), 1)
    assert result.ssthresh_pkts[-1, 0] == pytest.approx(528, abs=10)


def test_a_coarse_clock_ends_slow_start_at_sixteen_packets_on_a_short_path():
    flow = {"cc": "cubic", "rtt_s": 0.002, "params": {"hystart_train": 1, "tick_s": 0.004}}
    result = run(dumbbell(flow, capacity_bps=1e9, buffer_pkts=100, duration_s=1), 1)
    assert result.ssthresh_pkts[-1, 0] == 16


# ---------------------------------------------------------------- constant rate


@pytest.mark.parametrize("rtt_s", [0.05, 0.4])
def test_constant_rate_grows_by_a_packets_per_second_each_second(rtt_s):
    flow = {"cc": "constant_rate", "rtt_s": rtt_s, "initial_ssthresh_pkts": 100, "iw_pkts": 100}
    result = run(dumbbell(flow, capacity_bps=1.2e9, buffer_pkts=1000, duration_s=100), 1)
    slope = growth_slope_pkts_per_s(result.t_s, result.cwnd_pkts[:, 0], 10, 100)
    assert slope / rtt_s == pytest.approx(4, rel=0.03)
