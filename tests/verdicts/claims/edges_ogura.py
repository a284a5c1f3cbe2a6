"""A world in which the claims of ogura hold, and their edges."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pandas as pd

from tcpfair.contract.trace import Trace
from tcpfair.models import aimd
from tests.verdicts.claims.edges import CONFIGS, Edge, World, above, below, table

CONFIG = CONFIGS["ogura"]
CAPACITY_PPS = aimd.link_capacity_pps(100e6, 1500)
REFERENCE_S, BUFFER_PKTS = 0.04, 500
BEFORE = 20  # samples before a window grows
SAMPLE_S = 0.02
RATE = "throughput_mean"
FIRST_MBPS, FRIEND_MBPS = 64, 40  # of the flow of 40 ms in all pairs, and of Reno against the proposal

LOSS = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6]
RTTS = [20, 40, 60, 80, 100, 120]
BUFFERS = [100, 200, 300, 500, 700, 1000, 1500]
ALONE_RTTS = [40, 60, 80, 100, 120, 140, 160, 180, 200]
FRIEND_RTTS = [20, 30, 40, 50, 60]

# throughput of the larger or varied RTT over that of 40 ms, by loss rate, by RTT and by buffer
BY_LOSS = {
    "Proposal": [1.0] * 9,
    "Reno": [0.3] * 6 + [0.7] * 3,
    "Libra": [1.0] * 6 + [1.5] * 3,
    "Alpha": [0.5] * 6 + [0.8] * 3,
}
BY_RTT = {
    "Proposal": [1.4, 1, 1, 1, 1, 1],
    "Reno": [2.0, 1.0, 0.7, 0.5, 0.4, 0.3],
    "Libra": [0.6, 1.0, 1.4, 1.8, 2.2, 2.6],
    "Alpha": [1.5, 1.0, 0.8, 0.7, 0.6, 0.5],
}
BY_BUFFER = {"Proposal": [0.9] * 7, "Reno": [0.4] * 7, "Libra": [1.2, 1.4, 2.5, 1.8, 1.6, 1.5, 1.3], "Alpha": [0.5] * 7}
ALONE = {
    "Proposal": [900] * 9,
    "Westwood": [900, 800, 700, 600, 500, 450, 400, 350, 300],
    "Reno": [300, 250, 200, 150, 120, 100, 80, 60, 50],
    "Libra": [400] * 9,
    "Alpha": [500, 450, 400, 350, 300, 280, 260, 240, 220],
}


def _sweep(name, ratios, by):
    """Throughputs of two flows, by the ratio of the second to the first."""
    rows = []
    for protocol, of in ratios.items():
        for x, ratio in zip(by, of, strict=True):
            rows += [(protocol, x, 1, RATE, FIRST_MBPS), (protocol, x, 2, RATE, FIRST_MBPS * ratio)]
    return table(rows, ["protocol", name])


def _alone():
    rows = [(p, x, 1, RATE, value) for p, of in ALONE.items() for x, value in zip(ALONE_RTTS, of, strict=True)]
    return table(rows, ["protocol", "rtt_ms"])


def _friendliness():
    rows = []
    for rtt_ms, ratio in zip(FRIEND_RTTS, [2.0, 1.4, 1.0, 0.8, 0.6], strict=True):
        first = 64 / (1 + ratio)
        rows += [("Reno", rtt_ms, 1, RATE, first), ("Reno", rtt_ms, 2, RATE, first * ratio)]
        rows += [("Reno", rtt_ms, 0, "throughput_sum", 64), ("Proposal", rtt_ms, 0, "throughput_sum", 80)]
        rows += [("Proposal", rtt_ms, 1, RATE, FRIEND_MBPS)]
    return table(rows, ["protocol", "rtt_ms"])


def _setting(protocol, rtt_ms):
    rtt_s = rtt_ms / 1000
    return rtt_s, aimd.increment_per_rtt_pkts(protocol.split()[0].lower(), rtt_s, REFERENCE_S)


def t1_s(protocol, rtt_ms):
    rtt_s, increment_pkts = _setting(protocol, rtt_ms)
    return aimd.t1_s(CAPACITY_PPS / 2, rtt_s, increment_pkts)


def t2_s(protocol, rtt_ms):
    mean_s, mean_reference_s = (aimd.average_rtt_s(x, CAPACITY_PPS, BUFFER_PKTS) for x in (rtt_ms / 1000, REFERENCE_S))
    increment_pkts = aimd.increment_per_rtt_pkts(protocol.split()[0].lower(), mean_s, mean_reference_s)
    return aimd.t2_s(mean_s, BUFFER_PKTS, increment_pkts)


def _model1_cwnd_pkts(protocol, rtt_ms, t_s):
    rtt_s, increment_pkts = _setting(protocol, rtt_ms)
    return aimd.model1_cwnd_pkts(t_s, rtt_s, CAPACITY_PPS, CAPACITY_PPS / 2, increment_pkts)


def _model2_cwnd_pkts(protocol, rtt_ms, t_s):
    """From the BDP to BDP and buffer at t2, ever more slowly."""
    share = t_s / t2_s(protocol, rtt_ms)
    return aimd.bdp_pkts(rtt_ms / 1000, CAPACITY_PPS) + BUFFER_PKTS * share * (1.25 - 0.25 * share)


def growth_trace(protocols, cwnd_pkts, stop_s, losses=False, scale=None):
    """Windows every 20 ms: small at first, then from ``cwnd_pkts(protocol, rtt_ms, t_s)``, on for a second after ``stop_s``.

    ``scale`` maps (protocol, rtt_ms) to a factor for that window. With ``losses`` each run loses a packet at ``stop_s``.
    """
    runs, samples, events = [], [], []
    for run_id, (protocol, rtt_ms) in enumerate((p, r) for p in protocols for r in (40, 80)):
        stop = stop_s(protocol, rtt_ms)
        grown_s = np.arange(0, stop + 1, SAMPLE_S)
        grown = cwnd_pkts(protocol, rtt_ms, grown_s) * (scale or {}).get((protocol, rtt_ms), 1.0)
        before = np.full(BEFORE, grown[0] / 2)
        t_s = np.concatenate([np.arange(BEFORE) * SAMPLE_S, BEFORE * SAMPLE_S + grown_s])
        runs.append((run_id, 0, protocol, rtt_ms, 100e6, 1500))
        samples.append(pd.DataFrame({"run_id": run_id, "t_s": t_s, "cwnd_pkts": np.concatenate([before, grown])}))
        events.append((run_id, t_s[0], "recovery_end"))
        if losses:
            events.append((run_id, t_s[BEFORE] + stop, "loss"))
    columns = ["run_id", "replicate", "protocol", "rtt_ms", "capacity_bps", "wire_bytes"]
    runs, events = pd.DataFrame(runs, columns=columns), pd.DataFrame(events, columns=["run_id", "t_s", "kind"])
    return Trace(runs, pd.DataFrame(), pd.concat(samples), events=events)


MODEL1 = ["Reno", "Libra", "Alpha"]
MODEL2 = ["Reno", "Libra (eq. 15)", "Alpha (eq. 16)"]


def model1_trace(scale=None, cwnd_pkts=_model1_cwnd_pkts):
    return growth_trace(MODEL1, cwnd_pkts, t1_s, scale=scale)


def model2_trace(scale=None, cwnd_pkts=_model2_cwnd_pkts, stop_s=t2_s):
    return growth_trace(MODEL2, cwnd_pkts, stop_s, losses=True, scale=scale)


def _times(protocols, metric, of):
    return table([(p, r, 1, metric, of(p, r)) for p in protocols for r in (40, 80)], ["protocol", "rtt_ms"])


def _world():
    metrics = {
        "loss_sweep": _sweep("loss_rate", BY_LOSS, LOSS),
        "rtt_sweep": _sweep("rtt_ms", BY_RTT, RTTS),
        "buffer_sweep": _sweep("buffer_pkts", BY_BUFFER, BUFFERS),
        "efficiency": _alone(),
        "friendliness": _friendliness(),
        "model1": _times(MODEL1, "t1_s", t1_s),
        "model2": _times(MODEL2, "t2_s", t2_s),
    }
    return World(metrics, {"model1": model1_trace(), "model2": model2_trace()})


WORLD = _world()


def _scaled(experiment, make, protocol, rtt_ms, clause):
    """An edge in the factor of one window of a model."""

    def put(world, factor):
        return replace(world, traces={**world.traces, experiment: make({(protocol, rtt_ms): factor})})

    where = {"protocol": protocol, "rtt_ms": rtt_ms}
    return Edge(experiment, where, lambda at, t: t.high[clause], False, clause, alone=True, put=put)


def _curved(world, window):
    """Libra's window at 80 ms rises by ``window(share of the time)`` of the buffer; its last sample ends a sixth of the time."""
    last_s = 6 * SAMPLE_S * round(t2_s("Libra", 80) / (6 * SAMPLE_S))

    def cwnd_pkts(protocol, rtt_ms, t_s):
        if (_short(protocol), rtt_ms) != ("Libra", 80):
            return _model2_cwnd_pkts(protocol, rtt_ms, t_s)
        return aimd.bdp_pkts(rtt_ms / 1000, CAPACITY_PPS) + BUFFER_PKTS * window(t_s / last_s)

    def stop_s(protocol, rtt_ms):
        return last_s + SAMPLE_S / 2 if (_short(protocol), rtt_ms) == ("Libra", 80) else t2_s(protocol, rtt_ms)

    return replace(world, traces={**world.traces, "model2": model2_trace(cwnd_pkts=cwnd_pkts, stop_s=stop_s)})


