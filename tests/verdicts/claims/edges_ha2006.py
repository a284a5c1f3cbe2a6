"""A world in which the claims of ha2006 hold, and their edges."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from scipy import stats

from tests.verdicts.claims.edges import CLAIMS, CONFIGS, Edge, World, above, below, fails, holds, table

CONFIG = CONFIGS["ha2006"]
# ratios of RTTs say where the laws of two flows are tried (test_laws)
NUMBERS_OF_LAWS = {("ha2006.c26", "rtt_ratio")}

ALONE = {"CUBIC": 0.95, "BIC": 0.95, "FAST": 0.95, "HSTCP": 0.93, "H-TCP": 0.95, "STCP": 0.84}
ALONE_324 = {"CUBIC": 0.91, "BIC": 0.91, "FAST": 0.8, "HSTCP": 0.89, "H-TCP": 0.92, "STCP": 0.7}
SACK_ALONE = {16: 0.94, 22: 0.92, 42: 0.9, 82: 0.85, 162: 0.6, 324: 0.4}
FIG4 = {"CUBIC": 0.95, "BIC": 0.95, "H-TCP": 0.94, "HSTCP": 0.92, "STCP": 0.84, "FAST": 0.95}
FIG5 = {"CUBIC": 0.92, "BIC": 0.94, "H-TCP": 0.82, "HSTCP": 0.87, "STCP": 0.92, "FAST": 0.82, "SACK": 0.5}
BUFFER = {1e6: 0.6, 2e6: 0.7, 4e6: 0.78, 6e6: 0.84, 8e6: 0.9}
COV_TYPE2 = {"H-TCP": 0.3, "FAST": 0.3, "SACK": 0.5, "HSTCP": 0.15}
KINDS = ["Type I", "Type II", "Type III", "Type IV"]

# ratios without background, with Types I to IV, with Type V
INTRA = {
    "CUBIC": (0.8, 0.85, 0.95),
    "BIC": (0.85, 0.9, 0.97),
    "H-TCP": (0.9, 0.95, 0.99),
    "HSTCP": (0.3, 0.35, 0.8),
    "STCP": (0.75, 0.8, 0.95),
    "FAST": (0.6, 0.6, 0.4),
    "SACK": (0.8, 0.8, 0.9),
}
RTT = {
    "CUBIC": (0.26, 0.3, 0.4),
    "BIC": (0.2, 0.36, 0.42),
    "H-TCP": (0.91, 0.95, 0.97),
    "HSTCP": (0.15, 0.3, 0.45),
    "STCP": (0.1, 0.6, 0.7),
    "FAST": (0.97, 0.97, 0.97),
    "SACK": (0.35, 0.4, 0.45),
}
FRIENDLY = {
    "CUBIC": (0.48, 0.5, 0.96),
    "BIC": (0.15, 0.4, 0.6),
    "H-TCP": (0.5, 0.55, 0.6),
    "HSTCP": (0.3, 0.31, 0.4),
    "STCP": (0.1, 0.35, 0.5),
    "FAST": (0.48, 0.48, 0.55),
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
        if protocol == "SACK":
            return SACK_ALONE[rtt_ms]
        return (ALONE_324 if rtt_ms == 324 else ALONE)[protocol]
    if experiment == "util_alone_four":
        return 0.65 if rtt_ms == 162 else 0.45
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
    return COV_TYPE2.get(protocol, 0.1)


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
    if experiment not in ("util_alone", "util_alone_four", "util_type2", "buffer", "htcp_types", "fast_type1"):
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
UP_TO_82 = [16, 22, 42, 82]
INTRA_RTTS = [16, 42, 82, 162, 324]
OF_TYPES = ["CUBIC", "BIC", "HSTCP", "H-TCP", "STCP"]
FIXED_KINDS = [f"{kind}, fixed RTT" for kind in KINDS]
BUFFERS = list(BUFFER)
U, R, COV = "utilisation", "fair_ratio", "load_cov"
# the experiments over RTTs and over types, and the RTT of the latter
TESTS = {
    "intra": ("intra", "intra_types", 82),
    "rtt": ("rtt_fairness", "rtt_types", 42),
    "friendliness": ("friendliness", "friendliness_types", 42),
}

# --- What edges share --------------------------------------------------------------------------------------------


def clause_of(protocol):
    return protocol.replace("-", "").lower()


def low(clause):
    """The lower end of a clause, whatever the cell."""
    return lambda at, t: t.low[clause]


def high(clause):
    return lambda at, t: t.high[clause]


def without(names, *left_out):
    return [name for name in names if name not in left_out]


def good(at, **where):
    """Mean utilisation of BIC and CUBIC beside a cell."""
    return (at(protocol="BIC", **where) + at(protocol="CUBIC", **where)) / 2


def mean(at, rtts_ms, **where):
    """Geometric mean over RTTs."""
    return float(np.prod([at(rtt_ms=rtt_ms, **where) for rtt_ms in rtts_ms])) ** (1 / len(rtts_ms))


def cell(at, target, rtts_ms):
    """What one cell must be for the geometric mean over the RTTs to be ``target``."""
    return target ** len(rtts_ms) / np.prod([at(rtt_ms=rtt_ms) for rtt_ms in rtts_ms if rtt_ms != at["rtt_ms"]])


def mean_edge(side, experiment, target, rtts_ms, **where):
    """The geometric mean over the RTTs turns a clause at ``target(at, t)``, by each of its cells."""
    return side(experiment, R, lambda at, t: cell(at, target(at, t), rtts_ms), rtt_ms=rtts_ms, **where)


def alone(at_least, experiment="util_alone", **where):
    """Utilisation without background, at the lower end of a clause."""
    return above(experiment, U, at_least, **where)


def either_side(experiment, metric, at_least, at_most, **where):
    return [above(experiment, metric, at_least, **where), below(experiment, metric, at_most, **where)]


def of_captions(experiment, **where):
    """Each utilisation on either side of its caption."""
    return [
        edge
        for name in FIG4
        for edge in either_side(
            experiment,
            U,
            low(clause_of(name)),
            high(clause_of(name)),
            tie=True,
            clause=clause_of(name),
            protocol=name,
            **where,
        )
    ]


def put_pairs(world, of_pairs):
    """Utilisation and CoV over protocols and RTTs, from arrays of protocols (down) and RTTs (across)."""
    frame = world.metrics["util_type2"]
    values = frame["value"].copy()
    for name, pairs in zip((U, COV), of_pairs, strict=True):
        values[frame.index[frame["metric"] == name]] = pairs.ravel()
    return replace(world, metrics={**world.metrics, "util_type2": frame.assign(value=values)})


PROTOCOLS = np.linspace(-1, 1, len(FIG5))[:, None] + np.zeros(len(EVERY_RTT))
RTTS = np.zeros((len(FIG5), 1)) + np.linspace(-1, 1, len(EVERY_RTT))


def correlated(world, r):
    """Utilisation and CoV that differ among protocols alone, with this correlation coefficient."""
    x, y = PROTOCOLS, PROTOCOLS**2 - np.mean(PROTOCOLS**2)  # even, so at a right angle to x
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return put_pairs(world, (x, r * x + np.sqrt(1 - r**2) * y))


def correlated_by_rtt(world, _):
    """The RTT lowers the one and raises the other; among protocols both rise together."""
    return put_pairs(world, (PROTOCOLS / 100 - RTTS, PROTOCOLS / 100 + RTTS))


def half_interval():
    """Of three replicates that lie 1 apart."""
    return stats.t.ppf(0.975, 2) / np.sqrt(3)


def largest_fall(at):
    falls = [at(protocol=p, rtt_ms=162) - at(protocol=p, rtt_ms=324) for p in ("CUBIC", "BIC", "HSTCP", "H-TCP")]
    return max(falls)


def ratios(experiment, value, **where):
    """Ratios put aside."""
    return (experiment, {"metric": R, **where}, value)


def by_type(name, kind):
    """Experiment and cell of a test under one kind of background, or under none."""
    over_rtt, types, rtt_ms = TESTS[name]
    return (types, {"traffic": kind}) if kind in KINDS else (over_rtt, {"traffic": kind, "rtt_ms": rtt_ms})


def of_type(at, name, kind, protocol=None):
    experiment, where = by_type(name, kind)
    return at(experiment, protocol=protocol or at["protocol"], **{"rtt_ms": TESTS[name][2], **where})


def product_of_gains(at, name, protocol, left_out=None):
    """Of the ratios with each kind of background but one over that without."""
    kinds = without([*KINDS, "Type V"], left_out)
    gains = [of_type(at, name, kind, protocol) / of_type(at, name, "none", protocol) for kind in kinds]
    return float(np.prod(gains))


def spared(at, kind):
    return 1 - at(traffic=kind)


# --- Edges ----------------------------------------------------------------------------------------------------------


def _amount_against_kind(name):
    """All ratios at 3/8 with Types I to IV, at 3/4 or 3/16 with Type V; one of five protocols moves a mean by a fifth."""
    over_rtt, types, rtt_ms = TESTS[name]
    n = len(OF_TYPES)
    even = (ratios(types, 0.375), ratios(over_rtt, 0.75, traffic="Type V"))
    under = (ratios(types, 0.375), ratios(over_rtt, 0.1875, traffic="Type V"))
    common = {"protocol": OF_TYPES, "clause": name}
    type5 = {"traffic": "Type V", "rtt_ms": rtt_ms}
    others = without(KINDS, "Type II")
    return [
        below(types, R, lambda at, t: at() * (2 / t.low[name]) ** n, traffic=others, but=even, **common),
        above(types, R, lambda at, t: at() * (t.low[name] / 2) ** n, traffic=others, but=even, **common),
        # which moves both changes
        below(types, R, lambda at, t: at() * (2 / t.low[name]) ** (n / 2), traffic="Type II", but=even, **common),
        above(over_rtt, R, lambda at, t: at() * (t.low[name] / 2) ** n, but=even, **type5, **common),
        below(over_rtt, R, lambda at, t: at() * (2 / t.low[name]) ** n, but=under, **type5, **common),
    ]


def _median_gain(name):
    """Two protocols gain, two do not, and the fifth decides."""
    found = []
    for i, protocol in enumerate(OF_TYPES):
        gaining = [OF_TYPES[i - 1], OF_TYPES[i - 2]]
        over_rtt, types, _ = TESTS[name]
        but = (
            ratios(over_rtt, 0.5),
            ratios(types, 0.5),
            ratios(over_rtt, 0.875, traffic="Type V", protocol=gaining),
            ratios(types, 0.875, protocol=gaining),
        )
        for kind in (*KINDS, "Type V"):
            experiment, where = by_type(name, kind)
            found.append(
                above(
                    experiment,
                    R,
                    lambda at, t: at() * t.low[name] ** 5,
                    clause=name,
                    but=but,
                    protocol=protocol,
                    **where,
                )
            )
    return found


def _friendliest_gain(clause, own, others):
    """The mean gain of ``own`` against the largest of the others, CUBIC's."""
    return [
        above(
            experiment,
            R,
            lambda at, t, kind=kind: (
                of_type(at, "friendliness", "none")
                * t.low[clause] ** 5
                * product_of_gains(at, "friendliness", "CUBIC")
                / product_of_gains(at, "friendliness", own, kind)
            ),
            clause=clause,
            protocol=own,
            **where,
        )
        for kind in (*KINDS, "Type V")
        for experiment, where in [by_type("friendliness", kind)]
    ] + [
        below(
            experiment,
            R,
            lambda at, t, kind=kind: (
                of_type(at, "friendliness", "none")
                / t.low[clause] ** 5
                * product_of_gains(at, "friendliness", own)
                / product_of_gains(at, "friendliness", at["protocol"], kind)
            ),
            clause=clause,
            protocol=others,
            **where,
        )
        for kind in (*KINDS, "Type V")
        for experiment, where in [by_type("friendliness", kind)]
    ]


