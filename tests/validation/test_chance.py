"""Random dumbbells and runs without jitter: what is drawn, how likely a difference is, and what is shown of it."""

import math

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.papers import Value
from tcpfair.units import bdp_pkts
from tcpfair.validation import chance, drawn, page
from tcpfair.validation.scenarios import ENGINE, digests_of, load, whole
from tcpfair.workflow.cli import main
from tests.small_checkout import edit
from tests.validation.fake_simulators import BY_CHANCE, Simulator, install, make_checkout

REPOSITORY = load(Layout(repository_root()).validation_config)


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    made = make_checkout(tmp_path)
    analysis, experiment = BY_CHANCE
    edit(made.validation_config, "\nexperiments:\n", f"{analysis}experiments:\n")
    made.validation_config.write_text(made.validation_config.read_text() + experiment.lstrip("\n"))
    return made


def add(layout, line):
    """Add a line to the section ``analysis`` of the configuration."""
    edit(layout.validation_config, "  paired_experiments", f"  {line}\n  paired_experiments")


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_the_seed_decides_the_dumbbells_and_more_of_them_leave_the_first_as_they_are():
    (wide, *_) = drawn.experiments(REPOSITORY)
    few, more, others = (drawn.table(drawn.redrawn(REPOSITORY, *a, 1), wide) for a in ((7, 2), (7, 5), (8, 2)))
    pd.testing.assert_frame_equal(few, more[more["label"].isin(few["label"])])
    assert set(more["label"]) == {"d00", "d01", "d02", "d03", "d04"}
    assert not set(few["rtt_ms"]) & set(others["rtt_ms"])


def test_what_is_drawn_obeys_its_laws():
    law = REPOSITORY.analysis_value
    config = drawn.redrawn(REPOSITORY, 3, 60, 1)
    for experiment in drawn.experiments(config):
        least, below = law("drawn")[experiment]["fair_window_pkts"]
        table = drawn.table(config, experiment)
        path_pkts = bdp_pkts(table["capacity_bps"], table["rtt_ms"] / 1000, 1500)
        for _, own in table.assign(path_pkts=path_pkts).groupby("label"):
            assert law("drawn_flows")[0] <= len(own) <= law("drawn_flows")[1]
            assert least <= own["path_pkts"].min() / len(own) < below
            ccid2 = own[own["protocol"] == "ccid2"]
            assert (ccid2["path_pkts"] + ccid2["buffer_pkts"] <= law("drawn_longest_ccid2_pkts")).all()
            # a buffer is of whole packets, which ns-2 counts
            assert (own["buffer_pkts"] == own["buffer_pkts"].round()).all() and own["buffer_pkts"].min() >= 2
        assert table["rtt_ms"].between(*law("drawn_rtt_ms")).all()
        assert table["capacity_bps"].between(*law("drawn_rate_bps")).all()
        assert table["start_s"].between(*law("drawn_start_s")).all()
        assert set(table["protocol"]) == set(REPOSITORY.protocols)


def without(law: str, **others: object) -> pd.DataFrame:
    """What is drawn without a law, and with other values."""
    said = {name: Value(value=value, source="x") for name, value in others.items()}
    analysis = {name: value for name, value in REPOSITORY.analysis.items() if name != law} | said
    return drawn.table(REPOSITORY.model_copy(update={"analysis": analysis}), "random_dumbbells_wide")


def test_without_their_law_chosen_algorithms_have_any_window():
    table = without("drawn_longest_ccid2_pkts", drawn_protocols=["ccid2", "newreno"])
    assert set(table["protocol"]) == {"ccid2", "newreno"}
    ccid2 = table[table["protocol"] == "ccid2"]
    longest_pkts = bdp_pkts(ccid2["capacity_bps"], ccid2["rtt_ms"] / 1000, 1500) + ccid2["buffer_pkts"]
    assert longest_pkts.max() > REPOSITORY.analysis_value("drawn_longest_ccid2_pkts")


@pytest.mark.parametrize(
    ("law", "column"),
    [
        ("drawn_ssthresh_share", "initial_ssthresh_bdp"),
        ("drawn_access_ratio", "access_bps"),
        ("drawn_access_jitter_pkts", "access_jitter_s"),
    ],
)
def test_each_law_of_a_flow_is_independent_of_the_others(law, column):
    table = without(law)
    assert set(drawn.table(REPOSITORY, "random_dumbbells_wide")) - set(table) == {column}
    assert table.notna().all(axis=None)


