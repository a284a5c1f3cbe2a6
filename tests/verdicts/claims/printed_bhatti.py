"""The printed numbers of bhatti2008 and bhatti2009 as metrics of their experiments, every replicate as printed."""

from functools import cache

import numpy as np
import pandas as pd

from tcpfair.contract.layout import repository_root
from tcpfair.contract.trace import Trace
from tcpfair.verdicts.printed import load_printed, parse_key
from tests.verdicts.claims.worlds import CONFIGS

ROOT = repository_root()
N_REPLICATES = 3
FRAME = ["replicate", "protocol", "rtt_ms", "flow", "metric", "value"]
RTTS_2009 = [25, 50, 100, 200]
RTTS_2008 = [25, 50, 75, 100, 125, 150, 175, 200]
TCP_2009 = ["NewReno", "BIC", "CUBIC", "Compound"]


def printed(paper, *tables):
    """Rows of the printed tables by protocol, RTT and flow; the system is flow 0."""
    rows = load_printed(CONFIGS[paper], ROOT / "data")
    rows = rows[rows["exhibit"].isin([f"{paper}.{table}" for table in tables]) & rows["key"].str.contains("rtt_ms")]
    keys = rows["key"].map(parse_key)
    return pd.DataFrame(
        {
            "protocol": keys.map(lambda key: key.get("protocol", "")),
            "rtt_ms": keys.map(lambda key: int(key["rtt_ms"])),
            "flow": keys.map(lambda key: int(key.get("flow", 0))),
            "metric": rows["metric"].replace("jfi", "jfi_mean"),
            "value": pd.to_numeric(rows["value"]),
        }
    )


def rows_of(metric, flow, values):
    """``values`` by (protocol, rtt_ms) as rows of one metric."""
    return pd.DataFrame(
        [(protocol, rtt_ms, flow, metric, value) for (protocol, rtt_ms), value in values.items()], columns=FRAME[1:]
    )


def throughputs(rows, flow):
    of_flow = rows[(rows["metric"] == "throughput_mean") & (rows["flow"] == flow)]
    return of_flow.set_index(["protocol", "rtt_ms"])["value"]


def with_sums(rows):
    """Sums and utilisation of a 94.15 Mb/s payload capacity from the printed throughputs."""
    total = throughputs(rows, 1) + throughputs(rows, 2)
    return [rows, rows_of("throughput_sum", 0, total), rows_of("utilisation", 0, total / 94.15)]


def single_2009():
    """Flows alone, of which the paper shows curves only: NewReno and CCID2 weaken with RTT."""
    slow = {25: 94, 50: 93, 100: 88, 200: 70}
    cells = [(name, rtt) for name in (*TCP_2009, "CCID2") for rtt in RTTS_2009]
    means = {(name, rtt): slow[rtt] if name in ("NewReno", "CCID2") else 94 for name, rtt in cells}
    return [
        rows_of("throughput_peak", 1, dict.fromkeys(cells, 94.1)),
        rows_of("time_to_90_s", 1, {(name, rtt): {25: 2, 50: 4, 100: 8, 200: 20}[rtt] for name, rtt in cells}),
        rows_of("throughput_full_mean", 1, means),
        rows_of("utilisation", 0, {cell: mean / 94.15 for cell, mean in means.items()}),
    ]


def pair_2009(self_rows):
    rows = printed("bhatti2009", "table5", "table6")
    own = {1: throughputs(self_rows, 1)["CCID2"], 2: throughputs(self_rows, 2)}
    u_1 = {cell: 10 * np.log10(r / own[1][cell[1]]) for cell, r in throughputs(rows, 1).items()}
    u_2 = {cell: 10 * np.log10(r / own[2][cell]) for cell, r in throughputs(rows, 2).items()}
    u_mean = {cell: (u_1[cell] + u_2[cell]) / 2 for cell in u_1}
    return [rows, rows_of("U_n", 1, u_1), rows_of("U_n", 2, u_2), rows_of("U_N", 0, u_mean)]


