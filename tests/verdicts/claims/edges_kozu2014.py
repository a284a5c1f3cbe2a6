"""A world in which the claims of kozu2014 hold, and their edges.

Throughputs of two flows by the lead of the 2 ms flow over the other: falling fairness of standard CUBIC, constant K between
it and the proposal, C' fairer at some RTTs but uneven, Reno far off and Constant-Rate between.
"""

from __future__ import annotations

from tcpfair.metrics.fairness import jfi
from tests.verdicts.claims.edges import CONFIGS, World, above, below, table

CONFIG = CONFIGS["kozu2014"]
RTTS = [2, 4, 8, 16, 32, 64, 128]
TOTAL_MBPS = 940
STANDARD, CONSTANT_K, PROPOSED, WITH_C = "CUBIC", "K of 5000 ms", "Proposed K", "Proposed K and C'"
LEADS = {
    "CUBIC": [1, 1.1, 1.3, 1.5, 1.7, 2.0, 3.0],
    "K of 5000 ms": [1, 1.1, 1.2, 1.2, 1.3, 1.5, 2.0],
    "Proposed K": [1, 1.0, 1.1, 1.2, 1.2, 1.3, 1.5],
    "Proposed K and C'": [1, 1.0, 1.0, 1.0, 0.9, 0.45, 1.05],
    "Reno": [1, 1.2, 2, 5, 12, 30, 60],
    "Constant-Rate": [1, 1.2, 1.5, 2.2, 3.0, 4.0, 5.0],
}
INDEX, RATE = "jfi_of_means", "throughput_mean"


def _of_leads(leads, *more):
    """Rows of throughputs, index and ratio of pairs with these leads, by protocol, RTT and what ``more`` says."""
    rows = []
    for protocol, of_rtt in leads.items():
        for rtt_ms, lead in zip(RTTS, of_rtt, strict=True):
            at = (protocol, rtt_ms, *more)
            rows += [(*at, 1, RATE, TOTAL_MBPS * lead / (1 + lead)), (*at, 2, RATE, TOTAL_MBPS / (1 + lead))]
            rows += [(*at, 0, INDEX, float(jfi([lead, 1.0]))), (*at, 0, "ratio", 1 / lead)]
    return rows


def _existing():
    """The index is highest for an x of 1 up to 8 ms and of 0.3 above, and lower at 128 ms."""
    rows = []
    for x in CONFIG.experiments["existing"].grid["x"].value:
        off = [abs(x - tuned(rtt_ms)) for rtt_ms in RTTS]
        leads = [(1.7 if rtt_ms == 128 else 1.05) + 2 * by for rtt_ms, by in zip(RTTS, off, strict=True)]
        rows += _of_leads({"Existing method": leads}, x)
    return table(rows, ["protocol", "rtt_ms", "x"])


def tuned(rtt_ms):
    return 1.0 if rtt_ms <= 8 else 0.3


def _transitions():
    """Windows in packets of 1448 bytes, K in s and shares of the time, 2 against 128 ms."""
    rows = [
        (STANDARD, 1, "cwnd_mean", 0.82e6 / 1448), (STANDARD, 2, "cwnd_mean", 2.83e6 / 1448),
        (STANDARD, 1, "window_enough_share", 1.0), (STANDARD, 2, "window_enough_share", 0.2),
        (STANDARD, 0, "k_larger_share", 0.95),
        (PROPOSED, 1, "k_mean", 5.0), (PROPOSED, 2, "k_mean", 2.5),
        (PROPOSED, 1, "cwnd_mean", 500), (PROPOSED, 2, "cwnd_mean", 3500),
    ]  # fmt: skip
    return table([(protocol, 128, *rest) for protocol, *rest in rows], ["protocol", "rtt_ms"])


ALPHA = {name: value.value for name, value in CONFIG.experiments["alpha"].grid.items()}


def _alpha():
    """Flow 2 gets 200 Mb/s with a root of 3, and 20 more for each half by which it is smaller."""
    rows = [("", rtt_ms, root, 2, RATE, 200 + 40 * (3 - root)) for rtt_ms in ALPHA["rtt_ms"] for root in ALPHA["root"]]
    return table(rows, ["protocol", "rtt_ms", "root"])