def test_a_draw_is_the_same_on_every_machine():
    # the first flow of the shipped ones, as ns-2 has run it
    first = drawn.table(REPOSITORY, "random_dumbbells_wide").iloc[0]
    assert first.drop("experiment").to_dict() == {
        **{"label": "d00", "capacity_bps": 66.3e6, "buffer_pkts": 27, "jitter_s": 0.000126, "flow": 1},
        **{"protocol": "veno", "rtt_ms": 16.5, "start_s": 5.29, "initial_ssthresh_bdp": 0.5},
        **{"access_bps": 145e6, "access_jitter_s": 8.02e-05},
    }


def test_each_replicate_of_a_drawn_dumbbell_is_perturbed_and_has_its_name(layout):
    config = load(layout.validation_config)
    specs = whole(config, ENGINE).specs(config, "mixes")
    assert [(spec.point, spec.replicate) for spec in specs] == [
        ({"dumbbell": label}, replicate) for label in ("d00", "d01") for replicate in range(3)
    ]
    assert len({spec.scenario.flows[0].rtt_s for spec in specs}) == 6
    assert len({spec.seed for spec in specs}) == 6


# --- how likely a difference is ---------------------------------------------------------------------------------------


def test_welchs_t_of_three_and_three():
    # t = 3 / sqrt(2/3); of four degrees of freedom the distribution has a closed form
    t = 3 / math.sqrt(2 / 3)
    below = 0.5 + 0.375 * t / math.sqrt(1 + t * t / 4) * (1 - t * t / (12 + 3 * t * t))
    assert chance.welch_p(np.array([1.0, 2, 3]), np.array([4.0, 5, 6])) == pytest.approx(2 * (1 - below))


@pytest.mark.parametrize(
    ("b", "expected"),
    [([0.5, 0.5], 1.0), ([0.5, 0.6], 0.5), ([0.6, 0.6], 0.0), ([0.5], math.nan)],  # one run has no spread that is known
)
def test_a_side_without_spread(b, expected):
    # one degree of freedom: t = 1 leaves a half
    assert chance.welch_p(np.array([0.5, 0.5]), np.array(b)) == pytest.approx(expected, nan_ok=True)


def test_the_tally_counts_what_is_below_the_level_of_all_flows_and_by_window_in_the_other_simulator():
    flows = pd.DataFrame({"p": [0.04, 0.05, 0.5, math.nan], "difference": [-0.3, 0.1, 0.01, 0.0]})
    flows = flows.assign(experiment="random_dumbbells_wide", tool_window=[9.9, 10.0, 50.0, 2.0])
    (row,) = chance.tally(REPOSITORY, flows, "experiment").to_dict("records")
    assert (row["flows"], row["beyond"], row["beyond_share"], row["bar"]) == (4, 1, 0.25, 0.08)
    assert (row["median_difference"], row["largest_difference"]) == (pytest.approx(0.055), 0.3)
    tally = chance.tally(REPOSITORY, chance.by_window(REPOSITORY, flows), "window").set_index("what")
    assert tally["flows"].to_dict() == {"below 10 packets": 2, "10 and more": 2}
    assert tally["bar"].isna().all()


def test_pairs_go_together_seed_by_seed():
    def runs(shares, order=(0, 1, 2)):
        return pd.DataFrame({"label": "bic", "replicate": order, "share": shares})

    def correlation(engine, tool):
        (row,) = chance.pairs(REPOSITORY, "no_jitter", "ns2", engine, tool).to_dict("records")
        return row["correlation"]

    assert correlation(runs([0.1, 0.2, 0.4]), runs([0.2, 0.3, 0.5])) == pytest.approx(1)
    assert correlation(runs([0.1, 0.2, 0.4]), runs([0.5, 0.3, 0.2], order=(2, 1, 0))) == pytest.approx(1)
    assert correlation(runs([0.1, 0.2, 0.3]), runs([0.3, 0.2, 0.1])) == pytest.approx(-1)
    assert math.isnan(correlation(runs([0.1, 0.2, 0.3]), runs([0.3, 0.3, 0.3])))


