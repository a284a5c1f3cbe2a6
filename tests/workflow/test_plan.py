"""What a configuration requests, what its outputs are made from, and what is made again after an edit."""

import ast
import os
import re
import shutil
import sys
from dataclasses import replace
from functools import cache, partial
from importlib import metadata
from itertools import cycle

import pytest

from tcpfair.errors import InputError
from tcpfair.files import checksums
from tcpfair.files.manifest import file_hash
from tcpfair.runs import code, reach, record, store
from tcpfair.workflow import plan as plans
from tcpfair.workflow.plan import cells, find_exhibit, load_values
from tests.commands import succeed
from tests.small_checkout import NOTEBOOK, edit, finish, make_checkout, make_output, make_plan, put, ship

PAPER, NOTES, PRINT = "config/papers/ogura.yaml", "notebooks/ogura.ipynb", "data/published/ogura.csv"


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path / "checkout")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A checkout in which everything is made, with a write-up, an equation and a cell that shows an exhibit."""
    root = make_checkout(tmp_path_factory.mktemp("made") / "checkout")
    edit(root / PAPER, "kind: table, title: parameters}", "kind: table, title: p, draw: definition_table}")
    edit(root / PAPER, "draw: bars", "draw: metric_panels")
    edit(root / NOTES, '"1 + 1"', '"show(\\"fig8\\")"')
    (root / "notebooks/what_reproduces.ipynb").write_text(NOTEBOOK)
    (root / "data/equations.yaml").write_text("- {id: ogura.eq1, function: a}\n")
    (root / "data/SHA256SUMS").write_text(f"{'0' * 64}  published/ogura.csv\n")
    (root / "data/claims").mkdir()
    (root / "data/claims/ogura.yaml").write_text("at_least: 1\n")
    finish(make_plan(root))
    return root


@pytest.fixture
def finished(made, root):
    """A copy of it."""
    shutil.rmtree(root)
    shutil.copytree(made, root)
    return root


def todo(plan):
    """{step: reasons} of the steps that are to be taken, ``simulate`` for traces that have to be made."""
    found = {step.name: set(reasons) for step, reasons in plan.stale}
    simulated = {f"simulate {'/'.join(pair)}": {"missing"} for pair in plan.lacking} if not plan.is_raw else {}
    return simulated | found


def kinds(found):
    """Kinds of steps; ``write-up`` for its notebook."""
    return {"write-up" if name == "notebook what_reproduces" else name.split()[0] for name in found}


# --- What is asked for ------------------------------------------------------------------------------------------------


def test_everything_is_asked_for_unless_only_names_exhibits(root):
    assert make_plan(root).experiments == [("ogura", "self"), ("ogura", "pair"), ("ogura", "watched")]
    assert make_plan(root).measured == [("ogura", "self"), ("ogura", "pair")]
    assert make_plan(root).notebooks == ["ogura"]
    assert make_plan(root, only=["ogura.fig08"]).experiments == [("ogura", "self"), ("ogura", "pair")]
    assert make_plan(root, only=["ogura.table1"]).experiments == []
    assert make_plan(root, papers=["ha2006"]).experiments == []


@pytest.mark.parametrize("part", [{"papers": ["ogura"]}, {"only": ["ogura.fig8"]}, {"smoke": True}, {"source": "raw"}])
def test_lab_and_write_up_are_of_all_papers_or_are_not_made(finished, part):
    def notebooks(plan):  # linked before they exist: the order of the steps must not matter
        return [plan.layout.results / f"notebooks/{name}.html" for name in plan.notebooks]

    whole = make_plan(finished)
    assert whole.linked == [whole.layout.lab, whole.layout.write_up, *notebooks(whole)]
    shutil.rmtree(finished / "results")
    plan = make_plan(finished, **part)
    assert (plan.has_write_up, plan.of_kind("lab"), plan.linked) == (False, [], notebooks(plan))


def test_the_write_up_depends_on_the_figures_that_it_displays(finished):
    def of_figures(code):
        (finished / "notebooks/what_reproduces.ipynb").write_text(NOTEBOOK.replace("1 + 1", code))
        return make_plan(finished).write_up_parts()["exhibits"]

    without, shown = of_figures("1 + 1"), of_figures("figures('ogura.table1')")
    edit(finished / PAPER, "title: p,", "title: parts,")
    assert of_figures("1 + 1") == without
    assert of_figures("figures('ogura.table1')") not in (without, shown)


@pytest.mark.parametrize("values", [{}, {"missing": "refuse"}, {"papers": ["ogura"]}, {"only": ["ogura.fig8"]}])
def test_a_whole_run_from_bundled_data_shows_the_shipped_recordings_too(root, values):
    plan = make_plan(root, source="bundled", **values)
    assert [step.layout.source for step in plan.of_kind("notebook", "raw")] == ([] if values else ["raw"])
    assert bool(plan.beside) == (not values)


@pytest.mark.parametrize("spelling", ["ogura.fig8", "ogura.fig08", "ogura.figure8", "Ogura.Fig8"])
def test_an_exhibit_is_found_however_its_number_is_written(root, spelling):
    assert find_exhibit(make_plan(root).papers, spelling)[1].id == "ogura.fig8"


MEANT = {"ogura.fig80": "ogura.fig8", "ogura.tabel1": "ogura.table1", "ogra.fig8": "ogura", "fig8": "", "x": ""}


@pytest.mark.parametrize(("spelling", "meant"), MEANT.items())
def test_an_unknown_exhibit_is_refused_with_what_was_meant_and_the_known_ones(root, spelling, meant):
    with pytest.raises(InputError, match=rf"is unknown; .*'?{meant}.*known are .*ogura"):
        find_exhibit(make_plan(root).papers, spelling)


BESIDE = "next to the figures of a paper: papers=bhatti2009 or papers=kozu2014"
REFUSED = {
    "smoke: requires source engine; 'bundled' simulates nothing": {"source": "bundled", "smoke": True},
    "is unknown; did you mean 'jfi'": {"source": "raw", "only": ["mine.jfii"]},
    "is unknown; did you mean 'goodput'": {"source": "raw", "only": ["goodputt"]},
    "trace: data/raw/mine: no such file or folder": {"source": "raw", "trace": "data/raw/mine"},
    BESIDE: {"trace": "data/raw/mine"},
}


@pytest.mark.parametrize(("message", "values"), REFUSED.items())
def test_what_cannot_be_is_refused_in_one_line(root, message, values):
    with pytest.raises(InputError, match=message):
        make_plan(root, **values)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}'])
def test_what_is_no_notebook_gets_one_line(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a.ipynb: not a notebook; it must be"):
        cells(path)


@pytest.mark.parametrize("capacity_bps", ["1.0e+300", "1.0e+307"])
def test_a_capacity_beyond_every_machine_is_one_line(root, capacity_bps):
    edit(root / PAPER, "capacity_bps: {value: 1.0e+6", f"capacity_bps: {{value: {capacity_bps}")
    with pytest.raises(InputError, match="capacity_bps 1e[+]30. for duration_s .*; the limit is 1e[+]15"):
        _ = make_plan(root).lacking


def test_source_raw_runs_the_notebook_of_recordings_alone(root):
    recording = root / "data/raw/mine/iperf.json"
    recording.parent.mkdir(parents=True)
    recording.write_text("{}")
    plan = make_plan(root, source="raw", trace="data/raw/mine")
    (step,) = plan.steps
    assert (step.name, plan.experiments, plan.papers) == ("notebook raw", [], {})
    assert plan.opened == root / "results/raw/mine/notebooks/raw.html"
    finish(plan)
    recording.write_text('{"end": 60}')
    assert todo(make_plan(root, source="raw", trace="data/raw/mine")) == {"notebook raw": {"recordings"}}


def test_a_notebook_with_a_recording_depends_on_the_settings_of_recordings(root):
    edit(root / "config/raw.yaml", "paper: bhatti2009", "paper: ogura")
    (root / "data/raw/mine.json").write_text("{}")
    asked = {"papers": ["ogura"], "trace": "data/raw/mine.json"}
    finish(make_plan(root, **asked))
    edit(root / "config/raw.yaml", "skip_s: {value: 5", "skip_s: {value: 6")
    assert todo(make_plan(root, **asked)) == {"notebook ogura": {"configuration"}}


# --- Runs ----------------------------------------------------------------------------------------------------


def test_bundled_by_default_simulates_what_is_missing_and_by_hand_refuses(root):
    path = root / "config/config.yaml"
    path.write_text("source: bundled\n")
    assert load_values(path, {}) == {"source": "bundled"}
    values = load_values(path, {"source": "bundled"})
    assert values["missing"] == "refuse"
    assert load_values(path, {"source": "engine"}) == {"source": "engine"}
    make_plan(root, source="bundled").refuse_what_is_missing()
    with pytest.raises(InputError, match=r"source bundled: missing runs: ogura/self \(1 runs\), ogura/pair \(4 runs\)"):
        make_plan(root, **values).refuse_what_is_missing()


def test_the_refusal_says_which_value_makes_the_difference(root):
    for experiment in ("self", "pair", "watched"):
        ship(make_plan(root), experiment)
    make_plan(root, source="bundled", missing="refuse").refuse_what_is_missing()
    edit(root / PAPER, "buffer_pkts: {value: 10,", "buffer_pkts: {value: 20,")
    with pytest.raises(InputError, match=r"settings.buffer_pkts 10 -> 20.* ./reproduce simulates them"):
        make_plan(root, source="bundled", missing="refuse").refuse_what_is_missing()


def test_what_was_expanded_is_remembered_and_never_wrongly(finished):
    plan = make_plan(finished)
    asked = plan.asked
    for text in ("", "{}", "[1]", '{"ogura/pair": 3}'):
        (plan.layout.results / "asked.json").write_text(text)
        assert make_plan(finished).asked == asked
    edit(finished / PAPER, "buffer_pkts: {value: 10,", "buffer_pkts: {value: 20,")
    assert make_plan(finished).asked != asked


# --- What an edit reaches ---------------------------------------------------------------------------------------------

SHOWN = {"ledger", "report", "write-up"}
JUDGED = {"judge", *SHOWN}
DRAWN = {"draw", "notebook", "report"}
PLACED = {"place", "compare", *JUDGED}
COMPUTED = {"numbers", "compare", *DRAWN, *JUDGED}
ALL = {"measure", "place", "lab", *COMPUTED}
PAIR, FIG8 = "measure ogura/pair", "draw ogura.fig8"
EDITS = {  # file, old, new: kinds of steps that are made again, reasons of some
    "another section": (PAPER, "source: sec. 3}\n  sample", "source: III}\n  sample", {"lab", "numbers", *PLACED}, {}),
    "another reason": (
        PAPER,
        "assumed: headers",
        "assumed: why",
        {"lab", "numbers", *PLACED},
        {"place ogura": {"configuration"}},
    ),
    "another description": (PAPER, "what: no metrics are taken", "what: nothing", {"lab", "numbers", *PLACED}, {}),
    "runs of one experiment": (PAPER, "runs: {value: 2,", "runs: {value: 3,", {"simulate", *ALL}, {PAIR: {"runs"}}),
    "a window": (PAPER, "[10, 20]", "[5, 20]", ALL, {PAIR: {"configuration"}, FIG8: {"metrics", "configuration"}}),
    "an analysis": (
        *(PAPER, "value: -10", "value: -20", ALL),
        {PAIR: {"configuration", "weights"}, "measure ogura/self": {"configuration"}},
    ),
    "metrics of weights": (
        PAPER,
        "measures: [throughput]\n",
        "measures: [throughput, peak]\n",
        ALL,
        {PAIR: {"weights"}},
    ),
    "a figure's title": (
        *(PAPER, "title: shares", "title: parts", {"notebook", "report"}),
        {"notebook ogura": {"exhibits"}, "report": {"exhibits"}},
    ),
    "a table's title": (*(PAPER, "title: p,", "title: parts,", DRAWN), {"notebook ogura": {"exhibits"}, FIG8: set()}),
    "a bound": ("data/claims/ogura.yaml", "at_least: 1", "at_least: 2", JUDGED, {"judge ogura": {"print"}}),
    "print": (
        PRINT,
        "key",
        "key\nogura.fig8,x",
        ALL - {"measure"},
        {FIG8: {"print"}, "place ogura": {"print"}, "judge ogura": {"print"}},
    ),
    "an equation": (
        *("data/equations.yaml", "function: a", "function: b", ALL - {"measure"}),
        {"draw ogura.table1": {"print"}, FIG8: set()},
    ),
    "a cell": (NOTES, "show", "1; show", {"notebook"}, {"notebook ogura": {"cells"}}),
    "a cell's id": (NOTES, '"cell_type"', '"id": "other", "cell_type"', {"notebook", "report"}, {}),
    "a cell's tag": (
        *(NOTES, '"cell_type"', '"metadata": {"tags": ["derivation"]}, "cell_type"', {"notebook"}),
        {"notebook ogura": {"cells"}},
    ),
    "a cell's output": (NOTES, '"outputs": []', '"outputs": [{"output_type": "stream", "text": ["2"]}]', set(), {}),
    "a cell's counter": (NOTES, '"execution_count": null', '"execution_count": 7', set(), {}),
    "an accepted checksum": ("data/SHA256SUMS", "0" * 64, "{sha}", {"report"}, {"report": {"checksums"}}),
}


@pytest.mark.parametrize(("name", "old", "new", "expected", "reasons"), EDITS.values(), ids=EDITS)
def test_an_edit_reaches_the_steps_that_use_it_and_taken_back_costs_nothing(
    finished, name, old, new, expected, reasons
):
    text = (finished / name).read_text()
    edit(finished / name, old, new.replace("{sha}", file_hash(finished / PRINT)))
    found = todo(make_plan(finished))
    assert kinds(found) == expected
    assert {step: found.get(step, set()) for step in reasons} == reasons
    if expected:
        assert finish(make_plan(finished)).is_up_to_date()
        (finished / name).write_text(text)
        plan = make_plan(finished)
        assert plan.stale == [] and not any(plan.lacking.values())


@pytest.mark.parametrize("name", [".ogura.csv.swp", "ogura.csv~", "#ogura.csv#", ".#ogura.csv"])
def test_what_an_editor_keeps_beside_a_file_is_no_input(finished, name):
    (finished / "data/published" / name).write_text("half an edit")
    plan = make_plan(finished)
    assert todo(plan) == {}
    assert name not in {path.name for path in plan.data_files(plans.PUBLISHED)}
    assert not any(name in line for line in checksums.altered(finished / "data"))


def test_pages_that_appear_are_linked_from_the_report(finished):
    (finished / "results/validation").mkdir()
    (finished / "results/validation/report.html").write_text("a page")
    assert todo(make_plan(finished)) == {"report": {"linked"}}


def test_touched_files_and_a_moved_checkout_are_as_fresh_as_before(finished, tmp_path):
    for number, path in enumerate(sorted(finished.rglob("*"))):
        os.utime(path, (2e9 - number, 2e9 - number))  # in the future, later files earlier
    assert make_plan(finished).is_up_to_date()
    moved = tmp_path / "with a space"
    shutil.move(finished, moved)
    assert make_plan(moved).is_up_to_date()


def forget(monkeypatch):
    """Have what is kept of code and libraries looked up anew, now and after the test."""
    for name in ("of_modules", "of_drawing", "_versions", "_installed"):
        monkeypatch.setattr(reach, name, cache(getattr(reach, name).__wrapped__))


def edit_code(monkeypatch, folder, names):
    """Have sources of the package act otherwise, as far as steps are concerned."""
    real, names = reach._parts, names.split()

    def parts(found):
        own = real(found)
        return own | {"code": " ".join([own["code"], *found.files.intersection(names)])}

    assert all((code.PACKAGE / name).is_file() for name in names)
    monkeypatch.setattr(reach, "_parts", parts)


def swap(monkeypatch, folder, names, number="0.0.1"):
    """Have another version of libraries installed."""
    owners, found = reach._installed()
    other = {name: (number, found[name][1]) for name in names.split()}
    monkeypatch.setattr(reach, "_installed", lambda: (owners, {**found, **other}))


def swap_metadata(monkeypatch, folder, name, number="0.0.1"):
    """Have another version of a library on the path, as far as its metadata tell."""
    place = folder / f"{name}-{number}.dist-info"
    place.mkdir(parents=True)
    text = metadata.distribution(name).read_text("METADATA")
    (place / "METADATA").write_text(re.sub(r"^Version: .*$", f"Version: {number}", text, count=1, flags=re.M))
    monkeypatch.syspath_prepend(folder)


NOTEBOOKS = {"notebook", "write-up"}
CODE = {  # what is changed: kinds of steps that are made again
    edit_code: {
        "metrics/fairness.py": ALL,
        "measures/runs.py": ALL,
        "runs/outputs.py": ALL,
        "models/cubic.py": COMPUTED,
        "exhibits/style.py": DRAWN | {"write-up"},
        "exhibits/notebook_html.py": NOTEBOOKS,
        "verdicts/ledger.py": SHOWN,
        "verdicts/claims/ogura.py": {"compare", *JUDGED},
        "verdicts/cell_links.py": {"draw", "notebook", "report", "write-up"},  # a table is headed by its label
        "verdicts/report/chain.py": {"report"},
        "verdicts/templates/report/page.html.j2": {"report"},
        "web/page.py": {"lab"},
        "web/static/lab.js": {"lab"},
        "web/tours.yaml": {"lab"},
        # the engine counts with the runs, and with `place`, see below
        "engine/loop.py workflow/run.py workflow/study.py validation/page.py": set(),
        "workflow/steps/measure.py": COMPUTED | {"measure"},
        "workflow/steps/numbers.py": COMPUTED - {"draw", "notebook", "judge"},
        "workflow/steps/notebook.py": NOTEBOOKS,
        "workflow/steps/judge.py": JUDGED,
        "workflow/steps/place.py": PLACED - {"judge", "ledger"},
        "workflow/steps/ledger.py": SHOWN,
        "workflow/steps/report.py": {"report"},
    },
    swap: {
        **dict.fromkeys(("numpy", "pandas", "scipy", "pyarrow", "pydantic", "pydantic-core", "pyyaml"), ALL),
        **dict.fromkeys(("matplotlib", "pillow"), DRAWN | {"write-up"}),  # matplotlib writes PNG with pillow
        **dict.fromkeys(("nbconvert", "papermill"), NOTEBOOKS),
        "jinja2": {"report", *NOTEBOOKS},
        "latex2mathml": {"report", "lab", *NOTEBOOKS},
        # a run has the same bits with every version; the page has what llvmlite compiled
        **{name: {"lab"} for name in ("numba", "llvmlite")},
        "snakemake rocrate jupyterlab pytest": set(),
    },
    swap_metadata: {"numpy": ALL},
}


@pytest.mark.parametrize(
    ("change", "what", "expected"),
    [
        pytest.param(change, what, expected, id=f"{change.__name__} {what}")
        for change, table in CODE.items()
        for what, expected in table.items()
    ],
)
def test_an_edit_of_code_and_another_library_reach_the_steps_that_run_them(
    made, monkeypatch, tmp_path, change, what, expected
):
    forget(monkeypatch)
    change(monkeypatch, tmp_path, what)
    found = todo(make_plan(made))
    assert kinds(found) == expected
    if change in (swap, swap_metadata):
        direct = {"measure ogura/self", FIG8, "place ogura", "lab"} & set(found)
        assert all("libraries" in found[name] for name in direct)


@pytest.mark.parametrize("name", ["sources/readers/plain.py", "exhibits/kinds/windows.py"])
def test_an_edit_of_a_reader_or_another_kind_leaves_an_exhibit_alone(made, monkeypatch, tmp_path, name):
    forget(monkeypatch)
    edit_code(monkeypatch, tmp_path, name)
    assert FIG8 not in todo(make_plan(made))


def test_ensembles_are_placed_anew_when_the_simulator_changes(made, monkeypatch):
    """An ensemble of another simulator than today's is left out."""
    real = code.of_algorithms
    runs_of = {names: real(names) for names in ((), ("libra",), ("newreno",))}
    monkeypatch.setattr(store, "_code_now", runs_of.__getitem__)
    monkeypatch.setattr(code, "of_algorithms", lambda names: {**real(names), code.SIMULATOR: "another"})
    found = todo(make_plan(made))
    assert found["place ogura"] == {"simulator"}
    assert kinds(found) == PLACED


