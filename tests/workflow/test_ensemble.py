"""The ensemble: members that are kept one by one, hypotheses, what is shipped and when it is stale."""

import io
import json
import shutil

import pandas as pd
import pytest

from tcpfair import measures, sources
from tcpfair.errors import InputError
from tcpfair.files import checksums, costs
from tcpfair.files.layout import PAPERS, Layout, repository_root
from tcpfair.papers.expand import expected_pkts, run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.runs import code, ensemble_table
from tcpfair.runs.ensemble import ensemble_of, load, named, paper_of
from tcpfair.workflow import ensemble as ensembles
from tcpfair.workflow import executor, same_bits
from tcpfair.workflow.cli import main
from tests.small_checkout import HEAD, edit, make_checkout
from tests.workflow.in_process import InProcess, counting

EXPERIMENTS = """
experiments:
  self:
    what: two flows of one protocol
    grid: &grid
      protocol: {value: [Reno, Libra], source: sec. 3}
      rtt_ms: {value: [40], source: sec. 3}
    flows: [{rtt_ms: "=rtt_ms"}, {rtt_ms: "=rtt_ms"}]
    runs: {value: 1, source: sec. 3}
    measures: [throughput]
  pair:
    what: two protocols
    grid: *grid
    flows: [{rtt_ms: "=rtt_ms"}, {protocol: {value: Reno, source: sec. 3}, rtt_ms: "=rtt_ms"}]
    runs: {value: 5, source: sec. 3}
    perturb: {start_s: {value: 1, source: sec. 3}}
    window_s: {value: [10, 20], source: sec. 3}
    measures: [throughput, nru]
    weights: {experiment: self, rule: per_column}
  watched:
    what: no metrics are taken
    grid: *grid
    flows: [{rtt_ms: "=rtt_ms"}]
    runs: {value: 1, source: sec. 3}
"""
MORE = """
    flows: [{rtt_ms: "=rtt_ms"}]
    runs: {value: 1, source: sec. 3}
    measures: [throughput]
  watched:"""
ENSEMBLE = """
judging: {inside: [0.025, 0.975], with_table: 0.5, far: 4, accepted: 0.2,
  least_effective: 2, least_share: 0.08, chance: 0.05}
papers:
  ogura:
    settings: 3
    replicates: 2
    seed: 1
    left_out: {watched: nothing is measured}
    held_out:
      - {fit: {protocols: [Libra]}, predict: {protocols: [Reno], hypothesis: slow}}
      - {fit: {paper: kozu2014}, predict: {rtt_ms: [40]}}
    hypotheses:
      slow:
        what: the pairs of Libra ran at half the rate
        changes:
          - {experiments: [pair], where: {protocol: [Libra]}, settings: {capacity_bps: 0.5e+6}}
      swapped:
        what: Libra was Reno
        changes:
          - {experiments: [pair], protocols: {Libra: Reno}}
      both:
        what: both
        all_of: [slow, swapped]
        settings: 2
      other_runs:
        what: the numbers of Libra are of other runs
        excluded:
          - {protocols: [Libra], reason: of other runs}
      received:
        what: what was received is printed
        changes:
          - {experiments: [watched], metrics: {throughput_mean: received_mean}}
"""


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    return put_ensemble(tmp_path)


