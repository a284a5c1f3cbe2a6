"""The papers' printed numbers as worlds of the claims of bhatti2008 and bhatti2009, and the claims' edges.

Where print decides against a claim, its edges put the cells aside that speak against it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from tests.verdicts.claims.edges import Edge, World, above, below, fails, holds, table
from tests.verdicts.claims.printed_bhatti import RTTS_2008, RTTS_2009, TCP_2009, printed_experiments, single_trace


def _world(paper):
    names = ["protocol", "rtt_ms"]
    metrics = {}
    for experiment, frame in printed_experiments(paper).items():
        once = frame[frame["replicate"] == 0]
        metrics[experiment] = table(list(once[[*names, "flow", "metric", "value"]].itertuples(index=False)), names)
    return World(metrics, {"single": single_trace()})


WORLD_2008, WORLD_2009 = _world("bhatti2008"), _world("bhatti2009")
FIRST, SECOND, SELF, PAIR, ALL = "pair_ccid2_first", "pair_tcp_first", "self", "pair", "ns2_14"
FAST = ["BIC", "CUBIC", "Compound"]
EVERY = [*TCP_2009, "CCID2"]
JFI, RATE, SUM, U = "jfi_mean", "throughput_mean", "throughput_sum", "utilisation"
ABOVE_25 = [50, 100, 200]
FLOWS = [1, 8, 14]


def others(at, names, **where):
    """Values of the other protocols at the same place."""
    return [at(protocol=name, **where) for name in names if name != at["protocol"]]


def leads(experiment, protocols, rtts_ms, **options):
    """The TCP variant, flow 2, is ahead of CCID2 by the margin of a tie at least."""
    return [
        below(
            experiment,
            RATE,
            lambda at, t: at(flow=2) - t.tie_mbps,
            tie=True,
            flow=1,
            protocol=protocols,
            rtt_ms=rtts_ms,
            **options,
        ),
        above(
            experiment,
            RATE,
            lambda at, t: at(flow=1) + t.tie_mbps,
            tie=True,
            flow=2,
            protocol=protocols,
            rtt_ms=rtts_ms,
            **options,
        ),
    ]


def share_is(experiment, protocol, rtt_ms):
    """At either end of the range of CCID2's share of what it gets against itself."""
    cell = {"flow": 1, "protocol": protocol, "rtt_ms": rtt_ms, "tie": True}
    return [
        above(experiment, RATE, lambda at, t: at(SELF, protocol="CCID2") * (t.share[0] - t.tolerance), **cell),
        below(experiment, RATE, lambda at, t: at(SELF, protocol="CCID2") * (t.share[1] + t.tolerance), **cell),
    ]


def falls_in_steps():
    """No step of the index of 14 flows may rise beyond the tolerance."""
    return [
        below(
            ALL,
            JFI,
            lambda at, t, before=before: at(rtt_ms=before) + t.tolerance_jfi,
            tie=True,
            rtt_ms=rtt_ms,
            but=((ALL, {"metric": JFI, "rtt_ms": 25}, 0.9),),
        )
        for before, rtt_ms in pairwise(RTTS_2008)
    ]


def turns_positive():
    """No flow of 14 within the zero band up to 100 ms, and the one that comes near it stays within from 125 ms on."""
    return [
        below(ALL, "U_n", lambda at, t: t.zero_band_db, tie=False, flow=FLOWS, rtt_ms=RTTS_2008[:4]),
        above(ALL, "U_n", lambda at, t: -t.zero_band_db, tie=True, flow=14, rtt_ms=RTTS_2008[4:]),
        # whichever flow it is
        above(
            ALL,
            "U_n",
            lambda at, t: -t.zero_band_db,
            tie=True,
            flow=FLOWS[:-1],
            rtt_ms=150,
            but=((ALL, {"metric": "U_n", "flow": 14, "rtt_ms": 150}, -5.0),),
        ),
    ]


NEWRENO_BEHIND = ((FIRST, {"metric": RATE, "flow": 1, "protocol": "NewReno", "rtt_ms": [25, 50]}, 30.0),)
COMPOUND_BEST = ((SELF, {"metric": SUM, "protocol": "Compound", "rtt_ms": 200}, 100.0),)
FAST_ABOVE_CCID2 = (
    ("single", {"metric": U, "protocol": FAST, "rtt_ms": 200}, 1.5),
    (SELF, {"metric": U, "protocol": FAST, "rtt_ms": 200}, 1.5),
)


