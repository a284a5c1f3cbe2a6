"""The shipped recordings of the testbed, small and without information about a machine or a date.

``data/validation/testbed/recordings/<experiment>/`` is a trace (samples, events, link), ``polls.parquet`` has the windows of
single flows at every poll, ``checks.csv`` has for every run the results of its checks, the pauses of the machine and its other
load.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tcpfair.files.layout import Layout
from tcpfair.files.manifest import RUNS
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import trace
from tcpfair.sources import testbed
from tcpfair.sources.readers import tcp_info
from tcpfair.sources.readers import testbed as reader
from tcpfair.validation import shipped
from tcpfair.validation.scenarios import TESTBED, label_of, whole

_ORDER = ("experiment", "label", "replicate")
FOLDER, POLLS, CHECKS = "recordings", "polls.parquet", "checks.csv"
_POLL_TYPES = {
    **{"t_s": "float32", "cwnd": "int32", "ssthresh": "int64", "rtt_us": "int32", "total_retrans": "int32"},
    "ca_state": "int8",
}
Runs = Sequence[tuple[RunSpec, Path]]  # with the folders of their recordings


def place(layout: Layout) -> Path:
    """The folder of the shipped recordings."""
    return shipped.folder(layout, TESTBED) / FOLDER


def are_kept(layout: Layout, config: PaperConfig, experiment: str) -> bool:
    """Whether the original recordings are on this machine; their metrics are shipped without them."""
    return all((layout.recordings / spec.key).is_dir() for spec in whole(config, TESTBED).specs(config, experiment))


def ship(layout: Layout, config: PaperConfig, experiment: str, origin: dict[str, str]) -> None:
    """Replace the shipped recordings of an experiment by those on this machine, which must be complete."""
    specs = whole(config, TESTBED).specs(config, experiment)
    runs = [(spec, layout.recordings / spec.key) for spec in specs]
    provenance = {
        **{"paper": config.paper, "experiment": experiment, "backend": TESTBED, "tool": origin["tool"]},
        **{"grid": list(config.experiments[experiment].grid), RUNS: [spec.key for spec in specs]},
    }
    trace.write(testbed.as_trace(config.paper, experiment, runs, provenance), place(layout) / experiment)
    shipped.replace_rows(place(layout) / CHECKS, experiment, _checks(experiment, runs), _ORDER)
    if len(specs[0].scenario.flows) == 1:
        shipped.replace_rows(place(layout) / POLLS, experiment, _polls(experiment, runs), _ORDER)


def _checks(experiment: str, runs: Runs) -> pd.DataFrame:
    rows = []
    for spec, folder in runs:
        meta = json.loads((folder / reader.META).read_text())
        checked, late_pkts = meta.get("checked", {}), meta["relay"].get("late_pkts", {})
        rows.append(
            {
                **_about(experiment, spec),
                "rtt_set_ms": " ".join(f"{ms:.3f}" for ms in meta["rtt"]),
                "rtt_probe_ms": " ".join(f"{ms:.3f}" for ms in meta["rtt_probe_ms"]),
                "dropped_pkts": checked.get("drops"),
                "retransmitted_pkts": checked.get("retransmissions"),
                "needless_pkts": checked.get("needless"),
                "latest_ms": 1e3 * meta["relay"].get("latest_s", 0.0),
                "late_1ms_pkts": late_pkts.get("1"),
                "late_5ms_pkts": late_pkts.get("5"),
                "hystart_train": sum(each.get("TCPHystartTrainDetect", 0) for each in meta["counters"]),
                "hystart_delay": sum(each.get("TCPHystartDelayDetect", 0) for each in meta["counters"]),
                "idle_share": meta["cpu"]["idle"],
                "steal_share": meta["cpu"].get("steal", 0.0),
                "kernel": meta["kernel"],
            }
        )
    return pd.DataFrame(rows)


def _polls(experiment: str, runs: Runs) -> pd.DataFrame:
    """Every poll of the one flow of each run, t_s counted from the run's t = 0."""
    parts = []
    for spec, folder in runs:
        polls = tcp_info.read_polls(folder / "s1.tcp.csv.gz")
        since_s = polls["t"] - reader.read_meta(folder / reader.META).t0
        parts.append(polls.assign(t_s=since_s, **_about(experiment, spec)))
    return pd.concat(parts, ignore_index=True)[[*_ORDER, *_POLL_TYPES]].astype(_POLL_TYPES)


def _about(experiment: str, spec: RunSpec) -> dict[str, str | int]:
    return {"experiment": experiment, "label": label_of(spec), "replicate": spec.replicate}
