"""What the readers of kernel state share: CUBIC's W_max where integer windows tie, memory, control connections."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.models import cubic, kernel
from tcpfair.sources.readers import polls

RTT_S = 0.05


def epochs_of(*epochs, n=40, noise=0.0):
    """Polls every 0.1 s of CUBIC after losses at windows with ssthresh; each epoch is (ssthresh, W_max that the kernel has)."""
    rows = []
    chance = np.random.default_rng(1)
    for retrans, (ssthresh, w_max) in enumerate(epochs, 1):
        rows.append((3, ssthresh, ssthresh, retrans))
        t_s = np.arange(n) / 10
        k_s = kernel.cubic_k_s(w_max, ssthresh)
        grown = cubic.window_pkts(t_s + RTT_S, k_s, w_max, kernel.CUBIC_C) + noise * chance.standard_normal(n)
        rows += [(0, int(w), ssthresh, retrans) for w in grown]
    state, cwnd, ssthresh, total = (np.array(column) for column in zip((0, 400, 2**31 - 1, 0), *rows, strict=True))
    table = pd.DataFrame({"cc": "cubic", "ca_state": state, "cwnd": cwnd, "ssthresh": ssthresh, "total_retrans": total})
    table["min_rtt_us"] = table["rtt_us"] = int(1e6 * RTT_S)
    return table, np.arange(len(table)) / 10


@pytest.mark.parametrize(
    ("epochs", "n", "w_max_pkts"),
    [
        # below the last W_max: 207 = 296 * 717/1024 rounded down, 175 = 250 * 717/1024; 250 * (1024 + 717) // 2048 = 212
        ([(207, 296), (175, 212), (207, 296)], 40, [296, 212, 296]),
        # windows of 296 and 297 have the ssthresh 207: only growth shows whether the second loss came below the first
        ([(207, 297), (207, 296)], 40, [296, 296]),
        ([(207, 297), (207, 251)], 40, [296, 251]),
        # after 251 a loss at 256 is above the last W_max, after 296 below it: 256 * 1741 // 2048 = 217
        ([(207, 297), (207, 251), (179, 256)], 40, [296, 251, 256]),
        ([(207, 297), (207, 296), (179, 217)], 40, [296, 296, 217]),
        # without growth after it a tie is undecided
        ([(207, 297), (207, 296)], 4, [296, np.nan]),
        # 293 -> 205, 294 -> 205, 295 -> 206, 292 -> 204: a loss at 295 after one at 293 or 294 is above it, whatever it was
        ([(205, 293), (206, 295)], 4, [293, 295]),
        # and one at 292 below: 292 * 1741 // 2048 = 248
        ([(205, 293), (204, 248)], 4, [293, 248]),
    ],
)
def test_w_max_where_windows_tie_and_where_they_do_not(epochs, n, w_max_pkts):
    table = polls.losses(*epochs_of(*epochs, n=n))
    losses = table[table["kind"] == "loss"]
    np.testing.assert_array_equal(losses["w_max"], w_max_pkts)
    k_s = [kernel.cubic_k_s(w, s) for w, s in zip(losses["w_max"], losses["cwnd_after"], strict=True)]
    assert losses["k_s"].tolist() == pytest.approx(k_s, nan_ok=True)


def test_a_tie_with_growth_of_neither_kind_is_undecided():
    table, t_s = epochs_of((207, 297), (207, 296))
    second = len(table) - 40
    table.loc[second:, "cwnd"] = 207 + np.arange(40) // 8  # as Reno grows
    assert np.isnan(polls.losses(table, t_s)["w_max"].iloc[-2])


def test_a_timeout_ends_all_doubt():
    table, _ = epochs_of((207, 297), (207, 296), n=4)
    rto = table.iloc[[-1]].assign(ca_state=4, cwnd=1, ssthresh=150, total_retrans=9)
    after = table.iloc[[-1]].assign(ca_state=0, cwnd=160, ssthresh=150, total_retrans=9)
    lost = table.iloc[[-1]].assign(ca_state=3, cwnd=207, ssthresh=207, total_retrans=10)
    longer = pd.concat([table, rto, after, lost], ignore_index=True)
    assert polls.losses(longer, np.arange(len(longer)) / 10)["w_max"].iloc[-1] == 296


# --- memory --------------------------------------------------------------------------------------------------------------


def store_of(n_polls, changes=()):
    store = polls.PollStore(Path("log"), is_wall=True)
    numbers = [store.socket(polls.Socket(f"a:{i}", "b:1")) for i in range(3)]
    for piece in np.split(np.arange(n_polls), range(50, n_polls, 50)):
        store.polls(piece / 10)
        rows = pd.DataFrame({"poll": piece, "cc": "cubic", "bytes_acked": 1000 * piece})
        rows["ssthresh"] = sum(piece >= change for change in changes) if changes else 0
        store.add(rows.merge(pd.DataFrame({"socket": numbers}), how="cross"))
    return store


def test_too_many_polls_are_thinned_and_none_around_a_change_is_lost(monkeypatch):
    monkeypatch.setattr(polls, "MAX_ROWS", 300)
    store = store_of(600, changes=(233, 451))
    assert store.bin_s > 0
    for rows in map(store.rows, store.sockets.values()):
        assert 30 < len(rows["poll"]) < 210
        assert {0, 232, 233, 450, 451, 599} <= set(rows["poll"].tolist())
        assert (rows["bytes_acked"] == 1000 * rows["poll"]).all()
        assert np.diff(rows["poll"]).max() <= 64


def test_nothing_is_thinned_without_need():
    store = store_of(50)
    assert [len(store.rows(socket)) for socket in store.sockets.values()] == [50, 50, 50]
    assert store.bin_s == 0


@pytest.mark.parametrize(
    ("limit", "says"), [("MAX_SOCKETS", "more than 2 sockets"), ("MAX_POLLS", "more than 2 polls")]
)
def test_limits(monkeypatch, limit, says):
    monkeypatch.setattr(polls, limit, 2)
    with pytest.raises(InputError, match=says):
        store_of(3)


# --- names and identity -----------------------------------------------------------------------------------------------------


def test_names_are_unique_and_short():
    assert polls.unique_names([("a:1", "c:9"), ("b:2", "c:9")]) == ["a:1", "b:2"]
    assert polls.unique_names([("s:9", "a:1"), ("s:9", "b:2")]) == ["a:1", "b:2"]
    assert polls.unique_names([("a:1", "b:2"), ("a:1", "b:2")]) == ["a:1>b:2#1", "a:1>b:2#2"]
    long = "x" * 90
    assert all(len(name) <= 80 for name in polls.unique_names([(long, "b:2"), (long, "b:2")]))


@pytest.mark.parametrize(("apart_s", "same"), [(0, True), (0.3, True), (1.9, True), (7, False), (600, False)])
def test_two_recordings_of_one_connection_share_identity(apart_s, same):
    for start_s in np.arange(1000.0, 1008.0, 0.37):
        one = polls.identity("a:1", "b:2", "", start_s)
        other = polls.identity("b:2", "a:1", "7f", start_s + apart_s)
        assert bool(one & other) is same


def test_ports_alone_are_no_identity():
    assert polls.identity("4000", "", "", 1000.0) == frozenset()


# --- where a flow begins -------------------------------------------------------------------------------------------------

IDLE = {"values": [1, 38, 50_038, 60_038, 70_038]}  # iperf3's cookie was acknowledged by the second poll
OLD = {"values": [500, 600, 700, 800, 900]}
BUSY = {"values": [1, 1, 50_001, 60_001, 70_001]}  # without a cookie
LATER = [50_000, 60_000, 70_000]  # of both


@pytest.mark.parametrize(
    ("given", "times_s", "totals"),
    [
        # a round trip before its first data are acknowledged: between 0.1 and 0.2 s, midway as nothing says more
        (IDLE, [0.1, 0.15, 0.2, 0.3, 0.4], [0, 0, *LATER]),
        # at 0.2 s for 0.12 s with data in flight, of which a round trip was the cookie's: acknowledged since 0.18 s
        (IDLE | {"busy_ms": [0, 60, 120, 220, 320]}, [0.13, 0.18, 0.2, 0.3, 0.4], [0, 0, *LATER]),
        (BUSY | {"busy_ms": [0, 20, 120, 220, 320]}, [0.08, 0.13, 0.2, 0.3, 0.4], [0, 0, *LATER]),
        # what polls saw bounds what the kernel counts: nothing was acknowledged at 0.1 s, something at 0.2 s
        (IDLE | {"busy_ms": [0, 0, 10, 10, 10]}, [0.15, 0.2, 0.3, 0.4], [0, *LATER]),
        (IDLE | {"busy_ms": [0, 0, 9000, 9000, 9000]}, [0.05, 0.1, 0.2, 0.3, 0.4], [0, 0, *LATER]),
        # a connection that an earlier poll did not show began after it; else the first poll is the beginning
        (OLD | {"before_s": 99.9}, [-0.1, -0.05, 0, 0.1, 0.2, 0.3, 0.4], [0, 0, *OLD["values"]]),
        (OLD, [0, 0.1, 0.2, 0.3, 0.4], [0, 100, 200, 300, 400]),
        (IDLE | {"rtt_s": 0.3, "before_s": 99.9}, [-0.1, 0.15, 0.2, 0.3, 0.4], [0, 0, *LATER]),
        # an absurd RTT is bounded, a path without delay needs none
        (IDLE | {"rtt_s": 4000.0}, [-3.85, 0.15, 0.2, 0.3, 0.4], [0, 0, *LATER]),
        *((IDLE | {"rtt_s": rtt_s}, [0.15, 0.2, 0.3, 0.4], [0, *LATER]) for rtt_s in (0.0, 2e-6, np.nan)),
        (IDLE | {"rtt_s": 0.0, "busy_ms": [0, 0, 1, 1, 1]}, [0.199, 0.2, 0.3, 0.4], [0, *LATER]),
    ],
)
def test_where_a_flow_begins(given, times_s, totals):
    known = {"busy_ms": [0] * 5, "rtt_s": RTT_S, "before_s": None} | given
    found_s, found = polls._from_first_data(
        100 + np.arange(5) / 10,
        np.array(known["values"]),
        np.array(known["busy_ms"]),
        known["rtt_s"],
        known["before_s"],
    )
    assert (found_s - 100).tolist() == pytest.approx(times_s, abs=1e-5)
    assert found.tolist() == totals


@pytest.mark.parametrize(
    ("polled_s", "interval_s"),
    [
        (0.02, 0.02),
        (0.109, 0.1),
        (0.113, 0.1),
        (0.3, 0.25),
        (2.03, 2),
        (1e-5, 1e-3),
    ],
)
def test_seconds_are_whole_numbers_of_intervals(polled_s, interval_s):
    assert polls._interval_s(polled_s) == interval_s