def _nearer(limit, above_it, protocol, but_mbps=None):
    """The curve of CCID2 at 50 Mb/s or ``but_mbps``, or that of another protocol, moved at one RTT."""

    def put(rtt_ms):
        moved = {} if but_mbps is None else {("CCID2", rtt_ms): but_mbps}
        return lambda world, mbps: replace(world, traces={"single": single_trace({**moved, (protocol, rtt_ms): mbps})})

    return [Edge("single", {"rtt_ms": rtt_ms}, limit, above_it, alone=True, put=put(rtt_ms)) for rtt_ms in RTTS_2009]


def _least_but(at):
    return min(at(rtt_ms=rtt_ms) for rtt_ms in RTTS_2009 if rtt_ms != at["rtt_ms"])


def _largest_but(at):
    return max(at(rtt_ms=rtt_ms) for rtt_ms in RTTS_2009 if rtt_ms != at["rtt_ms"])


def _gap(at, rtt_ms):
    """Distance of the NRU of flow 2 from that of flow 1 at this RTT, dB."""
    return at(flow=2, rtt_ms=rtt_ms) - at(flow=1, rtt_ms=rtt_ms)


def apart(experiment, distance, within, **cell):
    """One index beside two of 0.5: the claim holds within the distance, or beyond it, on either side."""
    up, down = (below, above) if within else (above, below)
    return [
        up(experiment, JFI, lambda at, t: 0.5 + distance(at, t), tie=True, **cell),
        down(experiment, JFI, lambda at, t: 0.5 - distance(at, t), tie=True, **cell),
    ]