WORLD = World(
    {
        "rtt_sweep": table(_of_leads(LEADS), ["protocol", "rtt_ms"]),
        "k1000": table(_of_leads({"K of 1000 ms": [1, 1, 0.9, 0.8, 0.7, 0.5, 0.4]}), ["protocol", "rtt_ms"]),
        "transitions": _transitions(),
        "alpha": _alpha(),
        "existing": _existing(),
    }
)


def index_of(at, protocol, **where):
    return at("rtt_sweep", protocol=protocol, **where)


def existing(at):
    """Index of the existing method with the x that is best at this RTT."""
    return WORLD.value("existing", {"metric": INDEX, "flow": 0, "rtt_ms": at["rtt_ms"], "x": tuned(at["rtt_ms"])})


def spread(table_of):
    values = [table_of(rtt_ms) for rtt_ms in RTTS]
    return max(values) - min(values)


def spread_existing():
    return spread(lambda r: WORLD.value("existing", {"metric": INDEX, "flow": 0, "rtt_ms": r, "x": tuned(r)}))


def mean_difference(at):
    """Of the indices of the proposal and of the existing method, over the RTTs."""
    return sum(index_of(at, PROPOSED, rtt_ms=r) - existing({"rtt_ms": r}) for r in RTTS) / len(RTTS)


def rates(flow, value, rtt_ms):
    """Puts rates of standard CUBIC aside."""
    return ("rtt_sweep", {"metric": RATE, "protocol": STANDARD, "flow": flow, "rtt_ms": rtt_ms}, value)


def sweep(side, limit, **options):
    return side("rtt_sweep", INDEX, limit, **options)


def window(side, limit, **options):
    return side("transitions", "cwnd_mean", limit, **options)


def mb(value):
    """A window in MB as packets, with the numbers of the claim."""
    return lambda at, t: value(t) / (CONFIG.settings["payload_bytes"].value * t.mb_per_byte)


# numbers of closed forms, tried in test_laws
NUMBERS_OF_LAWS = {
    ("kozu2014.c08", "rtt_ms"),
    ("kozu2014.c08", "shares"),
    ("kozu2014.c15", "rtt_ms"),
    ("kozu2014.c15", "rtt_unit_s"),
    ("kozu2014.c15", "rate_pps"),
}
OTHERS = RTTS[1:]
PAIR = {"flow": 1, "protocol": STANDARD}
EDGES = {
    # the others' leads are 1, so that the mean of the logarithms is that of one, a sixth of it
    "kozu2014.c01": [
        above(
            "rtt_sweep",
            RATE,
            lambda at, t: at(flow=2) * t.low["more"] ** 6,
            clause="more",
            but=(rates(1, 400, OTHERS), rates(2, 400, OTHERS)),
            rtt_ms=OTHERS,
            **PAIR,
        ),
        # three of six lead: the fourth does not decide, the third does
        above(
            "rtt_sweep",
            RATE,
            lambda at, t: at(flow=2),
            clause="most",
            but=(rates(1, 500, OTHERS), rates(2, 400, OTHERS), rates(1, 300, OTHERS[:3])),
            rtt_ms=OTHERS[3:],
            **PAIR,
        ),
    ],
    "kozu2014.c04": [
        edge
        for flow, clause in ((1, "short"), (2, "long"))
        for edge in (
            window(above, mb(lambda t, c=clause: t.low[c]), clause=clause, protocol=STANDARD, flow=flow),
            window(below, mb(lambda t, c=clause: t.high[c]), clause=clause, protocol=STANDARD, flow=flow),
        )
    ],
    # six pairs of roots: five rise where the smallest root is behind one other, four, too few, where it is behind two
    "kozu2014.c16": [
        above("alpha", RATE, lambda at, t: at(root=2.5), tie=True, flow=2, root=1.5, rtt_ms=ALPHA["rtt_ms"]),
    ],
    # the mean of seven differences
    "kozu2014.c20": [
        sweep(
            side,
            lambda at, t, bound=bound: at() + 7 * (bound(t) - mean_difference(at)),
            protocol=PROPOSED,
            rtt_ms=RTTS,
        )
        for side, bound in ((above, lambda t: t.low["comparable"]), (below, lambda t: t.high["comparable"]))
    ],
    "kozu2014.c21": [
        sweep(
            above, lambda at, t: 1 - spread_existing() - t.high["stable"], tie=True, protocol=PROPOSED, rtt_ms=OTHERS
        ),
    ],
}
