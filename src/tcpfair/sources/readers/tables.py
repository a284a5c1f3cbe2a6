"""What every reader needs to make a trace of one run: its tables, and its equal intervals out of a tool's own moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

PAPER = "raw"


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


def edges(duration_s: float, sample_s: float) -> np.ndarray:
    """Edges 0, sample_s, 2 sample_s, ... of the intervals in ``duration_s``, shape (intervals + 1,); at least one interval.

    The last interval may lack a tenth: tools stop a little early or late.
    """
    count = max(int(duration_s / sample_s + 0.1), 1)
    return np.arange(count + 1) * sample_s


def counted_between(edges_s: np.ndarray, times_s: np.ndarray, counter: np.ndarray) -> np.ndarray:
    """What a running total rose by between consecutive edges, shape (edges - 1,), int64.

    ``counter`` is read at the increasing ``times_s``; between readings it is taken to rise evenly, outside them not at
    all. The sum is kept: what leaves one interval enters the next.
    """
    return np.diff(np.round(np.interp(edges_s, times_s, counter)).astype(np.int64))


def last_value(at_s: np.ndarray, times_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The latest of ``values`` known at each moment of ``at_s``; NaN before the first of the increasing ``times_s``."""
    index = np.searchsorted(times_s, at_s, side="right") - 1
    return np.where(index >= 0, np.asarray(values, dtype=np.float64)[np.maximum(index, 0)], np.nan)