def _slowing(world, last_over_first):
    """A parabola with this growth in the last sixth of its time over that in the first."""
    bend = 6 * (1 - last_over_first) / (5 * (1 + last_over_first))
    return _curved(world, lambda share: share * (1 + bend - bend * share))


def _by_sixths(world, first):
    """Growth by sixths of the time: it rises from the second to the third and thereafter falls."""
    corners = np.cumsum([0, first, 6, 8, 3, 2, 1])
    return _curved(world, lambda share: np.interp(share, np.linspace(0, 1, 7), corners) / corners[-1])


def _slope(world, factor):
    """Alpha's window at 80 ms with its slope times ``factor``."""

    def cwnd_pkts(protocol, rtt_ms, t_s):
        of = _model1_cwnd_pkts(protocol, rtt_ms, t_s)
        return of[0] + (of - of[0]) * factor if (protocol, rtt_ms) == ("Alpha", 80) else of

    return replace(world, traces={**world.traces, "model1": model1_trace(cwnd_pkts=cwnd_pkts)})


def _short(protocol):
    return protocol.split()[0]


def _bounds(experiment, metric, clause, times=lambda at: 1, sides=(above, below), **options):
    """At either bound of a clause, whose quantity is the cell's value over ``times`` of the cell."""
    ends = {above: lambda t: t.low[clause], below: lambda t: t.high[clause]}
    return [
        side(experiment, metric, lambda at, t, end=ends[side]: end(t) * times(at), clause=clause, **options)
        for side in sides
    ]


