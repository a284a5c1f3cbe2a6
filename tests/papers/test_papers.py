"""Configuration: the papers' files are valid, runs are reproducible, and mistakes name file and field in one line."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, repository_root
from tcpfair.papers.expand import plain_values, run_specs, shorten
from tcpfair.papers.papers import Value, check_config, load_paper
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


def mini() -> dict:
    return {
        "paper": "ogura",
        "cite": "somewhere",
        "protocols": {"Reno": {"cc": {"value": "reno", "source": "sec. 1"}}},
        "settings": {
            "capacity_bps": {"value": 1e8, "source": "sec. 5"},
            "wire_bytes": {"value": 1500, "source": "sec. 5"},
            "payload_bytes": {"value": 1460, "source": "sec. 5"},
            "buffer_bdp": {"value": 1, "source": "sec. 5"},
            "duration_s": {"value": 100, "source": "sec. 5"},
            "sample_s": {"value": 1, "source": "sec. 5"},
        },
        "experiments": {
            "one": {
                "what": "two flows",
                "grid": {
                    "protocol": {"value": ["Reno"], "source": "sec. 5"},
                    "rtt_ms": {"value": [40, 80], "source": "sec. 5"},
                },
                "flows": [
                    {"rtt_ms": "=rtt_ms"},
                    {"rtt_ms": {"value": 20, "source": "sec. 5"}, "start_s": {"value": 50, "source": "sec. 5"}},
                ],
                "runs": {"value": 3, "source": "sec. 5"},
                "perturb": {"rtt_rel": {"value": 0.01, "assumed": "why not", "range": [0, 0.02]}},
            }
        },
    }


def load(tmp_path: Path, values: dict):
    path = tmp_path / "ogura.yaml"
    path.write_text(yaml.safe_dump(values))
    return load_paper(path)


def test_buffer_is_the_bdp_of_the_largest_nominal_rtt_and_rtts_are_perturbed_within_one_percent(tmp_path):
    specs = run_specs(load(tmp_path, mini()), "one")
    assert specs[0].scenario.buffer_pkts == pytest.approx(bdp_pkts(1e8, 0.040, 1500))
    assert specs[3].scenario.buffer_pkts == pytest.approx(bdp_pkts(1e8, 0.080, 1500))
    for spec in specs:
        rtts = [flow.rtt_s for flow in spec.scenario.flows]
        assert abs(rtts[0] / (spec.point["rtt_ms"] / 1000) - 1) <= 0.01
        assert abs(rtts[1] / 0.020 - 1) <= 0.01
    assert len({spec.scenario.flows[0].rtt_s for spec in specs}) == len(specs)


def shuffled() -> dict:
    """Five flows of five labels, started 10 s apart in shuffled order."""
    values = mini()
    values["protocols"] = {name: {"cc": {"value": "reno", "source": "sec. 1"}} for name in "abcde"}
    values["experiments"]["one"] |= {
        "grid": {"rtt_ms": {"value": [40, 80], "source": "sec. 5"}},
        "flows": [
            {
                "protocol": {"value": name, "source": "sec. 5"},
                "rtt_ms": "=rtt_ms",
                "start_s": {"value": 10 * place, "source": "sec. 5"},
            }
            for place, name in enumerate("abcde")
        ],
        "runs": {"value": 6, "source": "sec. 5"},
        "perturb": {"order": {"value": "shuffle", "assumed": "not stated", "range": ["listed", "shuffle"]}},
    }
    return values


def starts(spec) -> list[float]:
    return [flow.start_s for flow in spec.scenario.flows]


def test_shuffled_flows_change_places_and_keep_their_numbers(tmp_path):
    specs = run_specs(load(tmp_path, shuffled()), "one")
    for spec in specs:
        assert [flow.protocol for flow in spec.scenario.flows] == list("abcde")
        assert sorted(starts(spec)) == [0, 10, 20, 30, 40]
    assert len({tuple(starts(spec)) for spec in specs}) > 3
    # a replicate is one order at every point of the grid
    assert [starts(spec) for spec in specs[:6]] == [starts(spec) for spec in specs[6:]]


def test_flows_start_as_listed_unless_they_are_shuffled(tmp_path):
    values = shuffled()
    values["experiments"]["one"]["perturb"]["order"]["value"] = "listed"
    assert all(starts(spec) == [0, 10, 20, 30, 40] for spec in run_specs(load(tmp_path, values), "one"))


def test_shuffling_leaves_the_other_perturbations_alone(tmp_path):
    values = mini()
    plain = [[flow.rtt_s for flow in spec.scenario.flows] for spec in run_specs(load(tmp_path, values), "one")]
    order = {"value": "shuffle", "assumed": "not stated", "range": ["listed", "shuffle"]}
    values["experiments"]["one"]["perturb"]["order"] = order
    assert [[flow.rtt_s for flow in spec.scenario.flows] for spec in run_specs(load(tmp_path, values), "one")] == plain


def test_runs_may_have_the_seeds_of_another_paper(tmp_path):
    values = shuffled()
    own = run_specs(load(tmp_path, values), "one")
    values["experiments"]["one"]["perturb"]["seeds"] = {"value": "kozu2014", "source": "the same runs"}
    borrowed = run_specs(load(tmp_path, values), "one")
    values["paper"] = "kozu2014"
    del values["experiments"]["one"]["perturb"]["seeds"]
    theirs = run_specs(load(tmp_path, values), "one")
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


def test_seeds_depend_on_names_only(tmp_path):
    values = mini()
    before = {(s.point["rtt_ms"], s.replicate): s.seed for s in run_specs(load(tmp_path, values), "one")}
    values["experiments"]["one"]["grid"]["rtt_ms"]["value"] = [20, 40, 80]
    after = {(s.point["rtt_ms"], s.replicate): s.seed for s in run_specs(load(tmp_path, values), "one")}
    assert all(after[key] == seed for key, seed in before.items())


def test_smoke_runs_are_short_and_keep_the_order_of_starts(tmp_path):
    spec = shorten(run_specs(load(tmp_path, mini()), "one")[0], 10.0)
    assert spec.scenario.duration_s == 10
    assert spec.scenario.flows[1].start_s == pytest.approx(5.0)


def broken(change):
    values = copy.deepcopy(mini())
    change(values)
    return values


def set_in(path: str, value):
    def change(values):
        *parents, last = path.split("/")
        for part in parents:
            values = values[int(part)] if isinstance(values, list) else values[part]
        values[last] = value

    return change


@pytest.mark.parametrize(
    "path, value, words",
    [
        ("colour", "blue", "colour: Extra inputs"),
        ("settings/speed", {"value": 1, "source": "x"}, "speed: Extra inputs"),
        ("experiments/one/flows/0/rtt", {"value": 1, "source": "x"}, "rtt: unknown"),
        (
            "experiments/one/flows/1/rtt_ms",
            {"value": -20, "source": "x"},
            r"rtt_ms: must be a number above 0 \(got -20\)",
        ),
        ("experiments/one/runs", {"value": 3}, "give `source:`"),
        ("experiments/one/runs", {"value": 3, "assumed": "so"}, "needs `range:`"),
        ("experiments/one/grid/rtt_ms", {"value": 40, "source": "x"}, "must be a list"),
        (
            "experiments/one/grid/protocol",
            {"value": ["Vegas"], "source": "x"},
            "protocol 'Vegas' is unknown; known are Reno",
        ),
        ("experiments/one/flows/0/rtt_ms", "=rtt", "refer to a grid variable"),
        ("settings/loss_rate", {"value": 2, "source": "x"}, "loss_rate: Input should be less than 1"),
        ("settings/tick_s", {"value": 1, "source": "x"}, "tick_s: Input should be less than 1"),
        ("settings/buffer_pkts", {"value": 10, "source": "x"}, "exactly one of"),
        (
            "experiments/one/perturb/order",
            {"value": "reversed", "source": "x"},
            r"perturb.order: must be listed or shuffle \(got 'reversed'\)",
        ),
        (
            "experiments/one/perturb/seeds",
            {"value": "bhatti2010", "source": "x"},
            "perturb.seeds: must be one of the pape",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_field(tmp_path, path, value, words):
    with pytest.raises(InputError, match=words) as error:
        run_specs(load(tmp_path, broken(set_in(path, value))), "one")
    assert "ogura" in str(error.value)


def test_yaml_that_does_not_parse_names_the_line(tmp_path):
    path = tmp_path / "ogura.yaml"
    path.write_text("paper: ogura\n  cite: [\n")
    with pytest.raises(InputError, match=r"ogura\.yaml: line 2 not valid YAML"):
        load_paper(path)


@pytest.mark.parametrize(
    "values, words",
    [
        ({"source": "nosuch"}, "source: .*'bundled', 'engine'"),
        ({"sauce": "engine"}, "sauce: Extra inputs"),
        ({"shards": 0}, "shards: .*greater than or equal to 1"),
        ({"papers": ["ogura", "reno1990"]}, "papers.1"),
    ],
)
def test_top_level_mistakes_name_the_field(values, words):
    with pytest.raises(InputError, match=words):
        check_config(values)


def test_check_finds_a_bad_value_at_any_point_of_the_grid(tmp_path):
    paper = load(tmp_path, broken(set_in("experiments/one/grid/rtt_ms", {"value": [40, -80], "source": "x"})))
    with pytest.raises(InputError, match=r"rtt_ms: must be a number above 0 \(got -80\)"):
        run_specs(paper, "one")


def with_background() -> dict:
    """Type X alone both ways, at a rate that the grid varies, with two long-lived flows in each direction."""

    def given(value):
        return {"value": value, "source": "table 1"}

    values = mini()
    values["traffic"] = {
        "Type X": {
            "protocol": "Reno",
            "arrivals_per_s": "=arrivals_per_s",
            "sizes": [{"law": given("pareto"), "share": given(1), "shape": given(1.1), "min_bytes": given(1e5)}],
            "rtt_ms": given(20),
            "rtt_extra_mean_ms": given(80),
            "rtt_cap_ms": given(500),
            "long_lived": {"protocol": "Reno", "flows": given(2), "start_s": given(10)},
        }
    }
    one = values["experiments"]["one"]
    one["settings"] = {"reverse_bps": given(1e8)}
    one["grid"]["traffic"] = given(["none", "Type X"])
    one["grid"]["arrivals_per_s"] = given([3.0])
    one["background"] = [{"traffic": "=traffic", "direction": way} for way in ("forward", "reverse")]
    return values


def test_background_traffic_goes_where_the_experiment_says(tmp_path):
    specs = run_specs(load(tmp_path, with_background()), "one")
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
    assert specs[3].scenario == run_specs(load(tmp_path, with_background()), "one")[3].scenario


def test_unknown_traffic_is_named_with_the_known_ones(tmp_path):
    values = with_background()
    values["experiments"]["one"]["grid"]["traffic"]["value"] = ["Type Y"]
    with pytest.raises(InputError, match=r"background\[0\]: traffic 'Type Y' is unknown; known are none, Type X"):
        run_specs(load(tmp_path, values), "one")


def test_reverse_flows_need_a_reverse_bottleneck(tmp_path):
    values = with_background()
    del values["experiments"]["one"]["settings"]
    with pytest.raises(InputError, match="reverse_bps must be above 0"):
        run_specs(load(tmp_path, values), "one")


def test_a_value_without_limit_is_plain_json():
    plain = plain_values({"rwnd_pkts": Value(value=math.inf, source="sec. 1")})
    assert json.loads(json.dumps(plain, allow_nan=False)) == {"rwnd_pkts": "inf"}
