"""A world in which the claims of ogura hold, and their edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from tcpfair.contract.trace import Trace
from tcpfair.models import aimd
from tests.verdicts.claims.edges import CONFIGS, Edge, World, above, below, holds, table

CONFIG = CONFIGS["ogura"]
CAPACITY_PPS = aimd.link_capacity_pps(100e6, 1500)
REFERENCE_S, BUFFER_PKTS = 0.04, 500
BEFORE = 20  # samples before a window grows

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


def _sweep(name, values, by, metric="ratio", flow=0):
    rows = [(p, x, flow, metric, value) for p, of in values.items() for x, value in zip(by, of, strict=True)]
    return table(rows, ["protocol", name])


def _friendliness():
    rows = []
    for rtt_ms, ratio in zip(FRIEND_RTTS, [2.0, 1.4, 1.0, 0.8, 0.6], strict=True):
        rows += [("Reno", rtt_ms, 0, "ratio", ratio), ("Reno", rtt_ms, 0, "throughput_sum", 60)]
        rows += [("Proposal", rtt_ms, 1, "throughput_mean", 40), ("Proposal", rtt_ms, 0, "throughput_sum", 80)]
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
        grown_s = np.arange(0, stop + 1, 0.02)
        grown = cwnd_pkts(protocol, rtt_ms, grown_s) * (scale or {}).get((protocol, rtt_ms), 1.0)
        before = np.full(BEFORE, grown[0] / 2)
        t_s = np.concatenate([np.arange(BEFORE) * 0.02, BEFORE * 0.02 + grown_s])
        runs.append((run_id, protocol, rtt_ms, 100e6, 1500))
        samples.append(pd.DataFrame({"run_id": run_id, "t_s": t_s, "cwnd_pkts": np.concatenate([before, grown])}))
        events.append((run_id, t_s[0], "recovery_end"))
        if losses:
            events.append((run_id, t_s[BEFORE] + stop, "loss"))
    columns = ["run_id", "protocol", "rtt_ms", "capacity_bps", "wire_bytes"]
    runs, events = pd.DataFrame(runs, columns=columns), pd.DataFrame(events, columns=["run_id", "t_s", "kind"])
    return Trace(runs, pd.DataFrame(), pd.concat(samples), events=events)


MODEL1 = ["Reno", "Libra", "Alpha"]
MODEL2 = ["Reno", "Libra (eq. 15)", "Alpha (eq. 16)"]


def model1_trace(scale=None, cwnd_pkts=_model1_cwnd_pkts):
    return growth_trace(MODEL1, cwnd_pkts, t1_s, scale=scale)


def model2_trace(scale=None, cwnd_pkts=_model2_cwnd_pkts):
    return growth_trace(MODEL2, cwnd_pkts, t2_s, losses=True, scale=scale)


def _times(protocols, metric, of):
    return table([(p, r, 1, metric, of(p, r)) for p in protocols for r in (40, 80)], ["protocol", "rtt_ms"])


def _world():
    metrics = {
        "loss_sweep": _sweep("loss_rate", BY_LOSS, LOSS),
        "rtt_sweep": _sweep("rtt_ms", BY_RTT, RTTS),
        "buffer_sweep": _sweep("buffer_pkts", BY_BUFFER, BUFFERS),
        "efficiency": _sweep("rtt_ms", ALONE, ALONE_RTTS, "throughput_mean", flow=1),
        "friendliness": _friendliness(),
        "model1": _times(MODEL1, "t1_s", t1_s),
        "model2": _times(MODEL2, "t2_s", t2_s),
    }
    return World(metrics, {"model1": model1_trace(), "model2": model2_trace()})


WORLD = _world()


def _scaled(experiment, make, protocol, rtt_ms, limit):
    """An edge in the factor of one window of a model."""

    def put(world, factor):
        return replace(world, traces={**world.traces, experiment: make({(protocol, rtt_ms): factor})})

    return Edge(experiment, {"protocol": protocol, "rtt_ms": rtt_ms}, limit, above=False, alone=True, put=put)


def _alike(experiment, make, protocol):
    return _scaled(experiment, make, protocol, 40, lambda at, t: (3 + 2 * t.tolerance_rel) / (3 - t.tolerance_rel))


def _bent(world, share):
    """Libra's window at 80 ms with ``share`` of the bend that the others have: none is a straight line."""

    def cwnd_pkts(protocol, rtt_ms, t_s):
        done = t_s / t2_s(protocol, rtt_ms)
        bend = share / 4 if (protocol.startswith("Libra"), rtt_ms) == (True, 80) else 0.25
        return aimd.bdp_pkts(rtt_ms / 1000, CAPACITY_PPS) + BUFFER_PKTS * done * (1 + bend - bend * done)

    return replace(world, traces={**world.traces, "model2": model2_trace(cwnd_pkts=cwnd_pkts)})