def test_a_paper_is_placed_anew_when_one_that_its_testbed_is_inferred_from_changes(root):
    """The ensemble, the printed numbers and the configuration of the other paper count, those of a third one do not."""
    plan = "{settings: 1, replicates: 1, seed: 1, held_out: [{fit: {paper: kozu2014}, predict: {}}]}"
    judging = "{inside: [0, 1], with_table: 1, far: 4, accepted: 1, least_share: 0.1, chance: 0.1"
    judging += ", least_effective: 1}"
    (root / "config/ensemble.yaml").write_text(f"judging: {judging}\npapers: {{ogura: {plan}}}\n")
    before = make_plan(root).place_parts("ogura")
    for name, is_read in (
        ("data/ensemble/kozu2014_settings.csv", True),
        ("data/published/kozu2014.csv", True),
        ("config/papers/kozu2014.yaml", True),
        ("data/published/bhatti2008.csv", False),
        ("data/ensemble/bhatti2008.parquet", False),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text((root / PAPER).read_text().replace("ogura", "kozu2014"))
        after = make_plan(root).place_parts("ogura")
        assert (after != before) == is_read, name
        before = after


def test_stale_ensembles_are_worked_out_once_until_something_changes(root, monkeypatch):
    from tcpfair.runs import ensemble_table

    asked = []
    found = ["ogura: code changed"]
    monkeypatch.setattr(ensemble_table, "stale_lines", lambda layout, papers: asked.append(1) or found)
    assert make_plan(root).stale_ensembles == []  # none is shipped
    (root / "data/ensemble").mkdir(parents=True)
    shipped = root / "data/ensemble/ogura.json"
    for edited in (partial(shipped.write_text, "{}"), partial(edit, root / PAPER, "assumed: headers", "assumed: why")):
        edited()
        asked.clear()
        assert [make_plan(root).stale_ensembles for _ in range(2)] == [found] * 2
        assert asked == [1]
    monkeypatch.setattr(code, "of_algorithms", lambda names: {"simulator": "another"})
    assert make_plan(root).stale_ensembles and asked == [1, 1]


def test_every_file_of_data_that_a_kind_names_is_among_those_that_it_reads():
    """``layout.data / "equations.yaml"`` in the function of a kind."""
    named = set()
    for path in (code.PACKAGE / "exhibits/kinds").glob("*.py"):
        for function in (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)):
            found = re.findall(r"layout\.data / '([^']+)'", ast.unparse(function))
            named |= {(function.name, name) for name in found}
    assert named == {(kind, name) for kind, names in plans.READ_BY_KIND.items() for name in names}


