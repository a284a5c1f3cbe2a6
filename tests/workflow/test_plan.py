"""What a configuration asks for, from what its outputs are made, and what is discarded before a run."""

import ast
import itertools
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata

import pytest

from tcpfair.contract import checksums, code, reach, record, store
from tcpfair.contract.stamps import stamp_path, write_stamp
from tcpfair.errors import InputError
from tcpfair.workflow import plan as plans
from tcpfair.workflow.plan import cells, find_exhibit, load_values
from tests.small_checkout import edit, make_checkout, make_plan, make_trace


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path)


def finish(plan):
    """Leave traces, outputs, figures and stamps as a finished run does."""
    if not plan.config.smoke:
        for _, experiment in plan.experiments:
            if plan.traces["ogura", experiment] is None:
                make_trace(plan, experiment)
                plan.trace_mark("ogura", experiment).write_text("{}\n")
    for output in plan.outputs:
        output.parent.mkdir(parents=True, exist_ok=True)
        if not output.exists():
            output.write_text("done")
    for _, exhibit in plan.exhibits:
        draw(plan, exhibit)
    for step in plan.steps:
        write_stamp(step.output, step.stamp)


def draw(plan, exhibit, status="built"):
    """Write an exhibit's files and its record."""
    files = {}
    for path in record.figure_files(plan.layout, exhibit):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"drawn {path.suffix}")
        files[path.relative_to(plan.root).as_posix()] = record.file_hash(path)
    error = "" if status == "built" else "why"
    record.write(plan.layout, record.Record(exhibit.id, status, files if status == "built" else {}, 1, "engine", error))


def todo(plan):
    """{step: reasons} of the steps that are to be taken, ``simulate`` for traces that have to be made."""
    found = {f"{step.kind} {step.item}".strip(): reasons for step, reasons in plan.stale}
    simulated = {f"simulate {'/'.join(pair)}": ["missing"] for pair in plan.lacking} if not plan.is_raw else {}
    return simulated | found


def test_everything_is_asked_for_unless_only_names_exhibits(root):
    assert make_plan(root).experiments == [("ogura", "self"), ("ogura", "pair"), ("ogura", "watched")]
    assert make_plan(root).measured == [("ogura", "self"), ("ogura", "pair")]
    assert make_plan(root).notebooks == ["ogura"]
    assert make_plan(root, only=["ogura.fig08"]).experiments == [("ogura", "self"), ("ogura", "pair")]
    assert make_plan(root, only=["ogura.table1"]).experiments == []
    assert make_plan(root, papers=["ha2006"]).experiments == []


def test_the_write_up_speaks_of_all_papers_or_is_not_made(root):
    (root / "notebooks/what_reproduces.ipynb").write_text((root / "notebooks/ogura.ipynb").read_text())
    assert make_plan(root).write_up.name == "what_reproduces.ipynb"
    for part in ({"papers": ["ogura"]}, {"only": ["ogura.fig8"]}, {"smoke": True}, {"source": "raw"}):
        assert make_plan(root, **part).write_up is None


def test_the_report_waits_for_the_pages_that_it_links_to_and_is_made_again_when_they_appear(root):
    (root / "notebooks/what_reproduces.ipynb").write_text((root / "notebooks/ogura.ipynb").read_text())
    plan = make_plan(root)
    assert plan.beside_made == [plan.layout.lab, plan.layout.write_up]
    part_of_it = make_plan(root, only=["ogura.fig8"])
    assert part_of_it.beside_made == []
    without = part_of_it.report_stamp()
    plan.layout.lab.parent.mkdir(parents=True, exist_ok=True)
    plan.layout.lab.write_text("the lab")
    assert part_of_it.report_stamp() != without


@pytest.mark.parametrize("spelling", ["ogura.fig8", "ogura.fig08", "ogura.figure8", "Ogura.Fig8"])
def test_an_exhibit_is_found_however_its_number_is_written(root, spelling):
    assert find_exhibit(make_plan(root).papers, spelling)[1].id == "ogura.fig8"


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("ogura.fig80", "ogura.fig8"),
        ("ogura.tabel1", "ogura.table1"),
        ("ogra.fig8", "ogura"),
        ("fig8", "ogura"),
        ("x", "ogura"),
    ],
)
def test_an_unknown_exhibit_is_refused_with_what_was_meant_and_the_known_ones(root, spelling, meant):
    with pytest.raises(InputError, match=r"is unknown; .*known are .*ogura") as error:
        find_exhibit(make_plan(root).papers, spelling)
    assert meant in str(error.value)


