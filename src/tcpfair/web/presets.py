"""Every run of a paper's experiments, so compact that a page can hold them all.

Each grid point has the scenario without the values that differ between runs. A run's seed follows from names, and these
values follow from the seed, as in `tcpfair.papers.expand`. ``static/expand.js`` makes scenarios of it; tests compare every run of
every experiment with `run_specs`. Next to them are the published numbers.
"""

from __future__ import annotations

import math
from typing import Any

from tcpfair.files.layout import Layout
from tcpfair.papers.expand import RunSpec, places_of, run_specs, seed_of
from tcpfair.papers.papers import NO_TRAFFIC, Experiment, PaperConfig, Value
from tcpfair.verdicts import printed_metrics
from tcpfair.verdicts.cells import Cell, cells
from tcpfair.verdicts.printed import Tolerance, load_tolerances

_NO_RANDOM_PART = ("rtt_s", "start_s")  # of flows of background traffic: drawn for every run


def presets_of(paper: PaperConfig, layout: Layout) -> dict[str, dict]:
    """The experiments of a paper by name."""
    printed = _printed(paper, layout)
    return {
        name: {
            "title": experiment.what,
            "supplement": experiment.supplement,
            "replicates": int(experiment.runs.value),
            "window_s": experiment.window_s.value if experiment.window_s else None,
            "weights": experiment.weights.model_dump() if experiment.weights else None,
            "measures": experiment.measures,
            **runs_of(paper, name),
            "printed": printed.get(name, []),
        }
        for name, experiment in paper.experiments.items()
    }


def runs_of(paper: PaperConfig, name: str) -> dict[str, Any]:
    """Seeds and scenarios of an experiment: ``shared`` fields, and of each point in ``points`` its own."""
    experiment = paper.experiments[name]
    jolt = {what: setting.value for what, setting in experiment.perturb.items()}
    seeds_of, replicates = jolt.get("seeds", paper.paper), range(int(experiment.runs.value))
    orders = [places_of(experiment, seed_of(seeds_of, name, "order", replicate)) for replicate in replicates]
    once = experiment.runs.model_copy(update={"value": 1})
    still = experiment.model_copy(update={"perturb": {}, "runs": once})
    specs = run_specs(paper.model_copy(update={"experiments": {name: still}}), name)
    points = [_point(paper, experiment, spec) for spec in specs]
    shared = {key: value for key, value in points[0].items() if all(point.get(key) == value for point in points)}
    return {
        "seeds_of": seeds_of,
        "grid": {axis: values.value for axis, values in experiment.grid.items()},
        "texts": {axis: [str(value) for value in values.value] for axis, values in experiment.grid.items()},
        "perturb": {what: jolt[what] for what in ("rtt_rel", "start_s", "access_rel") if what in jolt},
        "orders": orders if jolt.get("order") == "shuffle" else None,
        "shared": shared,
        "points": [{key: value for key, value in point.items() if key not in shared} for point in points],
    }


def _point(paper: PaperConfig, experiment: Experiment, spec: RunSpec) -> dict[str, Any]:
    """A scenario without defaults and drawn values, and in ``drawn`` how to draw them.

    For each of the last flows: the source of short flows that its RTT is drawn like, and the time in s within which it starts.
    """
    values = spec.scenario.model_dump(exclude_defaults=True, mode="json")
    for flow in values["flows"][len(experiment.flows) :]:
        for drawn in _NO_RANDOM_PART:
            flow.pop(drawn, None)
    chosen = [background.traffic for background in experiment.background]
    labels = [each.value if isinstance(each, Value) else spec.point[each.removeprefix("=")] for each in chosen]
    sources = [paper.traffic[label].long_lived for label in labels if label != NO_TRAFFIC]
    values["drawn"] = [
        [number, long_lived.start_s.value]
        for number, long_lived in enumerate(sources)
        if long_lived
        for _ in range(int(long_lived.flows.value))
    ]
    return values


def _printed(paper: PaperConfig, layout: Layout) -> dict[str, list[dict[str, Any]]]:
    """The published numbers of each experiment, in the units of `tcpfair.measures.measure`; None is a dash.

    With each number: its exhibits, the runs that it combines, and the tolerance of its metric.
    After them the scatter over runs, whose ``runs`` is sd or cv.
    """
    places, scatter = _in_print(paper, layout)
    found: dict[str, list[dict[str, Any]]] = {}
    for name, rows in printed_metrics.printed_metrics(paper, layout).items():
        numbers = [_number(paper, name, row) for row in rows.to_dict("records")]
        found[name] = [number | places.get(_identity(name, number), {}) for number in numbers]
    for name, number in scatter:
        found.setdefault(name, []).append(number)
    return found


def _number(paper: PaperConfig, experiment: str, row: dict) -> dict[str, Any]:
    point = {axis: row[axis] for axis in paper.experiments[experiment].grid}
    number = {"point": point, **{name: row[name] for name in ("flow", "metric", "value", "derived")}}
    return number | ({"value": None} if math.isnan(row["value"]) else {})


def _identity(experiment: str, number: dict) -> tuple:
    return (experiment, *number["point"].values(), number["flow"], number["metric"])


def _in_print(paper: PaperConfig, layout: Layout) -> tuple[dict[tuple, dict], list[tuple[str, dict]]]:
    """What print states about its numbers: by experiment, grid point, flow and metric the exhibits, the kind of mean and the
    tolerance; and the scatter over runs, each number with its experiment."""
    tolerances = load_tolerances(layout.data / "tolerances.yaml")
    places: dict[tuple, dict[str, Any]] = {}
    scatter = []
    for stated in cells(paper, layout).query("cell.notna()").sort_values("how", kind="stable").to_dict("records"):
        cell: Cell = stated["cell"]
        of_metric = tolerances.get(stated["metric"])
        about = {"runs": cell.runs} | ({"tolerance": _tolerance(of_metric, cell)} if of_metric else {})
        if is_scatter := cell.runs in ("sd", "cv"):
            stated["cell"] = cell.model_copy(update={"runs": "mean"})
        for experiment, row in printed_metrics.rows_of(paper, stated):
            number = _number(paper, experiment, row)
            if is_scatter:
                scatter.append((experiment, number | about | {"exhibits": [stated["exhibit"]]}))
            else:
                place = places.setdefault(_identity(experiment, number), about | {"exhibits": []})
                place["exhibits"].append(stated["exhibit"])
    return places, scatter


def _tolerance(tolerance: Tolerance, cell: Cell) -> dict[str, float]:
    asked = tolerance.model_dump(exclude_none=True, exclude={"exact"})
    if "absolute" in asked:
        asked["absolute"] /= cell.scale  # of the published unit
    return asked
