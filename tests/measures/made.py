"""Traces and configurations made by hand, for the tests of measures."""

import numpy as np
import pandas as pd

from tcpfair.papers.papers import PaperConfig
from tcpfair.runs.trace import Trace

ANALYSIS = {
    "U_c_db": -0.46,
    "t_e_s": 1,
    "convergence_from_s": 2,
    "convergence_window_s": 1,
    "peak_share": 0.9,
    "residual_share": 0.25,  # not its own complement
    "target_rate_bps": 40e6,
    "common_within_s": 0.3,
    "rates_count": "received",
    "utilisation_counts": "payload",
    "sharing_from_s": 4,
    "sharing_end_s": 2,
    "fair_ratio": 0.8,
    "fair_mean_s": 2,
    "together_rtts": 1.5,
}
EVENTS = ["run_id", "flow_id", "t_s", "kind", "cwnd_before", "cwnd_after", "w_max", "k_s"]


def said(value):
    return {"value": value, "source": "sec. 1"}


def config(measures, window_s=(2, 4), rule="per_column", **analysis):
    """bhatti2009 with a pair of CCID2 and CUBIC, weighted by ``self``."""
    pair = {
        "what": "pair",
        "grid": {"protocol": said(["CUBIC"]), "rtt_ms": said([25])},
        "flows": [{"protocol": said("CCID2"), "rtt_ms": "=rtt_ms"}, {"rtt_ms": "=rtt_ms"}],
        "runs": said(1),
        "window_s": said(list(window_s)),
        "measures": measures,
    }
    own = {**pair, "measures": ["throughput"], "grid": {**pair["grid"], "protocol": said(["CUBIC", "CCID2"])}}
    pair["weights"] = {"experiment": "self", "rule": rule}
    values = {name: said(value) for name, value in (ANALYSIS | analysis).items()}
    experiments = {"self": own, "pair": pair}
    return PaperConfig.model_validate(
        {"paper": "bhatti2009", "cite": "x", "analysis": values, "experiments": experiments}
    )


def trace(*runs, first_run=0, sample_s=1.0, unit_bytes=1e6 / 8, run=None, flows=None, events=(), **columns):
    """A trace whose runs are lists of flows, each a list of ``unit_bytes`` per sample, by default Mb/s per second.

    25 ms, 100 Mb/s Ethernet. ``run`` and ``flows`` have other values, one or one for each flow; ``columns`` has those of the
    samples of a flow.
    """
    rows = [
        (run_id, flow_id, sample_s * place, unit_bytes * rate)
        for run_id, of_flows in enumerate(runs, first_run)
        for flow_id, rates in enumerate(of_flows, 1)
        for place, rate in enumerate(rates, 1)
    ]
    samples = pd.DataFrame(rows, columns=["run_id", "flow_id", "t_s", "delivered_bytes"])
    every_run = samples.groupby("run_id", as_index=False).agg(duration_s=("t_s", "max"))
    every_flow = samples[["run_id", "flow_id"]].drop_duplicates(ignore_index=True)
    about = {"paper": "bhatti2009", "experiment": "pair", "backend": "engine", "seed": 1, "sample_s": sample_s}
    about |= {"protocol": "CUBIC", "rtt_ms": 25, "capacity_bps": 100e6, "wire_bytes": 1538.0, "payload_bytes": 1448.0}
    host = {"protocol": ["CCID2", "CUBIC"], "cc": "x", "role": "foreground", "access_bps": 0.0}
    host |= {"rtt_s": 0.025, "start_s": 0.0, "stop_s": np.inf} | (flows or {})
    given = [(*event, *[np.nan] * (len(EVENTS) - len(event))) for event in events]
    return Trace(
        runs=every_run.assign(replicate=every_run["run_id"], **about | (run or {})),
        flows=every_flow.assign(**{name: np.resize(values, len(every_flow)) for name, values in host.items()}),
        samples=samples.assign(**{name: np.resize(values, len(samples)) for name, values in columns.items()}),
        events=pd.DataFrame(given, columns=EVENTS),
        provenance={"grid": ["protocol", "rtt_ms"]},
    )


def value(metrics, metric, flow=0, run_id=0):
    rows = metrics.query("metric == @metric and flow == @flow and run_id == @run_id")
    assert len(rows) == 1
    return rows["value"].item()


def of_self(values, rtt_ms=(25,)):
    """The table of self-pairs: protocol -> goodput of flow 1, 2, ..; twice, 1 Mb/s to either side, and their sums."""
    rows = [
        {"protocol": protocol, "rtt_ms": rtt, "flow": flow, "metric": metric, "value": value + off}
        for protocol, means in values.items()
        for rtt in rtt_ms
        for off in (-1, 1)
        for metric, flows in (("throughput_mean", means), ("received_mean", [99] * len(means)))
        for flow, value in enumerate(flows, 1)
    ]
    return pd.DataFrame(rows)