EDGES_2009 = {
    "bhatti2009.c04": [
        above(
            "single",
            "throughput_peak",
            lambda at, t: t.peak_mbps - t.tolerance_mbps,
            tie=True,
            flow=1,
            protocol=EVERY,
            rtt_ms=[25, 50],
        ),
    ],
    # times are whole seconds: a tie from 25 to 50 ms is no contradiction, a fall is, and so is a tie above
    "bhatti2009.c05": [
        above("single", "time_to_90_s", lambda at, t: at(rtt_ms=25), tie=True, flow=1, protocol="NewReno", rtt_ms=50),
        above("single", "time_to_90_s", lambda at, t: at(rtt_ms=50), tie=False, flow=1, protocol="NewReno", rtt_ms=100),
        above(
            "single", "time_to_90_s", lambda at, t: at(rtt_ms=100), tie=False, flow=1, protocol="NewReno", rtt_ms=200
        ),
    ],
    "bhatti2009.c06": [
        above(
            "single",
            "throughput_full_mean",
            lambda at, t: at(protocol="NewReno") + t.tie_mbps,
            tie=True,
            flow=1,
            protocol=FAST,
            rtt_ms=[100, 200],
        ),
    ],
    # NewReno at 52, BIC at 70 and CUBIC at 80 Mb/s
    "bhatti2009.c07": [
        *_nearer(61.0, False, "CCID2"),
        *_nearer(48.0, True, "NewReno", but_mbps=59.0),
        *_nearer(52.0, True, "CUBIC"),
        *_nearer(52.0, True, "BIC"),
    ],
    "bhatti2009.c08": [
        above(SELF, JFI, lambda at, t: t.jfi_min - t.tolerance_jfi, tie=True, protocol=EVERY, rtt_ms=RTTS_2009),
    ],
    "bhatti2009.c09": [
        above(
            SELF,
            SUM,
            lambda at, t: at(protocol="CUBIC") + t.tolerance_mbps,
            tie=True,
            protocol="Compound",
            rtt_ms=200,
            but=COMPOUND_BEST,
        ),
        below(
            SELF,
            SUM,
            lambda at, t: at(protocol="Compound") - t.tolerance_mbps,
            tie=True,
            protocol=["NewReno", "BIC", "CUBIC", "CCID2"],
            rtt_ms=200,
            but=COMPOUND_BEST,
        ),
    ],
    "bhatti2009.c10": [
        edge
        for experiment in ("single", SELF)
        for edge in (
            above(experiment, U, lambda at, t: at(protocol="CCID2") + t.tolerance, tie=True, protocol=FAST, rtt_ms=200),
            below(
                experiment,
                U,
                lambda at, t: at(rtt_ms=25) - t.tolerance,
                tie=True,
                protocol="CCID2",
                rtt_ms=200,
                but=FAST_ABOVE_CCID2,
            ),
            above(experiment, U, lambda at, t: at(rtt_ms=200) + t.tolerance, tie=True, protocol="CCID2", rtt_ms=25),
        )
    ],
    "bhatti2009.c11": [
        above(FIRST, JFI, lambda at, t: t.jfi_min - t.tolerance_jfi, tie=False, protocol="NewReno", rtt_ms=RTTS_2009),
    ],
    "bhatti2009.c12": [
        below(FIRST, JFI, lambda at, t: at(protocol="NewReno") - t.tie_jfi, tie=True, protocol=FAST, rtt_ms=ABOVE_25),
    ],
    "bhatti2009.c13": [
        below(
            FIRST,
            JFI,
            lambda at, t: t.jfi_max + t.tolerance_jfi,
            tie=False,
            protocol=FAST,
            rtt_ms=ABOVE_25,
            but=((FIRST, {"metric": JFI, "protocol": FAST, "rtt_ms": ABOVE_25}, 0.7),),
        ),
    ],
    "bhatti2009.c14": leads(FIRST, FAST, ABOVE_25),
    "bhatti2009.c15": leads(FIRST, TCP_2009, RTTS_2009, but=NEWRENO_BEHIND),
    "bhatti2009.c16": [
        above(
            FIRST,
            JFI,
            lambda at, t: max(others(at, FAST)) - t.spread_jfi - t.tolerance_jfi,
            tie=True,
            protocol=FAST,
            rtt_ms=RTTS_2009,
        ),
        below(
            FIRST,
            JFI,
            lambda at, t: min(others(at, FAST)) + t.spread_jfi + t.tolerance_jfi,
            tie=True,
            protocol=FAST,
            rtt_ms=RTTS_2009,
        ),
    ],
    "bhatti2009.c17": [
        above(FIRST, JFI, lambda at, t: at(rtt_ms=100) + t.tie_jfi, tie=True, protocol=FAST, rtt_ms=200),
        below(FIRST, JFI, lambda at, t: at(rtt_ms=200) - t.tie_jfi, tie=True, protocol=FAST, rtt_ms=100),
    ],
    "bhatti2009.c18": [
        above(FIRST, RATE, lambda at, t: at(rtt_ms=100) + t.tie_mbps, tie=True, flow=1, protocol=FAST, rtt_ms=200),
        below(FIRST, RATE, lambda at, t: at(rtt_ms=200) - t.tie_mbps, tie=True, flow=1, protocol=FAST, rtt_ms=100),
    ],
    "bhatti2009.c19": [
        below(
            FIRST,
            "U_N",
            lambda at, t: _least_but(at) + t.range_db + t.tolerance_db,
            tie=True,
            protocol="NewReno",
            rtt_ms=RTTS_2009,
        ),
        above(
            FIRST,
            "U_N",
            lambda at, t: _largest_but(at) - t.range_db - t.tolerance_db,
            tie=True,
            protocol="NewReno",
            rtt_ms=RTTS_2009,
        ),
    ],
    "bhatti2009.c20": [
        above(
            FIRST, RATE, lambda at, t: at(flow=2) + t.tie_mbps, tie=True, flow=1, protocol="NewReno", rtt_ms=[25, 50]
        ),
        below(FIRST, RATE, lambda at, t: at(flow=2) - t.tie_mbps, tie=True, flow=1, protocol="NewReno", rtt_ms=200),
    ],
    "bhatti2009.c21": leads(FIRST, ["BIC", "CUBIC"], RTTS_2009),
    "bhatti2009.c22": share_is(FIRST, "BIC", 25),
    "bhatti2009.c23": share_is(FIRST, "BIC", 100),
    # flow 1 as far below flow 2, or above it, as at 100 ms but for the tolerance
    "bhatti2009.c24": [
        above(
            FIRST,
            "U_n",
            lambda at, t: at(flow=2) - _gap(at, 100) + t.tolerance_db,
            tie=True,
            flow=1,
            protocol=FAST,
            rtt_ms=[25, 50, 200],
        ),
        below(
            FIRST,
            "U_n",
            lambda at, t: at(flow=2) + _gap(at, 100) - t.tolerance_db,
            tie=True,
            flow=1,
            protocol=FAST,
            rtt_ms=[25, 50, 200],
        ),
    ],
    "bhatti2009.c25": [
        above(
            FIRST,
            "U_n",
            lambda at, t: at(flow=2) - _gap(at, 100) + t.tolerance_db,
            tie=True,
            flow=1,
            protocol=FAST,
            rtt_ms=200,
        ),
        below(
            FIRST,
            "U_n",
            lambda at, t: at(flow=2) - _gap(at, 200) - t.tolerance_db,
            tie=True,
            flow=1,
            protocol=FAST,
            rtt_ms=100,
        ),
    ],
    "bhatti2009.c26": leads(FIRST, "NewReno", RTTS_2009, but=NEWRENO_BEHIND),
    "bhatti2009.c27": [
        *falls_in_steps(),
        above(
            ALL,
            JFI,
            lambda at, t: at(rtt_ms=200) * t.factor + t.tolerance_jfi,
            tie=True,
            rtt_ms=25,
            but=((ALL, {"metric": JFI, "rtt_ms": RTTS_2008[1:-1]}, 0.25),),
        ),
    ],
    "bhatti2009.c28": [
        above(ALL, "U_N", lambda at, t: at(rtt_ms=100) + t.tolerance_db, tie=True, rtt_ms=RTTS_2008[4:])
    ],
    "bhatti2009.c29": turns_positive(),
    "bhatti2009.c30": [
        above(
            SECOND,
            JFI,
            lambda at, t: at(FIRST) + t.difference_jfi - t.tolerance_jfi,
            tie=True,
            protocol="BIC",
            rtt_ms=[50, 100],
        ),
        below(
            SECOND,
            JFI,
            lambda at, t: at(FIRST) - t.difference_jfi + t.tolerance_jfi,
            tie=True,
            protocol="BIC",
            rtt_ms=200,
        ),
        above(SECOND, JFI, lambda at, t: at(FIRST) + t.tolerance_jfi, tie=True, protocol="CUBIC", rtt_ms=[50, 100]),
        below(SECOND, JFI, lambda at, t: at(FIRST) - t.tolerance_jfi, tie=True, protocol="CUBIC", rtt_ms=200),
    ],
    "bhatti2009.c31": [
        above(
            SECOND,
            JFI,
            lambda at, t: at(rtt_ms=200) + t.tolerance_jfi,
            tie=True,
            protocol=["BIC", "CUBIC"],
            rtt_ms=[25, 50, 100],
        ),
    ],
    "bhatti2009.c32": [
        edge
        for rtt_ms in ABOVE_25
        for even in [
            tuple((order, {"metric": JFI, "protocol": FAST, "rtt_ms": rtt_ms}, 0.5) for order in (FIRST, SECOND))
        ]
        for name in FAST
        for other in [((SECOND, {"metric": JFI, "protocol": name, "rtt_ms": rtt_ms}, 0.75),)]
        for edge in (
            *apart(SECOND, lambda at, t: t.tolerance_jfi, False, protocol=name, rtt_ms=rtt_ms, but=even),
            *apart(FIRST, lambda at, t: 0.25 - t.tolerance_jfi, True, protocol=name, rtt_ms=rtt_ms, but=even + other),
        )
    ],
    "bhatti2009.c33": [
        above(
            SECOND,
            JFI,
            lambda at, t: at(FIRST, rtt_ms=100) + t.tolerance_jfi,
            tie=True,
            protocol=FAST,
            rtt_ms=RTTS_2009,
            but=((FIRST, {"metric": JFI, "protocol": FAST, "rtt_ms": 100}, 0.25),),
        ),
        *(
            below(
                FIRST,
                JFI,
                lambda at, t: at(SECOND) - t.tolerance_jfi,
                tie=True,
                protocol=name,
                rtt_ms=RTTS_2009,
                but=(
                    (FIRST, {"metric": JFI, "protocol": FAST, "rtt_ms": 100}, 0.25),
                    (FIRST, {"metric": JFI, "protocol": name}, 1.0),
                    (SECOND, {"metric": JFI, "protocol": name}, 0.5),
                ),
            )
            for name in FAST
        ),
    ],
    "bhatti2009.c34": [
        edge
        for order in (FIRST, SECOND)
        for edge in (
            below(order, JFI, lambda at, t: at(rtt_ms=25) - t.tie_jfi, tie=True, protocol=TCP_2009, rtt_ms=200),
            above(order, JFI, lambda at, t: at(rtt_ms=200) + t.tie_jfi, tie=True, protocol=TCP_2009, rtt_ms=25),
        )
    ],
}

