"""A checkout with the real configuration and printed numbers, and made-up metrics and traces in place of simulations."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.legend import Legend

import tcpfair.exhibits.kinds  # noqa: F401  (registers them)
from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, draw
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Experiment, PaperConfig, load_paper
from tcpfair.runs import trace
from tcpfair.verdicts.columns import no_numbers
from tcpfair.verdicts.context import Context

ROOT = Path(__file__).parents[2]
RUNS = 3


def context(root: Path, paper: str, source: str = "engine") -> Context:
    """A paper in an empty checkout at ``root`` that shares configuration and data with the real one."""
    for name in ("config", "data"):
        if not (root / name).exists():
            (root / name).symlink_to(ROOT / name)
    layout = Layout(root, source)
    return Context(load_paper(layout.paper_config(paper)), layout)


def for_recordings(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty checkout at ``root`` with copies of the configuration that users edit; TCPFAIR_ROOT names it."""
    (root / "config").mkdir()
    for name in ("config.yaml", "raw.yaml"):
        shutil.copy(ROOT / "config" / name, root / "config")
    (root / "Snakefile").touch()
    for name in ("config/papers", "data"):
        (root / name).symlink_to(ROOT / name)
    monkeypatch.setenv("TCPFAIR_ROOT", str(root))
    return root


def draws_no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures become files with their origin alone, which is faster."""
    monkeypatch.setattr(style, "_saved", lambda figure, origin, **_: origin.encode() or b"no origin")


def numbers_of(root: Path, name: str, exhibit: str) -> pd.DataFrame:
    """The numbers of an exhibit of a recording; no rows if it has none."""
    found = list(root.glob(f"results/raw/**/numbers/{name}/{exhibit}.csv"))
    return pd.read_csv(found[0]) if found else no_numbers()


def record_of(root: Path, name: str, exhibit: str) -> dict:
    """The record of an exhibit of a recording."""
    return json.loads(next(root.glob(f"results/raw/**/exhibits/{name}/{exhibit}.json")).read_text())


def metrics(
    paper: PaperConfig,
    experiment: str,
    system: Mapping[str, float | Callable] = {},
    flows: Mapping[str, float | Callable] = {},
    runs: int = RUNS,
) -> pd.DataFrame:
    """Tidy metrics of every grid point and some runs.

    ``system`` maps metrics to numbers or functions of (point, replicate), ``flows`` to those of (point, replicate, flow).
    """

    def rows_of(values, about, *where):
        found = {metric: value(*where) if callable(value) else value for metric, value in values.items()}
        return [{**about, "metric": metric, "value": value} for metric, value in found.items()]

    chosen = paper.experiments[experiment]
    rows = []
    for run_id, (point, replicate) in enumerate(product(points(chosen), range(runs))):
        about = {"run_id": run_id, "replicate": replicate, **point}
        rows += rows_of(system, {**about, "flow": 0}, point, replicate)
        for flow in range(1, len(chosen.flows) + 1):
            rows += rows_of(flows, {**about, "flow": flow}, point, replicate, flow)
    return pd.DataFrame(rows)


def points(experiment: Experiment) -> list[dict[str, Any]]:
    """The points of the grid of an experiment."""
    values = product(*(value.value for value in experiment.grid.values()))
    return [dict(zip(experiment.grid, each, strict=True)) for each in values]


def put(into: Context, experiment: str, made: trace.Trace | None = None, measured: pd.DataFrame | None = None) -> None:
    """A trace, metrics or both of an experiment, as if they had been read."""
    if made is not None:
        folder = into.layout.simulated(into.paper.paper, experiment)
        trace.write(made, folder)
        into._traces[experiment] = trace.read(folder)
    if measured is not None:
        into._metrics[experiment] = measured


def put_metrics(into: Context, experiment: str, **made: Any) -> None:
    """`metrics` as if they had been read."""
    put(into, experiment, measured=metrics(into.paper, experiment, **made))


def put_rows(
    into: Context,
    experiment: str,
    runs: Sequence[Mapping],
    flows: Sequence[Mapping],
    samples: pd.DataFrame,
    **more: pd.DataFrame,
) -> None:
    """A trace of these rows, to which values are added that are the same in most stand-ins; ``more`` are other tables."""
    paper, chosen = into.paper.paper, into.paper.experiments[experiment]
    about = {"paper": paper, "experiment": experiment, "backend": "engine", "seed": 1, "replicate": 0}
    link = {"duration_s": 10.0, "sample_s": 1.0, "capacity_bps": 1e8, "wire_bytes": 1538.0, "payload_bytes": 1448.0}
    host = {"cc": "reno", "rtt_s": 0.05, "access_bps": 0.0, "start_s": 0.0, "stop_s": np.inf, "role": "foreground"}
    made = trace.Trace(
        runs=pd.DataFrame([{**about, **link, **run} for run in runs]).astype({"run_id": "int32", "replicate": "int32"}),
        flows=pd.DataFrame([{**host, **flow} for flow in flows]),
        samples=samples,
        provenance={"paper": paper, "experiment": experiment, "grid": list(chosen.grid)},
        **more,
    )
    put(into, experiment, made)


def put_trace(into: Context, experiment: str, delivered_bytes: Callable, samples: int = 5) -> None:
    """A trace of one run per grid point; ``delivered_bytes`` is a function of (point, flow) and gives an array."""
    chosen = into.paper.experiments[experiment]
    runs, flows, rows = [], [], []
    for run_id, point in enumerate(points(chosen)):
        runs.append({"run_id": run_id, "duration_s": float(samples), **point})
        for flow in range(1, len(chosen.flows) + 1):
            flows.append({"run_id": run_id, "flow_id": flow, "protocol": point["protocol"]})
            t_s = np.arange(1.0, samples + 1)
            of_flow = {"run_id": run_id, "flow_id": flow, "t_s": t_s, "delivered_bytes": delivered_bytes(point, flow)}
            rows.append(pd.DataFrame(of_flow | {"received_bytes": of_flow["delivered_bytes"]}))
    put_rows(into, experiment, runs, flows, pd.concat(rows, ignore_index=True))


def drawn(context: Context, exhibit: str) -> Drawn:
    """The drawing of an exhibit, by its id."""
    return draw(context, context.paper.exhibit(exhibit))


def labels(legend: Legend) -> list[str]:
    """The entries of a legend."""
    return [text.get_text() for text in legend.get_texts()]


def value(drawn, key, metric):
    """One number of a drawn exhibit."""
    return drawn.numbers.set_index(["key", "metric"])["value"][key, metric]