def test_a_source_that_is_not_built_is_refused(root):
    with pytest.raises(InputError, match="source: .*'bundled', 'engine' or 'raw'"):
        make_plan(root, source="ns2")


@pytest.mark.parametrize(("text", "overrides"), [("sorce: engine\n", {}), ("source: engine\n", {"sorce": "engine"})])
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(tmp_path, text, overrides):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match="'sorce' is unknown; did you mean 'source'. known are source, papers"):
        load_values(path, overrides)


# --- Sources ------------------------------------------------------------------------------------------------------


def test_bundled_by_default_simulates_what_is_missing_and_by_hand_refuses(root, tmp_path):
    path = root / "config/config.yaml"
    path.write_text("source: bundled\n")
    assert load_values(path, {}) == {"source": "bundled"}
    values = load_values(path, {"source": "bundled"})
    assert values["missing"] == "refuse"
    assert load_values(path, {"source": "engine"}) == {"source": "engine"}
    make_plan(root, source="bundled").refuse_what_is_missing()
    with pytest.raises(InputError, match=r"source bundled: not held: ogura/self \(1 runs\), ogura/pair \(4 runs\)"):
        make_plan(root, **values).refuse_what_is_missing()


def test_the_refusal_says_which_value_makes_the_difference(root):
    for experiment in ("self", "pair", "watched"):
        shipped = root / f"data/bundled/ogura/{experiment}"
        shipped.parent.mkdir(parents=True, exist_ok=True)
        make_trace(make_plan(root), experiment).rename(shipped)
    make_plan(root, source="bundled", missing="refuse").refuse_what_is_missing()
    edit(root / "config/papers/ogura.yaml", "buffer_pkts: {value: 10,", "buffer_pkts: {value: 20,")
    with pytest.raises(InputError, match=r"settings.buffer_pkts 10 -> 20.* ./reproduce simulates what is missing"):
        make_plan(root, source="bundled", missing="refuse").refuse_what_is_missing()


def test_missing_runs_are_simulated_in_as_many_parts_as_there_are_runs_at_most(root, monkeypatch):
    monkeypatch.setattr("tcpfair.workflow.plan.PART_PKTS", 1)
    plan = make_plan(root, shards=3)
    assert plan.parts("ogura", "pair") == ["1-of-3", "2-of-3", "3-of-3"]
    assert plan.parts("ogura", "self") == ["1-of-1"]
    make_trace(plan, "self")
    assert make_plan(root, shards=3).parts("ogura", "self") == []


def test_no_part_is_too_small_to_be_worth_a_process(root, monkeypatch):
    pkts = sum(run.pkts for run in make_plan(root).asked["ogura", "pair"])
    for size, n_parts in ((pkts * 3, 1), (pkts / 1.4, 1), (pkts / 2.2, 2), (pkts / 9, 3)):
        monkeypatch.setattr("tcpfair.workflow.plan.PART_PKTS", size)
        assert len(make_plan(root, shards=3).parts("ogura", "pair")) == n_parts, size


def test_small_experiments_share_a_job_of_a_cluster_whatever_is_there_already(root, monkeypatch):
    pkts = sum(run.pkts for run in make_plan(root).asked["ogura", "pair"])
    assert make_plan(root).batch("ogura", "pair") == "small"
    monkeypatch.setattr("tcpfair.workflow.plan.PART_PKTS", pkts / 1.6)
    plan = make_plan(root)
    assert (plan.batch("ogura", "self"), plan.batch("ogura", "pair")) == ("small", None)
    make_trace(plan, "pair")
    assert make_plan(root).batch("ogura", "pair") is None


def test_what_hangs_together_in_a_group_is_a_chain(root):
    plan = make_plan(root)
    assert [plan.gathering("ogura", name) for name in ("self", "pair")] == ["measure", "weigh"]


def test_a_cluster_is_asked_for_the_time_of_one_part(root, monkeypatch):
    pkts = sum(run.pkts for run in make_plan(root).asked["ogura", "pair"])
    monkeypatch.setattr("tcpfair.workflow.plan.PART_PKTS", pkts / 4)
    monkeypatch.setattr("tcpfair.workflow.plan.PLANNED_PKTS_PER_S", pkts / 3600)  # an hour in all
    minutes = [make_plan(root, shards=shards).minutes("ogura", "pair") for shards in (1, 2, 4, 8)]
    assert minutes == [240, 120, 60, 60]  # four times what is expected