def _gains_by_type5(experiment, protocols, rtts_ms, clause=None):
    """The mean over RTTs with Type V is above that without background, by each of the cells of both."""
    found = []
    for protocol in protocols:
        name = clause or clause_of(protocol)
        where = {"clause": name, "protocol": protocol}
        found += [
            mean_edge(
                above,
                experiment,
                lambda at, t, name=name: t.low[name] * mean(at, rtts_ms, traffic="none"),
                rtts_ms,
                traffic="Type V",
                **where,
            ),
            mean_edge(
                below,
                experiment,
                lambda at, t, name=name: mean(at, rtts_ms, traffic="Type V") / t.low[name],
                rtts_ms,
                traffic="none",
                **where,
            ),
        ]
    return found


def _comparable(experiment, protocol, other, rtts_ms, traffic):
    """The mean over RTTs on either side of about that of another protocol."""
    clause = clause_of(protocol)
    where = {"clause": clause, "protocol": protocol, "traffic": traffic}
    return [
        mean_edge(above, experiment, lambda at, t: t.low[clause] * mean(at, rtts_ms, protocol=other), rtts_ms, **where),
        mean_edge(
            below, experiment, lambda at, t: t.high[clause] * mean(at, rtts_ms, protocol=other), rtts_ms, **where
        ),
    ]