TCP_2008 = ["NewReno", "CUBIC"]
ABOVE_25_2008, BEYOND_125 = RTTS_2008[1:], [150, 175, 200]
BOTH_CONVERGE = [25, 50, 100, 175, 200]
NEVER = {"NewReno": [75], "CUBIC": [125, 150]}


def converged(protocol, rtt_ms, time_s):
    return (PAIR, {"metric": "T_U", "protocol": protocol, "rtt_ms": rtt_ms}, time_s)


def _gains(metric, margin, **cell):
    """The mean beyond 125 ms is above the value there by the margin."""
    return [
        above(
            PAIR,
            metric,
            lambda at, t: 3 * (at(rtt_ms=125) + getattr(t, margin)) - sum(_beyond(at)),
            tie=True,
            rtt_ms=BEYOND_125,
            protocol="CUBIC",
            **cell,
        ),
        below(
            PAIR, metric, lambda at, t: sum(_beyond(at)) / 3 - getattr(t, margin), rtt_ms=125, protocol="CUBIC", **cell
        ),
    ]


def _beyond(at):
    return [at(rtt_ms=rtt_ms) for rtt_ms in BEYOND_125 if rtt_ms != at["rtt_ms"]]


def _relative_range(values):
    return (max(values) - min(values)) / max(values)


