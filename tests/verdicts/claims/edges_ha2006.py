"""A world in which the claims of ha2006 hold, and their edges."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from scipy import stats

from tests.verdicts.claims.edges import CLAIMS, CONFIGS, Edge, World, above, below, fails, holds, table

CONFIG = CONFIGS["ha2006"]

ALONE = {"CUBIC": 0.95, "BIC": 0.95, "FAST": 0.95, "HSTCP": 0.93, "H-TCP": 0.95, "STCP": 0.84, "SACK": 0.9}
ALONE_324 = {"CUBIC": 0.9, "BIC": 0.9, "FAST": 0.8, "HSTCP": 0.88, "H-TCP": 0.9, "STCP": 0.7, "SACK": 0.4}
FIG4 = {"CUBIC": 0.95, "BIC": 0.95, "H-TCP": 0.94, "HSTCP": 0.92, "STCP": 0.84, "FAST": 0.95}
FIG5 = {"CUBIC": 0.92, "BIC": 0.94, "H-TCP": 0.82, "HSTCP": 0.87, "STCP": 0.92, "FAST": 0.82, "SACK": 0.5}
BUFFER = {1e6: 0.6, 2e6: 0.7, 4e6: 0.78, 6e6: 0.84, 8e6: 0.9}
FOUR = ("Type I", "Type II", "Type III", "Type IV")

# ratios without background, with Types I to IV, with Type V
INTRA = {
    "CUBIC": (0.8, 0.85, 0.95),
    "BIC": (0.9, 0.95, 0.99),
    "H-TCP": (0.95, 0.97, 0.99),
    "HSTCP": (0.3, 0.35, 0.8),
    "STCP": (0.75, 0.8, 0.95),
    "FAST": (0.6, 0.6, 0.4),
    "SACK": (0.8, 0.8, 0.9),
}
RTT = {
    "CUBIC": (0.26, 0.3, 0.4),
    "BIC": (0.2, 0.34, 0.4),
    "H-TCP": (0.97, 0.97, 0.97),
    "HSTCP": (0.15, 0.3, 0.45),
    "STCP": (0.1, 0.6, 0.7),
    "FAST": (0.97, 0.97, 0.97),
    "SACK": (0.35, 0.4, 0.45),
}
FRIENDLY = {
    "CUBIC": (0.45, 0.5, 0.9),
    "BIC": (0.15, 0.4, 0.6),
    "H-TCP": (0.5, 0.55, 0.6),
    "HSTCP": (0.3, 0.35, 0.4),
    "STCP": (0.1, 0.35, 0.5),
    "FAST": (0.45, 0.45, 0.45),
}
FRIENDLY_16 = {"CUBIC": (0.4, 0.8), "H-TCP": (0.6, 0.95), "BIC": (0.15, 0.3), "STCP": (0.1, 0.2)}


def _of_kind(values, traffic):
    return values[0 if traffic == "none" else 2 if traffic == "Type V" else 1]


def fair_ratio(experiment, protocol, rtt_ms, traffic):
    if experiment == "example_alone":
        return 0.9
    if experiment.startswith("intra"):
        return _of_kind(INTRA[protocol], traffic)
    if experiment.startswith("rtt"):
        if protocol == "CUBIC" and traffic in ("none", "Type V"):  # 1/k, and half as much again with Type V
            return min(rtt_ms / 162 * (1 if traffic == "none" else 1.54), 1)
        return _of_kind(RTT[protocol], traffic)
    if rtt_ms == 16 and protocol in FRIENDLY_16:
        return FRIENDLY_16[protocol][traffic == "Type V"]
    return _of_kind(FRIENDLY[protocol], traffic)


def utilisation(experiment, protocol, rtt_ms, traffic, buffer_bytes):
    if experiment == "example_alone":
        return FIG4[protocol]
    if experiment == "util_alone":
        return ALONE_324[protocol] if rtt_ms == 324 else 0.6 if (protocol, rtt_ms) == ("SACK", 162) else ALONE[protocol]
    if experiment == "util_type2":
        return 0.3 if (protocol, rtt_ms) == ("SACK", 324) else FIG5[protocol]
    if experiment == "buffer":
        return BUFFER[buffer_bytes] if protocol in ("H-TCP", "HSTCP") else 0.9
    if experiment == "htcp_types":
        lost = {"none": 0, "Type I": 0.1, "Type II": 0.2, "Type III": 0.12, "Type IV": 0.07}
        kind, _, fixed = traffic.partition(",")
        return 0.95 - lost[kind] / (2 if fixed else 1)
    if experiment == "fast_type1":
        return 0.93 if "10 Mb/s" in traffic else 0.85
    return 0.92


def load_cov(experiment, protocol, traffic):
    if experiment == "example_alone":
        return {"STCP": 0.4, "HSTCP": 0.2}.get(protocol, 0.1)
    if experiment == "htcp_types":
        return 0.1 if "fixed" in traffic else 0.2
    return 0.3 if protocol in ("H-TCP", "FAST", "SACK") else 0.1


def values_at(experiment, protocol, rtt_ms, traffic, buffer_bytes):
    """Metrics of the system and of the flows at one point of the grid."""
    if experiment in ("load", "background"):
        sd = {"Type I": 20, "Type II": 30, "Type III": 25, "Type IV": 15}[traffic]
        return {"load_both_ways": 70.0, "load_sd": sd}, {}
    if experiment.startswith("web"):
        return {"web_mean": 60.0}, {}
    system = {
        "utilisation": utilisation(experiment, protocol, rtt_ms, traffic, buffer_bytes),
        "load_cov": load_cov(experiment, protocol, traffic),
    }
    if experiment not in ("util_alone", "util_type2", "buffer", "htcp_types", "fast_type1"):
        system["fair_ratio"] = fair_ratio(experiment, protocol, rtt_ms, traffic)
        system["ratio_at_end"] = 0.9 if protocol != "HSTCP" or traffic == "Type V" else 0.4
    system["lead_changes"] = 2 if protocol == "STCP" else 0
    system["fair_at_s"] = 300 if protocol == "HSTCP" else 50
    system["shared_losses"] = {"Type II": 0.8, "Type IV, fixed RTT": 0.4}.get(traffic, 0.5)
    flows = {"rate_largest": {1: 150.0, 2: 190.0}, "throughput_mean": {1: 140.0, 2: 40.0, 3: 140.0, 4: 40.0}}
    return system, flows


def _metrics(experiment):
    grid = {name: value.value for name, value in CONFIG.experiments[experiment].grid.items()}
    names = ("protocol", "rtt_ms", "traffic", "buffer_bytes")
    rows = []
    for at in product(*grid.values()):
        point = dict(zip(grid, at, strict=True))
        filled = [point.get(name, {"protocol": "", "traffic": "none"}.get(name)) for name in names]
        system, flows = values_at(experiment, *filled)
        rows += [(*at, 0, name, value) for name, value in system.items()]
        rows += [(*at, flow, name, value) for name, by_flow in flows.items() for flow, value in by_flow.items()]
    return table(rows, list(grid))


READ = {name for claim in CLAIMS.values() if claim.paper == "ha2006" for name in claim.experiments}
WORLD = World({name: _metrics(name) for name in sorted(READ)})

HIGH_SPEED = ["CUBIC", "BIC", "FAST", "HSTCP", "H-TCP", "STCP"]
UP_TO_162 = [16, 22, 42, 82, 162]
EVERY_RTT = [*UP_TO_162, 324]
LONG = [162, 324]
UP_TO_82 = [16, 22, 42, 82]
INTRA_RTTS = [16, 42, 82, 162, 324]
OF_TYPES = ["CUBIC", "BIC", "HSTCP", "H-TCP", "STCP"]
KINDS = list(FOUR)
BUFFERS = list(BUFFER)
U, R, COV = "utilisation", "fair_ratio", "load_cov"
# how far the replicates of a case that stands alone are apart
SPREAD = 2.0**-8


def without(names, *left_out):
    return [name for name in names if name not in left_out]


def mean_is(at, target, rtts_ms):
    """What one cell must be for the mean over the RTTs to be ``target``."""
    return len(rtts_ms) * target - sum(at(rtt_ms=rtt_ms) for rtt_ms in rtts_ms if rtt_ms != at["rtt_ms"])


def mean_over(at, rtts_ms, **where):
    return sum(at(rtt_ms=rtt_ms, **where) for rtt_ms in rtts_ms) / len(rtts_ms)


def _as_printed(experiment, **where):
    printed = CLAIMS["ha2006.c06"].thresholds["utilisation"]
    return [
        above(
            experiment,
            U,
            lambda at, t: t.utilisation[at["protocol"]] - t.tolerance,
            tie=True,
            protocol=list(printed),
            **where,
        ),
        below(
            experiment,
            U,
            lambda at, t: t.utilisation[at["protocol"]] + t.tolerance,
            tie=True,
            protocol=list(printed),
            **where,
        ),
    ]


def _correlated(world, r):
    """Utilisation and CoV over protocols and RTTs with this correlation coefficient."""
    frame = world.metrics["util_type2"]
    of = {name: frame.index[frame["metric"] == name] for name in (U, COV)}
    x = np.linspace(-1, 1, len(of[U]))
    y = x**2 - np.mean(x**2)  # even, so at a right angle to x
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    values = frame["value"].copy()
    values[of[U]], values[of[COV]] = x, r * x + np.sqrt(1 - r**2) * y
    return replace(world, metrics={**world.metrics, "util_type2": frame.assign(value=values)})


def _half_interval():
    """Of three replicates that lie 1 apart."""
    return stats.t.ppf(0.975, 2) / np.sqrt(3)


def near(experiment, low, high, **where):
    """Both ends of a range of the throughput ratio, of which the ends belong to it."""
    return [above(experiment, R, low, tie=True, **where), below(experiment, R, high, tie=True, **where)]


def _of_test(test, traffic, rtt_ms):
    """Looks up the ratio of a protocol in the test over RTTs, at the RTT of the test of types."""
    return lambda at, protocol=None: at(test, traffic=traffic, rtt_ms=rtt_ms, protocol=protocol or at["protocol"])


TYPE5, NONE = _of_test("rtt_fairness", "Type V", 42), _of_test("rtt_fairness", "none", 42)
TESTS = {"intra": ("intra_types", 82), "rtt_fairness": ("rtt_types", 42), "friendliness": ("friendliness_types", 42)}


def _amount_against_kind(test, types, rtt_ms):
    """All ratios at q with Types I to IV and at v with Type V; one of n protocols aside moves a mean by an nth."""
    n, type5 = len(OF_TYPES), _of_test(test, "Type V", rtt_ms)
    even = ((types, {"metric": R}, 0.4), (test, {"metric": R, "traffic": "Type V"}, 0.8))
    cell = {"but": even, "tie": False, "protocol": OF_TYPES}
    kinds = {"traffic": without(KINDS, "Type II")}

    def bearable(at, t):  # v - q less the tolerance
        return n * (type5(at) - at(types, traffic="Type II", rtt_ms=rtt_ms) - t.tolerance)

    return [
        below(types, R, lambda at, t: at(traffic="Type II") + bearable(at, t), **cell, **kinds),
        above(types, R, lambda at, t: at(traffic="Type II") - bearable(at, t), **cell, **kinds),
        below(types, R, lambda at, t: at() + bearable(at, t) / 2, traffic="Type II", **cell),
        above(test, R, lambda at, t: at() - bearable(at, t), traffic="Type V", rtt_ms=rtt_ms, **cell),
        # Type V as far below
        below(
            test, R, lambda at, t: at() - bearable(at, t) - 2 * n * t.tolerance, traffic="Type V", rtt_ms=rtt_ms, **cell
        ),
    ]


def _four_gain(test, types, rtt_ms):
    """Four protocols gain and one does not: none of the four may fall back."""
    but = (
        (test, {"metric": R}, 0.5),
        (types, {"metric": R}, 0.5),
        (test, {"metric": R, "traffic": "Type V", "protocol": OF_TYPES[:4]}, 0.9),
        (types, {"metric": R, "protocol": OF_TYPES[:4]}, 0.9),
    )
    cell = {"but": but, "tie": False, "protocol": OF_TYPES[:4]}

    def limit(at, t):
        return 5 * (at(test, traffic="none", rtt_ms=rtt_ms) + t.tolerance) - 4 * at()

    return [
        above(types, R, limit, traffic=KINDS, **cell),
        above(test, R, limit, traffic="Type V", rtt_ms=rtt_ms, **cell),
    ]


def _gains(experiment, protocols, rtts_ms, but=(), at_ms=None):
    """The mean over the RTTs with Type V is no lower than without background; one RTT aside, or one of ``at_ms``."""

    def limit(at, t):
        return mean_is(at, mean_over(at, rtts_ms, traffic="none") - t.tolerance, rtts_ms)

    return above(experiment, R, limit, but=but, traffic="Type V", protocol=protocols, rtt_ms=at_ms or rtts_ms)


def _fifth(at, other):
    """The ratio with one type for which the gains by all five sum up to those of ``other``."""

    def gain(protocol, kind):
        with_type5, without = (
            at("friendliness", protocol=protocol, traffic=traffic, rtt_ms=42) for traffic in ("Type V", "none")
        )
        ratio = with_type5 if kind == "Type V" else at(protocol=protocol, traffic=kind, rtt_ms=42)
        return ratio / without - 1

    kinds = [*KINDS, "Type V"]
    rest = sum(gain(at["protocol"], kind) for kind in kinds if kind != at["traffic"])
    return at("friendliness", traffic="none", rtt_ms=42) * (1 + sum(gain(other, kind) for kind in kinds) - rest)


FLAT_FRIENDLINESS = tuple(
    ("friendliness", {"metric": R, "traffic": "none", "protocol": name}, FRIENDLY[name][0]) for name in FRIENDLY
)
FRIENDLY_RTTS = INTRA_RTTS

EDGES = {
    "ha2006.c01": [
        above(
            "util_alone",
            U,
            lambda at, t: t.least - t.tolerance,
            tie=True,
            protocol=["CUBIC", "BIC", "FAST", "HSTCP", "H-TCP"],
            rtt_ms=UP_TO_162,
        ),
    ],
    "ha2006.c02": [
        below(
            "util_alone",
            U,
            lambda at, t: at(protocol="STCP") - (t.more_than - t.tolerance),
            tie=False,
            protocol="SACK",
            rtt_ms=LONG,
        ),
        above(
            "util_alone",
            U,
            lambda at, t: at(protocol="SACK") + (t.more_than - t.tolerance),
            tie=False,
            protocol=HIGH_SPEED,
            rtt_ms=LONG,
        ),
    ],
    "ha2006.c03": [
        above(
            "util_alone",
            U,
            lambda at, t: t.least - t.tolerance,
            tie=True,
            protocol=["CUBIC", "BIC", "HSTCP", "H-TCP"],
            rtt_ms=324,
        ),
    ],
    "ha2006.c04": [
        below(
            "util_alone",
            U,
            lambda at, t: at(rtt_ms=162) - (t.more_than - t.tolerance),
            tie=False,
            protocol="STCP",
            rtt_ms=324,
        ),
        above(
            "util_alone",
            U,
            lambda at, t: at(rtt_ms=324) + (t.more_than - t.tolerance),
            tie=False,
            protocol="STCP",
            rtt_ms=162,
        ),
    ],
    "ha2006.c05": [
        below(
            "util_alone",
            "rate_largest",
            lambda at, t: t.most_mbps * (1 + t.tolerance_rel),
            tie=True,
            protocol="FAST",
            rtt_ms=324,
            flow=[1, 2],
        ),
    ],
    "ha2006.c06": _as_printed("example_alone"),
    "ha2006.c07": _as_printed("util_type2", rtt_ms=162),
    "ha2006.c08": [
        below("util_type2", U, lambda at, t: at("util_alone") - t.tolerance, tie=False, protocol="SACK", rtt_ms=LONG),
        above("util_alone", U, lambda at, t: at("util_type2") + t.tolerance, tie=False, protocol="SACK", rtt_ms=LONG),
    ],
    "ha2006.c09": [
        above(
            "util_type2",
            U,
            lambda at, t: at("util_alone") + (t.more_than - t.tolerance),
            tie=False,
            protocol="STCP",
            rtt_ms=LONG,
        ),
    ],
    "ha2006.c10": [
        above(
            "util_type2", U, lambda at, t: t.least - t.tolerance, tie=True, protocol=["BIC", "CUBIC"], rtt_ms=EVERY_RTT
        ),
        above(
            "intra_types", U, lambda at, t: t.least - t.tolerance, tie=True, protocol=["BIC", "CUBIC"], traffic=KINDS
        ),
        holds(("intra_types", {"traffic": ["Type II, fixed RTT", "Type IV, fixed RTT"]}, 0.1)),
    ],
    "ha2006.c11": [
        below(
            "util_type2",
            U,
            lambda at, t: at(protocol="CUBIC") - (t.more_than - t.tolerance),
            tie=False,
            protocol=["H-TCP", "FAST"],
            rtt_ms=EVERY_RTT,
        ),
        holds(("util_type2", {"protocol": "HSTCP"}, 1.0)),
    ],
    "ha2006.c12": [
        # each step may fall by the tolerance
        *(
            above(
                "buffer",
                U,
                lambda at, t, before=before: at(buffer_bytes=before) - t.tolerance,
                tie=True,
                protocol=["H-TCP", "HSTCP"],
                buffer_bytes=after,
            )
            for before, after in pairwise(BUFFERS)
        ),
        *(
            above(
                "buffer",
                U,
                lambda at, t: at(buffer_bytes=BUFFERS[0]) + t.tolerance,
                tie=False,
                protocol=own,
                buffer_bytes=BUFFERS[-1],
                but=(("buffer", {"metric": U, "protocol": own}, 0.7),),
            )
            for own in ("H-TCP", "HSTCP")
        ),
        # not at the largest
        *(
            below(
                "buffer",
                U,
                lambda at, t: at(protocol="CUBIC") - t.tolerance,
                tie=False,
                protocol=own,
                buffer_bytes=BUFFERS[:-1],
                but=(
                    ("buffer", {"metric": U, "protocol": own}, 0.85),
                    ("buffer", {"metric": U, "protocol": own, "buffer_bytes": BUFFERS[-1]}, 1.0),
                ),
            )
            for own in ("H-TCP", "HSTCP")
        ),
    ],
    "ha2006.c13": [
        above(
            "util_type2",
            COV,
            lambda at, t: at(protocol="CUBIC") * t.times * (1 - t.tolerance_rel),
            protocol="H-TCP",
            rtt_ms=EVERY_RTT,
        ),
        below(
            "util_type2",
            COV,
            lambda at, t: at(protocol="H-TCP") / (t.times * (1 - t.tolerance_rel)),
            protocol=["CUBIC", "BIC", "HSTCP", "STCP"],
            rtt_ms=EVERY_RTT,
        ),
    ],
    "ha2006.c14": [Edge("util_type2", {}, lambda at, t: t.less_than + t.tolerance, above=False, put=_correlated)],
    # the standard deviation of three replicates that lie as far apart
    "ha2006.c15": [
        below(
            "htcp_types",
            U,
            lambda at, t: at(traffic="none") - SPREAD,
            alone=True,
            spread=SPREAD,
            traffic=["Type I", "Type III", "Type IV", *(f"{kind}, fixed RTT" for kind in KINDS)],
        ),
        above(
            "htcp_types",
            U,
            lambda at, t: at(traffic="Type II") + SPREAD,
            alone=True,
            spread=SPREAD,
            traffic=["Type I", "Type III", "Type IV", *(f"{kind}, fixed RTT" for kind in KINDS)],
        ),
    ],
    "ha2006.c16": [
        *(
            above(
                "htcp_types",
                COV,
                lambda at, t, kind=kind: at(traffic=f"{kind}, fixed RTT") + SPREAD,
                alone=True,
                spread=SPREAD,
                traffic=kind,
            )
            for kind in KINDS
        ),
        *(
            below(
                "htcp_types",
                U,
                lambda at, t, kind=kind: at(traffic=f"{kind}, fixed RTT") - SPREAD,
                alone=True,
                spread=SPREAD,
                traffic=kind,
            )
            for kind in KINDS
        ),
    ],
    "ha2006.c17": [
        below(
            "background",
            "load_sd",
            lambda at, t, before=before: np.sqrt(at(traffic=before) ** 2 / (1 + t.tolerance_rel)),
            traffic=after,
        )
        for before, after in (("Type II", "Type III"), ("Type III", "Type I"), ("Type I", "Type IV"))
    ],
    # the mean over the replicates, which lie far outside
    "ha2006.c18": [
        above("load", "load_both_ways", lambda at, t: t.load_mbps[0], tie=True, traffic=KINDS, alone=True, spread=32.0),
        below("load", "load_both_ways", lambda at, t: t.load_mbps[1], tie=True, traffic=KINDS, alone=True, spread=32.0),
    ],
    "ha2006.c19": [
        above("fast_type1", U, lambda at, t: at(traffic="Type I") + t.tolerance, tie=False, traffic="Type I, 10 Mb/s"),
        above(
            "fast_type1",
            "throughput_mean",
            lambda at, t: (at(flow=2) + at(flow=4)) * (1 + t.tolerance) - at(flow=4 - at["flow"]),
            tie=False,
            traffic="Type I, 10 Mb/s",
            flow=[1, 3],
        ),
        below(
            "fast_type1",
            "throughput_mean",
            lambda at, t: (at(flow=1) + at(flow=3)) / (1 + t.tolerance) - at(flow=6 - at["flow"]),
            traffic="Type I, 10 Mb/s",
            flow=[2, 4],
        ),
    ],
    # the worst at three of five RTTs, and no more at two
    "ha2006.c20": [
        below(
            "intra",
            R,
            lambda at, t: at(protocol="FAST") - t.tolerance,
            tie=False,
            protocol="HSTCP",
            traffic="none",
            rtt_ms=INTRA_RTTS[2:],
            but=(("intra", {"metric": R, "protocol": "HSTCP", "rtt_ms": INTRA_RTTS[:2]}, 0.9),),
        ),
        above(
            "intra",
            R,
            lambda at, t: at(protocol="HSTCP") + t.tolerance,
            tie=False,
            protocol=without(HIGH_SPEED, "HSTCP"),
            traffic="none",
            rtt_ms=INTRA_RTTS[2:],
            but=(("intra", {"metric": R, "protocol": "HSTCP", "rtt_ms": INTRA_RTTS[:2]}, 0.9),),
        ),
        holds(("intra", {"metric": R, "protocol": "SACK"}, 0.0)),
    ],
    "ha2006.c21": [
        below(
            "intra",
            R,
            lambda at, t: mean_is(at, at(protocol="H-TCP") - t.tolerance, INTRA_RTTS),
            tie=False,
            protocol=["CUBIC", "HSTCP", "STCP", "FAST"],
            traffic="none",
            rtt_ms=INTRA_RTTS,
        ),
        *near(
            "intra",
            lambda at, t: mean_is(at, at(protocol="H-TCP") - t.near, INTRA_RTTS),
            lambda at, t: mean_is(at, at(protocol="H-TCP") + t.near, INTRA_RTTS),
            protocol="BIC",
            traffic="none",
            rtt_ms=INTRA_RTTS,
        ),
        holds(("intra", {"metric": R, "protocol": "SACK"}, 1.0)),
    ],
    "ha2006.c22": [
        above(
            "intra",
            R,
            lambda at, t: mean_is(at, at(protocol="HSTCP") + t.tolerance, INTRA_RTTS),
            tie=False,
            protocol="STCP",
            traffic="none",
            rtt_ms=INTRA_RTTS,
        ),
    ],
    "ha2006.c23": [
        above(
            "rtt_fairness",
            R,
            lambda at, t: t.least - t.tolerance,
            tie=True,
            protocol=["H-TCP", "FAST"],
            traffic="none",
            rtt_ms=UP_TO_162,
        ),
    ],
    "ha2006.c24": [
        above(
            "rtt_fairness",
            R,
            lambda at, t: at["rtt_ms"] / t.rtt_ms / t.factor,
            protocol="CUBIC",
            traffic="none",
            rtt_ms=UP_TO_162,
        ),
        below(
            "rtt_fairness",
            R,
            lambda at, t: at["rtt_ms"] / t.rtt_ms * t.factor,
            protocol="CUBIC",
            traffic="none",
            rtt_ms=UP_TO_162,
        ),
    ],
    "ha2006.c25": [
        below(
            "rtt_fairness",
            R,
            lambda at, t: mean_is(at, at(protocol="SACK") - t.tolerance, UP_TO_82),
            tie=False,
            protocol=["BIC", "STCP"],
            traffic="none",
            rtt_ms=UP_TO_82,
        ),
        holds(("rtt_fairness", {"metric": R, "protocol": ["BIC", "STCP"], "rtt_ms": 162}, 9.0)),
    ],
    "ha2006.c27": [
        *near(
            "friendliness",
            lambda at, t: at(protocol="H-TCP") - t.near,
            lambda at, t: at(protocol="H-TCP") + t.near,
            protocol=["CUBIC", "FAST"],
            traffic="none",
            rtt_ms=INTRA_RTTS[1:],
        ),
        below(
            "friendliness",
            R,
            lambda at, t: at(protocol="H-TCP") - t.tolerance,
            tie=False,
            protocol=without(HIGH_SPEED, "H-TCP"),
            traffic="none",
            rtt_ms=16,
        ),
    ],
    "ha2006.c28": [
        below(
            "friendliness",
            R,
            lambda at, t: mean_is(at, at(protocol="CUBIC") - t.tolerance, FRIENDLY_RTTS),
            tie=False,
            protocol=["BIC", "STCP", "HSTCP"],
            traffic="none",
            rtt_ms=FRIENDLY_RTTS,
            but=FLAT_FRIENDLINESS,
        ),
        above(
            "friendliness",
            R,
            lambda at, t: mean_is(at, at(protocol="HSTCP") + t.tolerance, FRIENDLY_RTTS),
            tie=False,
            protocol=["CUBIC", "H-TCP"],
            traffic="none",
            rtt_ms=FRIENDLY_RTTS,
            but=FLAT_FRIENDLINESS,
        ),
        holds(("friendliness", {"metric": R, "protocol": "FAST"}, 0.0)),
        holds(("friendliness", {"metric": R, "protocol": "FAST"}, 1.0)),
    ],
    "ha2006.c29": [
        _gains("intra", without([*HIGH_SPEED, "SACK"], "FAST"), INTRA_RTTS),
        holds(("intra", {"metric": R, "protocol": "FAST", "traffic": "Type V"}, 0.0)),
    ],
    "ha2006.c30": [
        _gains("rtt_fairness", ["CUBIC", "H-TCP", "STCP", "FAST", "SACK"], UP_TO_82),
        _gains(
            "rtt_fairness",
            ["HSTCP", "BIC"],
            UP_TO_82,
            but=(("rtt_fairness", {"metric": R, "protocol": ["HSTCP", "BIC"], "traffic": "none"}, 0.4),),
        ),
        *near(
            "rtt_fairness",
            lambda at, t: mean_is(at, at(protocol="SACK") - t.near - t.tolerance, UP_TO_82),
            lambda at, t: mean_is(at, at(protocol="SACK") + t.near + t.tolerance, UP_TO_82),
            protocol=["HSTCP", "BIC"],
            traffic="Type V",
            rtt_ms=UP_TO_82,
        ),
    ],
    "ha2006.c31": [
        _gains("friendliness", ["CUBIC", "H-TCP"], FRIENDLY_RTTS, at_ms=FRIENDLY_RTTS[1:]),
        _gains("friendliness", without(HIGH_SPEED, "CUBIC", "H-TCP"), FRIENDLY_RTTS),
        below(
            "friendliness",
            R,
            lambda at, t: (
                at(traffic="none") + at(protocol="H-TCP") - at(protocol="H-TCP", traffic="none") - t.tolerance
            ),
            tie=False,
            protocol=without(HIGH_SPEED, "CUBIC", "H-TCP"),
            traffic="Type V",
            rtt_ms=16,
        ),
        above(
            "friendliness",
            R,
            lambda at, t: at(traffic="none") + at(protocol="BIC") - at(protocol="BIC", traffic="none") + t.tolerance,
            tie=False,
            protocol=["CUBIC", "H-TCP"],
            traffic="Type V",
            rtt_ms=16,
        ),
    ],
    "ha2006.c32": [
        edge
        for experiment, where in (
            ("rtt_types", {"traffic": KINDS}),
            ("rtt_fairness", {"traffic": "Type V", "rtt_ms": 42}),
        )
        for edge in (
            above(
                experiment,
                R,
                lambda at, t: NONE(at) * (1 + t.gain[at["protocol"]][0] * (1 - t.tolerance_rel)),
                protocol=["BIC", "STCP"],
                **where,
            ),
            below(
                experiment,
                R,
                lambda at, t: NONE(at) * (1 + t.gain[at["protocol"]][1] * (1 + t.tolerance_rel)),
                protocol=["BIC", "STCP"],
                **where,
            ),
        )
    ],
    "ha2006.c33": [
        below(
            "rtt_types",
            R,
            lambda at, t: TYPE5(at) - t.tolerance,
            tie=False,
            protocol=["BIC", "HSTCP", "STCP", "CUBIC"],
            traffic=KINDS,
        ),
        below(
            "rtt_fairness",
            R,
            lambda at, t: NONE(at) * TYPE5(at, "BIC") / NONE(at, "BIC"),
            tie=False,
            protocol="CUBIC",
            traffic="Type V",
            rtt_ms=42,
            but=(
                ("rtt_fairness", {"metric": R, "protocol": ["CUBIC", "BIC"], "traffic": "none"}, 0.25),
                ("rtt_fairness", {"metric": R, "protocol": "BIC", "traffic": "Type V"}, 0.5),
            ),
        ),
        above(
            "rtt_fairness",
            R,
            lambda at, t: NONE(at) * TYPE5(at, "CUBIC") / NONE(at, "CUBIC"),
            protocol=["BIC", "HSTCP", "STCP"],
            traffic="Type V",
            rtt_ms=42,
            but=(("rtt_types", {"metric": R, "protocol": ["BIC", "HSTCP", "STCP"]}, 0.05),),
        ),
        holds(("rtt_types", {"metric": R, "protocol": "H-TCP"}, 1.0)),
    ],
    "ha2006.c34": [
        above(
            "intra",
            R,
            lambda at, t: t.least - t.tolerance,
            tie=False,
            protocol=["CUBIC", "BIC", "H-TCP", "STCP"],
            traffic="none",
            rtt_ms=82,
        ),
        below(
            "intra_types",
            R,
            lambda at, t: at("intra", traffic="Type V", rtt_ms=82) - (t.more_than - t.tolerance),
            tie=False,
            protocol="HSTCP",
            traffic=KINDS,
        ),
        below(
            "intra",
            R,
            lambda at, t: at(traffic="Type V") - (t.more_than - t.tolerance),
            tie=False,
            protocol="HSTCP",
            traffic="none",
            rtt_ms=82,
        ),
    ],
    "ha2006.c35": [
        edge
        for types, _ in TESTS.values()
        for kind in ("Type II", "Type IV")
        for edge in near(
            types,
            lambda at, t, kind=kind: at(traffic=kind) - t.most - t.tolerance,
            lambda at, t, kind=kind: at(traffic=kind) + t.most + t.tolerance,
            protocol=OF_TYPES,
            traffic=f"{kind}, fixed RTT",
        )
    ],
    "ha2006.c36": [
        above(
            "friendliness",
            R,
            lambda at, t: at(traffic="none") * (1 + t.gain - t.gain * t.tolerance_rel),
            protocol="CUBIC",
            traffic="Type V",
            rtt_ms=42,
        ),
        below(
            "friendliness",
            R,
            lambda at, t: at(traffic="none") * (1 + t.gain + t.gain * t.tolerance_rel),
            protocol="CUBIC",
            traffic="Type V",
            rtt_ms=42,
        ),
        # the sum of five gains of one protocol must exceed that of CUBIC, 4 (0.5/0.45 - 1) + 1, or fall short of BIC's
        above("friendliness_types", R, lambda at, t: _fifth(at, "CUBIC"), protocol=["BIC", "STCP"], traffic=KINDS),
        below(
            "friendliness_types",
            R,
            lambda at, t: _fifth(at, "BIC"),
            protocol=["HSTCP", "H-TCP", "CUBIC"],
            traffic=KINDS,
        ),
    ],
    # three replicates 1 apart: the intervals of two means are as wide, and touch where the means are that far apart
    "ha2006.c37": [
        edge
        for web in ("web_2", "web_8")
        for edge in (
            below(
                web,
                "web_mean",
                lambda at, t: 60 + 2 * _half_interval(),
                alone=True,
                spread=1.0,
                protocol=[*HIGH_SPEED, "SACK"],
            ),
            above(
                web,
                "web_mean",
                lambda at, t: 60 - 2 * _half_interval(),
                alone=True,
                spread=1.0,
                protocol=[*HIGH_SPEED, "SACK"],
            ),
        )
    ],
    "ha2006.c38": [
        *(edge for test, (types, rtt_ms) in TESTS.items() for edge in _amount_against_kind(test, types, rtt_ms)),
        holds(("intra", {"metric": R, "protocol": ["FAST", "SACK"], "traffic": "Type V"}, 0.0)),
    ],
    "ha2006.c39": [
        *(edge for test, (types, rtt_ms) in TESTS.items() for edge in _four_gain(test, types, rtt_ms)),
    ],
    "ha2006.c40": [
        below(
            "example_alone",
            COV,
            lambda at, t, before=before: at(protocol=before) / (1 + t.tolerance_rel),
            tie=False,
            protocol=after,
        )
        for before, after in (("STCP", "HSTCP"), ("HSTCP", "CUBIC"))
    ],
    "ha2006.c41": [above("example_alone", "lead_changes", lambda at, t: t.least, tie=True, protocol="STCP")],
    "ha2006.c42": [
        above(
            "example_alone",
            "fair_at_s",
            lambda at, t: at(protocol="CUBIC") * (1 + t.tolerance_rel),
            tie=False,
            protocol="HSTCP",
        ),
        below(
            "example_alone",
            "fair_at_s",
            lambda at, t: at(protocol="HSTCP") / (1 + t.tolerance_rel),
            protocol=["H-TCP", "CUBIC", "BIC"],
        ),
        fails(("example_alone", {"metric": "fair_at_s", "protocol": "HSTCP"}, np.nan)),
        fails(("example_alone", {"metric": "fair_at_s", "protocol": "BIC"}, np.nan)),
        holds(("example_alone", {"metric": "fair_at_s", "protocol": ["STCP", "FAST"]}, np.nan)),
    ],
    "ha2006.c43": [
        below(
            "intra_types",
            "ratio_at_end",
            lambda at, t: t.fair + t.tolerance,
            tie=False,
            protocol="HSTCP",
            traffic=KINDS,
        ),
        below(
            "intra",
            "ratio_at_end",
            lambda at, t: t.fair + t.tolerance,
            tie=False,
            protocol="HSTCP",
            traffic="none",
            rtt_ms=82,
        ),
        above(
            "intra",
            "ratio_at_end",
            lambda at, t: t.fair - t.tolerance,
            tie=True,
            protocol="HSTCP",
            traffic="Type V",
            rtt_ms=82,
        ),
    ],
    "ha2006.c44": [
        above(
            "htcp_types",
            "shared_losses",
            lambda at, t: at(traffic="Type IV, fixed RTT") * (1 + t.tolerance_rel),
            tie=False,
            traffic="Type II",
        ),
        below(
            "htcp_types",
            "shared_losses",
            lambda at, t: at(traffic="Type II") / (1 + t.tolerance_rel),
            traffic="Type IV, fixed RTT",
        ),
    ],
}
