"""The tables of a trace of one run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tcpfair.runs.recorded import PAPER


def run_table(name: str, backend: str, duration_s: float, sample_s: float, **parameters: float) -> pd.DataFrame:
    """``runs`` of the one run ``name``, with ``parameters`` as further columns."""
    row = {
        "run_id": 0,
        "paper": PAPER,
        "experiment": name,
        "backend": backend,
        "seed": 0,
        "replicate": 0,
        "duration_s": float(duration_s),
        "sample_s": float(sample_s),
    }
    return pd.DataFrame([{**row, **parameters}])


def flow_table(
    cc: Sequence[str], rtt_s: Sequence[float], start_s: Sequence[float], stop_s: Sequence[float]
) -> pd.DataFrame:
    """``flows`` of one run, flow 1 first; a kernel's name of the algorithm is its label too."""
    return pd.DataFrame(
        {
            "run_id": 0,
            "flow_id": np.arange(1, len(cc) + 1),
            "protocol": cc,
            "cc": cc,
            "rtt_s": np.asarray(rtt_s, dtype=np.float64),
            "access_bps": 0.0,
            "start_s": np.asarray(start_s, dtype=np.float64),
            "stop_s": np.asarray(stop_s, dtype=np.float64),
            "role": "foreground",
        }
    )


def provenance(name: str, backend: str, goodput: set[str]) -> dict:
    """What the manifest says of an imported run; ``goodput`` names the numbers that became delivered_bytes."""
    return {"paper": PAPER, "experiment": name, "backend": backend, "grid": [], "goodput": sorted(goodput)}