# --- what the engine alone is told ------------------------------------------------------------------------------------


def test_the_engine_alone_can_be_told_more_of_every_flow(layout):
    config = load(layout.validation_config)
    before = {name: digests_of(config, name, whole(config, "ns2")) for name in config.experiments}
    add(layout, "engine_flow: {value: {rto_min_s: 0.5}, source: x}")
    config = load(layout.validation_config)
    for name in config.experiments:
        assert {f.rto_min_s for s in whole(config, ENGINE).specs(config, name) for f in s.scenario.flows} == {0.5}
        assert digests_of(config, name, whole(config, "ns2")) == before[name]


def test_an_algorithm_that_is_not_there_cannot_be_drawn(layout):
    add(layout, "drawn_protocols: {value: [fast, quick], source: x}")
    with pytest.raises(InputError, match=r"analysis.drawn_protocols: 'quick' is unknown; known are slow, fast"):
        load(layout.validation_config)


def test_what_no_flow_has_is_refused(layout):
    add(layout, "engine_flow: {value: {stuck: 1}, source: x}")
    config = load(layout.validation_config)
    with pytest.raises(InputError, match=r"^config/validation.yaml: engine_flow: flows.0.stuck: "):
        whole(config, ENGINE).specs(config, "one")


# --- the page, and dumbbells of one's own -----------------------------------------------------------------------------


def test_the_page_shows_flows_and_seeds(layout, monkeypatch):
    install(monkeypatch, Simulator("engine"), Simulator("ns2"))
    assert main(["validate", "--run", "ns2"]) == 0
    runs = pd.read_csv(layout.validated / "ns2" / "mixes.csv")
    assert list(runs["label"]) == ["d00"] * 3 + ["d01"] * 3
    assert runs["share_1"].tolist() == [0.6, 0.61, 0.62] * 2
    assert runs["share_3"].isna().all()
    assert main(["validate"]) == 0
    flows = pd.read_csv(layout.validation / "flows.csv")
    assert flows[["label", "flow"]].to_numpy().tolist() == [["d00", 1], ["d00", 2], ["d01", 1], ["d01", 2]]
    assert flows["p"].tolist() == [1.0] * 4
    dumbbells = pd.read_csv(layout.validation / "dumbbells.csv")
    assert dumbbells[["tool", "label", "verdict"]].to_numpy().tolist() == [
        ["ns2", f"d0{k}", "equivalent"] for k in (0, 1)
    ]
    pairs = pd.read_csv(layout.validation / "pairs.csv")
    assert pairs[["experiment", "algorithm"]].to_numpy().tolist() == [["two", "fast"], ["two", "slow"]]
    assert pairs["correlation"].tolist() == pytest.approx([1, 1])
    assert "mixes" not in set(pd.read_csv(layout.validation / "agreement.csv")["experiment"])
    summary = page.summary_file(layout).read_text()
    assert "mixes                    0 of 4 flows beyond chance (0.0 %, bar 8 %), median difference 0.0000" in summary
    assert "mixes                    2 equivalent, 0 different, 0 undecided of 2 dumbbells" in summary
    assert "two                      correlation over seeds: median 1.00" in summary
    assert summary.startswith("ns-2 ") and summary.splitlines()[0].endswith(", stack: text")
    html = (layout.validation / "report.html").read_text()
    assert "engine (stack: text) and ns-2: within the threshold" in html
    assert 'id="random"' in html and 'id="seeds"' in html
    assert "<li>mixes: 2 equivalent, 0 different, 0 undecided of 2 dumbbells.</li>" in html


def test_others_are_drawn_run_in_both_and_kept_apart(layout, monkeypatch, capsys):
    engine, ns2 = Simulator("engine"), Simulator("ns2")
    install(monkeypatch, engine, ns2)
    assert main(["validate", "--random", "7", "--count", "3"]) == 0
    assert len(engine.made) == len(ns2.made) == 9
    lines = capsys.readouterr().out.splitlines()
    assert "simulated  mixes d01 (2 of 3): 3 replicates: equivalent" in lines
    (judged,) = (line for line in lines if line.startswith("equivalent mixes d02: flow "))
    assert judged.endswith("3 replicates, stack: text")
    assert "verdict    all: 3 equivalent, 0 different, 0 undecided of 3 dumbbells, stack: text" in lines
    place = layout.validation / "random_7"
    assert len(pd.read_csv(place / "flows.csv")) == len(pd.read_csv(place / "drawn.csv")) == 6
    assert pd.read_csv(place / "dumbbells.csv")["verdict"].tolist() == ["equivalent"] * 3
    assert not (layout.validated / "ns2").exists()
    assert main(["validate", "--random", "7", "--count", "4"]) == 0
    assert len(engine.made) == len(ns2.made) == 12  # the fourth alone is new