def _wavy(world, _):
    """Windows that bend upwards between the quarters of the time: only the quarters are looked at."""

    def cwnd_pkts(protocol, rtt_ms, t_s):
        wave = np.sin(4 * np.pi * t_s / t2_s(protocol, rtt_ms)) ** 2
        return _model2_cwnd_pkts(protocol, rtt_ms, t_s) - 50 * wave

    return replace(world, traces={**world.traces, "model2": model2_trace(cwnd_pkts=cwnd_pkts)})


def _slope(world, factor):
    """Alpha's window at 80 ms with its slope times ``factor``."""

    def cwnd_pkts(protocol, rtt_ms, t_s):
        of = _model1_cwnd_pkts(protocol, rtt_ms, t_s)
        return of[0] + (of - of[0]) * factor if (protocol, rtt_ms) == ("Alpha", 80) else of

    return replace(world, traces={**world.traces, "model1": model1_trace(cwnd_pkts=cwnd_pkts)})


def _time_ratio(experiment, metric, protocol, ratio):
    """At either end of the ratio of the times at 80 and at 40 ms."""
    cell = {"protocol": protocol, "rtt_ms": 80, "flow": 1}
    return [
        above(experiment, metric, lambda at, test: at(rtt_ms=40) * ratio * (1 - test.tolerance_rel), **cell),
        below(experiment, metric, lambda at, test: at(rtt_ms=40) * ratio * (1 + test.tolerance_rel), **cell),
        above(
            experiment, metric, lambda at, t: at(rtt_ms=80) / ratio / (1 + t.tolerance_rel), **{**cell, "rtt_ms": 40}
        ),
    ]


HIGH, LOW = [1e-2, 1e-3], [1e-5, 1e-6]
FAIR = CONFIG.analysis_value("fair_ratio")


def _fair(experiment, **where):
    """At either end of what is called fair."""
    return [
        above(experiment, "ratio", lambda at, test: FAIR[0] - test.tolerance, tie=True, **where),
        below(experiment, "ratio", lambda at, test: FAIR[1] + test.tolerance, tie=True, **where),
    ]


def _falls(experiment, metric, by, values, flow=0, **where):
    """No step may rise beyond the tolerance, and the last value must be below the first beyond it."""
    cell = {"flow": flow, **where}

    def before(at, test):
        return at(**{by: values[values.index(at[by]) - 1]}) * (1 + test.tolerance_rel)

    flat = [(experiment, {"flow": flow, **where, by: values[-3:], "metric": metric}, 0.25)]
    return [
        below(experiment, metric, before, tie=True, **cell, **{by: values[1:-1]}),
        below(experiment, metric, before, tie=True, but=tuple(flat), **cell, **{by: values[-1:]}),
    ]


def _one_of_five(spread):
    """Of five values of which four are 1, the fifth for which (largest - least)/mean is ``spread``."""
    return (5 + 4 * spread) / (5 - spread)


