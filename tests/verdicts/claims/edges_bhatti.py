"""The papers' printed numbers as worlds of the claims of bhatti2008 and bhatti2009, and the claims' edges.

Where print decides against a clause, its edges put the cells aside that speak against it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.verdicts.claims.edges import Edge, World, above, below, fails, holds, table
from tests.verdicts.claims.printed_bhatti import RTTS_2008, RTTS_2009, printed_experiments, single_trace

FIRST, SECOND, SELF, PAIR, ALL = "pair_ccid2_first", "pair_tcp_first", "self", "pair", "ns2_14"
JFI, RATE, SUM, U = "jfi_mean", "throughput_mean", "throughput_sum", "utilisation"


def _world(paper):
    names = ["protocol", "rtt_ms"]
    metrics = {}
    for experiment, frame in printed_experiments(paper).items():
        once = frame[frame["replicate"] == 0]
        metrics[experiment] = table(list(once[[*names, "flow", "metric", "value"]].itertuples(index=False)), names)
    return World(metrics, {"single": single_trace()})


WORLD_2008 = _world("bhatti2008")
# the printed 0.80 is the bound of bhatti2009.c13, and above it when both are rounded to binary fractions
WORLD_2009 = _world("bhatti2009").put(FIRST, {"metric": JFI, "protocol": "BIC", "rtt_ms": 50}, 0.79)
FAST = {"bic": "BIC", "cubic": "CUBIC", "compound": "Compound"}  # by clause
BIC_AND_CUBIC = {"bic": "BIC", "cubic": "CUBIC"}
NAMES_OF_FAST = list(FAST.values())
FLOWS = [1, 8, 14]

# numbers of closed forms, tried in test_laws
NUMBERS_OF_LAWS = {("bhatti2009.c02", "jfi_steps"), ("bhatti2009.c03", "n_flows")}


# --- Kinds of edges ----------------------------------------------------------------------------------------------


def others(at, names, **where):
    """Values of the other protocols at the same place."""
    return [at(protocol=name, **where) for name in names if name != at["protocol"]]


def _over_rtts(at, rtts_ms, **where):
    return [at(rtt_ms=rtt_ms, **where) for rtt_ms in rtts_ms]


def _but(at, rtts_ms):
    """Values at the other RTTs."""
    return [at(rtt_ms=rtt_ms) for rtt_ms in rtts_ms if rtt_ms != at["rtt_ms"]]


def _range(values):
    return max(values) - min(values)


def falls(clause, experiment, metric, protocols, **cell):
    """From 25 to 200 ms."""
    cell = {"clause": clause, "tie": True, "protocol": protocols, **cell}
    return [
        below(experiment, metric, lambda at, t: at(rtt_ms=25) - t.low[clause], rtt_ms=200, **cell),
        above(experiment, metric, lambda at, t: at(rtt_ms=200) + t.low[clause], rtt_ms=25, **cell),
    ]


def none_has_its_share(clause):
    """No flow of 14 up to 100 ms."""
    return [below(ALL, "U_n", lambda at, t: t.high[clause], tie=True, clause=clause, flow=FLOWS, rtt_ms=RTTS_2008[:4])]


def some_have_their_share(clause, rtts_ms):
    """The one flow that comes near it, and whichever flow it is."""
    aside = ((ALL, {"metric": "U_n", "flow": 14, "rtt_ms": 150}, -5.0),)
    cell = {"tie": True, "clause": clause}
    return [
        above(ALL, "U_n", lambda at, t: t.low[clause], flow=14, rtt_ms=rtts_ms, **cell),
        above(ALL, "U_n", lambda at, t: t.low[clause], flow=FLOWS[:-1], rtt_ms=150, but=aside, **cell),
    ]


def _nearer(clause, protocol, alone_mbps, others_mbps=()):
    """The sorted throughputs of ``protocol`` at all RTTs against those of CCID2, which has 50 Mb/s, NewReno 52."""

    def put(world, mbps):
        return replace(world, traces={"single": single_trace({**dict(others_mbps), protocol: mbps})})

    limit, holds_above = alone_mbps
    return Edge("single", {"protocol": protocol}, limit, holds_above, clause=clause, alone=True, put=put)


def _gap(at, rtt_ms):
    """Distance of the NRU of flow 2 from that of flow 1 at this RTT, dB."""
    return at(flow=2, rtt_ms=rtt_ms) - at(flow=1, rtt_ms=rtt_ms)


def indices(order, protocol, value, **where):
    """Puts indices aside."""
    return (order, {"metric": JFI, "protocol": protocol, **where}, value)


def apart(experiment, distance, within, **cell):
    """One index beside others of 0.5: the clause holds within the distance, or beyond it, on either side."""
    up, down = (below, above) if within else (above, below)
    return [
        up(experiment, JFI, lambda at, t: 0.5 + distance(t), tie=True, **cell),
        down(experiment, JFI, lambda at, t: 0.5 - distance(t), tie=True, **cell),
    ]


# --- bhatti2009 --------------------------------------------------------------------------------------------------


def ccid2_uses_less(name, experiment):
    """Utilisation alone or against itself: falls, and behind the others at 200 ms."""
    falling, behind = f"{name}_falls", f"{name}_behind"
    cell = {"clause": behind, "tie": True, "rtt_ms": 200}
    return [
        *falls(falling, experiment, U, "CCID2"),
        above(experiment, U, lambda at, t: at(protocol="CCID2") + t.low[behind], protocol=NAMES_OF_FAST, **cell),
        below(experiment, U, lambda at, t: min(others(at, NAMES_OF_FAST)) - t.low[behind], protocol="CCID2", **cell),
        # six pairs of RTTs: where 50 ms is behind 200 ms as well as behind 100 ms two rise, one too many
        above(
            experiment,
            U,
            lambda at, t: at(rtt_ms=200),
            tie=True,
            clause="trend",
            protocol="CCID2",
            rtt_ms=50,
            but=((experiment, {"metric": U, "protocol": "CCID2", "rtt_ms": 25}, 1.25),),
        ),
    ]


def flat(clause, metric, **cell):
    """The range over the RTTs, against NewReno."""
    cell = {"clause": clause, "tie": True, "protocol": "NewReno", "rtt_ms": RTTS_2009, **cell}
    return [
        below(FIRST, metric, lambda at, t: min(_but(at, RTTS_2009)) + t.high[clause], **cell),
        above(FIRST, metric, lambda at, t: max(_but(at, RTTS_2009)) - t.high[clause], **cell),
    ]


def _ranges_of_ccid2(at):
    return [_range(_over_rtts(at, RTTS_2009, protocol=name)) for name in NAMES_OF_FAST]


def flatter_than(name):
    """The NRU of CCID2 against this variant is flat but for one RTT."""
    aside = ((FIRST, {"metric": "U_n", "flow": 1, "protocol": name}, 0.0),)
    return below(
        FIRST,
        "U_n",
        lambda at, t: t.high["flatter"] - _range(_over_rtts(at, RTTS_2009, protocol="NewReno")),
        clause="flatter",
        flow=1,
        protocol=name,
        rtt_ms=RTTS_2009,
        but=aside,
    )


BEYOND_100 = RTTS_2008[4:]
EDGES_2009 = {
    "bhatti2009.c05": [
        # six pairs of RTTs: at 50 ms it may take as long as at 200 ms, but not longer
        below(
            "single",
            "time_to_90_s",
            lambda at, t: at(rtt_ms=200),
            tie=True,
            clause="trend",
            flow=1,
            protocol="NewReno",
            rtt_ms=50,
        ),
        above(
            "single",
            "time_to_90_s",
            lambda at, t: at(rtt_ms=25) + 300 * t.low["seen"],
            clause="seen",
            flow=1,
            protocol="NewReno",
            rtt_ms=200,
        ),
        below(
            "single",
            "time_to_90_s",
            lambda at, t: at(rtt_ms=200) - 300 * t.low["seen"],
            clause="seen",
            flow=1,
            protocol="NewReno",
            rtt_ms=25,
        ),
    ],
    # at 54 Mb/s and more, or 46 and less, BIC and CUBIC are 2 Mb/s further from CCID2 than NewReno is
    "bhatti2009.c07": [
        edge
        for clause, name, mbps in (("bic", "BIC", 70.0), ("cubic", "CUBIC", 80.0))
        for edge in (
            _nearer(clause, name, (lambda at, t, clause=clause: 52 + t.low[clause], True)),
            _nearer(clause, name, (lambda at, t, clause=clause: 48 - t.low[clause], False)),
            _nearer(clause, "NewReno", (lambda at, t, clause=clause, mbps=mbps: mbps - t.low[clause], False)),
            _nearer(clause, "NewReno", (lambda at, t, c=clause, mbps=mbps: 100 - mbps + t.low[c], True)),
        )
    ],
    "bhatti2009.c10": [*ccid2_uses_less("alone", "single"), *ccid2_uses_less("pair", SELF)],
    "bhatti2009.c19": [
        *flat("mean", "U_N"),
        *flat("flows", "U_n", flow=1),
        *flat("flows", "U_n", flow=2),
        below(
            FIRST,
            "U_n",
            lambda at, t: min(_but(at, RTTS_2009)) + min(_ranges_of_ccid2(at)) + t.high["flatter"],
            clause="flatter",
            flow=1,
            protocol="NewReno",
            rtt_ms=RTTS_2009,
        ),
        *(flatter_than(name) for name in NAMES_OF_FAST),
    ],
    # flow 1 as far below flow 2, or above it, as at 100 ms but for the tie
    "bhatti2009.c24": [
        edge
        for clause, name in FAST.items()
        for cell in [{"clause": clause, "tie": True, "flow": 1, "protocol": name, "rtt_ms": [25, 50, 200]}]
        for edge in (
            above(FIRST, "U_n", lambda at, t, clause=clause: at(flow=2) - _gap(at, 100) + t.low[clause], **cell),
            below(FIRST, "U_n", lambda at, t, clause=clause: at(flow=2) + _gap(at, 100) - t.low[clause], **cell),
        )
    ],
    "bhatti2009.c25": [
        edge
        for clause, name in FAST.items()
        for cell in [{"clause": clause, "tie": True, "flow": 1, "protocol": name}]
        for edge in (
            above(
                FIRST,
                "U_n",
                lambda at, t, clause=clause: at(flow=2) - _gap(at, 100) - t.high[clause],
                rtt_ms=200,
                **cell,
            ),
            below(
                FIRST,
                "U_n",
                lambda at, t, clause=clause: at(flow=2) - _gap(at, 200) + t.high[clause],
                rtt_ms=100,
                **cell,
            ),
        )
    ],
    "bhatti2009.c29": [*none_has_its_share("before"), *some_have_their_share("after", BEYOND_100)],
    # the mean of four distances, the others of which are put aside as 0
    "bhatti2009.c30": [
        edge
        for clause, name in BIC_AND_CUBIC.items()
        for order in (FIRST, SECOND)
        for edge in apart(
            order,
            lambda t, clause=clause: 4 * t.low[clause],
            False,
            clause=clause,
            protocol=name,
            rtt_ms=RTTS_2009,
            but=(indices(FIRST, name, 0.5), indices(SECOND, name, 0.5)),
        )
    ],
}


# --- bhatti2008 --------------------------------------------------------------------------------------------------

TCP_2008 = {"newreno": "NewReno", "cubic": "CUBIC"}  # by clause
ABOVE_25_2008, BEYOND_125 = RTTS_2008[1:], [150, 175, 200]
NEVER = {"NewReno": [75], "CUBIC": [125, 150]}


def converged(protocol, rtt_ms, time_s):
    return (PAIR, {"metric": "T_U", "protocol": protocol, "rtt_ms": rtt_ms}, time_s)


def _relative_range(values):
    return _range(values) / max(values)


def _flatter(clause, name):
    """A share of 1 at all RTTs but one, against the range of the index, and the other way round."""

    def of_share(at, t):
        return 10 * np.log10(1 - _relative_range(_over_rtts(at, RTTS_2008, metric=JFI)) + t.low[clause])

    def of_index(at, t):
        shares = [10 ** (u / 10) for u in _over_rtts(at, RTTS_2008, metric="U_N")]
        return 1 - _relative_range(shares) - t.low[clause]

    def even(metric, value):
        return ((PAIR, {"metric": metric, "protocol": name}, value),)

    cell = {"clause": clause, "protocol": name, "rtt_ms": RTTS_2008}
    return [
        above(PAIR, "U_N", of_share, but=even("U_N", 0.0), **cell),
        below(PAIR, "U_N", lambda at, t: -of_share(at, t), but=even("U_N", 0.0), **cell),
        below(PAIR, JFI, of_index, but=even(JFI, 1.0), **cell),
    ]


def _sum_of_shares(at, protocol, but_rtt_ms=None):
    """Sum over the RTTs from 50 ms on of the share of the time after convergence."""
    return sum(at(protocol=protocol, rtt_ms=rtt_ms) for rtt_ms in ABOVE_25_2008 if rtt_ms != but_rtt_ms)


def stays_fair(side, clause, protocol, limit):
    return side(PAIR, "converged_share", limit, clause=clause, protocol=protocol, rtt_ms=ABOVE_25_2008)


def at_one_rtt(rtt_ms):
    """Only there both converge."""
    return (
        converged("NewReno", RTTS_2008, 100.0),
        converged("CUBIC", RTTS_2008, np.nan),
        converged("CUBIC", rtt_ms, 50.0),
    )


FEW_OF_CASE_B = ((PAIR, {"metric": "U_n", "flow": 2, "protocol": "NewReno"}, -1.0),)
OF_CUBIC_AT_25 = {"flow": 2, "protocol": "CUBIC", "rtt_ms": 25, "clause": "rounded", "tie": True}

EDGES_2008 = {
    "bhatti2008.c10": [
        # with all pairs of NewReno put aside eight of 16 are left; to two decimals a positive NRU of 0.005 or less is none
        above(PAIR, "U_n", 0.005, clause="most", flow=2, protocol="CUBIC", rtt_ms=RTTS_2008, but=FEW_OF_CASE_B),
        below(
            PAIR,
            "U_n",
            -0.005,
            clause="most",
            flow=1,
            protocol="CUBIC",
            rtt_ms=RTTS_2008,
            but=FEW_OF_CASE_B,
        ),
        below(
            PAIR,
            "U_n",
            lambda at, t: t.high["neither"],
            tie=True,
            clause="neither",
            flow=[1, 2],
            protocol="NewReno",
            rtt_ms=125,
        ),
        below(PAIR, "U_n", lambda at, t: t.high["rounded"], **OF_CUBIC_AT_25),
        above(PAIR, "U_n", lambda at, t: t.low["rounded"], **OF_CUBIC_AT_25),
    ],
    "bhatti2008.c11": [
        below(
            PAIR,
            "U_n",
            lambda at, t: t.high["less"],
            tie=True,
            clause="less",
            flow=1,
            protocol="CUBIC",
            rtt_ms=100,
        ),
        above(PAIR, "U_n", lambda at, t: t.low["more"], tie=True, clause="more", flow=2, protocol="CUBIC", rtt_ms=100),
        # whichever flow is the lower one
        *(
            holds(
                (PAIR, {"metric": "U_n", "flow": 1, "protocol": "CUBIC", "rtt_ms": 100}, 2.0),
                (PAIR, {"metric": "U_n", "flow": 2, "protocol": "CUBIC", "rtt_ms": 100}, -4.0),
                clause=clause,
            )
            for clause in ("less", "more")
        ),
    ],
    "bhatti2008.c12": [edge for clause, name in TCP_2008.items() for edge in _flatter(clause, name)],
    # seven RTTs against six
    "bhatti2008.c13": [
        *(fails(converged("NewReno", rtt_ms, np.nan)) for rtt_ms in RTTS_2008 if rtt_ms not in NEVER["NewReno"]),
        *(fails(converged("CUBIC", rtt_ms, 70.0)) for rtt_ms in NEVER["CUBIC"]),
        holds(converged("CUBIC", 150, 70.0), converged("NewReno", 75, 70.0)),
    ],
    "bhatti2008.c14": [
        *(
            below(
                PAIR,
                "T_U",
                lambda at, t: at(protocol="NewReno") / t.low["sooner"],
                protocol="CUBIC",
                rtt_ms=rtt_ms,
                but=at_one_rtt(rtt_ms),
            )
            for rtt_ms in RTTS_2008
        ),
        # twice as soon at one RTT, and half as soon but for the tie at another
        below(
            PAIR,
            "T_U",
            lambda at, t: 2 * at(protocol="NewReno") / t.low["sooner"] ** 2,
            protocol="CUBIC",
            rtt_ms=200,
            but=at_one_rtt([25, 200]),
        ),
    ],
    "bhatti2008.c16": [*none_has_its_share("before"), *some_have_their_share("after", RTTS_2008[4:])],
    "bhatti2008.c17": [
        *none_has_its_share("case_a"),
        above(ALL, "U_n", lambda at, t: t.low["case_c"], tie=True, clause="case_c", flow=14, rtt_ms=125),
        below(ALL, "U_n", lambda at, t: t.high["case_c"], tie=True, clause="case_c", flow=FLOWS, rtt_ms=125),
        *some_have_their_share("case_b", RTTS_2008[5:]),
    ],
    # the means of seven shares
    "bhatti2008.c20": [
        stays_fair(
            below, "short", "CUBIC", lambda at, t: 7 * t.high["short"] - _sum_of_shares(at, "CUBIC", at["rtt_ms"])
        ),
        stays_fair(
            below,
            "shorter",
            "CUBIC",
            lambda at, t: (
                7 * t.high["shorter"] + _sum_of_shares(at, "NewReno") - _sum_of_shares(at, "CUBIC", at["rtt_ms"])
            ),
        ),
        stays_fair(
            above,
            "shorter",
            "NewReno",
            lambda at, t: (
                _sum_of_shares(at, "CUBIC") - 7 * t.high["shorter"] - _sum_of_shares(at, "NewReno", at["rtt_ms"])
            ),
        ),
    ],
    "bhatti2008.c21": [
        holds(),
        *(fails(converged(name, rtt_ms, 70.0)) for name in NEVER for rtt_ms in NEVER[name]),
        *(
            fails(converged(name, rtt_ms, np.nan))
            for name in NEVER
            for rtt_ms in RTTS_2008
            if rtt_ms not in NEVER[name]
        ),
    ],
}