def test_a_dumbbell_that_differs_is_told_and_fails(layout, monkeypatch, capsys):
    install(monkeypatch, Simulator("engine"), Simulator("ns2", advantage=20))
    assert main(["validate", "--random", "7", "--count", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("different  mixes d00: flow ") for line in lines)
    assert "verdict    all: 0 equivalent, 2 different, 0 undecided of 2 dumbbells, stack: text" in lines


def test_replicates_are_added_until_the_budget_is_spent(layout, monkeypatch, capsys):
    """Shares of 0.40 and 0.37 differ by nearly the margin of 0.037, and the spread is wider; the last step stops at 12."""
    engine, ns2 = Simulator("engine"), Simulator("ns2", advantage=3)
    install(monkeypatch, engine, ns2)
    assert main(["validate", "--random", "7", "--count", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("simulated")] == [
        f"simulated  mixes d00 (1 of 1): {runs} replicates: undecided" for runs in (3, 6, 12)
    ]
    assert "verdict    all: 0 equivalent, 0 different, 1 undecided of 1 dumbbells, stack: text" in lines
    assert sorted(int(name.rpartition("/")[2]) for name in engine.made) == list(range(12))  # each replicate once


@pytest.mark.parametrize("arguments", [["--run", "ns2"], ["--count", "0"]])
def test_a_draw_goes_alone(layout, capsys, arguments):
    assert main(["validate", "--random", "7", *arguments]) == 1
    assert capsys.readouterr().err.startswith("error: --random: requires a seed of 0 or more")


# --- a verdict on each dumbbell ---------------------------------------------------------------------------------------


def shares(first: np.ndarray) -> pd.DataFrame:
    """Runs of two flows with these shares of the first."""
    return pd.DataFrame({"share_1": first, "share_2": 1 - first, "share_3": math.nan})


@pytest.mark.parametrize(
    ("engine", "tool", "runs", "verdict"),
    [
        (0.50, 0.50, 40, chance.EQUIVALENT),  # ± 0.004 is within the margin of 0.05
        (0.54, 0.50, 40, chance.EQUIVALENT),  # of 0.5 the margin is a tenth, 0.05
        (0.10, 0.13, 40, chance.DIFFERENT),  # of a small share it is 0.02
        (0.20, 0.082, 60, chance.DIFFERENT),
        (0.10, 0.121, 10, chance.UNDECIDED),
        (0.50, 0.50, 1, chance.UNDECIDED),  # nothing is known of the spread
    ],
)
def test_a_dumbbell_is_equivalent_different_or_undecided(engine, tool, runs, verdict):
    spread = 0.01 * np.linspace(-1.7, 1.7, runs)
    found = chance.judge(REPOSITORY, shares(engine + spread), shares(tool + spread))
    assert (found["verdict"], found["runs"]) == (verdict, runs)


def test_the_interval_of_a_difference_is_welchs():
    # means 2 and 4, variances 1 and 1, three values each: ± t(0.95, 4) sqrt(2/3) = 2.1318 * 0.8165
    low, high = chance.welch_interval(np.array([1.0, 2, 3]), np.array([3.0, 4, 5]), 0.9)
    assert (low, high) == pytest.approx((-2 - 1.7406, -2 + 1.7406), abs=1e-4)
    assert chance.welch_interval(np.array([1.0, 1]), np.array([3.0, 3]), 0.9) == (-2, -2)


def test_two_simulators_that_are_the_same_are_seldom_called_different():
    pairs = 0.3 + 0.05 * np.random.default_rng(5).standard_normal((100, 2, 20))
    verdicts = [chance.judge(REPOSITORY, *map(shares, pair))["verdict"] for pair in pairs]
    assert verdicts.count(chance.DIFFERENT) <= 1