def test_source_raw_runs_the_notebook_of_recordings_alone(root):
    (root / "config/raw.yaml").write_text("{}")
    (root / "notebooks/raw.ipynb").write_text((root / "notebooks/ogura.ipynb").read_text())
    recording = root / "data/raw/mine/iperf.json"
    recording.parent.mkdir(parents=True)
    recording.write_text("{}")
    plan = make_plan(root, source="raw", trace="data/raw/mine")
    (step,) = plan.steps
    assert (step.kind, step.item, plan.experiments, plan.papers) == ("notebook", "raw", [], {})
    assert plan.opened == root / "results/raw/mine/notebooks/raw.html"
    recording.write_text('{"end": 60}')
    other = make_plan(root, source="raw", trace="data/raw/mine").steps[0].stamp
    assert {name for name in other if other[name] != step.stamp[name]} == {"recordings"}


@pytest.mark.parametrize(("only", "right"), [("jfii", "jfi"), ("mine.jfii", "jfi"), ("goodputt", "goodput")])
def test_only_is_checked_for_recordings_too(root, only, right):
    with pytest.raises(InputError, match=f"is unknown; did you mean '{right}'"):
        make_plan(root, source="raw", only=[only])


def test_a_trace_beside_a_paper_that_has_no_such_figure_is_refused(root):
    with pytest.raises(InputError, match="beside the figures of a paper: papers=bhatti2009 or papers=kozu2014"):
        make_plan(root, trace="data/raw/mine")


def test_a_notebook_with_a_recording_is_old_when_settings_of_recordings_change(root):
    settings = root / "config/raw.yaml"
    text = settings.read_text().replace("paper: bhatti2009", "paper: ogura")
    settings.write_text(text)
    (root / "data/raw").mkdir(parents=True)
    (root / "data/raw/mine.json").write_text("{}")
    before = make_plan(root, papers=["ogura"], trace="data/raw/mine.json").notebook_stamp("ogura")
    settings.write_text(text.replace("skip_s: {value: 5", "skip_s: {value: 6"))
    after = make_plan(root, papers=["ogura"], trace="data/raw/mine.json").notebook_stamp("ogura")
    assert {name for name in after if after[name] != before.get(name)} == {"configuration"}


def test_a_trace_that_is_not_there_is_refused(root):
    with pytest.raises(InputError, match="trace: data/raw/mine: no such file or folder"):
        make_plan(root, source="raw", trace="data/raw/mine")


def test_the_longest_parts_go_first_and_a_finished_trace_before_them_all(root, monkeypatch):
    plan = make_plan(root, shards=4)
    pkts = {"self": 2 * plans.PART_PKTS, "pair": 40 * plans.PART_PKTS, "watched": 0.1 * plans.PART_PKTS}
    monkeypatch.setattr(plans.Plan, "_asked_pkts", lambda self, paper, experiment: pkts[experiment])
    ordered = sorted(pkts, key=lambda experiment: plan.priority("ogura", experiment), reverse=True)
    assert ordered == ["pair", "self", "watched"]
    assert plan.priority("ogura", "pair") == 10 * plan.priority("ogura", "self")  # 10 parts' worth in each of 4
    assert plan.priority("ogura", "pair") < plan.AT_ONCE


# --- What is stale ------------------------------------------------------------------------------------------------


def test_nothing_is_to_do_when_nothing_changed(root):
    finish(make_plan(root))
    plan = make_plan(root)
    assert todo(plan) == {}
    assert plan.is_up_to_date()
    plan.discard_stale()
    assert make_plan(root).is_up_to_date()


ALL = {"measure", "draw", "notebook", "place", "ledger", "report", "lab"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "source: sec. 3}\n  sample",
            "source: section 3}\n  sample",
            {"place", "ledger", "report", "lab"},
            id="another section",
        ),
        pytest.param("assumed: headers", "assumed: why", {"place", "ledger", "report", "lab"}, id="another reason"),
        pytest.param(
            "runs: {value: 2,", "runs: {value: 3,", {"simulate ogura/pair", *ALL}, id="runs of one experiment"
        ),
        pytest.param("[10, 20]", "[5, 20]", ALL, id="window"),
        pytest.param("title: shares", "title: parts", ALL - {"measure"}, id="a title"),
        pytest.param(
            "what: no metrics are taken",
            "what: nothing",
            {"place", "ledger", "report", "lab"},
            id="another description",
        ),
    ],
)
def test_an_edit_reaches_the_steps_that_use_it(root, old, new, expected):
    finish(make_plan(root))
    edit(root / "config/papers/ogura.yaml", old, new)
    found = todo(make_plan(root))
    named = {name if name.startswith("simulate") else name.split()[0] for name in found}
    assert named == expected
    if "measure" in named:
        assert "measure ogura/self" not in found