def put_ensemble(root):
    """A checkout with an ensemble of nine members, none of which is simulated."""
    make_checkout(root)
    paper = root / "config/papers/ogura.yaml"
    paper.write_text(HEAD + EXPERIMENTS)
    edit(paper, "buffer_pkts: {value: 10, source: sec. 3}", "buffer_pkts: {value: 10, assumed: why, range: [5, 20]}")
    (root / "config/ensemble.yaml").write_text(ENSEMBLE)
    return Layout(root, "engine")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Such a checkout in which all members were simulated, what was simulated, and what was printed."""
    made = put_ensemble(tmp_path_factory.mktemp("simulated"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCPFAIR_ROOT", str(made.root))
        return made, *run(made)


@pytest.fixture
def shipped(layout, simulated):
    """A copy of it."""
    shutil.copytree(simulated[0].root, layout.root, dirs_exist_ok=True)
    return layout


def opened(layout):
    return ensemble_of(load(layout.ensemble_config), load_paper(layout.paper_config("ogura")))


def run(layout, stop_after=None, **how):
    """Simulate, and count the groups of experiments."""
    with counting(ensembles, "made", stop_after) as jobs:
        ensembles.run(layout, executor.How(), **how)
    return jobs, jobs.said


def test_members_are_the_settings_as_printed_and_those_of_each_hypothesis(layout):
    names = [member.name for member in opened(layout).members()]
    assert names == ["0000", "0001", "0002", "0003", "slow/0000", "swapped/0000", "both/0000", "both/0001", "both/0002"]
    assert [member.name for member in opened(layout).members(1)][-2:] == ["both/0000", "both/0001"]


def test_a_reading_that_changes_no_run_is_not_simulated(layout):
    ensemble, plan = opened(layout), ensembles.load(layout.ensemble_config).papers["ogura"]
    assert ensemble.simulated == ["slow", "swapped", "both"]
    assert plan.reading("received").metrics == {("watched", "throughput_mean"): "received_mean"}
    assert [part.reason for part in plan.reading("other_runs").excluded] == ["of other runs"]
    edit(layout.ensemble_config, "[slow, swapped]", "[slow, other_runs, received]")
    both = ensembles.load(layout.ensemble_config).papers["ogura"].reading("both")
    assert (len(both.changes), len(both.metrics), len(both.excluded)) == (1, 1, 1)
    text = layout.ensemble_config.read_text()
    layout.ensemble_config.write_text(
        text[: text.index("      other_runs:")].replace("other_runs, received", "swapped")
    )
    assert (opened(layout).runs, opened(layout).configuration) == (ensemble.runs, ensemble.configuration)


def test_a_hypothesis_changes_its_points_and_no_others(layout):
    members = {member.name: member for member in opened(layout).members()}
    printed, slow, both = (members[name].specs("pair") for name in ("0000", "slow/0000", "both/0000"))
    rates = {spec.point["protocol"]: spec.scenario.capacity_bps for spec in slow}
    assert rates == {"Reno": 1e6, "Libra": 0.5e6}
    assert [spec.key for spec in slow[:2]] == [spec.key for spec in printed[:2]]
    assert [spec.seed for spec in slow] == [spec.seed for spec in printed]
    assert {spec.scenario.flows[0].cc for spec in both} == {"newreno"}
    assert {spec.scenario.flows[0].protocol for spec in both if spec.point["protocol"] == "Libra"} == {"Libra"}
    assert members["slow/0000"].specs("self")[0].key == members["0000"].specs("self")[0].key


def test_a_hypothesis_can_take_the_perturbation_away(layout):
    edit(layout.ensemble_config, "settings: {capacity_bps: 0.5e+6}", "perturb: {start_s: 0}")
    members = {member.name: member for member in opened(layout).members()}
    starts_s = {
        name: {flow.start_s for spec in members[name].specs("pair")[2:] for flow in spec.scenario.flows}
        for name in ("0000", "slow/0000")
    }
    assert starts_s["slow/0000"] == {0}
    assert len(starts_s["0000"]) > 2


def test_no_two_settings_share_their_perturbations(layout):
    members = opened(layout).members()[:4]
    seeds = [spec.seed for member in members for spec in member.specs("pair")]
    assert len(set(seeds)) == len(seeds)


def test_all_members_are_simulated_measured_and_shipped(simulated):
    layout, jobs, said = simulated
    assert jobs.simulated == 9
    found = ensemble_table.read(layout.ensembles, "ogura")
    assert list(found.settings.columns) == [
        "hypothesis",
        "setting",
        "refused",
        "settings.payload_bytes",
        "settings.buffer_pkts",
    ]
    assert len(found.settings) == 9
    metrics = found.metrics
    assert metrics["value"].dtype == "float32"
    assert set(metrics["experiment"]) == {"self", "pair"}
    assert (metrics.loc[metrics["metric"] == "throughput_mean", "n"] == 2).all()
    assert {"U_N", "throughput_mean"} <= set(metrics["metric"])
    assert metrics.groupby(["hypothesis", "setting"], observed=True).ngroups == 9
    reno, libra = (
        metrics[(metrics["point"] == f"protocol={name};rtt_ms=40") & (metrics["metric"] == "throughput_sum")]
        .query("experiment == 'pair'")
        .set_index(["hypothesis", "setting"])["value"]
        for name in ("Reno", "Libra")
    )
    assert libra["slow", 0] < 0.6 * libra["", 0]
    assert reno["slow", 0] == reno["", 0]
    assert not ensemble_table.stale(layout.ensembles, opened(layout))
    assert checksums.differing(layout.data, ["ensemble"]) == []
    assert said[-1].startswith("written    data/ensemble/ogura.parquet  9 settings")


def test_the_base_setting_gives_the_means_of_the_papers_own_runs(simulated):
    layout = simulated[0]
    paper = load_paper(layout.paper_config("ogura"))
    own = {}
    for name in ("self", "pair"):
        experiment = paper.experiments[name]
        runs = experiment.runs.model_copy(update={"value": 2})
        paper.experiments[name] = experiment.model_copy(update={"runs": runs})
        own[name] = measures.measure(sources.simulate(paper, name), paper, name, own.get("self"))
    metrics = ensemble_table.read(layout.ensembles, "ogura").metrics.query("experiment == 'pair' and hypothesis == ''")
    found = ensemble_table.as_measured(metrics, paper.experiments["pair"]).query("replicate == 0")
    assert list(found.columns) == list(own["pair"].columns)
    keys = ["protocol", "flow", "flow_protocol", "metric"]
    wanted = own["pair"].groupby(keys)["value"].mean()
    pd.testing.assert_series_equal(found.groupby(keys)["value"].mean(), wanted, rtol=1e-6)


def test_an_interrupted_run_goes_on_where_it_was(layout):
    with pytest.raises(KeyboardInterrupt):
        run(layout, stop_after=2)
    assert not list(layout.results.rglob(".*.new*"))
    left = sum(not ensemble_table.is_kept(layout, member) for member in opened(layout).members())
    assert left == 7
    assert not layout.ensembles.exists()
    jobs, _ = run(layout)
    assert jobs.simulated == 7
    again, said = run(layout)
    assert again.simulated == 0
    assert "complete" in said[0]


def test_a_fresh_checkout_goes_on_from_what_is_shipped(shipped):
    shutil.rmtree(shipped.results)
    assert "complete" in ensembles.plan(shipped)[0].line  # as a dry run says it, which restores nothing
    assert not shipped.results.exists()
    again, said = run(shipped)
    assert again.simulated == 0
    assert said[0] == "taken      ogura: 9 settings from data/ensemble"
    shutil.rmtree(shipped.results)
    edit(shipped.ensemble_config, "settings: 3", "settings: 4")
    more, _ = run(shipped)
    assert more.simulated == 1
    extended = [path.read_bytes() for path in ensemble_table.paths(shipped.ensembles, "ogura")]
    shutil.rmtree(shipped.results)
    shutil.rmtree(shipped.ensembles)
    whole, _ = run(shipped)
    assert whole.simulated == 10
    assert [path.read_bytes() for path in ensemble_table.paths(shipped.ensembles, "ogura")] == extended


def test_other_ranges_leave_the_configured_setting(shipped):
    shutil.rmtree(shipped.results)
    edit(shipped.root / "config/papers/ogura.yaml", "range: [5, 20]", "range: [5, 30]")
    assert {member.setting for member in ensemble_table.restorable(shipped, opened(shipped))} == {0}


@pytest.mark.parametrize("change", ["code", "damage"])
def test_what_is_shipped_of_something_else_is_not_taken(shipped, monkeypatch, change):
    shutil.rmtree(shipped.results)
    if change == "code":
        monkeypatch.setattr(code, "of_algorithms", lambda names: {"libra": "other"})
    else:
        table = shipped.ensembles / "ogura_settings.csv"
        table.write_text(table.read_text() + "\n")
    assert ensemble_table.stale(shipped.ensembles, opened(shipped)) == [
        "code changed" if change == "code" else "missing"
    ]
    assert ensemble_table.restore(shipped, opened(shipped)) == 0


def test_other_code_with_the_same_bits_is_marked(shipped, monkeypatch):
    monkeypatch.setattr(code, "of_algorithms", lambda names: {"libra": "other"})
    assert ensemble_table.stale(shipped.ensembles, opened(shipped)) == ["code changed"]
    assert same_bits.compare_ensemble(shipped, "ogura") == []
    assert same_bits.mark_ensemble(shipped, "ogura")
    assert ensemble_table.stale(shipped.ensembles, opened(shipped)) == []
    assert not same_bits.mark_ensemble(shipped, "ogura")


def test_other_code_with_other_bits_is_found(shipped, monkeypatch):
    ensemble, found = opened(shipped), ensemble_table.read(shipped.ensembles, "ogura")
    first = found.metrics["setting"].eq(1) & found.metrics["hypothesis"].eq("")
    found.metrics.loc[first.idxmax(), "value"] *= 1.0001
    ensemble_table.write(shipped.ensembles, ensemble, ensemble.members(), found)
    monkeypatch.setattr(code, "of_algorithms", lambda names: {"libra": "other"})
    assert same_bits.compare_ensemble(shipped, "ogura") == ["ogura, ensemble, setting 0001"]


@pytest.mark.parametrize("name", load(Layout(repository_root()).ensemble_config).names)
def test_the_sample_of_a_shipped_ensemble_has_every_algorithm_and_measure_after_its_weights(name):
    layout = Layout(repository_root())
    ensemble = ensemble_of(load(layout.ensemble_config), load_paper(layout.paper_config(paper_of(name))), name)
    sample = same_bits.sample_of(ensemble)

    def has(names):
        own = [ensemble.paper.experiments[each] for each in names]
        algorithms = {each for name in names for spec in run_specs(ensemble.paper, name) for each in spec.algorithms}
        return algorithms, {measure for experiment in own for measure in experiment.measures}

    assert has(sample) == has(ensemble.experiments)
    for place, each in enumerate(sample):
        weights = ensemble.paper.experiments[each].weights
        assert weights is None or weights.experiment in sample[:place]


def test_experiments_of_a_long_member_are_simulated_in_groups_and_give_the_same_tables(layout, monkeypatch):
    more = "  more: &more\n    what: more\n    grid: *grid\n" + MORE
    edit(layout.root / "config/papers/ogura.yaml", "  watched:", more)
    edit(layout.ensemble_config, "    settings: 3\n", "    settings: 1\n")
    assert (n_members := len(opened(layout).members())) < 9
    run(layout)
    whole = [path.read_bytes() for path in ensemble_table.paths(layout.ensembles, "ogura")]
    shutil.rmtree(layout.ensembles)
    monkeypatch.setattr("tcpfair.runs.ensemble._UNIT_PKTS", 1)
    assert opened(layout).units == [["self", "pair"], ["more"]]
    jobs, _ = run(layout)
    assert jobs.simulated == 2 * n_members
    assert [path.read_bytes() for path in ensemble_table.paths(layout.ensembles, "ogura")] == whole
    shutil.rmtree(layout.results)
    assert run(layout)[0].simulated == 0
    assert len(list(layout.ensemble_shards.rglob("*.parquet"))) == 2 * n_members


def test_an_edit_leaves_no_shard_of_the_earlier_configuration(shipped):
    edit(shipped.ensemble_config, "replicates: 2", "replicates: 1")
    run(shipped)
    fresh = {path for member in opened(shipped).members() for path in ensemble_table.member_files(shipped, member)}
    assert set((shipped.ensemble_shards / "ogura").rglob("*.*")) == fresh


def test_an_edit_during_the_run_makes_nothing_of_two_configurations(layout, monkeypatch):
    start = executor._start

    def edited(*given):
        edit(layout.ensemble_config, "replicates: 2", "replicates: 1")
        start(*given)

    monkeypatch.setattr(executor, "_start", edited)
    with pytest.raises(InputError, match="the configuration or the code was edited during the run"):
        run(layout)
    assert not layout.ensembles.exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "why"),
    [
        ("config/papers/ogura.yaml", "range: [5, 20]", "range: [5, 30]", "of 9 settings drawn differently"),
        ("config/papers/ogura.yaml", "duration_s: {value: 20", "duration_s: {value: 22", "configuration changed"),
        ("config/papers/ogura.yaml", "[throughput, nru]", "[throughput]", "configuration changed"),
        ("config/ensemble.yaml", "settings: 3", "settings: 4", "1 of 10 settings missing"),
        ("config/ensemble.yaml", "replicates: 2", "replicates: 3", "configuration changed"),
        ("config/ensemble.yaml", "0.5e+6", "0.6e+6", "of 9 settings drawn differently"),
    ],
)
def test_what_was_made_from_something_else_is_stale_and_said_so(shipped, file, old, new, why):
    edit(shipped.root / file, old, new)
    ensemble = opened(shipped)
    assert any(why in reason for reason in ensemble_table.stale(shipped.ensembles, ensemble))
    (line,) = ensemble_table.stale_lines(shipped, ["ogura"])
    assert line.startswith("data/ensemble/ogura: ")
    assert why in line
    assert not all(ensemble_table.is_kept(shipped, member) for member in ensemble.members())


def test_other_code_makes_it_stale_and_a_reworded_reason_does_not(shipped, monkeypatch):
    edit(shipped.root / "config/papers/ogura.yaml", "assumed: why", "assumed: for another reason")
    assert not ensemble_table.stale_lines(shipped, ["ogura"])
    with monkeypatch.context() as patched:
        patched.setattr(code, "of_algorithms", lambda names: {"libra": "other"})
        assert ensemble_table.stale(shipped.ensembles, opened(shipped)) == ["code changed"]
        assert "same-bits --mark" in ensemble_table.stale_lines(shipped, ["ogura"])[0]


@pytest.mark.parametrize("paper", PAPERS)
def test_settings_are_drawn_as_the_shipped_ones(paper):
    """The digests of members have what a setting is drawn from, not the drawn values."""
    layout = Layout(repository_root())
    ensemble = named(layout, paper)
    shipped = pd.read_csv(layout.ensembles / f"{paper}_settings.csv", keep_default_na=False).query("hypothesis == ''")
    drawn = pd.read_csv(io.StringIO(ensemble.table.to_csv()), keep_default_na=False)
    pd.testing.assert_frame_equal(shipped[list(drawn)], drawn, check_exact=True)


def test_an_error_in_drawing_settings_is_not_taken_for_a_missing_ensemble(shipped, monkeypatch):
    """As from a SciPy that does not know an argument."""
    ensemble = opened(shipped)

    def members(self):
        raise TypeError("unexpected keyword argument 'rng'")

    monkeypatch.setattr(type(ensemble), "members", members)
    with pytest.raises(TypeError, match="rng"):
        ensemble_table.stale(shipped.ensembles, ensemble)


def test_fewer_settings_do_not_take_the_place_of_what_is_shipped(layout):
    _, said = run(layout, n_settings=1)
    assert not layout.ensembles.exists()
    assert (layout.results / "ensemble" / "ogura.parquet").is_file()
    assert "6 settings" in said[-1]
    jobs, _ = run(layout)
    assert jobs.simulated == 3


def test_a_setting_that_no_run_can_have_is_recorded_with_the_reason(layout):
    paper = layout.root / "config/papers/ogura.yaml"
    edit(paper, "assumed: headers, range: [1448, 1460]", "assumed: headers, range: [1460, 2000]")
    _, said = run(layout)
    found = ensemble_table.read(layout.ensembles, "ogura").settings
    refused = found[found["refused"] != ""]
    assert set(refused["setting"]) == set(found[found["settings.payload_bytes"] > 1500]["setting"]) != set()
    assert refused["refused"].str.contains("payload_bytes must not exceed wire_bytes").all()
    assert f"refused    ogura: {len(refused)} of 9 settings" in said
    metrics = ensemble_table.read(layout.ensembles, "ogura").metrics
    assert set(metrics["setting"]).isdisjoint(refused[refused["hypothesis"] == ""]["setting"])


def test_the_expected_time_is_that_of_earlier_jobs(layout):
    run(layout, n_settings=0)
    (said,) = (layout.results / "benchmarks/ensemble/ogura").rglob("*.json")
    pkts = json.loads(said.read_text())["simulated_pkts"]
    said.write_text(json.dumps({"simulated_pkts": pkts, "cpu_s": 2000.0}))
    said.with_suffix(".tsv").write_text("s\tcpu_time\tmax_rss\n2000.0\t1.0\t100\n")
    (work,) = ensembles.plan(layout)
    measured = [cost for cost in costs.read(layout) if cost.step == "ensemble"]
    assert [(cost.item, cost.pkts, cost.cpu_s) for cost in measured] == [("ogura", pkts, 2000.0)]
    rate = costs.expected_pkts_per_s(measured)
    left = [member for member in work.members if member.setting > 0]
    runs = {spec.key: spec for member in left for name in work.ensemble.experiments for spec in member.specs(name)}
    assert sum(item.n_runs for item in work.items) == len(runs)
    pkts = sum(expected_pkts(spec.scenario) for spec in runs.values())
    assert sum(item.expected_s for item in work.items) == pytest.approx(
        pkts / rate, rel=0.2
    )  # every setting as large as the configured one


def test_what_fails_is_said_and_the_rest_is_kept(layout, monkeypatch):
    made = ensembles.made

    def fails(member, unit, results):
        if member.name in ("0002", "slow/0000"):
            raise InputError("out of luck")
        return made(member, unit, results)

    InProcess(monkeypatch)
    monkeypatch.setattr(ensembles, "made", fails)
    with pytest.raises(
        InputError, match="are missing: ogura/both/0000, ogura/both/0002: out of luck; run it again"
    ) as said:
        ensembles.run(layout, executor.How())
    assert "24 of 42 runs" in str(said.value)
    assert ensembles.plan(layout)[0].n_todo == 5  # without the members before the one that failed


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("seed: 1", "sed: 1", "papers.ogura.s"),
        ("  ogura:", "  ogurra:", "papers.ogurra: must be one of"),
        ("{watched:", "{wached:", "left_out: experiment 'wached' is unknown; did you mean 'watched'?"),
        ("left_out: {watched: nothing is measured}", "held: {flow.iw: why}", "papers.ogura.held 'flow.iw' is unknown"),
        ("left_out: {watched:", "left_out: {self:", "left_out: self: the NRU weights of pair come from it"),
        ("[pair], where", "[pear], where", "hypotheses.slow: experiment 'pear' is unknown; did you mean 'pair'?"),
        ("protocol: [Libra]", "protocol: [Lybra]", "hypotheses.slow.where.protocol: value 'Lybra' is unknown"),
        ("where: {protocol:", "where: {protcol:", "where: grid variable of pair 'protcol' is unknown"),
        ("Libra: Reno", "Libra: Rino", "hypotheses.swapped.protocols: protocol 'Rino' is unknown"),
        ("capacity_bps: 0.5", "capacity: 0.5", "hypotheses.slow: settings.capacity: unknown"),
        ("far: 4", "far: 0", "judging.far: Input should be greater than 0"),
        ("far: 4, ", "", "judging.far: Field required"),
        ("inside: [0.025, 0.975]", "inside: [0.975, 0.025]", "inside: must be two shares, the smaller first"),
        ("accepted: 0.2", "accepted: 20", "judging.accepted: Input should be less than or equal to 1"),
        ("{protocols: [Libra]}", "{exhibits: [ogura.fig9]}", "papers.ogura.held_out: exhibit 'ogura.fig9' is unknown"),
        ("protocols: [Reno]", "protocols: [Lybra]", "papers.ogura.held_out: protocol 'Lybra' is unknown; did you mean"),
        ("hypothesis: slow", "hypothesis: slew", "papers.ogura.held_out: hypothesis 'slew' is unknown; did you mean"),
        ("{paper: kozu2014}", "{paper: kozu}", "papers.ogura: testbed of 'kozu': must be one of bhatti2008"),
        ("{paper: kozu2014}", "{paper: ogura}", "papers.ogura: testbed of 'ogura': must be one of bhatti2008"),
        ("{paper: kozu2014}", "{paper: kozu2014, rtt_ms: [40]}", "is fitted with all its numbers"),
        ("    seed: 1", "    seed: 1\n    second_reference: kozu", "papers.ogura: testbed of 'kozu'"),
        ("[slow, swapped]", "[slow, swopped]", "hypotheses.both.all_of: hypothesis 'swopped' is unknown"),
        (
            "protocols: [Libra], reason",
            "exhibits: [ogura.fig9], reason",
            "other_runs.excluded: exhibit 'ogura.fig9' is unknown",
        ),
        (
            "protocols: [Libra], reason",
            "protocols: [Lybra], reason",
            "other_runs.excluded: protocol 'Lybra' is unknown",
        ),
        ("protocols: [Libra], reason", "reason", "excluded.0: name the numbers by `exhibits:`"),
        (", reason: of other runs", "", "excluded.0.reason: Field required"),
        (
            "[watched], metrics",
            "[wached], metrics",
            "hypotheses.received: experiment 'wached' is unknown; did you mean",
        ),
        ("[watched], metrics", "[pair], settings: {capacity_bps: 1}, metrics", "list it as a separate change"),
        ("what: what was", "settings: 2\n        what: what was", "hypotheses.received.settings: it changes no run"),
        ("all_of: [slow, swapped]", "", "hypotheses.both: give either `changes:` and `excluded:`, or `all_of:`"),
    ],
)
def test_a_wrong_name_gets_one_line(layout, capsys, old, new, complaint):
    edit(layout.ensemble_config, old, new)
    assert main(["ensemble", "--dry-run"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line
    assert "ensemble.yaml" in line


def test_the_command_says_what_it_takes(layout, capsys):
    assert main(["ensemble", "--dry-run", "--settings", "1"]) == 0
    assert "2 assumptions, 6 settings of 8 runs" in capsys.readouterr().out
    assert main(["ensemble", "nosuch", "--dry-run"]) == 1
    assert "known are ogura" in capsys.readouterr().err
    assert main(["ensemble", "--settings", "-1"]) == 1
    assert "--settings -1" in capsys.readouterr().err
