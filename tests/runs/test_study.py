"""The file of a study: axes, points, seeds, and one line for each mistake in it."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.runs.study import load, make

ROOT = Path(__file__).parents[2]
ALGORITHMS = ("reno", "cubic", "libra")
MEASURES = {"throughput": (), "jfi": (), "ratio": (), "cwnd": ("cwnd",), "nru": None}
VALUES = {
    "what": "a test",
    "base": {
        "settings": {
            **{"capacity_bps": 1e6, "wire_bytes": 1500, "payload_bytes": 1448, "duration_s": 10, "sample_s": 1},
            "buffer_pkts": 10,
        },
        "flows": [{"protocol": "=protocol", "rtt_ms": "=rtt_ms"}, {"protocol": "reno", "rtt_ms": 40}],
    },
    "grid": {"protocol": ["reno", "cubic"], "rtt_ms": [20, 40, 80]},
    "replicates": 2,
    "perturb": {"start_s": 1},
}


def values(**changes):
    return {**copy.deepcopy(VALUES), **changes}


def study(given=None, **changes):
    return make(given or values(**changes), "x", "x.yaml", ALGORITHMS, MEASURES)


def drawn(points=4, seed=0):
    """A hypercube of RTT and buffer beside a grid of protocols."""
    given = values(grid={"protocol": ["reno", "cubic"]})
    given["base"]["settings"]["buffer_pkts"] = "=buffer_pkts"
    axes = {"rtt_ms": {"range": [10.0, 160.0], "scale": "log"}, "buffer_pkts": {"range": [5, 50]}}
    return given | {"latin_hypercube": {"points": points, "seed": seed, "axes": axes}}


def test_runs_are_the_points_of_the_grid_and_replicates_within_each():
    asked = study()
    assert (asked.n_points, asked.n_runs) == (6, 12)
    assert [asked.point(run) for run in (0, 1, 2, 11)] == [
        {"protocol": "reno", "rtt_ms": 20},
        {"protocol": "reno", "rtt_ms": 20},
        {"protocol": "reno", "rtt_ms": 40},
        {"protocol": "cubic", "rtt_ms": 80},
    ]
    spec = asked.spec(11)
    assert (spec.run_id, spec.replicate, spec.algorithms) == (11, 1, {"cubic", "reno"})
    assert [flow.rtt_s for flow in spec.scenario.flows] == [0.08, 0.04]
    assert len({asked.spec(run).key for run in range(12)}) == 12


def test_each_axis_of_a_hypercube_has_every_slice_once_and_all_of_the_grid_meets_it():
    asked = study(drawn(points=8))
    points = [asked.point(run) for run in range(0, asked.n_runs, 2)]
    assert asked.n_points == 16
    of = {
        label: [(p["rtt_ms"], p["buffer_pkts"]) for p in points if p["protocol"] == label]
        for label in ("reno", "cubic")
    }
    assert of["reno"] == of["cubic"]
    slices = np.floor(8 * np.log([rtt / 10 for rtt, _ in of["reno"]]) / np.log(16)).astype(int)
    assert sorted(slices) == list(range(8))
    assert all(isinstance(buffer, int) and 5 <= buffer <= 50 for _, buffer in of["reno"])
    assert study(drawn(points=8, seed=1)).point(0) != asked.point(0)


def test_a_longer_grid_leaves_the_runs_that_were_there_as_they_were():
    keys = {study().spec(run).key for run in range(12)}
    longer = study(grid={"protocol": ["libra", "reno", "cubic"], "rtt_ms": [10, 20, 40, 80]})
    assert keys < {longer.spec(run).key for run in range(longer.n_runs)}


def test_seeds_differ_between_points_replicates_and_seeds_of_the_study():
    seeds = {study(seed=seed).seed(run) for seed in (0, 1) for run in range(12)}
    assert len(seeds) == 24


def test_a_protocol_of_ones_own():
    given = values(protocols={"slow start": {"cc": "cubic", "params": {"beta": "=beta"}, "flow": {"iw_pkts": 2}}})
    given["grid"] = {"protocol": ["slow start"], "rtt_ms": [20], "beta": [0.5, 0.9]}
    flow = study(given).spec(2).scenario.flows[0]
    assert (flow.protocol, flow.cc, flow.params, flow.iw_pkts) == ("slow start", "cubic", {"beta": 0.9}, 2)


def test_what_a_measure_reads_is_recorded():
    assert study().spec(0).scenario.record == ("samples",)
    assert study(measures=["cwnd"]).spec(0).scenario.record == ("samples", "cwnd")


def test_what_it_gives_hangs_on_its_values_but_not_on_words_and_figures():
    made_from = study().made_from
    assert study(what="other words", figure={"x": "rtt_ms"}).made_from == made_from
    assert [name for name, part in study(replicates=3).made_from.items() if part != made_from[name]] == ["design"]
    assert [name for name, part in study(measures=["jfi"]).made_from.items() if part != made_from[name]] == ["measures"]
    other = study(grid={"protocol": ["libra"], "rtt_ms": [20]}).made_from
    assert [name for name, part in other.items() if part != made_from.get(name)] == ["design", "code of libra"]


def test_earlier_runs_hold_unless_code_that_acts_in_them_is_another():
    now = study()
    longer = study(grid={"protocol": ["libra", "reno", "cubic"], "rtt_ms": [20]})
    assert longer.holds(now.made_from) and now.holds(longer.made_from)
    for name in ("code of simulator", "code of cubic", "measuring", "measures"):
        assert not longer.holds({**now.made_from, name: "other"})
    assert not longer.holds({})


def at(*place_and_value):
    *place, value = place_and_value

    def change(given):
        for name in place[:-1]:
            given = given[name]
        given[place[-1]] = value

    return change


MISTAKES = {
    "x.yaml: grids: Extra inputs are not permitted": at("grids", {}),
    "x.yaml: axis loss: is not used; write =loss where it belongs": at("grid", "loss", [0.1]),
    "x.yaml: =buffer: no axis of that name; axes are protocol, rtt_ms": at(
        "base", "settings", "buffer_pkts", "=buffer"
    ),
    "x.yaml: grid.rtt_ms: must be a list of different values": at("grid", "rtt_ms", [20, 20]),
    "x.yaml: grid.rtt_ms: must be a list of different values \\(got \\[20, 20.0\\]\\)": at(
        "grid", "rtt_ms", [20, 20.0]
    ),
    "x.yaml: grid: needs an axis; give its values": at("grid", {}),
    "x.yaml: experiments.study: perturb.rtt_rel: must be a number \\(got 'abc'\\)": at("perturb", {"rtt_rel": "abc"}),
    "x.yaml: base.flows\\[0\\].start_s: must be a number \\(got 'abc'\\)": at("base", "flows", 0, "start_s", "abc"),
    "x.yaml: grid.protocol: must be a list of different values": at("grid", "protocol", []),
    "x.yaml: axis 'a b': must be letters, digits and _": at("grid", "a b", [1]),
    "x.yaml: axis 'refused': must be letters, digits and _, and none of run, key": at("grid", "refused", [1]),
    "protocol 'cubik' is unknown; did you mean 'cubic'\\?": at("grid", "protocol", ["cubik"]),
    "x.yaml: protocols.a.cc: protocol 'cubik' is unknown; did you mean": at("protocols", {"a": {"cc": "cubik"}}),
    "x.yaml: measures\\[0\\]: measure 'jif' is unknown; did you mean 'jfi'\\?": at("measures", ["jif"]),
    "x.yaml: measures\\[0\\]: 'nru' needs weights": at("measures", ["nru"]),
    "x.yaml: base.settings.capacity_bps: must be a number above 0": at("base", "settings", "capacity_bps", "fast"),
    "x.yaml: base.flows.rtt_ms: must be a number above 0 \\(got -5\\)": at("grid", "rtt_ms", [20, -5]),
    "x.yaml: experiments.study: settings.capacity: unknown; known are": at("base", "settings", "capacity", 1),
    "x.yaml: base.flows: Field required|base.flows: List should have at least 1": at("base", "flows", []),
    "x.yaml: window_s: must be two times, the earlier first": at("window_s", [5, 1]),
    "x.yaml: figure.x: 'rtt' is no axis; axes are protocol, rtt_ms": at("figure", {"x": "rtt"}),
    "x.yaml: replicates: Input should be greater than or equal to 1": at("replicates", 0),
    "x.yaml: latin_hypercube.axes.rtt_ms: is an axis of the grid too": at(
        "latin_hypercube", {"points": 2, "axes": {"rtt_ms": {"range": [1, 2]}}}
    ),
    "x.yaml: perturb.jitter": at("perturb", {"jitter": 1}),
    "x.yaml: analysis: value 'peak_shre' is unknown; did you mean 'peak_share'\\?": at("analysis", {"peak_shre": 0.9}),
    "x.yaml: analysis: peak_share: Input should be a valid number \\(got '0,9'\\)": at(
        "analysis", {"peak_share": "0,9"}
    ),
    "x.yaml: analysis.fair_ratio.float: Input should be a valid number": at("analysis", {"fair_ratio": [0.8, 1.25]}),
    "x.yaml: analysis: rates_count: Input should be 'received' or": at("analysis", {"rates_count": "recieved"}),
    "x.yaml: grid.rtt_ms: must be finite, and a whole number below 2\\^63": at("grid", "rtt_ms", [20, 2**63]),
}


@pytest.mark.parametrize("complaint", MISTAKES)
def test_a_mistake_gets_one_line_that_names_the_field(complaint):
    given = values()
    MISTAKES[complaint](given)
    with pytest.raises(InputError, match=complaint):
        study(given)


@pytest.mark.parametrize("range_", [[2.0, 1.0], [0.0, 1.0], [-1.0, 1.0]])
def test_a_range_from_which_nothing_can_be_drawn_is_refused(range_):
    given = drawn()
    given["latin_hypercube"]["axes"]["rtt_ms"]["range"] = range_
    with pytest.raises(InputError, match="latin_hypercube.axes.rtt_ms.range: must be two numbers, the smaller first"):
        study(given)


@pytest.mark.parametrize("high", [2**63, 10**400, math.inf])
def test_a_range_that_no_column_of_the_table_holds_is_refused(high):
    given = drawn()
    given["latin_hypercube"]["axes"]["buffer_pkts"]["range"] = [5, high]
    with pytest.raises(InputError, match="axes.buffer_pkts.range: must be finite, and a whole number below 2\\^63"):
        study(given)
    given["latin_hypercube"]["axes"]["buffer_pkts"]["range"] = [5, 2**63 - 1]
    assert study(given).point(0)["buffer_pkts"] < 2**63


@pytest.mark.parametrize("name", ["a b", "..", "$(id)", "-x", "a;b"])
def test_the_name_of_the_file_names_folders_and_is_held_to_letters(tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(VALUES))
    with pytest.raises(InputError, match="the file name is the study"):
        load(path, ALGORITHMS, MEASURES)


SHIPPED = {"tiny": 16, "rtt_buffer_loss": 5000}  # runs


def test_the_shipped_studies_are_there():
    assert SHIPPED.keys() <= {path.stem for path in (ROOT / "config" / "studies").glob("*.yaml")}


@pytest.mark.parametrize("path", sorted((ROOT / "config" / "studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_studies_of_the_repository_can_be_run(path):
    from tcpfair import cc
    from tcpfair.measures.catalogue import READS

    asked = load(path, cc.names(), READS)
    if path.stem in SHIPPED:  # a user may keep others there
        assert asked.n_runs == SHIPPED[path.stem]
    assert asked.spec(asked.n_runs - 1).scenario.flows