def test_analysis_is_measured_and_drawn_again_and_not_simulated(root):
    finish(make_plan(root))
    edit(root / "config/papers/ogura.yaml", "value: -10", "value: -20")
    found = todo(make_plan(root))
    assert found["measure ogura/self"] == ["configuration"]
    assert set(found["measure ogura/pair"]) == {"configuration", "weights"}
    assert not any(name.startswith("simulate") for name in found)


def test_the_reason_of_a_step_is_named(root):
    finish(make_plan(root))
    edit(root / "config/papers/ogura.yaml", "[10, 20]", "[5, 20]")
    found = todo(make_plan(root))
    assert found["measure ogura/pair"] == ["configuration"]
    assert set(found["draw ogura.fig8"]) == {"metrics", "configuration"}
    assert found["notebook ogura"] == ["exhibits"]


def test_the_weights_of_an_experiment_are_among_its_inputs(root):
    finish(make_plan(root))
    edit(root / "config/papers/ogura.yaml", "measures: [throughput]\n", "measures: [throughput, peak]\n")
    assert todo(make_plan(root))["measure ogura/pair"] == ["weights"]


DRAWN = {"draw", "notebook", "ledger", "report"}


def edit_code(monkeypatch, name):
    """Have one source of the package act otherwise, as far as steps are concerned."""
    real = reach._parts

    def parts(digests, found):
        is_edited = code.PACKAGE / name in found.files
        return real([*digests, name] if is_edited else digests, found)

    assert (code.PACKAGE / name).is_file()
    monkeypatch.setattr(reach, "_parts", parts)
    forget(monkeypatch)


def forget(monkeypatch):
    """Have what is kept of code and libraries looked up anew, now and after the test."""
    for name in ("_of_step", "_of_modules", "_versions", "_installed"):
        monkeypatch.setattr(reach, name, cache(getattr(reach, name).__wrapped__))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("metrics/fairness.py", ALL),
        ("measures/runs.py", ALL),
        ("contract/stamps.py", ALL),
        ("models/cubic.py", {*DRAWN, "place"}),
        ("exhibits/style.py", DRAWN),
        ("exhibits/notebook_html.py", {"notebook"}),
        ("verdicts/ledger.py", {"ledger", "report"}),
        ("verdicts/claims/ogura.py", {"place", "ledger", "report"}),
        ("verdicts/cell_links.py", {"notebook", "report"}),
        ("verdicts/report/chain.py", {"report"}),
        ("verdicts/templates/report/page.html.j2", {"report"}),
        ("web/page.py", {"lab"}),
        ("web/static/lab.js", {"lab"}),
        ("web/tours.yaml", {"lab"}),
        ("engine/loop.py", set()),  # counts with the runs, and with `place`, see below
        ("workflow/run.py", set()),
        ("validation/page.py", set()),
    ],
)
def test_an_edit_of_code_reaches_the_steps_that_run_it(root, monkeypatch, name, expected):
    finish(make_plan(root))
    edit_code(monkeypatch, name)
    assert {name.split()[0] for name in todo(make_plan(root))} == expected


@pytest.mark.xfail(
    strict=True, reason="exhibits have one digest of code for all; it needs units of a kind and its readers"
)
@pytest.mark.parametrize("name", ["sources/readers/plain.py", "exhibits/kinds/windows.py"])
def test_an_edit_of_one_reader_or_kind_leaves_other_exhibits_alone(root, monkeypatch, name):
    finish(make_plan(root))
    edit_code(monkeypatch, name)
    assert "draw ogura.fig8" not in todo(make_plan(root))