def test_only_is_part_of_what_the_ledger_is_made_from(root):
    everything, one = make_plan(root), make_plan(root, only=["ogura.table1"])
    assert everything.notebook_parts("ogura") != one.notebook_parts("ogura")
    assert everything.ledger_parts()["scope"] != one.ledger_parts()["scope"]


# --- What is damaged, lost or failed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *zip(
            ["measure ogura/self", FIG8, "notebook ogura", "place ogura", "compare", "ledger", "report", "lab"],
            cycle(["lost", "altered", "unfinished"]),
        )
    ],
)
def test_an_output_that_is_damaged_is_made_again_and_no_other(finished, name, damage):
    plan = make_plan(finished)
    step = next(step for step in plan.steps if step.name == name)
    if damage == "lost":
        shutil.rmtree(step.folder)
    elif damage == "altered":
        next(path for path in sorted(step.folder.rglob("*.*")) if path != step.target).write_text("scribbled")
    else:
        step.target.write_text(step.target.read_text()[:10])
    plan = make_plan(finished)
    assert todo(plan) == {name: {"missing"}}
    others = [other.target for other in plan.steps if other.name != name]
    plan.prepare()
    assert not step.folder.exists() and all(target.is_file() for target in others)
    assert finish(make_plan(finished)).is_up_to_date()