def _over_rtts(at, metric):
    return [at(metric=metric, rtt_ms=rtt_ms) for rtt_ms in RTTS_2008]


def _flat(metric, protocol, value):
    return ((PAIR, {"metric": metric, "protocol": protocol}, value),)


LETTER_C = ((PAIR, {"metric": "U_n", "flow": 2, "protocol": "CUBIC", "rtt_ms": 25}, 0.03),)
CONVERGE_ALL = (converged("NewReno", 75, 100.0), converged("CUBIC", [125, 150], 50.0))

EDGES_2008 = {
    "bhatti2008.c02": [
        above(PAIR, JFI, lambda at, t: t.jfi_min - t.tolerance_jfi, tie=True, protocol="NewReno", rtt_ms=RTTS_2008),
    ],
    "bhatti2008.c03": [
        below(PAIR, JFI, lambda at, t: t.jfi_max + t.tolerance_jfi, tie=True, protocol="CUBIC", rtt_ms=ABOVE_25_2008),
        *leads(PAIR, "CUBIC", ABOVE_25_2008),
    ],
    "bhatti2008.c04": leads(PAIR, "CUBIC", RTTS_2008),
    "bhatti2008.c05": [*_gains(JFI, "tie_jfi"), *_gains(RATE, "tie_mbps", flow=1)],
    "bhatti2008.c06": [
        above(
            SELF,
            SUM,
            lambda at, t: at(protocol="CCID2") + t.tolerance_mbps,
            tie=True,
            protocol=TCP_2008,
            rtt_ms=RTTS_2008[4:],
        ),
        below(
            SELF,
            SUM,
            lambda at, t: min(others(at, TCP_2008)) - t.tolerance_mbps,
            tie=True,
            protocol="CCID2",
            rtt_ms=RTTS_2008[4:],
        ),
    ],
    "bhatti2008.c07": [
        above(
            SELF,
            SUM,
            lambda at, t: at(rtt_ms=200) + t.tolerance_mbps,
            tie=True,
            protocol=[*TCP_2008, "CCID2"],
            rtt_ms=25,
        ),
        below(
            SELF,
            SUM,
            lambda at, t: at(rtt_ms=25) - t.tolerance_mbps,
            tie=True,
            protocol=[*TCP_2008, "CCID2"],
            rtt_ms=200,
        ),
    ],
    "bhatti2008.c08": share_is(PAIR, "CUBIC", 25),
    "bhatti2008.c09": [
        below(
            PAIR,
            RATE,
            lambda at, t: at(SELF, protocol="CCID2") * (t.share_max + t.tolerance),
            tie=False,
            flow=1,
            protocol="CUBIC",
            rtt_ms=100,
        ),
    ],
    # to two decimals a positive NRU of 0.005 or less is none, and to one decimal 0.05
    "bhatti2008.c10": [
        below(PAIR, "U_n", 0.05, flow=2, protocol="CUBIC", rtt_ms=25, but=LETTER_C),
        above(PAIR, "U_n", 0.005, flow=2, protocol="CUBIC", rtt_ms=RTTS_2008, but=LETTER_C),
        above(PAIR, "U_n", 0.005, flow=2, protocol="NewReno", rtt_ms=[r for r in RTTS_2008 if r != 125], but=LETTER_C),
        below(PAIR, "U_n", 0.0, flow=2, protocol="NewReno", rtt_ms=125, but=LETTER_C),
        below(
            PAIR,
            "U_n",
            -0.005,
            flow=1,
            protocol=TCP_2008,
            rtt_ms=[r for r in RTTS_2008 if r not in (25, 125)],
            but=LETTER_C,
        ),
    ],
    "bhatti2008.c11": [
        below(
            PAIR, "U_n", lambda at, t: t.u_minus_db + t.tolerance_db, tie=False, flow=1, protocol="CUBIC", rtt_ms=100
        ),
        above(PAIR, "U_n", lambda at, t: t.u_plus_db - t.tolerance_db, tie=False, flow=2, protocol="CUBIC", rtt_ms=100),
        # whichever flow is the lower one
        holds(
            (PAIR, {"metric": "U_n", "flow": 1, "protocol": "CUBIC", "rtt_ms": 100}, 2.0),
            (PAIR, {"metric": "U_n", "flow": 2, "protocol": "CUBIC", "rtt_ms": 100}, -4.0),
        ),
    ],
    # a share of 1 at all RTTs but one, against the range of the index, and the other way round
    "bhatti2008.c12": [
        edge
        for name in TCP_2008
        for edge in (
            above(
                PAIR,
                "U_N",
                lambda at, t: 10 * np.log10(1 - _relative_range(_over_rtts(at, JFI))),
                protocol=name,
                rtt_ms=RTTS_2008,
                but=_flat("U_N", name, 0.0),
            ),
            below(
                PAIR,
                "U_N",
                lambda at, t: -10 * np.log10(1 - _relative_range(_over_rtts(at, JFI))),
                protocol=name,
                rtt_ms=RTTS_2008,
                but=_flat("U_N", name, 0.0),
            ),
            below(
                PAIR,
                JFI,
                lambda at, t: 1 - _relative_range([10 ** (u / 10) for u in _over_rtts(at, "U_N")]),
                protocol=name,
                rtt_ms=RTTS_2008,
                but=_flat(JFI, name, 1.0),
            ),
        )
    ],
    # seven RTTs against six
    "bhatti2008.c13": [
        *(fails(converged("NewReno", rtt_ms, np.nan)) for rtt_ms in RTTS_2008 if rtt_ms not in NEVER["NewReno"]),
        *(fails(converged("CUBIC", rtt_ms, 70.0)) for rtt_ms in NEVER["CUBIC"]),
        holds(converged("CUBIC", 150, 70.0), converged("NewReno", 75, 70.0)),
    ],
    "bhatti2008.c14": [
        below(
            PAIR,
            "T_U",
            lambda at, t: at(protocol="NewReno") - t.tolerance_s,
            tie=True,
            protocol="CUBIC",
            rtt_ms=RTTS_2008,
            but=CONVERGE_ALL,
        ),
        *(holds(converged(name, 50, np.nan)) for name in TCP_2008),
    ],
    "bhatti2008.c15": falls_in_steps(),
    "bhatti2008.c16": turns_positive(),
    # to one decimal an NRU of 0.05 or less is none
    "bhatti2008.c17": [
        below(ALL, "U_n", 0.0, flow=FLOWS, rtt_ms=RTTS_2008[:4]),
        below(ALL, "U_n", 0.05, flow=14, rtt_ms=125),
        above(ALL, "U_n", 0.0, flow=14, rtt_ms=125),
        above(ALL, "U_n", 0.05, flow=14, rtt_ms=RTTS_2008[5:]),
    ],
    "bhatti2008.c19": [
        above(SELF, JFI, lambda at, t: t.jfi_min - t.tolerance_jfi, tie=True, protocol="CCID2", rtt_ms=RTTS_2008),
    ],
    "bhatti2008.c20": [
        below(
            PAIR,
            "converged_share",
            lambda at, t: t.share_max + t.tolerance,
            tie=False,
            protocol="CUBIC",
            rtt_ms=ABOVE_25_2008,
        ),
        holds((PAIR, {"metric": "converged_share", "protocol": "NewReno"}, 1.0)),
    ],
    "bhatti2008.c21": [
        *(fails(converged(name, rtt_ms, 70.0)) for name in TCP_2008 for rtt_ms in NEVER[name]),
        *(
            fails(converged(name, rtt_ms, np.nan))
            for name in TCP_2008
            for rtt_ms in RTTS_2008
            if rtt_ms not in NEVER[name]
        ),
        # the counts decide
        holds(converged("CUBIC", 150, 70.0), converged("CUBIC", 50, np.nan)),
    ],
}
