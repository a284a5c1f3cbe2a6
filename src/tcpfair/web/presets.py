"""Every run of a paper's experiments, so compact that a page can hold them all.

Of each grid point stands the scenario without what differs from run to run; a run's seed follows from names, and what
differs from the seed, as in `tcpfair.papers.expand`. ``static/expand.js`` makes scenarios of it; tests hold every run of
every experiment against `run_specs`. Beside them stand the numbers that the paper prints.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tcpfair.files.layout import Layout
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import NO_TRAFFIC, Experiment, PaperConfig, Value
from tcpfair.papers.scenario import Scenario
from tcpfair.verdicts import printed_metrics
from tcpfair.verdicts.cells import Cell, cells
from tcpfair.verdicts.printed import Tolerance, load_tolerances

_NO_RANDOM_PART = {"rtt_s", "start_s"}  # of flows of background traffic: drawn for every run


def presets_of(paper: PaperConfig, layout: Layout) -> dict[str, dict]:
    """The experiments of a paper by name."""
    printed = printed_metrics.printed_metrics(paper, layout)
    places, scatter = _in_print(paper, layout)
    shown: dict[str, list[str]] = {}
    for exhibit in paper.exhibits:
        for name in exhibit.experiments:
            shown.setdefault(name, []).append(exhibit.id)
    found = {}
    for name, experiment in paper.experiments.items():
        found[name] = {
            "title": experiment.what,
            "supplement": experiment.supplement,
            "exhibits": shown.get(name, []),
            "replicates": int(experiment.runs.value),
            "window_s": experiment.window_s.value if experiment.window_s else None,
            "weights": experiment.weights.model_dump() if experiment.weights else None,
            "measures": experiment.measures,
            "grid": {axis: values.value for axis, values in experiment.grid.items()},
            **_runs(paper, name),
            "printed": (_printed(paper, name, printed[name], places) if name in printed else [])
            + scatter.get(name, []),
        }
    return found


def _runs(paper: PaperConfig, name: str) -> dict[str, Any]:
    """Seeds and scenarios of an experiment: ``shared`` fields, and of each point in ``points`` its own."""
    experiment = paper.experiments[name]
    jolt = {what: setting.value for what, setting in experiment.perturb.items()}
    still = experiment.model_copy(update={"perturb": {}, "runs": experiment.runs.model_copy(update={"value": 1})})
    specs = run_specs(paper.model_copy(update={"experiments": {**paper.experiments, name: still}}), name)
    points = [_point(paper, experiment, spec.point, spec.scenario) for spec in specs]
    shared = {key: value for key, value in points[0].items() if all(point.get(key) == value for point in points)}
    return {
        "seeds_of": jolt.get("seeds", paper.paper),
        "texts": {axis: [str(value) for value in values.value] for axis, values in experiment.grid.items()},
        "perturb": {what: jolt[what] for what in ("rtt_rel", "start_s", "access_rel") if what in jolt},
        "orders": _orders(paper, name) if jolt.get("order") == "shuffle" else None,
        "shared": shared,
        "points": [{key: value for key, value in point.items() if key not in shared} for point in points],
    }


def _point(paper: PaperConfig, experiment: Experiment, point: dict, scenario: Scenario) -> dict[str, Any]:
    """A scenario without defaults and without what is drawn, and in ``drawn`` how: for each of the last flows the source of
    short flows that its RTT is drawn like, and the time in s within which it starts."""
    values = scenario.model_dump(exclude_defaults=True, mode="json")
    n_own = len(experiment.flows)
    values["drawn"] = _long_lived(paper, experiment, point)
    for flow in values["flows"][n_own:]:
        for drawn in _NO_RANDOM_PART:
            flow.pop(drawn, None)
    return values


def _long_lived(paper: PaperConfig, experiment: Experiment, point: dict) -> list[list]:
    rows, number = [], 0
    for background in experiment.background:
        chosen = background.traffic
        label = chosen.value if isinstance(chosen, Value) else point[chosen.removeprefix("=")]
        if label == NO_TRAFFIC:
            continue
        traffic = paper.traffic[label]
        if traffic.long_lived:
            rows += [[number, traffic.long_lived.start_s.value]] * int(traffic.long_lived.flows.value)
        number += 1
    return rows


def _orders(paper: PaperConfig, name: str) -> list[list[int]]:
    """Place of each flow in the order of starts, for each replicate: read off the starts that flows have, which differ."""
    experiment = paper.experiments[name]
    first = {axis: values.model_copy(update={"value": values.value[:1]}) for axis, values in experiment.grid.items()}
    order_alone = {what: setting for what, setting in experiment.perturb.items() if what in ("order", "seeds")}
    once = experiment.model_copy(update={"grid": first, "perturb": order_alone})
    listed = experiment.model_copy(update={"grid": first, "perturb": {}})
    starts = {}
    for kind, chosen in (("once", once), ("listed", listed)):
        config = paper.model_copy(update={"experiments": {**paper.experiments, name: chosen}})
        starts[kind] = [[flow.start_s for flow in spec.scenario.flows] for spec in run_specs(config, name)]
    plain = starts["listed"][0]
    if len(set(plain)) != len(plain):
        raise ValueError(f"{name}: flows that change places must start at different times")
    return [[plain.index(start_s) for start_s in of_run] for of_run in starts["once"]]


def _printed(paper: PaperConfig, name: str, rows: Any, places: dict[tuple, dict]) -> list[dict[str, Any]]:
    """What is printed of an experiment, in the units of `tcpfair.measures.measure`; a value of None is a printed dash.

    With it, where it is printed as it stands: the exhibits, over which runs it is taken, and the tolerance of its metric.
    """
    grid = list(paper.experiments[name].grid)
    return [
        {
            "point": {axis: row[axis] for axis in grid},
            "flow": int(row["flow"]),
            "metric": row["metric"],
            "value": None if math.isnan(row["value"]) else row["value"],
            "derived": row["derived"],
            **places.get(_identity(name, row, grid), {}),
        }
        for row in rows.to_dict("records")
    ]


def _identity(experiment: str, row: dict, grid: list[str]) -> tuple:
    return (experiment, *(row[axis] for axis in grid), row["flow"], row["metric"])


def _in_print(
    paper: PaperConfig, layout: Layout
) -> tuple[dict[tuple, dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """What print has beside the numbers of `_printed`: by experiment, grid point, flow and metric the exhibits, the kind of mean
    and the tolerance; and by experiment the scatter over runs, in rows as of `_printed`, ``runs`` being sd or cv."""
    tolerances = load_tolerances(layout.data / "tolerances.yaml")
    places: dict[tuple, dict[str, Any]] = {}
    scatter: dict[str, list[dict[str, Any]]] = {}
    for number in cells(paper, layout).query("cell.notna()").sort_values("how", kind="stable").to_dict("records"):
        cell: Cell = number["cell"]
        of_metric = tolerances.get(number["metric"])
        tolerance = {"tolerance": _tolerance(of_metric, cell)} if of_metric else {}
        is_scatter = cell.runs in ("sd", "cv")
        for experiment, row in printed_metrics.rows_of(
            paper, {**number, "cell": replace(cell, runs="mean")} if is_scatter else number
        ):
            grid = list(paper.experiments[experiment].grid)
            if is_scatter:
                point = {axis: row[axis] for axis in grid}
                fields = {name: row[name] for name in ("flow", "metric", "value", "derived")}
                about = {"runs": cell.runs, "exhibits": [number["exhibit"]], **tolerance}
                scatter.setdefault(experiment, []).append({"point": point, **fields, **about})
                continue
            place = places.setdefault(_identity(experiment, row, grid), {"exhibits": [], "runs": cell.runs})
            place["exhibits"].append(number["exhibit"])
            place.update({name: value for name, value in tolerance.items() if name not in place})
    return places, scatter


def _tolerance(tolerance: Tolerance, cell: Cell) -> dict[str, float]:
    scale = {"absolute": cell.scale}  # of the printed unit
    asked = tolerance.model_dump(exclude_none=True).items()
    return {kind: value / scale.get(kind, 1) for kind, value in asked if kind != "exact"}