def test_unchanged_files_are_not_hashed_again_and_an_altered_one_is_found_by_its_change_time(finished, monkeypatch):
    monkeypatch.setattr("tcpfair.files.remembered._SETTLED_S", -1.0)
    first = make_plan(finished)
    assert first.is_up_to_date()
    first.prepare()  # saves the hashes
    hashed = []
    monkeypatch.setattr("tcpfair.workflow.plan.file_hash", lambda path: hashed.append(path) or file_hash(path))
    assert make_plan(finished).is_up_to_date() and hashed == []
    step = next(step for step in first.steps if step.name == FIG8)
    file = max((path for path in step.folder.rglob("*.*") if path != step.target), key=lambda path: path.stat().st_size)
    before, content = file.stat(), file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert todo(make_plan(finished)) == {FIG8: {"missing"}} and hashed == [file]


def test_an_exhibit_that_failed_is_drawn_again_with_what_was_made_from_it(finished):
    plan = make_plan(finished)
    (step,) = (step for step in plan.steps if step.name == FIG8)
    make_output(plan, step, "failed")
    plan = make_plan(finished)
    assert todo(plan) == {FIG8: {"failed"}}
    plan.prepare()
    gone = {step.name for step in plan.steps if not step.target.is_file()}
    assert gone == {FIG8, "numbers ogura", "notebook ogura", "compare", "ledger", "report", "notebook what_reproduces"}


