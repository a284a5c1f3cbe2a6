"""Assumptions as random variables: which there are, how they are drawn, and how they get back into the configuration."""

import math

import pytest
from pydantic import ValidationError

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout, repository_root
from tcpfair.papers.expand import plain_values, run_specs
from tcpfair.papers.papers import PaperConfig, Value, load_paper
from tcpfair.papers.settings import assumptions_of, draw, fits, grid_points, part_used, point_text, with_values


def stated(value):
    return {"value": value, "source": "sec. 1"}


def assumed(value, range, why="not stated", **more):
    return {"value": value, "assumed": why, "range": range, **more}


TICK = assumed(0.001, [0.001, 0.004, 0.01], "HZ")
HOSTS = {
    "access_queue_pkts": assumed(1000, [100, 1000], scale="log"),
    "ack_every": assumed(2, [1, 2]),
    "stack": assumed("linux", ["text", "linux"]),
}


@pytest.fixture
def paper():
    return PaperConfig.model_validate(
        {
            "paper": "ogura",
            "cite": "a paper",
            "protocols": {
                "CUBIC": {"cc": stated("cubic"), "params": {"tick_s": TICK}},
                "Other": {"cc": stated("cubic_rtt"), "params": {"tick_s": dict(TICK), "rtt_unit_s": stated(1)}},
                "Unused": {"cc": stated("reno"), "params": {"x": assumed(1, [0, 1])}},
            },
            "settings": {
                "capacity_bps": stated(1e6),
                "wire_bytes": stated(1500),
                "payload_bytes": assumed(1448, [1448, 1460]),
                "buffer_pkts": stated(10),
                "duration_s": stated(5),
                "sample_s": stated(1),
                "loss_rate": assumed(0, [0, 1.0e-5]),
            },
            "flow": HOSTS,
            "experiments": {
                "pair": {
                    "what": "two",
                    "grid": {"protocol": stated(["CUBIC", "Other"]), "rtt_ms": assumed([20, 40.5], [10, 100])},
                    "flows": [{"rtt_ms": "=rtt_ms"}, {"rtt_ms": assumed(40, [30, 50])}],
                    "runs": assumed(2, [1, 9]),
                    "perturb": {"rtt_rel": assumed(0.01, [0, 0.04])},
                    "window_s": assumed([1, 5], [[0, 5], [2, 5]]),
                }
            },
        }
    )


def by_name(paper, **how):
    return {each.name: each for each in assumptions_of(paper, **how)}


def test_every_kind_of_range_is_known_by_what_it_holds(paper):
    found = by_name(paper)
    kinds = {name: (each.kind, each.scale) for name, each in found.items()}
    assert kinds == {
        "protocols.CUBIC.params.tick_s": ("choice", "linear"),
        "protocols.Unused.params.x": ("switch", "linear"),
        "settings.payload_bytes": ("integer", "linear"),
        "settings.loss_rate": ("real", "linear"),
        "flow.access_queue_pkts": ("integer", "log"),
        "flow.ack_every": ("integer", "linear"),
        "flow.stack": ("choice", "linear"),
        "experiments.pair.flows[1].rtt_ms": ("integer", "linear"),
        "experiments.pair.perturb.rtt_rel": ("real", "linear"),
        "experiments.pair.window_s": ("choice", "linear"),
    }
    assert found["experiments.pair.window_s"].choices == ([1, 5], [0, 5], [2, 5])


def test_a_shared_anchor_is_one_assumption_and_another_reason_is_another(paper):
    places = by_name(paper)["protocols.CUBIC.params.tick_s"].names
    assert places == ["protocols.CUBIC.params.tick_s", "protocols.Other.params.tick_s"]
    paper.protocols["Other"].params["tick_s"].assumed = "of another kernel"
    assert "protocols.Other.params.tick_s" in by_name(paper)


def test_two_values_are_choices_where_the_configuration_says_so(paper):
    paper.settings["payload_bytes"] = Value(**assumed(1448, [1448, 1460], scale="choices"))
    rows = draw([by_name(paper)["settings.payload_bytes"]], 64, 1)["settings.payload_bytes"]
    assert set(rows) == {1448, 1460}


@pytest.mark.parametrize("bounds", [[0, 1.0e-5], [-1, 1], [1, 2, 3], ["a", "b"], None])
def test_a_logarithm_needs_two_numbers_above_0(bounds):
    with pytest.raises(ValidationError, match="two numbers above 0"):
        Value(value=1, source="sec. 1", assumed="why", range=bounds, scale="log")


def test_draws_lie_in_their_ranges_and_reach_the_ends(paper):
    known = by_name(paper)
    table = draw(list(known.values()), 256, 7)
    assert table.loc[0].to_dict() == {name: each.value for name, each in known.items()}
    for name, each in known.items():
        drawn = list(table[name].iloc[1:])
        if each.choices:
            assert all(value in each.choices for value in drawn)
            assert all(value in drawn for value in each.choices)
        else:
            assert each.low <= min(drawn) <= each.low + 0.05 * (each.high - each.low)
            assert each.high >= max(drawn) >= each.high - 0.05 * (each.high - each.low)
    assert {type(value) for value in table["flow.ack_every"]} == {int}
    assert abs(list(table["flow.ack_every"].iloc[1:]).count(1) - 128) <= 2