EDGES = {
    "ogura.c02": _time_ratio("model1", "t1_s", "Libra", 1),
    "ogura.c03": _time_ratio("model1", "t1_s", "Reno", 4),
    "ogura.c04": _time_ratio("model1", "t1_s", "Alpha", 2),
    # two windows and a third that is f times as large: (f - 1)/((f + 2)/3)
    "ogura.c05": [_alike("model1", model1_trace, p) for p in MODEL1],
    "ogura.c06": [
        edge
        for p in MODEL1
        for edge in (
            above(
                "model1",
                "t1_s",
                lambda at, t: t1_s(at["protocol"], at["rtt_ms"]) * (1 - t.tolerance_rel),
                protocol=p,
                rtt_ms=[40, 80],
                flow=1,
            ),
            below(
                "model1",
                "t1_s",
                lambda at, t: t1_s(at["protocol"], at["rtt_ms"]) * (1 + t.tolerance_rel),
                protocol=p,
                rtt_ms=[40, 80],
                flow=1,
            ),
            _scaled("model1", model1_trace, p, 80, lambda at, t: 1 + t.tolerance_rel),
        )
    ],
    "ogura.c07": [
        Edge("model1", {"rtt_ms": 80}, lambda at, t: 1 + t.tolerance_rel, False, alone=True, put=_slope),
        Edge("model1", {"rtt_ms": 80}, lambda at, t: 1 - t.tolerance_rel, True, alone=True, put=_slope),
    ],
    "ogura.c08": _time_ratio("model2", "t2_s", "Alpha (eq. 16)", 1),
    "ogura.c09": [
        above(
            "model2",
            "t2_s",
            lambda at, t: at(rtt_ms=40) * (1 + t.tolerance_rel),
            tie=False,
            protocol="Reno",
            rtt_ms=80,
            flow=1,
        ),
        below(
            "model2", "t2_s", lambda at, t: at(rtt_ms=80) / (1 + t.tolerance_rel), protocol="Reno", rtt_ms=40, flow=1
        ),
    ],
    "ogura.c10": [
        below(
            "model2",
            "t2_s",
            lambda at, t: at(rtt_ms=40) * (1 - t.tolerance_rel),
            tie=False,
            protocol="Libra (eq. 15)",
            rtt_ms=80,
            flow=1,
        ),
        above(
            "model2",
            "t2_s",
            lambda at, t: at(rtt_ms=80) / (1 - t.tolerance_rel),
            protocol="Libra (eq. 15)",
            rtt_ms=40,
            flow=1,
        ),
    ],
    "ogura.c11": [_alike("model2", model2_trace, p) for p in MODEL2],
    "ogura.c12": [Edge("model2", {}, 0.0, True, alone=True, put=_bent), holds(alone=True, put=_wavy)],
    "ogura.c13": [
        edge
        for p in MODEL2
        for edge in (
            above(
                "model2",
                "t2_s",
                lambda at, t: t2_s(at["protocol"], at["rtt_ms"]) * (1 - t.tolerance_rel),
                protocol=p,
                rtt_ms=[40, 80],
                flow=1,
            ),
            below(
                "model2",
                "t2_s",
                lambda at, t: t2_s(at["protocol"], at["rtt_ms"]) * (1 + t.tolerance_rel),
                protocol=p,
                rtt_ms=[40, 80],
                flow=1,
            ),
        )
    ],
    # four of nine loss rates are unfair already: a fifth makes it most
    "ogura.c14": [
        replace(edge, but=(("loss_sweep", {"protocol": "Proposal", "loss_rate": LOSS[:4]}, 3.0),))
        for edge in _fair("loss_sweep", protocol="Proposal", loss_rate=LOSS[4:])
    ],
    # Reno's |log| must exceed Alpha's 0.5 and, as far the other way, a Libra of 3
    "ogura.c15": [
        below("loss_sweep", "ratio", lambda at, t: at(protocol="Alpha"), tie=False, protocol="Reno", loss_rate=HIGH),
        above(
            "loss_sweep",
            "ratio",
            lambda at, t: 1 / at(protocol="Alpha"),
            protocol="Reno",
            loss_rate=HIGH,
            but=(("loss_sweep", {"protocol": "Reno"}, 4.0),),
        ),
        below("loss_sweep", "ratio", lambda at, t: 1 / at(protocol="Reno"), protocol="Libra", loss_rate=HIGH),
        above("loss_sweep", "ratio", lambda at, t: at(protocol="Reno"), protocol=["Proposal", "Alpha"], loss_rate=HIGH),
    ],
    "ogura.c16": _fair("loss_sweep", protocol="Libra", loss_rate=HIGH),
    "ogura.c17": [
        above("loss_sweep", "ratio", lambda at, t: 1 + t.tolerance_rel, tie=False, protocol="Libra", loss_rate=LOW)
    ],
    "ogura.c18": [
        above(
            "loss_sweep", "ratio", lambda at, t: t.ratio[0] - t.tolerance, tie=True, protocol="Alpha", loss_rate=HIGH
        ),
        below(
            "loss_sweep", "ratio", lambda at, t: t.ratio[1] + t.tolerance, tie=True, protocol="Alpha", loss_rate=HIGH
        ),
    ],
    "ogura.c19": [
        above(
            "loss_sweep",
            "ratio",
            lambda at, t: at(loss_rate=1e-2) ** (1 - t.tolerance_rel),
            protocol=["Alpha", "Reno"],
            loss_rate=1e-6,
        ),
        below(
            "loss_sweep",
            "ratio",
            lambda at, t: at(loss_rate=1e-2) ** -(1 - t.tolerance_rel),
            protocol=["Alpha", "Reno"],
            loss_rate=1e-6,
        ),
        below(
            "loss_sweep",
            "ratio",
            lambda at, t: at(loss_rate=1e-6) ** (1 / (1 - t.tolerance_rel)),
            protocol=["Alpha", "Reno"],
            loss_rate=1e-2,
        ),
    ],
    "ogura.c20": [
        *_falls("rtt_sweep", "ratio", "rtt_ms", RTTS, protocol=["Reno", "Alpha"]),
        above(
            "rtt_sweep",
            "ratio",
            lambda at, t: 1 + t.tolerance_rel,
            tie=False,
            protocol=["Reno", "Alpha"],
            rtt_ms=20,
            but=(("rtt_sweep", {"protocol": ["Reno", "Alpha"], "rtt_ms": [40, 60, 80, 100, 120]}, 0.25),),
        ),
        below(
            "rtt_sweep",
            "ratio",
            lambda at, t: 1 - t.tolerance_rel,
            tie=False,
            protocol=["Reno", "Alpha"],
            rtt_ms=120,
            but=(("rtt_sweep", {"protocol": ["Reno", "Alpha"], "rtt_ms": RTTS[:-1]}, 1.5),),
        ),
    ],
    # the reciprocal must fall
    "ogura.c21": [
        above(
            "rtt_sweep",
            "ratio",
            lambda at, t: at(rtt_ms=RTTS[RTTS.index(at["rtt_ms"]) - 1]) / (1 + t.tolerance_rel),
            protocol="Libra",
            rtt_ms=RTTS[1:],
        ),
        above(
            "rtt_sweep",
            "ratio",
            lambda at, t: at(rtt_ms=20) / (1 - t.tolerance_rel),
            protocol="Libra",
            rtt_ms=120,
            but=(("rtt_sweep", {"protocol": "Libra"}, 0.5),),
        ),
    ],
    "ogura.c22": _fair("rtt_sweep", protocol="Proposal", rtt_ms=RTTS[1:]),
    "ogura.c23": [
        above(
            "rtt_sweep",
            "ratio",
            lambda at, t: (at(protocol="Alpha") + at(protocol="Libra")) / 2,
            tie=False,
            protocol="Proposal",
            rtt_ms=20,
        ),
        # nearer to Alpha from above as well
        below(
            "rtt_sweep",
            "ratio",
            lambda at, t: 2 * at(protocol="Proposal") - at(protocol="Libra"),
            tie=False,
            protocol="Alpha",
            rtt_ms=20,
        ),
    ],
    "ogura.c24": [
        below(
            "buffer_sweep",
            "ratio",
            lambda at, t: 1.0,
            tie=False,
            protocol=["Reno", "Alpha"],
            buffer_pkts=BUFFERS,
            but=(("buffer_sweep", {"protocol": ["Reno", "Alpha"]}, 0.9),),
        ),
        below(
            "buffer_sweep",
            "ratio",
            lambda at, t: at(buffer_pkts=100) + t.spread + t.tolerance,
            tie=True,
            protocol=["Reno", "Alpha"],
            buffer_pkts=BUFFERS[1:],
        ),
        above(
            "buffer_sweep",
            "ratio",
            lambda at, t: at(buffer_pkts=100) - t.spread - t.tolerance,
            tie=True,
            protocol=["Reno", "Alpha"],
            buffer_pkts=BUFFERS[1:],
        ),
    ],
    "ogura.c25": [
        above(
            "buffer_sweep", "ratio", lambda at, t: 1 + t.tolerance_rel, tie=False, protocol="Libra", buffer_pkts=BUFFERS
        )
    ],
    "ogura.c26": [
        above(
            "buffer_sweep",
            "ratio",
            lambda at, t: at(protocol="Alpha") * (1 - t.tolerance_rel),
            tie=True,
            protocol="Proposal",
            buffer_pkts=BUFFERS,
        ),
        below(
            "buffer_sweep",
            "ratio",
            lambda at, t: at(protocol="Libra") * (1 + t.tolerance_rel),
            tie=True,
            protocol="Proposal",
            buffer_pkts=BUFFERS,
        ),
        # the other way round: Libra below Alpha
        above(
            "buffer_sweep",
            "ratio",
            lambda at, t: at(protocol="Libra") * (1 - t.tolerance_rel),
            tie=True,
            protocol="Proposal",
            buffer_pkts=BUFFERS,
            but=(("buffer_sweep", {"protocol": "Libra"}, 0.25), ("buffer_sweep", {"protocol": "Proposal"}, 0.4)),
        ),
    ],
    "ogura.c27": [
        below(
            "buffer_sweep",
            "ratio",
            lambda at, t: 1 + (at(buffer_pkts=300) - 1) * (1 - t.tolerance_rel),
            tie=False,
            protocol="Libra",
            buffer_pkts=1500,
        ),
        above(
            "buffer_sweep",
            "ratio",
            lambda at, t: 1 - (at(buffer_pkts=300) - 1) * (1 - t.tolerance_rel),
            tie=False,
            protocol="Libra",
            buffer_pkts=1500,
        ),
    ],
    "ogura.c28": [
        above(
            "efficiency",
            "throughput_mean",
            lambda at, t: at(protocol="Alpha") * (1 + t.tolerance_rel),
            tie=False,
            protocol=["Proposal", "Westwood"],
            rtt_ms=40,
            flow=1,
        ),
        below(
            "efficiency",
            "throughput_mean",
            lambda at, t: at(protocol="Proposal") / (1 + t.tolerance_rel),
            protocol=["Reno", "Libra", "Alpha"],
            rtt_ms=40,
            flow=1,
        ),
    ],
    "ogura.c29": [
        below(
            "efficiency",
            "throughput_mean",
            lambda at, t: at(rtt_ms=40) * t.share * (1 - t.tolerance_rel),
            tie=False,
            protocol="Westwood",
            rtt_ms=200,
            flow=1,
        ),
    ],
    "ogura.c30": _falls("efficiency", "throughput_mean", "rtt_ms", ALONE_RTTS, flow=1, protocol=["Reno", "Alpha"]),
    "ogura.c31": [
        above(
            "efficiency",
            "throughput_mean",
            lambda at, t: t.throughput_mbps[0] * (1 - t.tolerance_rel),
            tie=True,
            protocol="Libra",
            rtt_ms=ALONE_RTTS,
            flow=1,
        ),
        below(
            "efficiency",
            "throughput_mean",
            lambda at, t: t.throughput_mbps[1] * (1 + t.tolerance_rel),
            tie=True,
            protocol="Libra",
            rtt_ms=ALONE_RTTS,
            flow=1,
        ),
    ],
    "ogura.c32": [
        above(
            "efficiency",
            "throughput_mean",
            lambda at, t: at(protocol="Libra") * (1 - t.tolerance_rel),
            tie=True,
            protocol="Proposal",
            rtt_ms=200,
            flow=1,
        ),
        below(
            "efficiency",
            "throughput_mean",
            lambda at, t: at(protocol="Proposal") / (1 - t.tolerance_rel),
            protocol=["Reno", "Libra", "Alpha", "Westwood"],
            rtt_ms=200,
            flow=1,
        ),
    ],
    "ogura.c33": [
        above("friendliness", "ratio", lambda at, t: 1 + t.tolerance_rel, tie=False, protocol="Reno", rtt_ms=20)
    ],
    "ogura.c34": [
        below("friendliness", "ratio", lambda at, t: 1 - t.tolerance_rel, tie=False, protocol="Reno", rtt_ms=60)
    ],
    # four at 40 and one at x: |x - 40|/((160 + x)/5)
    "ogura.c35": [
        below(
            "friendliness",
            "throughput_mean",
            lambda at, t: 40 * _one_of_five(t.spread_rel + t.tolerance),
            protocol="Proposal",
            rtt_ms=FRIEND_RTTS,
            flow=1,
        ),
        above(
            "friendliness",
            "throughput_mean",
            lambda at, t: 40 * _one_of_five(-t.spread_rel - t.tolerance),
            protocol="Proposal",
            rtt_ms=FRIEND_RTTS,
            flow=1,
        ),
    ],
    "ogura.c36": [
        above(
            "friendliness",
            "throughput_sum",
            lambda at, t: at(protocol="Reno") * (1 + t.tolerance_rel),
            tie=False,
            protocol="Proposal",
            rtt_ms=FRIEND_RTTS,
        ),
    ],
}