def test_the_notebook_of_recordings_is_executed_again_while_one_of_its_exhibits_fails(root):
    put(root, {"data/raw/mine/iperf.json": "{}"})
    plan = finish(make_plan(root, source="raw", trace="data/raw/mine"))
    (step,) = plan.steps
    jfi = record.Record("mine.jfi", "left out", error="one flow")
    record.write(plan.layout, jfi, step.folder)
    assert make_plan(root, source="raw", trace="data/raw/mine").is_up_to_date()
    record.write(plan.layout, replace(jfi, status="failed"), step.folder)
    plan = make_plan(root, source="raw", trace="data/raw/mine")
    assert todo(plan) == {"notebook raw": {"failed"}}
    plan.prepare()
    assert not step.target.is_file()


def test_stale_ensembles_are_those_of_the_code_before_a_run(root, monkeypatch):
    from tcpfair.runs import ensemble_table

    put(root, {"data/ensemble/ogura.json": "{}"})
    monkeypatch.setattr(ensemble_table, "stale_lines", lambda layout, papers: [])
    plan = make_plan(root)
    plan.prepare()
    monkeypatch.setattr(ensemble_table, "stale_lines", lambda layout, papers: ["ogura: code changed"])
    assert plan.stale_ensembles == make_plan(root).stale_ensembles == []


