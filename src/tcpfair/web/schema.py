"""The data of the page: the engine's records, algorithms, fields of a scenario with bounds, presets."""

from __future__ import annotations

import math
import re
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from tcpfair.cc.api import STACK, STACK_OF_ALGORITHM
from tcpfair.cc.registry import Algorithm, algorithms
from tcpfair.engine import dumbbell, setup, state, traffic
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.measures.catalogue import GROUPS
from tcpfair.measures.shown import METRICS, OVER_TIME
from tcpfair.papers.papers import load_paper, load_yaml
from tcpfair.papers.scenario import (
    RTO_OF_ALGORITHM,
    RTO_OF_STACK,
    Flow,
    LogNormal,
    Pareto,
    Scenario,
    Web,
    make_scenario,
)
from tcpfair.web import entry
from tcpfair.web.presets import presets_of

# What a page can carry. `fields`: name, most, unit; numbers beyond would leave the range in which a whole number of the engine
# has the same bits in wasm and natively, or make logarithms of what has none.
LIMITS = {
    "heap_bytes": 2 << 30,  # a module addresses four; a browser's tab seldom has more than two
    "flows": 2000,
    "samples": 20_000_000,  # of all flows together, 40 bytes each
    "packets": 2e9,  # that a full link carries in a run: one to two minutes
    "arrivals": 5e6,
    "fields": [
        ["capacity_bps", 1e11, "bit/s"],
        ["reverse_bps", 1e11, "bit/s"],
        ["access_bps", 1e12, "bit/s"],
        ["buffer_pkts", 1e7, "packets"],
        ["reverse_buffer_pkts", 1e7, "packets"],
        ["access_queue_pkts", 1e7, "packets"],
        ["rtt_s", 60.0, "s"],
        ["duration_s", 1e5, "s"],
        ["jitter_s", 10.0, "s"],
        ["access_jitter_s", 10.0, "s"],
        ["delack_s", 10.0, "s"],
        ["rto_min_s", 100.0, "s"],
        ["wire_bytes", 1e6, "bytes"],
        ["ack_bytes", 1e6, "bytes"],
        ["iw_pkts", 1e6, "packets"],
    ],
}
EXAMPLES = Path(__file__).with_name("examples.yaml")
_OF_ALGORITHM = ("name", "number", "recovery", "reliable", "halving_floor", "whole", "own_clamp", "own_agent")
_APART = {"flows", "web", "record", "params", "flow", "sizes"}  # fields that are no plain values
_BOUNDS = ("gt", "ge", "lt")
_KINDS = {bool: "truth", str: "text", int: "number", float: "number"}


def schema(layout: Layout, papers: tuple[str, ...] = PAPERS) -> dict[str, Any]:
    """Everything but the module itself; no value of it is infinite, as JSON has no word for that."""
    configs = {name: load_paper(layout.paper_config(name)) for name in papers}
    found = {
        "records": {name: record(dtype) for name, dtype in RECORDS.items()},
        "numbers": NUMBERS,
        "algorithms": [algorithm_data(each) for each in algorithms().values()],
        "defaults": {
            "scenario": fields_of(Scenario),
            "flow": fields_of(Flow),
            "web": fields_of(Web),
            "laws": {"lognormal": fields_of(LogNormal), "pareto": fields_of(Pareto)},
        },
        "metrics": {name: {"words": metric.words, "unit": metric.unit} for name, metric in METRICS.items()},
        "weighted": [name for name, group in GROUPS.items() if group.by_self_pairs],
        "plots": {name: {"title": shown.title, **shown._asdict()} for name, shown in OVER_TIME.items()},
        "limits": LIMITS,
        "papers": {
            name: {"cite": config.cite, "analysis": {key: value.value for key, value in config.analysis.items()}}
            for name, config in configs.items()
        },
        "presets": {name: presets_of(config, layout) for name, config in configs.items()},
        "examples": examples(),
    }
    return plain(found)


