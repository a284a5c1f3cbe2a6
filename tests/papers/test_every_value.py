"""For every value of every configuration: a changed value changes the keys of just the runs that use it.

What uses a value is found out by watching which values are read while an experiment is expanded, and held against the keys;
what is simulated again is held against a store that has the runs of before.
"""

from __future__ import annotations

import copy
import math
import random
from functools import cache
from pathlib import Path

import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS
from tcpfair.files.manifest import CODE, RUNS
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import PaperConfig, Value, load_yaml
from tcpfair.runs import store

ROOT = Path(__file__).parents[2]
REPLICATES = 2
IDLE = ("analysis", "window_s")  # read by what measures, not by what simulates
SAMPLED = 2  # values of each paper, in the fast tests


@cache
def tree(paper: str) -> dict:
    """The configuration of a paper with few replicates of each experiment, without exhibits."""
    values = load_yaml(ROOT / "config" / "papers" / f"{paper}.yaml")
    values = copy.deepcopy(values) | {"exhibits": []}
    for experiment in values["experiments"].values():
        experiment["runs"]["value"] = min(REPLICATES, experiment["runs"]["value"])
    return values


def places(node, path=()):
    """Paths to every {value: ...} entry."""
    if isinstance(node, dict) and "value" in node and ("source" in node or "assumed" in node):
        yield path
    elif isinstance(node, dict):
        for name, child in node.items():
            yield from places(child, (*path, name))
    elif isinstance(node, list):
        for number, child in enumerate(node):
            yield from places(child, (*path, number))


def at(node, path):
    for name in path:
        node = node[name]
    return node


def other(value):
    """Another value of the same kind; None where only names would do."""
    if isinstance(value, bool):
        return not value
    if value == math.inf:
        return 1000.0
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value * 1.01 + 1e-9
    if isinstance(value, list) and value:
        first = other(value[0])
        return None if first is None else [first, *value[1:]]
    return None


def changed(paper: str, path: tuple) -> dict:
    values = copy.deepcopy(tree(paper))
    entry = at(values, path)
    entry["value"] = other(entry["value"])
    return values


def all_places(paper: str) -> list[tuple]:
    return [path for path in places(tree(paper)) if other(at(tree(paper), path)["value"]) is not None]


@cache
def before(paper: str) -> tuple[dict[str, list], dict[str, set[int]]]:
    """The runs of each experiment, and which values it reads, as numbers in the order of `places`."""
    config = PaperConfig.model_validate(tree(paper))
    number_of = {id(at_model(config, path)): number for number, path in enumerate(places(tree(paper)))}
    specs, found = {}, {}
    seen: set[int] = set()
    plain = Value.__getattribute__

    def watched(self, name):
        if name == "value":
            seen.add(id(self))
        return plain(self, name)

    Value.__getattribute__ = watched
    try:
        for name in config.experiments:
            seen.clear()
            specs[name] = run_specs(config, name)
            found[name] = {number_of[key] for key in seen if key in number_of}
    finally:
        del Value.__getattribute__
    return specs, found


def at_model(node, path):
    for name in path:
        node = node[name] if isinstance(node, dict | list) else getattr(node, name)
    return node


def chosen(full: bool) -> list[tuple[str, tuple]]:
    found = []
    for paper in PAPERS:
        own = all_places(paper)
        found += [(paper, path) for path in (own if full else random.Random(paper).sample(own, SAMPLED))]
    return found


def name_of(case) -> str:
    paper, path = case
    return f"{paper}:{'.'.join(map(str, path))}"


def check(paper: str, path: tuple) -> None:
    entry = at(tree(paper), path)  # an anchor of YAML is one entry in several places
    numbers = {number for number, place in enumerate(places(tree(paper))) if at(tree(paper), place) is entry}
    specs, readers = before(paper)
    using = {name for name, read in readers.items() if numbers & read}
    config = PaperConfig.model_validate(changed(paper, path))
    moved = set()
    for name, old in specs.items():
        try:
            new = run_specs(config, name)
        except InputError:  # the other value is refused: it was looked at
            moved.add(name)
            continue
        if new == old:
            continue
        keys = {spec.key for spec in old}
        # a run has another key just when another scenario or seed reaches the simulator
        full = {(spec.seed, spec.scenario.model_dump_json()): spec.key for spec in (*old, *new)}
        assert len(full) == len(set(full.values()))
        asked = store.asked(new)
        manifest = {RUNS: [spec.key for spec in old], CODE: store.code_behind([*store.asked(old), *asked])}
        simulated = {run.key for run in asked} - store.held(manifest, asked).keys()
        assert simulated == {spec.key for spec in new} - keys
        if {spec.key for spec in new} != keys:
            moved.add(name)
    if path[0] in IDLE or path[-1] in IDLE:
        assert not moved
    else:
        assert moved <= using, "runs changed that never read the value"
        # what is read may still not count: a BDP of an RTT that only sizes a buffer given in packets
        assert moved == using or path[-1] in ("bdp_rtt_ms",), (
            f"{sorted(using - moved)} read it, and their runs are as before"
        )


@pytest.mark.parametrize("case", chosen(full=False), ids=name_of)
def test_a_changed_value_changes_the_runs_that_use_it(case):
    check(*case)


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_every_changed_value_changes_the_runs_that_use_it(paper):
    for path in all_places(paper):
        check(paper, path)