def test_before_a_run_stable_names_are_healed_and_unreadable_records_go(finished):
    plan = make_plan(finished)
    before = {path: path.read_bytes() for path in plan.made}
    for path in plan.made:
        path.unlink()
    stray = plan.layout.results / "exhibits/ogura/fig99.json"
    stray.write_text('{"exhibit": "ogu')
    plan.prepare()
    assert {path: path.read_bytes() for path in plan.made} == before
    assert not stray.exists()


def test_old_outputs_are_collected(finished):
    for title in ("a", "b", "c"):
        edit(finished / PAPER, "kind: table, title: ", f"kind: table, title: {title}")
        finish(make_plan(finished))
    assert len(list((finished / "results/engine/work/exhibits/ogura").glob("tab01-*/made.json"))) == 2


def test_what_was_half_written_is_removed_wherever_a_build_writes(root):
    results, figures = root / "results/engine", root / "figures/engine"
    left = [
        *(results / ".report-x.new.html", results / "notebooks/.ogura-x.new.ipynb", figures / "ogura/.fig08-x.new.svg"),
        *(results / "work/metrics/ogura/.pair-x.new/a", results / "runs/ogura/pair/.job-x.new/samples.parquet"),
    ]
    kept = [
        *(results / "studies/mine/.table-x.new.parquet", results / "notebooks/ogura.ipynb"),
        figures / "ogura/fig08.svg",
    ]
    for path in (*left, *kept):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    make_plan(root)._discard_scratch()
    assert [path for path in left if path.exists() or (path.parent.name.startswith(".") and path.parent.exists())] == []
    assert [path for path in kept if not path.exists()] == []