def test_ensembles_are_placed_anew_when_the_simulator_changes(root, monkeypatch):
    """An ensemble of another simulator than today's is left out."""
    finish(make_plan(root))
    real = code.of_algorithms
    runs_of = {names: real(names) for names in ((), ("libra",), ("newreno",))}
    monkeypatch.setattr(store, "_code_now", runs_of.__getitem__)
    monkeypatch.setattr(code, "of_algorithms", lambda names: {**real(names), code.SIMULATOR: "another"})
    found = todo(make_plan(root))
    assert found["place"] == ["simulator"]
    assert {name.split()[0] for name in found} == {"place", "ledger", "report"}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("measure", {"measure ogura/self", "measure ogura/pair"}),
        ("notebook", {"notebook ogura"}),
        ("_leading_back", {"notebook ogura"}),
        ("ledger", {"ledger", "report"}),
        ("report", {"report"}),
        ("simulate", set()),
    ],
)
def test_an_edit_of_a_step_reaches_its_own_outputs(root, monkeypatch, tmp_path, function, expected):
    finish(make_plan(root))
    text = reach.STEPS.read_text()
    head = re.search(rf"^def {function}\(.*?\) -> .*?:\n", text, re.M | re.S)[0]
    edited = tmp_path / "steps.py"
    edited.write_text(text.replace(head, f"{head}    edited = 1\n"))
    real = reach._used
    monkeypatch.setattr(reach, "function_facts", lambda module, name: reach._facts(real(edited, name), module))
    forget(monkeypatch)
    found = set(todo(make_plan(root)))
    if function == "measure":  # and what is made from metrics
        assert expected < found
        found &= {name for name in found if name.startswith("measure")}
    assert found == expected


# --- Libraries ----------------------------------------------------------------------------------------------------


def swap(monkeypatch, folder, name, number="0.0.1"):
    """Have another version of a library installed, as far as its metadata tell."""
    installed = metadata.distribution(name)
    place = folder / f"{name.replace('-', '_')}-{number}.dist-info"
    place.mkdir(parents=True)
    text = installed.read_text("METADATA")
    (place / "METADATA").write_text(re.sub(r"^Version: .*$", f"Version: {number}", text, count=1, flags=re.M))
    monkeypatch.syspath_prepend(folder)
    forget(monkeypatch)


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("numpy", ALL),
        ("pandas", ALL),
        ("scipy", ALL),
        ("pyarrow", ALL),
        ("pydantic", ALL),
        ("pydantic-core", ALL),  # pydantic's own
        ("pyyaml", ALL),
        ("matplotlib", DRAWN),
        ("seaborn", DRAWN),
        ("pillow", DRAWN),  # matplotlib writes PNG with it
        ("scikit-learn", {"place", "ledger", "report"}),
        ("jinja2", {"notebook", "report"}),
        ("nbconvert", {"notebook"}),
        ("papermill", {"notebook"}),
        ("latex2mathml", {"notebook", "report", "lab"}),
        ("numba", {"lab"}),  # a run has the same bits with every version; the page has what llvmlite compiled
        ("llvmlite", {"lab"}),
        ("snakemake", set()),
        ("rocrate", set()),
        ("jupyterlab", set()),
        ("pytest", set()),
    ],
)
def test_another_version_of_a_library_makes_stale_what_uses_it_and_no_more(
    root, monkeypatch, tmp_path_factory, library, expected
):
    finish(make_plan(root))
    swap(monkeypatch, tmp_path_factory.mktemp("site"), library)
    found = todo(make_plan(root))
    assert {name.split()[0] for name in found} == expected  # and no simulation
    direct = {"measure ogura/self", "draw ogura.fig8", "place", "lab"} & set(found)
    assert all("libraries" in found[name] for name in direct)


def test_the_locked_versions_again_make_fresh_again(root, monkeypatch, tmp_path_factory):
    finish(make_plan(root))
    with monkeypatch.context() as other:
        swap(other, tmp_path_factory.mktemp("site"), "matplotlib")
        finish(make_plan(root))
        assert make_plan(root).is_up_to_date()
    forget(monkeypatch)
    assert todo(make_plan(root))["draw ogura.fig8"] == ["libraries"]


def test_metrics_of_another_version_are_shown_but_measured_again(root, monkeypatch, tmp_path_factory):
    """A notebook may run in another environment than the workflow."""
    plan = make_plan(root)
    finish(plan)
    swap(monkeypatch, tmp_path_factory.mktemp("site"), "scipy")
    assert todo(make_plan(root))["measure ogura/pair"] == ["libraries"]
    assert store.Held(plan.layout, plan.papers["ogura"]).metrics("pair") == plan.layout.metrics("ogura", "pair")


# --- Inputs that are files ----------------------------------------------------------------------------------------


def test_a_definition_table_is_drawn_again_when_an_equation_names_another_function(root):
    edit(
        root / "config/papers/ogura.yaml",
        "kind: table, title: parameters}",
        "kind: table, title: p, draw: definition_table}",
    )
    equations = root / "data/equations.yaml"
    equations.write_text("- {id: ogura.eq1, function: a}\n")
    finish(make_plan(root))
    edit(equations, "function: a", "function: b")
    found = todo(make_plan(root))
    assert found["draw ogura.table1"] == ["print"]
    assert "draw ogura.fig8" not in found