def examples() -> dict[str, dict]:
    """Scenarios of the packet view by name, and a stretch of each. Raises InputError when one is no scenario."""
    found = load_yaml(EXAMPLES)["examples"]
    for name, example in found.items():
        checked = make_scenario(example["scenario"], f"{EXAMPLES.name}: {name}")
        example["scenario"] = checked.model_dump(mode="json", exclude_defaults=True)
    return found


RECORDS = {
    "places": entry.PLACES,
    "given": setup.GIVEN,
    "given_flow": setup.GIVEN_FLOW,
    "params": entry.PARAMS,
    "source": traffic.SOURCE,
    "law": traffic.LAW,
    "link": state.LINK,
    "endpoint": state.ENDPOINT,
    "state": entry.STATE,
    "event": state.EVENT,
    "arrival": traffic.ARRIVAL_OF_FLOW,
    "slot": state.SLOT,
    "ack_slot": state.ACK_SLOT,
    "packet": state.PACKET,
}
# what words of a scenario are in records
NUMBERS = {
    "directions": list(state.DIRECTIONS),
    "recovery": state.RECOVERY,
    "reduction": state.REDUCTION,
    "stacks": state.STACKS,
    "own_agent": state.OWN_AGENT,
    "rto_laws": state.RTO_LAWS,
    "rto_of_stack": RTO_OF_STACK,
    "rto_of_algorithm": RTO_OF_ALGORITHM,
    "whole": STACK,
    "whole_of_algorithm": STACK_OF_ALGORITHM,
    "laws": traffic.LAWS,
    "events": list(state.EVENT_NAMES),
    "stream": str(traffic._STREAM),
    "rounding": dumbbell._ROUNDING,
}


def record(dtype: np.dtype) -> dict[str, Any]:
    """Length of a record in bytes; offset and type of each field."""
    fields = {name: [offset, f"{kind.kind}{kind.itemsize}"] for name, (kind, offset, *_) in dtype.fields.items()}
    return {"bytes": dtype.itemsize, "fields": fields}


def algorithm_data(algorithm: Algorithm) -> dict[str, Any]:
    """Name, texts and parameters of an algorithm, and the requirements of the engine."""
    title, _, rest = " ".join(algorithm.doc.split()).partition(". ")
    cited = re.search(r"^Sources?: (.*?)(?:\n\n|\Z)", algorithm.doc, re.MULTILINE | re.DOTALL)
    return {
        **{name: getattr(algorithm, name) for name in _OF_ALGORITHM},
        "title": title.rstrip("."),
        "source": " ".join(cited[1].split()) if cited else rest,
        "params": [param._asdict() for param in algorithm.params],
        "watches_acks": algorithm.on_every_ack is not None,
    }


def fields_of(model: type) -> dict[str, dict]:
    """Plain fields of a part of a scenario: default (none where a value must be given), bounds, choices, description."""
    return {name: _field(info) for name, info in model.model_fields.items() if name not in _APART}


def _field(info: Any) -> dict[str, Any]:
    annotation, found = info.annotation, {}
    options = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    if type(None) in options:
        found["none"] = True
        [annotation] = [option for option in options if option is not type(None)]
    if get_origin(annotation) is Literal:
        found["choices"] = list(get_args(annotation))
    else:
        found["kind"] = _KINDS[annotation]
    found |= {bound: getattr(each, bound) for each in info.metadata for bound in _BOUNDS if hasattr(each, bound)}
    if not info.is_required():
        found["default"] = info.default
    if info.description:
        found["what"] = info.description
    return found


def plain(node: Any) -> Any:
    """Plain data with infinities as the text that JavaScript's Number() takes."""
    if isinstance(node, dict):
        return {str(name): plain(value) for name, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    if isinstance(node, np.generic):
        node = node.item()
    if isinstance(node, float) and not math.isfinite(node):
        return str(node).replace("inf", "Infinity")
    return node