EDGES = {
    "ha2006.c01": [
        *(
            alone(
                low(clause_of(name)),
                tie=True,
                clause=clause_of(name),
                protocol=name,
                rtt_ms=UP_TO_162,
            )
            for name in ("CUBIC", "BIC", "FAST", "HSTCP", "H-TCP")
        ),
        # short at no other RTT
        below(
            "util_alone",
            U,
            high("stcp"),
            tie=True,
            clause="stcp",
            protocol="STCP",
            rtt_ms=UP_TO_162,
            but=(("util_alone", {"metric": U, "protocol": "STCP"}, 1.0),),
        ),
    ],
    "ha2006.c02": [
        below(
            "util_alone",
            U,
            lambda at, t: at(protocol="STCP") - t.low["less"],
            tie=True,
            clause="less",
            protocol="SACK",
            rtt_ms=[162, 324],
        ),
        alone(
            lambda at, t: at(protocol="SACK") + t.low["less"],
            tie=True,
            clause="less",
            protocol=HIGH_SPEED,
            rtt_ms=[162, 324],
        ),
        # 15 pairs: three may rise and one be a tie, and four do where the value at 324 ms is above that at 22 ms
        below("util_alone", U, lambda at, t: at(rtt_ms=22), tie=True, clause="falls", protocol="SACK", rtt_ms=324),
    ],
    "ha2006.c03": [
        *(
            alone(
                low(clause_of(name)),
                tie=True,
                clause=clause_of(name),
                protocol=name,
                rtt_ms=324,
            )
            for name in ("CUBIC", "BIC", "HSTCP", "H-TCP")
        ),
        alone(
            lambda at, t: at(rtt_ms=162) - t.high["slight"],
            tie=True,
            clause="slight",
            protocol=["CUBIC", "BIC", "HSTCP", "H-TCP"],
            rtt_ms=324,
        ),
    ],
    "ha2006.c04": [
        below(
            "util_alone",
            U,
            lambda at, t: at(rtt_ms=162) - t.low["falls"],
            tie=True,
            clause="falls",
            protocol="STCP",
            rtt_ms=324,
        ),
        below(
            "util_alone",
            U,
            lambda at, t: at(rtt_ms=162) - largest_fall(at) - t.low["more"],
            tie=True,
            clause="more",
            protocol="STCP",
            rtt_ms=324,
        ),
        alone(
            lambda at, t: (
                at(rtt_ms=162) - (at(protocol="STCP", rtt_ms=162) - at(protocol="STCP", rtt_ms=324) - t.low["more"])
            ),
            tie=True,
            clause="more",
            protocol=["CUBIC", "BIC", "HSTCP", "H-TCP"],
            rtt_ms=324,
        ),
    ],
    "ha2006.c05": [
        below(
            "util_alone",
            "rate_largest",
            high("bounded"),
            protocol="FAST",
            rtt_ms=324,
            flow=[1, 2],
        ),
    ],
    "ha2006.c06": of_captions("example_alone"),
    "ha2006.c07": of_captions("util_type2", rtt_ms=162),
    "ha2006.c08": [
        edge
        for clause, rtt_ms, without_background in (
            ("at_162", 162, "util_alone"),
            ("at_324", 324, "util_alone"),
            ("four_at_162", 162, "util_alone_four"),
            ("four_at_324", 324, "util_alone_four"),
        )
        for edge in (
            below(
                "util_type2",
                U,
                lambda at, t, clause=clause, other=without_background: at(other) + t.high[clause],
                tie=True,
                clause=clause,
                protocol="SACK",
                rtt_ms=rtt_ms,
            ),
            alone(
                lambda at, t, clause=clause: at("util_type2") - t.high[clause],
                without_background,
                tie=True,
                clause=clause,
                protocol="SACK",
                rtt_ms=rtt_ms,
            ),
        )
    ],
    "ha2006.c09": [
        above(
            "util_type2",
            U,
            lambda at, t, clause=clause: at("util_alone") + t.low[clause],
            tie=True,
            clause=clause,
            protocol="STCP",
            rtt_ms=rtt_ms,
        )
        for clause, rtt_ms in (("at_162", 162), ("at_324", 324))
    ],
    "ha2006.c10": [
        edge
        for name in ("BIC", "CUBIC")
        for type2, types in [(f"{name.lower()}_type2", f"{name.lower()}_types")]
        for edge in (
            above(
                "util_type2",
                U,
                low(type2),
                tie=True,
                clause=type2,
                protocol=name,
                rtt_ms=EVERY_RTT,
            ),
            above(
                "intra_types",
                U,
                low(types),
                tie=True,
                clause=types,
                protocol=name,
                traffic=KINDS,
            ),
            holds(("intra_types", {"traffic": ["Type II, fixed RTT", "Type IV, fixed RTT"]}, 0.1), clause=types),
        )
    ],
    "ha2006.c11": [
        *(
            edge
            for name in ("H-TCP", "FAST")
            for clause in [clause_of(name)]
            for edge in (
                below(
                    "util_type2",
                    U,
                    lambda at, t, clause=clause: good(at) - t.low[clause],
                    tie=True,
                    clause=clause,
                    protocol=name,
                    rtt_ms=EVERY_RTT,
                ),
                above(
                    "util_type2",
                    U,
                    lambda at, t, clause=clause, name=name: at() + 2 * (at(protocol=name) + t.low[clause] - good(at)),
                    tie=True,
                    clause=clause,
                    protocol=["BIC", "CUBIC"],
                    rtt_ms=EVERY_RTT,
                ),
            )
        ),
        # the mean over six RTTs
        below(
            "util_type2",
            U,
            lambda at, t: (
                at() + sum(good(at, rtt_ms=r) - at(rtt_ms=r) for r in EVERY_RTT) - len(EVERY_RTT) * t.low["hstcp"]
            ),
            clause="hstcp",
            protocol="HSTCP",
            rtt_ms=EVERY_RTT,
        ),
    ],
    "ha2006.c12": [
        edge
        for name in ("H-TCP", "HSTCP")
        for rises, lower in [(f"{clause_of(name)}_rises", f"{clause_of(name)}_lower")]
        for edge in (
            # 10 pairs: two may fall and one be a tie, and three do where the value at 8 MB is below that at 2 MB
            above(
                "buffer",
                U,
                lambda at, t: at(buffer_bytes=2e6),
                tie=True,
                clause=rises,
                protocol=name,
                buffer_bytes=8e6,
            ),
            below(
                "buffer",
                U,
                lambda at, t, clause=lower: good(at) - t.low[clause],
                tie=True,
                clause=lower,
                protocol=name,
                buffer_bytes=BUFFERS[:-1],
            ),
            holds(("buffer", {"metric": U, "protocol": name, "buffer_bytes": 8e6}, 1.0), clause=lower),
        )
    ],
    "ha2006.c13": [
        edge
        for name in ("CUBIC", "BIC", "HSTCP", "STCP")
        for clause in [clause_of(name)]
        for edge in (
            above(
                "util_type2",
                COV,
                lambda at, t, name=name, clause=clause: at(protocol=name) * t.low[clause],
                clause=clause,
                protocol="H-TCP",
                rtt_ms=EVERY_RTT,
            ),
            below(
                "util_type2",
                COV,
                lambda at, t, clause=clause: at(protocol="H-TCP") / t.low[clause],
                clause=clause,
                protocol=name,
                rtt_ms=EVERY_RTT,
            ),
        )
    ],
    "ha2006.c14": [
        *(
            Edge("util_type2", {}, high(clause), above=False, clause=clause, put=correlated)
            for clause in ("overall", "among_protocols")
        ),
        holds(clause="overall", put=correlated_by_rtt),
        fails(clause="among_protocols", put=correlated_by_rtt),
    ],
    "ha2006.c15": [
        below(
            "htcp_types",
            U,
            lambda at, t: at(traffic="none") - t.low["lowers"],
            tie=True,
            clause="lowers",
            traffic=[*KINDS, *FIXED_KINDS],
        ),
        above(
            "htcp_types",
            U,
            lambda at, t: at(traffic="Type II") + t.low["most"],
            tie=True,
            clause="most",
            traffic=without([*KINDS, *FIXED_KINDS], "Type II"),
        ),
    ],
    "ha2006.c16": [
        edge
        for kind in KINDS
        for other in [KINDS[KINDS.index(kind) - 1]]
        for edge in (
            # the product of four factors
            above(
                "htcp_types",
                COV,
                lambda at, t, kind=kind: (
                    t.low["varies"] ** 4
                    * at(traffic=f"{kind}, fixed RTT")
                    / np.prod([at(traffic=k) / at(traffic=f"{k}, fixed RTT") for k in without(KINDS, kind)])
                ),
                clause="varies",
                traffic=kind,
            ),
            # three of four, as another does not vary more
            above(
                "htcp_types",
                COV,
                lambda at, t, kind=kind: at(traffic=f"{kind}, fixed RTT"),
                clause="varies_mostly",
                traffic=kind,
                but=(("htcp_types", {"metric": COV, "traffic": other}, 0.0625),),
            ),
            below(
                "htcp_types",
                U,
                lambda at, t, kind=kind: (
                    at(traffic=f"{kind}, fixed RTT")
                    + sum(at(traffic=f"{k}, fixed RTT") - at(traffic=k) for k in without(KINDS, kind))
                    - 4 * t.low["uses_less"]
                ),
                tie=True,
                clause="uses_less",
                traffic=kind,
            ),
            below(
                "htcp_types",
                U,
                lambda at, t, kind=kind: at(traffic=f"{kind}, fixed RTT"),
                clause="uses_less_mostly",
                traffic=kind,
                but=(("htcp_types", {"metric": U, "traffic": other}, 1.0),),
            ),
        )
    ],
    "ha2006.c17": [
        above(
            "background",
            "load_sd",
            lambda at, t: at(traffic="Type III") * np.sqrt(t.low["type2"]),
            clause="type2",
            traffic="Type II",
        ),
        below(
            "background",
            "load_sd",
            lambda at, t: at(traffic="Type II") / np.sqrt(t.low["type2"]),
            clause="type2",
            traffic=without(KINDS, "Type II"),
        ),
        above(
            "background",
            "load_sd",
            lambda at, t: at(traffic="Type I") * np.sqrt(t.low["type3"]),
            clause="type3",
            traffic="Type III",
        ),
        below(
            "background",
            "load_sd",
            lambda at, t: at(traffic="Type I") * np.sqrt(t.high["type4"]),
            clause="type4",
            traffic="Type IV",
        ),
        above(
            "background",
            "load_sd",
            lambda at, t: at(traffic="Type IV") / np.sqrt(t.high["type4"]),
            clause="type4",
            traffic=without(KINDS, "Type IV"),
        ),
    ],
    "ha2006.c18": either_side(
        "load",
        "load_both_ways",
        low("load"),
        high("load"),
        tie=True,
        traffic=KINDS,
    ),
    "ha2006.c19": [
        above(
            "fast_type1",
            U,
            lambda at, t: at(traffic="Type I") + t.low["little"],
            tie=True,
            clause="little",
            traffic="Type I, 10 Mb/s",
        ),
        above(
            "fast_type1",
            U,
            lambda at, t: (
                at(traffic="Type I")
                + abs(at("util_type2", traffic="Type II", protocol="FAST", rtt_ms=162) - at(traffic="Type I"))
                + t.low["amount"]
            ),
            tie=True,
            clause="amount",
            traffic="Type I, 10 Mb/s",
        ),
        # as far below or above what Type I gives
        *(
            side(
                "util_type2",
                U,
                lambda at, t, sign=sign: (
                    at("fast_type1", traffic="Type I")
                    + sign
                    * (
                        at("fast_type1", traffic="Type I, 10 Mb/s")
                        - at("fast_type1", traffic="Type I")
                        - t.low["amount"]
                    )
                ),
                tie=True,
                clause="amount",
                protocol="FAST",
                rtt_ms=162,
                traffic="Type II",
            )
            for side, sign in ((above, -1), (below, 1))
        ),
        above(
            "fast_type1",
            "throughput_mean",
            lambda at, t: (at(flow=2) + at(flow=4)) * t.low["late"] - at(flow=4 - at["flow"]),
            clause="late",
            traffic="Type I, 10 Mb/s",
            flow=[1, 3],
        ),
        below(
            "fast_type1",
            "throughput_mean",
            lambda at, t: (at(flow=1) + at(flow=3)) / t.low["late"] - at(flow=6 - at["flow"]),
            clause="late",
            traffic="Type I, 10 Mb/s",
            flow=[2, 4],
        ),
    ],
    "ha2006.c20": [
        mean_edge(
            below,
            "intra",
            lambda at, t: t.high["lowest"] * mean(at, INTRA_RTTS, protocol="FAST"),
            INTRA_RTTS,
            clause="lowest",
            protocol="HSTCP",
            traffic="none",
        ),
        mean_edge(
            above,
            "intra",
            lambda at, t: mean(at, INTRA_RTTS, protocol="HSTCP") / t.high["lowest"],
            INTRA_RTTS,
            clause="lowest",
            protocol=without(HIGH_SPEED, "HSTCP"),
            traffic="none",
        ),
        # the lowest at three of five RTTs, and no more at two
        *(
            side(
                "intra",
                R,
                lambda at, t, other=other: at(protocol=other),
                clause="mostly",
                protocol=protocols,
                traffic="none",
                rtt_ms=INTRA_RTTS[2:],
                but=(ratios("intra", 0.95, protocol="HSTCP", rtt_ms=INTRA_RTTS[:2]),),
            )
            for side, protocols, other in ((below, "HSTCP", "FAST"), (above, without(HIGH_SPEED, "HSTCP"), "HSTCP"))
        ),
        *(holds(ratios("intra", 0.0, protocol="SACK"), clause=clause) for clause in ("lowest", "mostly")),
    ],
    "ha2006.c21": [
        mean_edge(
            above,
            "intra",
            lambda at, t: t.low["best"] * mean(at, INTRA_RTTS, protocol="CUBIC"),
            INTRA_RTTS,
            clause="best",
            protocol="H-TCP",
            traffic="none",
        ),
        mean_edge(
            below,
            "intra",
            lambda at, t: mean(at, INTRA_RTTS, protocol="H-TCP") / t.low["best"],
            INTRA_RTTS,
            clause="best",
            protocol=["CUBIC", "HSTCP", "STCP", "FAST"],
            traffic="none",
        ),
        *_comparable("intra", "BIC", "H-TCP", INTRA_RTTS, "none"),
        holds(ratios("intra", 1.0, protocol=["SACK", "BIC"]), clause="best"),
    ],
    "ha2006.c22": [
        mean_edge(
            above,
            "intra",
            lambda at, t: t.low["better"] * mean(at, INTRA_RTTS, protocol="HSTCP"),
            INTRA_RTTS,
            clause="better",
            protocol="STCP",
            traffic="none",
        ),
        # each of the others may be the one
        mean_edge(
            above,
            "intra",
            lambda at, t: t.low["below"] * mean(at, INTRA_RTTS, protocol="STCP"),
            INTRA_RTTS,
            clause="below",
            protocol=["CUBIC", "BIC", "FAST", "H-TCP"],
            traffic="none",
            but=(ratios("intra", 0.5, protocol=["CUBIC", "BIC", "FAST", "H-TCP"]),),
        ),
        fails(
            ratios("intra", 0.5, protocol=["CUBIC", "BIC", "FAST", "H-TCP"]),
            ratios("intra", 1.0, protocol="SACK"),
            clause="below",
        ),
    ],
    "ha2006.c23": [
        above(
            "rtt_fairness",
            R,
            low(clause_of(name)),
            clause=clause_of(name),
            protocol=name,
            traffic="none",
            rtt_ms=UP_TO_162,
        )
        for name in ("H-TCP", "FAST")
    ],
    "ha2006.c24": either_side(
        "rtt_fairness",
        R,
        lambda at, t: at["rtt_ms"] / t.rtt_ms * t.low["inverse"],
        lambda at, t: at["rtt_ms"] / t.rtt_ms * t.high["inverse"],
        protocol="CUBIC",
        traffic="none",
        rtt_ms=UP_TO_162,
    ),
    "ha2006.c25": [
        edge
        for name in ("BIC", "STCP")
        for clause in [clause_of(name)]
        for edge in (
            mean_edge(
                below,
                "rtt_fairness",
                lambda at, t, clause=clause: t.high[clause] * mean(at, UP_TO_82, protocol="SACK"),
                UP_TO_82,
                clause=clause,
                protocol=name,
                traffic="none",
            ),
            holds(ratios("rtt_fairness", 9.0, protocol=name, rtt_ms=162), clause=clause),
        )
    ],
    "ha2006.c27": [
        *_comparable("friendliness", "CUBIC", "H-TCP", INTRA_RTTS[1:], "none"),
        *_comparable("friendliness", "FAST", "H-TCP", INTRA_RTTS[1:], "none"),
        above(
            "friendliness",
            R,
            lambda at, t: t.low["best"] * at(protocol="FAST"),
            clause="best",
            protocol="H-TCP",
            traffic="none",
            rtt_ms=16,
        ),
        below(
            "friendliness",
            R,
            lambda at, t: at(protocol="H-TCP") / t.low["best"],
            clause="best",
            protocol=without(HIGH_SPEED, "H-TCP"),
            traffic="none",
            rtt_ms=16,
        ),
    ],
    "ha2006.c28": [
        edge
        for name in ("BIC", "STCP", "HSTCP")
        for clause in [clause_of(name)]
        for edge in (
            mean_edge(
                below,
                "friendliness",
                lambda at, t, clause=clause: t.high[clause] * mean(at, INTRA_RTTS, protocol="CUBIC"),
                INTRA_RTTS,
                clause=clause,
                protocol=name,
                traffic="none",
            ),
            mean_edge(
                above,
                "friendliness",
                lambda at, t, clause=clause, name=name: mean(at, INTRA_RTTS, protocol=name) / t.high[clause],
                INTRA_RTTS,
                clause=clause,
                protocol=["CUBIC", "H-TCP"],
                traffic="none",
            ),
        )
    ],
    "ha2006.c29": _gains_by_type5("intra", ["CUBIC", "BIC", "HSTCP", "H-TCP", "STCP", "SACK"], INTRA_RTTS),
    "ha2006.c30": [
        *_gains_by_type5("rtt_fairness", without([*HIGH_SPEED, "SACK"], "FAST"), UP_TO_82, "improved"),
        *_comparable("rtt_fairness", "HSTCP", "SACK", UP_TO_82, "Type V"),
        *_comparable("rtt_fairness", "BIC", "SACK", UP_TO_82, "Type V"),
        holds(ratios("rtt_fairness", 0.0, protocol="FAST", traffic="Type V"), clause="improved"),
    ],
    "ha2006.c31": [
        *_gains_by_type5("friendliness", HIGH_SPEED, INTRA_RTTS),
        below(
            "friendliness",
            R,
            lambda at, t: (
                at(traffic="none") + at(protocol="H-TCP") - at(protocol="H-TCP", traffic="none") - t.low["most"]
            ),
            tie=True,
            clause="most",
            protocol=without(HIGH_SPEED, "CUBIC", "H-TCP"),
            traffic="Type V",
            rtt_ms=16,
        ),
        above(
            "friendliness",
            R,
            lambda at, t: at(traffic="none") + at(protocol="BIC") - at(protocol="BIC", traffic="none") + t.low["most"],
            tie=True,
            clause="most",
            protocol=["CUBIC", "H-TCP"],
            traffic="Type V",
            rtt_ms=16,
        ),
    ],
    "ha2006.c32": [
        edge
        for name in ("BIC", "STCP")
        for clause in [clause_of(name)]
        for kind in (*KINDS, "Type V")
        for experiment, where in [by_type("rtt", kind)]
        for edge in either_side(
            experiment,
            R,
            lambda at, t, clause=clause: of_type(at, "rtt", "none") * t.low[clause],
            lambda at, t, clause=clause: of_type(at, "rtt", "none") * t.high[clause],
            clause=clause,
            protocol=name,
            **where,
        )
    ],
    "ha2006.c33": [
        *(
            edge
            for name in ("BIC", "HSTCP", "STCP", "CUBIC")
            for clause in [clause_of(name)]
            for edge in (
                below(
                    "rtt_types",
                    R,
                    lambda at, t, clause=clause: of_type(at, "rtt", "Type V") / t.low[clause],
                    clause=clause,
                    protocol=name,
                    traffic=KINDS,
                ),
                above(
                    "rtt_fairness",
                    R,
                    lambda at, t, clause=clause: of_type(at, "rtt", "Type I") * t.low[clause],
                    clause=clause,
                    protocol=name,
                    traffic="Type V",
                    rtt_ms=42,
                ),
            )
        ),
        below(
            "rtt_fairness",
            R,
            lambda at, t: (
                of_type(at, "rtt", "none")
                * of_type(at, "rtt", "Type V", "BIC")
                / of_type(at, "rtt", "none", "BIC")
                * t.high["lesser"]
            ),
            clause="lesser",
            protocol="CUBIC",
            traffic="Type V",
            rtt_ms=42,
        ),
        above(
            "rtt_fairness",
            R,
            lambda at, t: (
                of_type(at, "rtt", "none")
                * of_type(at, "rtt", "Type V", "CUBIC")
                / of_type(at, "rtt", "none", "CUBIC")
                / t.high["lesser"]
            ),
            clause="lesser",
            protocol=["BIC", "HSTCP", "STCP"],
            traffic="Type V",
            rtt_ms=42,
        ),
        holds(ratios("rtt_fairness", 0.01, protocol="H-TCP", traffic="Type V"), clause="lesser"),
    ],
    "ha2006.c34": [
        *(
            above(
                "intra",
                R,
                low(clause_of(name)),
                tie=True,
                clause=clause_of(name),
                protocol=name,
                traffic="none",
                rtt_ms=82,
            )
            for name in ("CUBIC", "BIC", "H-TCP", "STCP")
        ),
        below(
            "intra",
            R,
            high("hstcp"),
            tie=True,
            clause="hstcp",
            protocol="HSTCP",
            traffic="none",
            rtt_ms=82,
        ),
        *(
            below(
                experiment,
                R,
                lambda at, t: of_type(at, "intra", "Type V") / t.low["greatly"],
                clause="greatly",
                protocol="HSTCP",
                **where,
            )
            for kind in ("none", *KINDS)
            for experiment, where in [by_type("intra", kind)]
        ),
    ],
    # five of the ten ratios are equal, so that the median lies halfway between 1 and what the other five have
    "ha2006.c35": [
        side(
            types,
            R,
            lambda at, t, name=name, power=power: 0.5 * (2 * t.high[name] - 1) ** power,
            together=True,
            clause=name,
            protocol=OF_TYPES,
            traffic=moved,
            but=(ratios(types, 0.5),),
        )
        for name, (_, types, _) in TESTS.items()
        for moved in ("Type II", "Type II, fixed RTT", "Type IV", "Type IV, fixed RTT")
        for side, power in ((below, 1), (above, -1))
    ],
    "ha2006.c36": [
        *_friendliest_gain("bic", "BIC", ["CUBIC", "H-TCP", "HSTCP"]),
        *_friendliest_gain("stcp", "STCP", ["CUBIC", "H-TCP", "HSTCP"]),
        *either_side(
            "friendliness",
            R,
            lambda at, t: at(traffic="none") * t.low["cubic"],
            lambda at, t: at(traffic="none") * t.high["cubic"],
            clause="cubic",
            protocol="CUBIC",
            traffic="Type V",
            rtt_ms=42,
        ),
    ],
    # three replicates 1 apart: the intervals of two means are as wide, and touch where the means are that far apart
    "ha2006.c37": [
        side(
            web,
            "web_mean",
            lambda at, t, sign=sign: 60 + sign * 2 * half_interval(),
            alone=True,
            spread=1.0,
            clause=web,
            protocol=[*HIGH_SPEED, "SACK"],
        )
        for web in ("web_2", "web_8")
        for side, sign in ((below, 1), (above, -1))
    ],
    "ha2006.c38": [
        *(edge for name in TESTS for edge in _amount_against_kind(name)),
        holds(ratios("intra", 0.0, protocol=["FAST", "SACK"], traffic="Type V"), clause="intra"),
    ],
    "ha2006.c39": [edge for name in TESTS for edge in _median_gain(name)],
    "ha2006.c40": [
        edge
        for clause, more, less in (("stcp", "STCP", "HSTCP"), ("hstcp", "HSTCP", "CUBIC"))
        for edge in (
            above(
                "example_alone",
                COV,
                lambda at, t, clause=clause, less=less: at(protocol=less) * t.low[clause],
                clause=clause,
                protocol=more,
            ),
            below(
                "example_alone",
                COV,
                lambda at, t, clause=clause, more=more: at(protocol=more) / t.low[clause],
                clause=clause,
                protocol=less,
            ),
        )
    ],
    "ha2006.c41": [
        above(
            "example_alone",
            "lead_changes",
            low(clause),
            tie=True,
            clause=clause,
            protocol="STCP",
        )
        for clause in ("seen", "usual")
    ],
    "ha2006.c42": [
        below(
            "intra_long",
            "fair_at_s",
            high("converges"),
            clause="converges",
            protocol="HSTCP",
            rtt_ms=162,
        ),
        above(
            "example_alone",
            "fair_at_s",
            lambda at, t: at(protocol="CUBIC") / t.high["slowly"],
            clause="slowly",
            protocol="HSTCP",
        ),
        below(
            "example_alone",
            "fair_at_s",
            lambda at, t: at(protocol="HSTCP") * t.high["slowly"],
            clause="slowly",
            protocol=["H-TCP", "CUBIC", "BIC"],
        ),
        # in the long run, at one RTT, whatever shorter runs do
        *(
            outcome((experiment, {"metric": "fair_at_s", **where}, np.nan), clause="converges")
            for outcome, experiment, where in (
                (fails, "intra_long", {"rtt_ms": 162}),
                (holds, "intra_long", {"rtt_ms": [16, 42, 82, 324]}),
                (holds, "example_alone", {}),
            )
        ),
        # who never becomes fair is the slowest, and of two of them neither is slower
        *(
            outcome(("example_alone", {"metric": "fair_at_s", "protocol": names}, np.nan), clause=clause)
            for outcome, names, clause in (
                (holds, "HSTCP", "slowly"),
                (fails, "BIC", "slowly"),
                (fails, ["HSTCP", "BIC"], "slowly"),
                (holds, ["STCP", "FAST"], "slowly"),
            )
        ),
    ],
    "ha2006.c43": [
        side(
            experiment,
            "ratio_at_end",
            bound,
            tie=True,
            clause=clause,
            protocol="HSTCP",
            **where,
        )
        for clause, side, kinds, bound in (
            ("none", below, ["none"], high("none")),
            ("types", below, KINDS, high("types")),
            ("type5", above, ["Type V"], low("type5")),
        )
        for experiment, where in [by_type("intra", kind) for kind in kinds]
    ],
    "ha2006.c44": [
        above(
            "htcp_types",
            "shared_losses",
            lambda at, t: 1 - t.high["most"] * spared(at, "Type IV, fixed RTT"),
            clause="most",
            traffic="Type II",
        ),
        below(
            "htcp_types",
            "shared_losses",
            lambda at, t: 1 - spared(at, "Type II") / t.high["most"],
            clause="most",
            traffic="Type IV, fixed RTT",
        ),
        # the product of two quotients
        *(
            above(
                "htcp_types",
                "shared_losses",
                lambda at, t, a=a, b=b: (
                    1
                    - t.high["sizes"] ** 2
                    * spared(at, f"Type IV{a}")
                    * spared(at, f"Type IV{b}")
                    / spared(at, f"Type II{b}")
                ),
                clause="sizes",
                traffic=f"Type II{a}",
            )
            for a, b in (("", ", fixed RTT"), (", fixed RTT", ""))
        ),
        # of four
        *(
            above(
                "htcp_types",
                "shared_losses",
                lambda at, t, kind=kind: (
                    1
                    - t.high["rtts"] ** 4
                    * spared(at, f"{kind}, fixed RTT")
                    / np.prod([spared(at, k) / spared(at, f"{k}, fixed RTT") for k in without(KINDS, kind)])
                ),
                clause="rtts",
                traffic=kind,
            )
            for kind in KINDS
        ),
    ],
}