def test_every_file_of_data_that_a_kind_names_is_among_those_that_it_reads():
    """``layout.data / "equations.yaml"`` in the function of a kind."""
    named = set()
    for path in (code.PACKAGE / "exhibits/kinds").glob("*.py"):
        for function in (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)):
            found = re.findall(r"layout\.data / '([^']+)'", ast.unparse(function))
            named |= {(function.name, name) for name in found}
    assert named == {(kind, name) for kind, names in plans.READ_BY_KIND.items() for name in names}


def test_a_checksum_that_was_accepted_reaches_the_report(root):
    """The report names files that differ from their checksums."""
    printed = root / "data/published/ogura.csv"
    (root / "data/SHA256SUMS").write_text(f"{'0' * 64}  published/ogura.csv\n")
    finish(make_plan(root))
    (root / "data/SHA256SUMS").write_text(f"{record.file_hash(printed)}  published/ogura.csv\n")
    assert todo(make_plan(root)) == {"report": ["checksums"]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"cell_type": "code"', '"id": "other", "cell_type": "code"'),
        ('"cell_type": "code"', '"metadata": {"tags": ["derivation"]}, "cell_type": "code"'),
    ],
    ids=["id", "tag"],
)
def test_ids_and_tags_of_cells_count(root, old, new):
    """Links lead to ids; tags let a cell fail."""
    finish(make_plan(root))
    edit(root / "notebooks/ogura.ipynb", old, new)
    assert todo(make_plan(root))["notebook ogura"] == ["cells"]


def test_the_report_leads_to_cells_by_their_ids(root):
    notebook = root / "notebooks/ogura.ipynb"
    edit(notebook, '"1 + 1"', '"show(\\"fig8\\")"')
    finish(make_plan(root))
    edit(notebook, '"cell_type": "code"', '"id": "other", "cell_type": "code"')
    assert set(todo(make_plan(root))) == {"notebook ogura", "report"}


@pytest.mark.parametrize("name", [".ogura.csv.swp", "ogura.csv~", "#ogura.csv#", ".#ogura.csv"])
def test_what_an_editor_keeps_beside_a_file_is_no_input(root, name):
    (root / "data/SHA256SUMS").write_text("")
    finish(make_plan(root))
    (root / "data/published" / name).write_text("half an edit")
    plan = make_plan(root)
    assert todo(plan) == {}
    assert name not in {path.name for path in plan.compared}
    assert not any(name in line for line in checksums.altered(root / "data"))


# --- Accepting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "old", "new", "why"),
    [
        ("config/papers/ogura.yaml", "[10, 20]", "[5, 20]", r"ledger: exhibits, metrics, ensembles, configuration"),
        ("data/published/ogura.csv", "exhibit,key", "exhibit,key,value", "ledger: exhibits, ensembles, print"),
    ],
)
def test_a_stale_ledger_is_not_accepted(root, path, old, new, why):
    finish(make_plan(root))
    make_plan(root).refuse_stale_ledger("accept")
    edit(root / path, old, new)
    with pytest.raises(
        InputError, match=r"^accept: results/engine/ledger: stale \(ledger: .*\); run ./reproduce first"
    ) as told:
        make_plan(root).refuse_stale_ledger("accept")
    assert set(re.search(r"stale \(ledger: (.*?)\)", str(told.value))[1].split(", ")) == set(why[8:].split(", "))
    assert "\n" not in str(told.value)


def test_accepting_again_and_what_a_ledger_does_not_need_are_no_reason_to_refuse(root):
    plan = make_plan(root)
    finish(plan)
    (root / "data/expected").mkdir()
    (root / "data/expected/verdicts.csv").write_text("id,verdict\n")
    assert todo(make_plan(root))["ledger"] == ["baseline"]
    plan.report.unlink()
    plan.layout.lab.unlink()
    make_plan(root).refuse_stale_ledger("accept")


def test_missing_runs_are_a_reason_to_refuse(root):
    finish(make_plan(root))
    shutil.rmtree(make_plan(root).layout.simulated("ogura", "watched"))
    with pytest.raises(InputError, match=r"accept: .*stale \(traces: missing\)"):
        make_plan(root).refuse_stale_ledger("accept")


def test_a_result_of_another_print_is_compared_again(root):
    finish(make_plan(root))
    (root / "data/published/ogura.csv").write_text("exhibit,key\nogura.fig8,x\n")
    found = todo(make_plan(root))
    assert set(found["ledger"]) == {"exhibits", "ensembles", "print"}
    assert set(found["place"]) == {"print"}
    assert found["draw ogura.fig8"] == ["print"]
    assert "measure ogura/pair" not in found