def pair_2008():
    """Tables IV to VII; flows of NewReno at 125 ms, both below 0, as its printed S_N of 1.23 implies."""
    tuples = printed("bhatti2008", "table6").dropna(subset="value").set_index(["protocol", "rtt_ms", "metric"])["value"]
    u_1, u_2 = tuples.xs("U_N-", level="metric").to_dict(), tuples.xs("U_N+", level="metric").to_dict()
    u_1["NewReno", 125], u_2["NewReno", 125] = -0.50, -0.04
    shares = {(name, rtt): {"NewReno": 0.8, "CUBIC": 0.2}[name] for name in ("NewReno", "CUBIC") for rtt in RTTS_2008}
    return [
        printed("bhatti2008", "table4", "table5", "table7"),
        rows_of("U_n", 1, u_1),
        rows_of("U_n", 2, u_2),
        rows_of("U_N", 0, {cell: (u_1[cell] + u_2[cell]) / 2 for cell in u_1}),
        rows_of("converged_share", 0, shares),
    ]


def fourteen_flows(paper, jfi_table, nru_table):
    """One flow at the printed U_N+, the others at the printed U_N-, and U_N, which is not printed, as their mean."""
    tuples = printed(paper, nru_table).set_index(["protocol", "rtt_ms", "metric"])["value"]
    u_minus = tuples.xs("U_N-", level="metric")
    best = tuples.xs("U_N+", level="metric").fillna(u_minus)
    u_n = [rows_of("U_n", flow, best if flow == 14 else u_minus) for flow in range(1, 15)]
    return [printed(paper, jfi_table), *u_n, rows_of("U_N", 0, (best + 13 * u_minus) / 14)]


@cache
def printed_experiments(paper):
    """Metrics by experiment, every replicate as printed."""
    if paper == "bhatti2009":
        self_rows = printed(paper, "table3", "table4")
        parts = {
            "single": single_2009(),
            "self": with_sums(self_rows),
            "pair_ccid2_first": pair_2009(self_rows),
            "pair_tcp_first": [printed(paper, "table9", "table10")],
            "ns2_14": fourteen_flows(paper, "table8", "table7"),
        }
    else:
        self_jfi = {(name, rtt): 0.99 for name in ("NewReno", "CUBIC", "CCID2") for rtt in RTTS_2008}
        parts = {
            "self": [*with_sums(printed(paper, "table3")), rows_of("jfi_mean", 0, self_jfi)],
            "pair": pair_2008(),
            "ns2_14": fourteen_flows(paper, "table8", "table9"),
        }
    return {name: replicated(pd.concat(rows, ignore_index=True)) for name, rows in parts.items()}


def replicated(rows):
    frame = pd.concat([rows.assign(replicate=r) for r in range(N_REPLICATES)], ignore_index=True)
    cell = frame[["replicate", "protocol", "rtt_ms"]].apply(tuple, axis=1)
    return frame.assign(run_id=cell.factorize()[0])


ALONE_MBPS = {"NewReno": 52.0, "BIC": 70.0, "CUBIC": 80.0, "Compound": 80.0, "CCID2": 50.0}


def single_trace(other=None):
    """Three seconds of constant throughput of each protocol alone; ``other`` Mb/s by protocol or by (protocol, RTT)."""
    rates = {(name, rtt): (other or {}).get(name, mbps) for name, mbps in ALONE_MBPS.items() for rtt in RTTS_2009}
    rates |= {cell: mbps for cell, mbps in (other or {}).items() if cell in rates}
    cells = [(r, *cell) for r in range(N_REPLICATES) for cell in rates]
    runs = pd.DataFrame(cells, columns=["replicate", "protocol", "rtt_ms"])
    runs = runs.assign(run_id=range(len(runs)), sample_s=1.0)
    samples = runs[["run_id"]].merge(pd.DataFrame({"t_s": [1.0, 2.0, 3.0]}), how="cross")
    delivered = np.array([rates[name, rtt] * 1e6 / 8 for _, name, rtt in cells])[samples["run_id"]]
    return Trace(runs, pd.DataFrame(), samples.assign(flow_id=1, delivered_bytes=delivered.astype(int)))
