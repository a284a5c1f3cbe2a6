"""`./reproduce validate`: running a simulator and shipping what it gives, comparing, the quick check, and what stands in
the way of each. The simulators are made up."""

import json
import re
import shutil

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.runs import store
from tcpfair.validation import campaign, comparison, page, shipped
from tcpfair.validation.scenarios import load
from tcpfair.workflow import executor
from tcpfair.workflow.bundles import faults
from tcpfair.workflow.cli import main
from tests.small_checkout import edit
from tests.validation.fake_simulators import Simulator, install, make_checkout
from tests.workflow.in_process import INTERRUPTED


@pytest.fixture
def layout(tmp_path, monkeypatch):
    """A checkout whose page has no figures: `test_page.py` draws them."""
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    monkeypatch.setattr(page, "_figures", lambda comparison: [])
    return make_checkout(tmp_path)


@pytest.fixture
def engine(monkeypatch):
    return Simulator("engine")


@pytest.fixture
def ns2(layout, engine, monkeypatch):
    """A checkout with results of ns-2."""
    made = Simulator("ns2")
    install(monkeypatch, engine, made)
    assert main(["validate", "--run", "ns2"]) == 0
    return made


def complaint(capsys, *arguments):
    """The one line on stderr of a command that fails with status 1."""
    assert main(["validate", *arguments]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


# --- running a simulator ----------------------------------------------------------------------------------------------


def test_results_of_a_simulator_are_shipped_with_provenance_and_checksums(layout, capsys, ns2):
    assert capsys.readouterr().out.splitlines()[:2] == [
        "ns-2      12 runs of one, two (ns2 1.0)",
        "validate   about 12 s on 1 core, in 2 jobs",
    ]
    assert len(ns2.made) == 12
    one = pd.read_csv(layout.validated / "ns2" / "one.csv")
    assert list(one) == [
        *("label", "replicate", "from_s", "until_s"),
        *("mean_cwnd", "epoch", "peak", "losses", "utilisation"),
    ]
    assert one.query("label == 'slow' and replicate == 0").to_dict("records") == [
        {
            **{"label": "slow", "replicate": 0, "from_s": 10.0, "until_s": 50.0},
            # 5 levels from 100 to 116 packets; losses every 5 s from 10 to 45 s
            **{"mean_cwnd": 108.0, "epoch": 5.0, "peak": 120.0, "losses": 8.0, "utilisation": 1.0},
        }
    ]
    curves = pd.read_parquet(layout.validated / "ns2" / "curves.parquet")
    assert curves.groupby(["experiment", "label"]).size().to_dict() == {("one", "fast"): 10, ("one", "slow"): 10}
    entry = json.loads((layout.validated / "ns2" / "provenance.json").read_text())["experiments"]["two"]
    assert (entry["tool"], entry["code"], entry["runs"]) == ("ns2 1.0", ns2.code, 6)
    assert set(entry["scenarios"]) == {"slow", "fast"}
    listed = {line.split()[1] for line in (layout.data / "SHA256SUMS").read_text().splitlines()}
    assert {"validation/ns2/one.csv", "validation/ns2/provenance.json", "validation/explanations.yaml"} <= listed
    (layout.validated / "ns2" / "one.csv").unlink()
    assert "data/validation/ns2/one.csv: missing; provenance.json lists it" in faults(layout.root)


def test_a_simulator_makes_only_its_own_runs_cut_to_its_own_time(layout, engine, monkeypatch):
    ns3 = Simulator("ns3")
    install(monkeypatch, engine, ns3)
    main(["validate", "--run", "ns3"])
    assert ns3.made == ["one/slow/0", "two/slow/0"]
    one = pd.read_csv(layout.validated / "ns3" / "one.csv")
    assert one[["label", "from_s", "until_s", "losses"]].to_numpy().tolist() == [["slow", 5, 30, 5]]


def test_experiments_can_be_chosen(layout, engine, monkeypatch, capsys):
    ns2 = Simulator("ns2")
    install(monkeypatch, engine, ns2)
    main(["validate", "--run", "ns2", "--experiments", "two"])
    assert {name.split("/")[0] for name in ns2.made} == {"two"}
    capsys.readouterr()
    assert "--experiments three: unknown to ns-2; known are one, two" in complaint(
        capsys, "--run", "ns2", "--experiments", "three"
    )


@pytest.mark.parametrize("quick", [[], ["--quick"]])
def test_a_simulator_that_is_not_installed_says_how_to_get_it(layout, engine, monkeypatch, capsys, quick):
    install(monkeypatch, engine, Simulator("ns2", missing="ns-2 is not installed: apt install ns2"))
    assert complaint(capsys, "--run", "ns2", *quick) == "error: ns-2 is not installed: apt install ns2"
    assert not (layout.validated / "ns2").exists()


def test_parts_that_fail_are_named_by_reason_and_the_next_run_makes_what_is_missing(
    layout, engine, monkeypatch, capsys
):
    broke = InputError("ns2 broke: no memory")
    install(monkeypatch, engine, Simulator("ns2", fails={"one/fast": broke, "two/fast": broke}))
    both = "whole/ns2/one/fast, whole/ns2/two/fast"
    missing = f"error: 6 of 12 runs are missing: {both}: ns2 broke: no memory; run it again to continue"
    assert complaint(capsys, "--run", "ns2") == missing
    assert not (layout.validated / "ns2").exists()
    install(monkeypatch, engine, Simulator("ns2", fails={"two/fast": broke}))
    assert "error: 3 of 6 runs are missing: whole/ns2/two/fast: ns2 broke" in complaint(capsys, "--run", "ns2")
    assert (layout.validated / "ns2" / "one.csv").is_file()
    assert not (layout.validated / "ns2" / "two.csv").exists()
    mended = Simulator("ns2")
    install(monkeypatch, engine, mended)
    assert main(["validate", "--run", "ns2"]) == 0
    assert {name.rsplit("/", 1)[0] for name in mended.made} == {"two/fast"}
    assert len(pd.read_csv(layout.validated / "ns2" / "two.csv")) == 6


def test_an_interrupted_run_ships_what_is_whole_and_the_next_one_goes_on(layout, engine, monkeypatch):
    ns2 = Simulator("ns2", fails={"two/slow": KeyboardInterrupt()}, estimate_s=0.1)  # one job
    install(monkeypatch, engine, ns2)
    assert main(["validate", "--run", "ns2"]) == INTERRUPTED
    assert (layout.validated / "ns2" / "one.csv").is_file()
    assert not (layout.validated / "ns2" / "two.csv").exists()
    before = set(ns2.made)
    again = Simulator("ns2")
    install(monkeypatch, engine, again)
    assert main(["validate", "--run", "ns2"]) == 0
    assert "two/slow/0" in again.made
    assert not before & set(again.made)


def test_nothing_runs_again_while_simulator_and_scenarios_are_the_same(layout, ns2):
    before = {path: path.read_bytes() for path in (layout.validated / "ns2").iterdir()}
    shutil.rmtree(layout.validation)  # as in a fresh checkout: what is shipped is enough
    ns2.made.clear()
    main(["validate", "--run", "ns2"])
    assert ns2.made == []
    assert {path: path.read_bytes() for path in (layout.validated / "ns2").iterdir()} == before
    ns2.code = "another"
    main(["validate", "--run", "ns2"])
    assert len(ns2.made) == 12


def test_a_changed_algorithm_runs_alone(layout, ns2):
    edit(layout.validation_config, "fast: {cc: {value: cubic,", "fast: {cc: {value: bic,")
    ns2.made.clear()
    main(["validate", "--run", "ns2", "--experiments", "one"])
    assert ns2.made == ["one/fast/0", "one/fast/1", "one/fast/2"]


# --- stale results ----------------------------------------------------------------------------------------------------


def test_results_of_other_scenarios_are_left_out_and_named(layout, ns2, capsys):
    assert faults(layout.root) == []
    edit(layout.validation_config, "duration_s: {value: 40,", "duration_s: {value: 45,")
    capsys.readouterr()
    assert main(["validate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "stale      ns-2: two, made from other scenarios; ./reproduce validate --run ns2 --experiments two" in lines
    rows = pd.read_csv(layout.validation / "agreement.csv")
    assert set(rows["experiment"]) == {"one"}
    assert faults(layout.root) == [
        "data/validation/ns2/two.csv: made from other scenarios than config/validation.yaml has"
    ]


def test_whatever_decides_a_result_makes_it_stale_and_bars_and_reasons_do_not(layout, ns2):
    path = layout.validation_config
    before = path.read_text()
    jitter = "settings:\n  jitter_s: {value: 0.001, source: x}\n  capacity"
    for old, new, stale in [
        ("window_s: {value: [10, 50],", "window_s: {value: [15, 50],", True),  # measured differently
        ("whole_epochs_share: {value: 0.5,", "whole_epochs_share: {value: 0.6,", True),
        ('ns2_runs: {value: {"*/*": 3}', 'ns2_runs: {value: {"*/*": 2}', True),
        ("settings:\n  capacity", jitter, True),
        ("bar_mean_cwnd: {value: 0.03, source: x}", "bar_mean_cwnd: {value: 0.01, source: y}", False),
    ]:
        edit(path, old, new)
        assert ("one" in shipped.read(layout, load(path), "ns2").stale) == stale, old
        path.write_text(before)


# --- comparing --------------------------------------------------------------------------------------------------------


def test_without_other_results_the_engine_runs_and_what_is_missing_is_named(layout, engine, monkeypatch, capsys):
    install(monkeypatch, engine)
    assert main(["validate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "missing    ns-2: all; ./reproduce validate --run ns2" in lines
    assert len(engine.made) == 12
    assert len(pd.read_csv(layout.validation / "agreement.csv")) == 0


def test_nothing_is_done_while_nothing_has_changed(layout, engine, monkeypatch, capsys):
    install(monkeypatch, engine)
    main(["validate"])
    first = capsys.readouterr().out.splitlines()
    monkeypatch.setattr(executor, "_start", None)
    assert main(["validate"]) == 0
    assert capsys.readouterr().out.splitlines() == first[2:]  # without the runs of the engine
    assert first[-1].startswith("open       ")


def edited_cubic(runs, real=store.code_behind):
    return {name: f"{digest}*" if name == "cubic" else digest for name, digest in real(runs).items()}


@pytest.mark.parametrize(
    ("module", "name", "edited", "again"),
    [
        (store, "code_behind", edited_cubic, {"one/fast", "two/fast"}),
        (campaign, "measuring_code", lambda: "another", {"one/fast", "one/slow", "two/fast", "two/slow"}),
    ],
)
def test_an_edit_of_code_runs_again_what_it_makes(layout, engine, monkeypatch, module, name, edited, again):
    install(monkeypatch, engine)
    main(["validate"])
    engine.made.clear()
    monkeypatch.setattr(module, name, edited)
    main(["validate"])
    assert {part.rsplit("/", 1)[0] for part in engine.made} == again


def test_what_the_page_alone_is_made_from_runs_nothing_again(layout, engine, monkeypatch):
    install(monkeypatch, engine, Simulator("ns2", gain=1.02))
    main(["validate", "--run", "ns2"])
    main(["validate"])
    engine.made.clear()
    report, explanations = layout.validation / "report.html", layout.validated / "explanations.yaml"
    made_from = re.compile('name="made-from" content="(.*)"')
    bars = ("bar_mean_cwnd: {value: 0.03,", "bar_mean_cwnd: {value: 0.01,")
    for what, change in {
        "explanations": lambda: explanations.write_text("ns2: {mean_cwnd/*/one: larger}\nns3: {}\n"),
        "bars": lambda: edit(layout.validation_config, *bars),
        "code": lambda: monkeypatch.setattr(comparison, "CODE", comparison.CODE[:1]),
        "lost table": (layout.validation / "two.csv").unlink,
        "lost rows": lambda: (layout.validation / "two.csv").write_text("label\n"),
        "lost digest": lambda: report.write_text(made_from.sub("", report.read_text())),
    }.items():
        before = (report.stat().st_mtime_ns, report.read_text())
        digest = made_from.search(before[1])[1]
        change()
        assert main(["validate"]) == 0
        assert engine.made == []
        assert report.stat().st_mtime_ns > before[0], what
        after = report.read_text()
        assert (digest in after) == what.startswith("lost"), what
        assert (made_from.sub("", after) == made_from.sub("", before[1])) == (what != "bars"), what
        assert (layout.validation / "two.csv").is_file()


def test_an_interrupted_experiment_of_the_engine_goes_on_where_it_was(layout, monkeypatch):
    install(monkeypatch, Simulator("engine", fails={"one/fast": KeyboardInterrupt()}))
    assert main(["validate"]) == INTERRUPTED
    again = Simulator("engine")
    install(monkeypatch, again)
    assert main(["validate"]) == 0
    assert {name.rsplit("/", 1)[0] for name in again.made} == {"one/fast", "two/slow", "two/fast"}
    assert not list(layout.validation.rglob(".*.new*"))


def test_a_failure_of_the_engine_is_named_and_no_page_is_written(layout, monkeypatch, capsys):
    install(monkeypatch, Simulator("engine", fails={"one/fast": InputError("no such buffer")}))
    assert "3 of 12 runs are missing: whole/engine/one/fast: no such buffer" in complaint(capsys)
    assert not (layout.validation / "report.html").exists()


def test_an_edit_during_the_run_makes_nothing_of_two_configurations(layout, engine, monkeypatch, capsys):
    install(monkeypatch, engine)
    start = executor._start

    def edited(*given):
        edit(layout.validation_config, "duration_s: {value: 40,", "duration_s: {value: 45,")
        start(*given)

    monkeypatch.setattr(executor, "_start", edited)
    assert "whole/engine/two/slow, whole/engine/two/fast: the configuration or the code was edited" in complaint(capsys)
    assert not (layout.validation / "report.html").exists()


# --- the quick check --------------------------------------------------------------------------------------------------


def test_the_quick_check_runs_little_and_keeps_nothing(layout, engine, monkeypatch, capsys):
    ns2 = Simulator("ns2", gain=1.1)
    install(monkeypatch, engine, ns2)
    assert main(["validate", "--run", "ns2", "--quick"]) == 0
    assert ns2.made == engine.made == ["one/slow/0", "two/slow/0"]
    assert capsys.readouterr().out.splitlines()[-1] == "roughly right"
    assert not (layout.validated / "ns2").exists()
    assert list(layout.validation.rglob("*.parquet")) == []


def test_the_quick_check_fails_when_far_off(layout, engine, monkeypatch, capsys):
    install(monkeypatch, engine, Simulator("ns2", gain=2.0))
    assert main(["validate", "--run", "ns2", "--quick"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "far off    mean_cwnd/slow/one: 216, the engine 108"


@pytest.mark.parametrize("option", [["--quick"], ["--yes"], ["--experiments", "one"]])
def test_options_of_a_run_need_one(layout, capsys, option):
    assert f"{option[0]}: requires --run" in complaint(capsys, *option)


def test_an_unknown_explanation_is_found_before_anything_runs(layout, engine, monkeypatch, capsys):
    install(monkeypatch, engine)
    (layout.validated / "explanations.yaml").write_text("ns2: {share/slow/one: x}\n")
    assert "explanations.yaml: ns2: 'share/slow/one' fits no row" in complaint(capsys)
    assert engine.made == []
