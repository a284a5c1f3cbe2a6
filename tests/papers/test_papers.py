"""Configuration: the papers' files are valid, runs are reproducible, and mistakes name file and field in one line."""

from __future__ import annotations

import json
import math

import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, repository_root
from tcpfair.papers.expand import plain_values, run_specs, shorten
from tcpfair.papers.papers import PaperConfig, Value, load_paper
from tcpfair.papers.scenario import validated
from tcpfair.units import bdp_pkts

ROOT = repository_root()
FILES = [ROOT / "config" / "papers" / f"{paper}.yaml" for paper in PAPERS]


@pytest.mark.parametrize("most", [3, pytest.param(math.inf, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_paper_expands_into_valid_runs(path, most):
    paper = load_paper(path)
    for name, experiment in paper.experiments.items():
        experiment.runs.value = min(experiment.runs.value, most)
        specs = run_specs(paper, name)
        points = 1
        for axis in experiment.grid.values():
            points *= len(axis.value)
        assert len(specs) == points * experiment.runs.value
        assert [spec.run_id for spec in specs] == list(range(len(specs)))
        assert len({spec.seed for spec in specs}) == len(specs)


def stated(value):
    return {"value": value, "source": "sec. 5"}


SHUFFLE = {"value": "shuffle", "assumed": "not stated", "range": ["listed", "shuffle"]}


def mini(**changes) -> dict:
    """A paper of one experiment, in which ``changes`` replace some parts."""
    settings = {"capacity_bps": 1e8, "wire_bytes": 1500, "payload_bytes": 1460, "duration_s": 100, "sample_s": 1}
    one = {
        "what": "two flows",
        "grid": {"protocol": stated(["Reno"]), "rtt_ms": stated([40, 80])},
        "flows": [{"rtt_ms": "=rtt_ms"}, {"rtt_ms": stated(20), "start_s": stated(50)}],
        "runs": stated(3),
        "perturb": {"rtt_rel": {"value": 0.01, "assumed": "why not", "range": [0, 0.02]}},
    }
    return {
        "paper": "ogura",
        "cite": "somewhere",
        "protocols": {"Reno": {"cc": stated("reno")}},
        "settings": {name: stated(value) for name, value in (settings | {"buffer_bdp": 1}).items()},
        "experiments": {"one": one | changes},
    }


def specs_of(values: dict):
    return run_specs(validated(PaperConfig, values, "ogura"), "one")


def test_buffer_is_the_bdp_of_the_largest_nominal_rtt_and_rtts_are_perturbed_within_one_percent():
    specs = specs_of(mini())
    assert specs[0].scenario.buffer_pkts == pytest.approx(bdp_pkts(1e8, 0.040, 1500))
    assert specs[3].scenario.buffer_pkts == pytest.approx(bdp_pkts(1e8, 0.080, 1500))
    for spec in specs:
        rtts = [flow.rtt_s for flow in spec.scenario.flows]
        assert abs(rtts[0] / (spec.point["rtt_ms"] / 1000) - 1) <= 0.01
        assert abs(rtts[1] / 0.020 - 1) <= 0.01
    assert len({spec.scenario.flows[0].rtt_s for spec in specs}) == len(specs)


def shuffled(**perturb) -> dict:
    """Five flows of five labels, started 10 s apart in shuffled order."""
    flows = [
        {"protocol": stated(name), "rtt_ms": "=rtt_ms", "start_s": stated(10 * place)}
        for place, name in enumerate("abcde")
    ]
    perturb = {"order": SHUFFLE, **perturb}
    values = mini(grid={"rtt_ms": stated([40, 80])}, flows=flows, runs=stated(6), perturb=perturb)
    return values | {"protocols": {name: {"cc": stated("reno")} for name in "abcde"}}


def starts(spec) -> list[float]:
    return [flow.start_s for flow in spec.scenario.flows]


def test_shuffled_flows_change_places_and_keep_their_numbers():
    specs = specs_of(shuffled())
    for spec in specs:
        assert [flow.protocol for flow in spec.scenario.flows] == list("abcde")
        assert sorted(starts(spec)) == [0, 10, 20, 30, 40]
    assert len({tuple(starts(spec)) for spec in specs}) > 3
    # a replicate is one order at every point of the grid
    assert [starts(spec) for spec in specs[:6]] == [starts(spec) for spec in specs[6:]]


def test_flows_start_as_listed_unless_they_are_shuffled():
    specs = specs_of(shuffled(order=SHUFFLE | {"value": "listed"}))
    assert all(starts(spec) == [0, 10, 20, 30, 40] for spec in specs)


def test_shuffling_leaves_the_other_perturbations_alone():
    values = mini()
    plain = [[flow.rtt_s for flow in spec.scenario.flows] for spec in specs_of(values)]
    values["experiments"]["one"]["perturb"]["order"] = SHUFFLE
    assert [[flow.rtt_s for flow in spec.scenario.flows] for spec in specs_of(values)] == plain


def test_runs_may_have_the_seeds_of_another_paper():
    own, theirs = specs_of(shuffled()), specs_of(shuffled() | {"paper": "kozu2014"})
    borrowed = specs_of(shuffled(seeds={"value": "kozu2014", "source": "the same runs"}))
    assert [spec.seed for spec in borrowed] == [spec.seed for spec in theirs] != [spec.seed for spec in own]
    assert [starts(spec) for spec in borrowed] == [starts(spec) for spec in theirs]


@pytest.mark.parametrize("experiment", ["self_14", "ns2_14"])
def test_both_papers_of_the_testbed_show_the_same_runs_of_14_flows(experiment):
    first, second = (
        run_specs(load_paper(ROOT / "config" / "papers" / f"{paper}.yaml"), experiment)
        for paper in ("bhatti2008", "bhatti2009")
    )
    assert [spec.seed for spec in first] == [spec.seed for spec in second]
    assert [spec.scenario.digest for spec in first] == [spec.scenario.digest for spec in second]


def test_seeds_depend_on_names_only():
    longer = mini(grid={"protocol": stated(["Reno"]), "rtt_ms": stated([20, 40, 80])})
    before, after = (
        {(s.point["rtt_ms"], s.replicate): s.seed for s in specs_of(values)} for values in (mini(), longer)
    )
    assert all(after[key] == seed for key, seed in before.items())


def test_smoke_runs_are_short_and_keep_the_order_of_starts():
    spec = shorten(specs_of(mini())[0], 10.0)
    assert spec.scenario.duration_s == 10
    assert spec.scenario.flows[1].start_s == pytest.approx(5.0)


@pytest.mark.parametrize(
    "path, value, words",
    [
        ("colour", "blue", "colour: Extra inputs"),
        ("settings/speed", stated(1), "speed: Extra inputs"),
        ("analysis", {"peak_share": stated(9)}, r"analysis: peak_share: Input should be .* equal to 1 \(got 9\)"),
        ("analysis", {"peak_share": stated("0,9")}, "analysis: peak_share: Input should be a valid number"),
        ("experiments/one/flows/0/rtt", stated(1), "rtt: unknown"),
        ("experiments/one/flows/1/rtt_ms", stated(-20), r"rtt_ms: must be a number above 0 \(got -20\)"),
        ("experiments/one/runs", {"value": 3}, "give `source:`"),
        ("experiments/one/runs", {"value": 3, "assumed": "so"}, "needs `range:`"),
        ("experiments/one/grid/rtt_ms", stated(40), "must be a list"),
        ("experiments/one/grid/rtt_ms", stated([40, -80]), r"rtt_ms: must be a number above 0 \(got -80\)"),
        ("experiments/one/grid/protocol", stated(["Vegas"]), "protocol 'Vegas' is unknown; known are Reno"),
        ("experiments/one/flows/0/rtt_ms", "=rtt", "refer to a grid variable"),
        ("settings/loss_rate", stated(2), "loss_rate: Input should be less than 1"),
        ("settings/tick_s", stated(1), "tick_s: Input should be less than 1"),
        ("settings/buffer_pkts", stated(10), "exactly one of"),
        (
            "experiments/one/perturb/order",
            stated("reversed"),
            r"perturb.order: must be listed or shuffle \(got 'reversed'\)",
        ),
        ("experiments/one/perturb/seeds", stated("bhatti2010"), "perturb.seeds: must be one of the pape"),
        ("experiments/one/perturb/rtt_rel", stated(None), r"perturb.rtt_rel: must be a number \(got None\)"),
        ("experiments/one/flows/0/start_s", stated("abc"), r"flows\[0\].start_s: must be a number \(got 'abc'\)"),
        ("experiments/one/flows", [], "flows: needs at least one flow"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_field(tmp_path, path, value, words):
    values = place = mini()
    *parents, last = path.split("/")
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[last] = value
    file = tmp_path / "ogura.yaml"
    file.write_text(yaml.safe_dump(values))
    with pytest.raises(InputError, match=words) as error:
        run_specs(load_paper(file), "one")
    assert "ogura" in str(error.value)


def with_background(kinds=("none", "Type X"), **settings) -> dict:
    """Type X alone both ways, at a rate that the grid varies, with two long-lived flows in each direction."""
    values = mini(
        settings=settings,
        grid={
            "protocol": stated(["Reno"]),
            "rtt_ms": stated([40, 80]),
            "traffic": stated(list(kinds)),
            "arrivals_per_s": stated([3.0]),
        },
        background=[{"traffic": "=traffic", "direction": way} for way in ("forward", "reverse")],
    )
    law = {"law": stated("pareto"), "share": stated(1), "shape": stated(1.1), "min_bytes": stated(1e5)}
    traffic = {
        "protocol": "Reno",
        "arrivals_per_s": "=arrivals_per_s",
        "sizes": [law],
        "rtt_ms": stated(20),
        "rtt_extra_mean_ms": stated(80),
        "rtt_cap_ms": stated(500),
        "long_lived": {"protocol": "Reno", "flows": stated(2), "start_s": stated(10)},
    }
    return values | {"traffic": {"Type X": traffic}}


BOTH_WAYS = {"reverse_bps": stated(1e8)}


def test_background_traffic_goes_where_the_experiment_says():
    specs = specs_of(with_background(**BOTH_WAYS))
    without, loaded = specs[0].scenario, specs[3].scenario
    assert without.web == () and len(without.flows) == 2
    assert [web.flow.direction for web in loaded.web] == ["forward", "reverse"]
    assert all(web.arrivals_per_s == 3 and web.rtt_extra_mean_s == 0.08 and web.rtt_cap_s == 0.5 for web in loaded.web)
    assert loaded.web[0].sizes[0].min_bytes == 1e5
    long_lived = loaded.flows[2:]
    assert [flow.direction for flow in long_lived] == ["forward"] * 2 + ["reverse"] * 2
    assert all(flow.role == "background" for flow in long_lived)
    assert all(0.02 <= flow.rtt_s <= 0.5 and flow.start_s <= 10 for flow in long_lived)
    assert len({flow.rtt_s for flow in long_lived}) == 4
    assert loaded.reverse_buffer_pkts == loaded.buffer_pkts == without.buffer_pkts
    assert loaded.flows[:2] != without.flows[:2]  # other seeds
    assert specs[3].scenario == specs_of(with_background(**BOTH_WAYS))[3].scenario


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            with_background(["Type Y"], **BOTH_WAYS),
            r"background\[0\]: traffic 'Type Y' is unknown; known are none, Type X",
        ),
        (with_background(), "reverse_bps must be above 0"),
    ],
    ids=["unknown traffic", "no reverse bottleneck"],
)
def test_background_traffic_that_cannot_be_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        specs_of(values)


def test_a_value_without_limit_is_plain_json():
    plain = plain_values({"rwnd_pkts": Value(value=math.inf, source="sec. 1")})
    assert json.loads(json.dumps(plain, allow_nan=False)) == {"rwnd_pkts": "inf"}