def test_a_figure_that_is_gone_failed_or_another_is_drawn_again_and_no_other(root):
    for spoil in ("gone", "failed", "other"):
        plan = make_plan(root)
        finish(plan)
        (_, exhibit), *_ = plan.exhibits
        if spoil == "failed":
            draw(plan, exhibit, "failed")
        elif spoil == "gone":
            record.figure_files(plan.layout, exhibit)[1].unlink()
        else:
            record.figure_files(plan.layout, exhibit)[1].write_text("scribbled")
        again = make_plan(root)
        assert [exhibit.id for exhibit in again.drawn_of("ogura")] == ["ogura.fig8"], spoil
        again.discard_stale()
        assert not plan.notebook("ogura").exists()
        assert plan.layout.metrics("ogura", "pair").exists()


def test_a_record_that_is_no_record_is_drawn_again(root):
    plan = make_plan(root)
    finish(plan)
    (_, exhibit), *_ = plan.exhibits
    plan.record(exhibit).write_text('{"exhibit": "ogu')
    assert todo(make_plan(root))["draw ogura.fig8"] == ["missing"]


def test_an_output_without_a_stamp_is_made_again(root):
    plan = make_plan(root)
    finish(plan)
    stamp_path(plan.layout.metrics("ogura", "self")).unlink()
    plan = make_plan(root)
    assert todo(plan) == {"measure ogura/self": ["missing"]}
    plan.discard_stale()
    assert not plan.layout.metrics("ogura", "self").exists()


def test_one_kind_of_steps_alone_discards_no_other(root):
    plan = make_plan(root)
    finish(plan)
    edit(root / "config/papers/ogura.yaml", "[10, 20]", "[5, 20]")
    plan = make_plan(root)
    plan.discard_stale(("measure",))
    assert not plan.layout.metrics("ogura", "pair").exists()
    assert plan.notebook("ogura").exists()


def test_touched_files_and_a_moved_checkout_are_as_fresh_as_before(root, tmp_path_factory):
    finish(make_plan(root))
    for number, path in enumerate(sorted(root.rglob("*"))):
        os.utime(path, (2e9 - number, 2e9 - number))  # in the future, later files earlier
    assert make_plan(root).is_up_to_date()
    moved = tmp_path_factory.mktemp("moved") / "with a space"
    shutil.move(root, moved)
    assert make_plan(moved).is_up_to_date()


def test_saving_outputs_in_a_notebook_is_no_change_and_editing_a_cell_is(root):
    finish(make_plan(root))
    notebook = root / "notebooks/ogura.ipynb"
    edit(notebook, '"outputs": []', '"outputs": [{"output_type": "stream", "name": "stdout", "text": ["2"]}]')
    edit(notebook, '"execution_count": null', '"execution_count": 7')
    assert todo(make_plan(root)) == {}
    edit(notebook, "1 + 1", "1 + 2")
    assert todo(make_plan(root))["notebook ogura"] == ["cells"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}'])