def _over_model(experiment, metric, protocols, in_model):
    """At either end of what simulated times may be, over those of the model."""
    cell = {"protocol": protocols, "rtt_ms": [40, 80], "flow": 1}
    return _bounds(experiment, metric, "time", lambda at: in_model(at["protocol"], at["rtt_ms"]), **cell)


def _ratio(experiment, clause, sides=(above, below), tie=True, **cell):
    """At either bound of the ratio of two flows, the first of which gets `FIRST_MBPS`."""
    return _bounds(experiment, RATE, clause, lambda at: FIRST_MBPS, sides, tie=tie, flow=2, **cell)


def _put(experiment, protocol, value, **where):
    """Puts throughputs aside: of the second flow of a pair, or of the flow that ``where`` names."""
    return (experiment, {"flow": 2, "protocol": protocol, "metric": RATE, **where}, value)


def _typical(others, n, factor):
    """Two values of one among ``n`` of which the rest are ``others``, for which the typical factor is this one.

    In logarithms the others are 0 and the one is l: their standard deviation is |l| sqrt(n - 1)/n.
    """
    return [others * exp(sign * log(factor) * n / sqrt(n - 1)) for sign in (-1, 1)]


def _steady(experiment, clause, others, n, **options):
    """At the values of one cell at which it is too far from all others."""
    return [
        side(experiment, RATE, lambda at, t, i=i: _typical(others, n, t.high[clause])[i], clause=clause, **options)
        for i, side in enumerate((above, below))
    ]


def _loses_its_trend(protocol, clause):
    """Throughputs fall over nine RTTs, so that of 36 pairs nine may rise: the last eight, one more, and no other."""
    last = _put("efficiency", protocol, 2000, flow=1, rtt_ms=200)
    cell = {"flow": 1, "protocol": protocol, "rtt_ms": 180}
    return below("efficiency", RATE, lambda at, t: at(rtt_ms=140), clause=clause, but=(last,), **cell)


def _typical_of_reno():
    """By which factor Reno typically departs from its mean over the RTTs, against Reno."""
    cell = {"protocol": "Reno", "flow": 1, "metric": RATE}
    return exp(np.std([log(WORLD.value("friendliness", {**cell, "rtt_ms": r})) for r in FRIEND_RTTS]))