# --- Accepting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "old", "new", "why"),
    [
        (PAPER, "[10, 20]", "[5, 20]", {"numbers", "claims", "configuration"}),
        (PRINT, "exhibit,key", "exhibit,key,value", {"numbers", "claims"}),
    ],
)
def test_a_stale_ledger_is_not_accepted(finished, path, old, new, why):
    make_plan(finished).refuse_stale_ledger("accept")
    edit(finished / path, old, new)
    with pytest.raises(InputError) as told:
        make_plan(finished).refuse_stale_ledger("accept")
    line = r"accept: results/engine/ledger: stale \(ledger: (.*)\); run ./reproduce first, [^\n]*"
    assert set(re.fullmatch(line, str(told.value))[1].split(", ")) == why


def test_accepting_again_and_what_a_ledger_does_not_need_are_no_reason_to_refuse(finished):
    plan = make_plan(finished)
    for step in [*plan.of_kind("report"), *plan.of_kind("lab")]:
        shutil.rmtree(step.folder)
    (finished / "data/expected").mkdir()
    (finished / "data/expected/verdicts.csv").write_text("id,verdict\n")
    assert todo(make_plan(finished))["ledger"] == {"baseline"}
    make_plan(finished).refuse_stale_ledger("accept")


def test_missing_runs_are_a_reason_to_refuse(finished):
    shutil.rmtree(make_plan(finished).layout.simulated("ogura", "watched"))
    with pytest.raises(InputError, match=r"accept: .*stale \(traces: missing\)"):
        make_plan(finished).refuse_stale_ledger("accept")


# --- The workflow -----------------------------------------------------------------------------------------------------


@pytest.mark.slow  # CI builds in such a checkout
@pytest.mark.parametrize(("source", "more"), [("bundled", []), ("engine", ["only=[ogura.fig8]"])])
def test_the_workflow_parses_in_a_checkout_without_results(source, more):
    """Snakemake finds a producer for every output of the plan."""
    asked = ["--dry-run", "--quiet", "all", "--config", f"source={source}", *more]
    succeed(sys.executable, "-m", "snakemake", *asked)