def test_a_logarithmic_range_is_drawn_evenly_in_the_logarithm(paper):
    drawn = draw([by_name(paper)["flow.access_queue_pkts"]], 256, 7)["flow.access_queue_pkts"].iloc[1:]
    below = sum(value < math.sqrt(100 * 1000) for value in drawn)
    assert abs(below - 128) <= 2


def test_a_seed_gives_the_same_draws_and_fewer_are_the_first_of_more(paper):
    known = assumptions_of(paper)
    assert draw(known, 16, 7).equals(draw(known, 16, 7))
    assert draw(known, 5, 7).equals(draw(known, 8, 7).iloc[:6])
    assert not draw(known, 16, 7).equals(draw(known, 16, 8))


def test_values_come_back_from_all_places_where_they_stand(paper):
    known = assumptions_of(paper)
    table = draw(known, 8, 7)
    for _, row in table.iterrows():
        again = assumptions_of(with_values(paper, known, row))
        assert {each.name: each.value for each in again} == row.to_dict()
        assert [each.names for each in again] == [each.names for each in known]
    assert plain_values(with_values(paper, known, table.loc[0])) == plain_values(paper)


def test_a_drawn_setting_reaches_the_scenarios(paper):
    known = assumptions_of(paper, {"protocols.Unused.*": "not used"})
    row = draw(known, 4, 7).loc[3]
    before = plain_values(paper)
    for spec in run_specs(with_values(paper, known, row), "pair"):
        assert spec.scenario.payload_bytes == row["settings.payload_bytes"]
        assert spec.scenario.flows[0].ack_every == row["flow.ack_every"]
        assert spec.scenario.flows[0].params["tick_s"] == row["protocols.CUBIC.params.tick_s"]
    assert plain_values(paper) == before


def test_what_is_held_stays_and_an_unknown_name_is_refused(paper):
    assert "protocols.CUBIC.params.tick_s" not in by_name(paper, held={"protocols.Other.params.tick_s": "one place"})
    with pytest.raises(InputError, match=r"here: held 'flow.ack_evry' is unknown; did you mean 'flow.ack_every'\?"):
        assumptions_of(paper, {"flow.ack_evry": "why"}, where="here: ")
    with pytest.raises(InputError, match="held 'experiments.pair.runs' is unknown"):
        assumptions_of(paper, {"experiments.pair.runs": "never drawn"})


def test_tied_assumptions_are_one_if_their_ranges_are_the_same(paper):
    paper.flow["iw_pkts"] = Value(**assumed(2, [1, 2], "another"))
    tied = by_name(paper, tied=[["flow.ack_every", "flow.iw_pkts"]])["flow.ack_every"]
    assert tied.names == ["flow.ack_every", "flow.iw_pkts"]
    with pytest.raises(InputError, match="must have the same value, range and scale"):
        assumptions_of(paper, tied=[["flow.ack_every", "flow.stack"]])
    with pytest.raises(InputError, match="tied 'flow.nosuch' is unknown"):
        assumptions_of(paper, tied=[["flow.ack_every", "flow.nosuch"]])


def test_only_what_acts_in_the_experiments_is_drawn(paper):
    assert "protocols.Unused.params.x" not in by_name(part_used(paper, ["pair"]))


@pytest.mark.parametrize(
    ("pattern", "name", "meant"),
    [
        ("flows[0].start_s", "flows[0].start_s", True),
        ("flows[0].start_s", "flows0.start_s", False),
        ("*.start_s", "experiments.a.flows[0].start_s", True),
        ("start_s", "experiments.a.flows[0].start_s", False),
        ("protocols.*.tick_s", "protocols.Libra (eq. 15).params.tick_s", True),
    ],
)
def test_a_star_stands_for_any_text_and_nothing_else_does(pattern, name, meant):
    assert fits(pattern, name) is meant


def test_points_are_written_as_they_are_configured(paper):
    texts = [point_text(point) for point in grid_points(paper.experiments["pair"])]
    assert texts[:2] == ["protocol=CUBIC;rtt_ms=20", "protocol=CUBIC;rtt_ms=40.5"]


@pytest.mark.parametrize("name", PAPERS)
def test_every_drawn_setting_of_the_papers_is_one_of_their_configuration(name):
    paper = load_paper(Layout(repository_root()).paper_config(name))
    known = assumptions_of(paper)
    assert len({each.name for each in known}) == len(known) > 5
    row = draw(known, 2, 1).loc[2]
    changed = with_values(paper, known, row)
    assert {each.name: each.value for each in assumptions_of(changed)} == row.to_dict()