HIGH, LOW = [1e-2, 1e-3], [1e-5, 1e-6]
FAIR = CONFIG.analysis_value("fair_ratio")
BOTH = (("reno", "Reno"), ("alpha", "Alpha"))
# numbers of closed forms, tried in test_laws
NUMBERS_OF_LAWS = {("ogura.c01", "rtt_ms")}
EDGES = {
    "ogura.c05": [_scaled("model1", model1_trace, p, 40, "same") for p in MODEL1],
    "ogura.c06": [
        *_over_model("model1", "t1_s", MODEL1, t1_s),
        *(_scaled("model1", model1_trace, p, rtt_ms, "window") for p in MODEL1 for rtt_ms in (40, 80)),
    ],
    "ogura.c07": [
        Edge("model1", {"rtt_ms": 80}, lambda at, t: t.high["same"], False, alone=True, put=_slope),
        Edge("model1", {"rtt_ms": 80}, lambda at, t: t.low["same"], True, alone=True, put=_slope),
    ],
    "ogura.c11": [_scaled("model2", model2_trace, p, 40, "same") for p in MODEL2],
    "ogura.c12": [
        Edge("model2", {}, lambda at, t: t.high["slower"], False, "slower", alone=True, put=_slowing),
        # of 15 pairs three may rise: from the second sixth to the third, and from the first to both
        Edge("model2", {}, 3.0, True, "ever", alone=True, put=_by_sixths),
    ],
    "ogura.c13": _over_model("model2", "t2_s", MODEL2, t2_s),
    # one of nine loss rates is unfair already: a second makes it too many
    "ogura.c14": [
        side(
            "loss_sweep",
            RATE,
            FIRST_MBPS * end,
            tie=True,
            but=(_put("loss_sweep", "Proposal", 192, loss_rate=LOSS[0]),),
            protocol="Proposal",
            loss_rate=LOSS[1:],
            flow=2,
        )
        for side, end in zip((above, below), FAIR, strict=True)
    ],
    # Reno's factor must exceed Alpha's of 2 and, as far the other way, a Libra of 3
    "ogura.c15": [
        below(
            "loss_sweep",
            RATE,
            lambda at, t: at(protocol="Alpha") / t.low["most"],
            flow=2,
            protocol="Reno",
            loss_rate=HIGH,
        ),
        above(
            "loss_sweep",
            RATE,
            lambda at, t: FIRST_MBPS**2 / at(protocol="Alpha") * t.low["most"],
            but=(_put("loss_sweep", "Reno", 256),),
            flow=2,
            protocol="Reno",
            loss_rate=HIGH,
        ),
        below(
            "loss_sweep",
            RATE,
            lambda at, t: FIRST_MBPS**2 / at(protocol="Reno") / t.low["most"],
            flow=2,
            protocol="Libra",
            loss_rate=HIGH,
        ),
        above(
            "loss_sweep",
            RATE,
            lambda at, t: at(protocol="Reno") * t.low["most"],
            flow=2,
            protocol=["Proposal", "Alpha"],
            loss_rate=HIGH,
        ),
    ],
    "ogura.c20": [
        below(
            "rtt_sweep",
            RATE,
            lambda at, t: at(rtt_ms=20) / t.low["ends"],
            clause="ends",
            protocol=["Reno", "Alpha"],
            rtt_ms=120,
            flow=2,
        ),
        # of 15 pairs three may rise, and a fourth does where the value at 120 ms is above that at 40
        *(
            below(
                "rtt_sweep",
                RATE,
                lambda at, t: at(rtt_ms=40),
                tie=True,
                clause=clause,
                protocol=protocol,
                rtt_ms=120,
                flow=2,
            )
            for clause, protocol in BOTH
        ),
    ],
    "ogura.c23": [
        above(
            "rtt_sweep",
            RATE,
            lambda at, t: sqrt(t.low["nearer"] * at(protocol="Alpha") * at(protocol="Libra")),
            protocol="Proposal",
            rtt_ms=20,
            flow=2,
        ),
        # nearer to Alpha from above as well
        below(
            "rtt_sweep",
            RATE,
            lambda at, t: at(protocol="Proposal") ** 2 / at(protocol="Libra") / t.low["nearer"],
            protocol="Alpha",
            rtt_ms=20,
            flow=2,
        ),
    ],
    "ogura.c24": [
        edge
        for clause, protocol in BOTH
        for edge in (
            *_ratio("buffer_sweep", f"{clause}_below", (below,), protocol=protocol, buffer_pkts=BUFFERS),
            *_steady(
                "buffer_sweep",
                f"{clause}_constant",
                32,
                len(BUFFERS),
                but=(_put("buffer_sweep", protocol, 32),),
                protocol=protocol,
                buffer_pkts=BUFFERS,
                flow=2,
            ),
        )
    ],
    "ogura.c26": [
        above(
            "buffer_sweep",
            RATE,
            lambda at, t: at(protocol="Alpha") * t.low["above_alpha"] ** 7,
            clause="above_alpha",
            but=(_put("buffer_sweep", ["Proposal", "Alpha"], 32),),
            protocol="Proposal",
            buffer_pkts=BUFFERS,
            flow=2,
        ),
        below(
            "buffer_sweep",
            RATE,
            lambda at, t: at(protocol="Libra") * t.high["below_libra"] ** 7,
            clause="below_libra",
            but=(_put("buffer_sweep", ["Proposal", "Libra"], 128),),
            protocol="Proposal",
            buffer_pkts=BUFFERS,
            flow=2,
        ),
        # at one of seven sizes it is below both already: a second is too many
        *(
            side(
                "buffer_sweep",
                RATE,
                lambda at, t, other=other: at(protocol=other),
                tie=True,
                clause="keeps",
                but=(_put("buffer_sweep", "Proposal", 16, buffer_pkts=BUFFERS[0]), *aside),
                protocol="Proposal",
                buffer_pkts=BUFFERS[1:],
                flow=2,
            )
            for side, other, aside in (
                (above, "Alpha", ()),
                (below, "Libra", ()),
                # the other way round: Libra below Alpha
                (
                    above,
                    "Libra",
                    (
                        _put("buffer_sweep", "Libra", 20),
                        _put("buffer_sweep", "Proposal", 24, buffer_pkts=BUFFERS[1:]),
                    ),
                ),
            )
        ),
    ],
    "ogura.c30": [
        *_bounds(
            "efficiency",
            RATE,
            "ends",
            lambda at: at(rtt_ms=40),
            (below,),
            protocol=["Reno", "Alpha"],
            rtt_ms=200,
            flow=1,
        ),
        *(_loses_its_trend(protocol, clause) for clause, protocol in BOTH),
    ],
    "ogura.c31": [
        # the mean of nine, the others of which are 400
        *(
            side(
                "efficiency",
                RATE,
                lambda at, t, end=end: 9 * end(t) - 8 * 400,
                clause="around",
                protocol="Libra",
                rtt_ms=ALONE_RTTS,
                flow=1,
            )
            for side, end in ((above, lambda t: t.low["around"]), (below, lambda t: t.high["around"]))
        ),
        *_steady("efficiency", "stays", 400, len(ALONE_RTTS), protocol="Libra", rtt_ms=ALONE_RTTS, flow=1),
    ],
    "ogura.c32": [
        *_bounds(
            "efficiency",
            RATE,
            "highest",
            lambda at: at(protocol="Libra"),
            (above,),
            protocol="Proposal",
            rtt_ms=200,
            flow=1,
        ),
        below(
            "efficiency",
            RATE,
            lambda at, t: at(protocol="Proposal") / t.low["highest"],
            clause="highest",
            protocol=["Reno", "Libra", "Alpha", "Westwood"],
            rtt_ms=200,
            flow=1,
        ),
        *_bounds(
            "efficiency",
            RATE,
            "robust",
            lambda at: (
                at(rtt_ms=40) * at(protocol="Alpha") / at(protocol="Alpha", rtt_ms=40)  # of the three it keeps most
            ),
            (above,),
            protocol="Proposal",
            rtt_ms=200,
            flow=1,
        ),
        below(
            "efficiency",
            RATE,
            lambda at, t: (
                at(rtt_ms=40) * at(protocol="Proposal") / at(protocol="Proposal", rtt_ms=40) / t.low["robust"]
            ),
            clause="robust",
            protocol=["Reno", "Alpha", "Westwood"],
            rtt_ms=200,
            flow=1,
        ),
    ],
    "ogura.c35": [
        *_steady(
            "friendliness", "constant", FRIEND_MBPS, len(FRIEND_RTTS), protocol="Proposal", rtt_ms=FRIEND_RTTS, flow=1
        ),
        *(
            side(
                "friendliness",
                RATE,
                lambda at, t, i=i: _typical(FRIEND_MBPS, len(FRIEND_RTTS), _typical_of_reno() * t.high["steadier"])[i],
                clause="steadier",
                protocol="Proposal",
                rtt_ms=FRIEND_RTTS,
                flow=1,
            )
            for i, side in enumerate((above, below))
        ),
    ],
}