def test_what_is_no_notebook_gets_one_line(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a.ipynb: not a notebook; it must be"):
        cells(path)


def test_parts_of_an_interrupted_simulation_stay_while_they_are_asked_for(root):
    from tcpfair import sources

    plan = make_plan(root)
    config, specs = plan.papers["ogura"], plan.specs("ogura", "pair")
    for spec in (specs[0], specs[-1]):
        sources.simulate_missing(plan.layout, config, "pair", [spec])
    place = plan.layout.finished_runs("ogura", "pair")
    (place / "1-of-2.json").write_text("{}")
    edit(root / "config/papers/ogura.yaml", "value: [Reno, Libra]", "value: [Libra]")
    plan = make_plan(root)
    plan.discard_stale()
    assert [path.name for path in place.iterdir()] == [specs[-1].key]


def test_what_was_half_written_is_removed_wherever_a_build_writes(root):
    results, figures = root / "results/engine", root / "figures/engine"
    left = [
        results / ".report-x.new.html",
        results / "notebooks/.ogura-x.new.ipynb",
        figures / "ogura/.fig08-x.new.svg",
    ]
    left += [results / "metrics/ogura/.pair-x.new.parquet", results / "traces/ogura/.pair-x.new/samples.parquet"]
    kept = [
        results / "studies/mine/.table-x.new.parquet",
        results / "notebooks/ogura.ipynb",
        figures / "ogura/fig08.svg",
    ]
    for path in (*left, *kept):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    make_plan(root)._discard_scratch()
    assert [path for path in left if path.exists()] == []
    assert not (results / "traces/ogura/.pair-x.new").exists()
    assert [path for path in kept if not path.exists()] == []


def test_so_do_the_journals_of_killed_ones(root):
    from tcpfair import sources
    from tcpfair.contract import finished

    plan = make_plan(root)
    config, specs = plan.papers["ogura"], plan.specs("ogura", "pair")
    place = plan.layout.finished_runs("ogura", "pair")
    for spec in (specs[0], specs[-1]):
        made = sources.simulate(config, "pair", specs=[spec])
        with finished.opened(place, {**made.provenance, "backend": "engine"}) as kept:
            kept.add(spec.key, made)
    (place / "torn.jsonl").write_bytes(b"0000")
    edit(root / "config/papers/ogura.yaml", "value: [Reno, Libra]", "value: [Libra]")
    plan = make_plan(root)
    assert len(plan.lacking["ogura", "pair"]) == 1
    plan.discard_stale()
    (left,) = place.iterdir()
    assert finished.manifest(left)["runs"] == [specs[-1].key]


def test_only_is_part_of_what_a_notebook_and_the_ledger_are_made_from(root):
    everything, one = make_plan(root), make_plan(root, only=["ogura.table1"])
    assert everything.notebook_stamp("ogura") != one.notebook_stamp("ogura")
    assert everything.ledger_stamp()["scope"] != one.ledger_stamp()["scope"]


def test_what_was_expanded_is_remembered_and_never_wrongly(root):
    finish(make_plan(root))
    plan = make_plan(root)
    plan.discard_stale()
    assert make_plan(root).asked == plan.asked
    for text in ("", "{}", "[1]", '{"ogura/pair": 3}'):
        (plan.layout.results / "asked.json").write_text(text)
        assert make_plan(root).asked == plan.asked
    edit(root / "config/papers/ogura.yaml", "buffer_pkts: {value: 10,", "buffer_pkts: {value: 20,")
    assert make_plan(root).asked != plan.asked


# --- Smoke runs ---------------------------------------------------------------------------------------------------


def test_a_smoke_run_rehearses_each_paper_and_draws_nothing(root):
    plan = make_plan(root, smoke=True)
    (step,) = plan.steps
    assert (step.kind, step.item, plan.outputs) == ("rehearse", "ogura", [plan.rehearsal("ogura")])
    assert make_plan(root, smoke=True, smoke_duration_s=3).steps[0].stamp != step.stamp


def test_smoke_runs_are_simulated(root):
    with pytest.raises(InputError, match="smoke: goes with source engine; 'bundled' simulates nothing"):
        make_plan(root, source="bundled", smoke=True)


# --- The workflow -------------------------------------------------------------------------------------------------


def test_the_workflow_parses_in_a_checkout_without_results():
    """Snakemake finds a producer for every output of the plan, for each source."""
    root = plans.Path(__file__).resolve().parents[2]
    for source, more in itertools.product(("bundled", "engine"), ([], ["only=[ogura.fig8]"])):
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "all", "--config", f"source={source}", *more],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("capacity_bps", ["1.0e+300", "1.0e+307"])
def test_a_capacity_beyond_every_machine_is_one_line(tmp_path, capacity_bps):
    root = make_checkout(tmp_path)
    edit(root / "config/papers/ogura.yaml", "capacity_bps: {value: 1.0e+6", f"capacity_bps: {{value: {capacity_bps}")
    with pytest.raises(InputError, match="capacity_bps 1e[+]30. for duration_s .*; the most is 1e[+]15"):
        _ = make_plan(root).lacking


def test_stale_ensembles_are_worked_out_once_until_something_changes(root, monkeypatch):
    from tcpfair.contract import ensemble_table

    asked = []
    monkeypatch.setattr(
        ensemble_table, "stale_lines", lambda layout, papers: asked.append(1) or ["ogura: code changed"]
    )
    assert make_plan(root).stale_ensembles == []  # none is shipped
    (root / "data/ensemble").mkdir(parents=True)
    shipped = root / "data/ensemble/ogura.json"
    for edited in (
        lambda: shipped.write_text("{}"),
        lambda: edit(root / "config/papers/ogura.yaml", "cite", "# \ncite"),
    ):
        edited()
        asked.clear()
        assert [make_plan(root).stale_ensembles for _ in range(2)] == [["ogura: code changed"]] * 2
        assert asked == [1]
    monkeypatch.setattr(code, "of_algorithms", lambda names: {"simulator": "another"})
    assert make_plan(root).stale_ensembles and asked == [1, 1]
