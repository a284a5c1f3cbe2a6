"""The same bits are recognised, other bits too, and only then is anything marked."""

import re
import shutil

import pytest

from tcpfair.files import checksums
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import read_manifest, write_manifest
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.runs import code, store
from tcpfair.workflow import again, bundles, executor, same_bits
from tests.small_checkout import edit, make_plan, ship_both, spoil


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A checkout whose one paper with experiments is shipped and marked."""
    root = ship_both(tmp_path_factory.mktemp("shipped")).root
    (root / "config/smoke.yaml").write_text("smoke_duration_s: 2\n")
    shutil.rmtree(root / "results")
    assert same_bits.main(Layout(root), mark=True) == 0
    return root


@pytest.fixture
def layout(shipped, tmp_path):
    """A copy of it."""
    again._read.cache_clear()
    return Layout(shutil.copytree(shipped, tmp_path, dirs_exist_ok=True))


def test_unchanged_code_gives_the_same_bits(layout, capsys):
    assert same_bits.main(layout) == 0
    shown = capsys.readouterr().out
    assert re.search(
        r"^same bits\? comparing \d+ short runs, \d+ shipped ones and 0 of ensembles: about \d", shown, re.M
    )
    assert "compared   4 runs of the smoke plan, 3 shipped runs" in shown
    assert "the same bits" in shown


def test_other_code_with_the_same_bits_is_marked_and_makes_the_store_fresh(layout, monkeypatch):
    now = store.code_behind(make_plan(layout.root).asked["ogura", "pair"])
    monkeypatch.setattr(store, "_code_now", lambda algorithms: now | {code.SIMULATOR: "f" * 16})
    assert make_plan(layout.root, source="bundled").traces["ogura", "pair"] is None
    assert same_bits.main(layout, mark=True) == 0
    assert make_plan(layout.root, source="bundled").traces["ogura", "pair"] is not None
    checksums.update(layout.data, [layout.data / "published"])
    assert bundles.faults(layout.root) == []


def test_one_other_value_in_a_shipped_run_is_found_and_nothing_is_marked(layout, capsys):
    folder = layout.bundled("ogura", "self")
    spoil(folder)
    before = (folder / "manifest.json").read_bytes()
    assert same_bits.main(layout, mark=True) == 1
    assert "differs    ogura/self run 0" in capsys.readouterr().out
    assert (folder / "manifest.json").read_bytes() == before


def test_other_bits_of_a_smoke_run_are_found(layout, capsys):
    path = layout.data / "expected/bits.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], lines[-1][:-8] + "00000000"]) + "\n")
    assert same_bits.main(layout) == 1
    assert "differs    ogura/watched, smoke run 0" in capsys.readouterr().out


def test_runs_of_another_scenario_are_all_simulated_and_not_taken_on_trust(layout, capsys):
    edit(layout.root / "config/papers/ogura.yaml", "buffer_pkts: {value: 10,", "buffer_pkts: {value: 4,")
    assert same_bits.main(layout, mark=True) == 1
    shown = capsys.readouterr().out
    assert re.search(
        r"^same bits\? comparing \d+ short runs, \d+ shipped ones and 0 of ensembles: about \d", shown, re.M
    )
    assert "5 shipped runs" in shown
    assert "differs    ogura/pair" in shown


def test_a_scenario_that_is_only_written_otherwise_gets_its_new_key(layout):
    folder = layout.bundled("ogura", "pair")
    manifest = read_manifest(folder)
    write_manifest({**manifest, "runs": [f"{number:020d}" for number in range(4)]}, folder)
    assert make_plan(layout.root, source="bundled").traces["ogura", "pair"] is None
    assert same_bits.main(layout, mark=True) == 0
    assert read_manifest(folder)["runs"] == manifest["runs"]


# --- the small check of runs that other code made ---------------------------------------------------------------------


def made_by_other_code(monkeypatch, name=code.SIMULATOR):
    now = store._code_now
    monkeypatch.setattr(store, "_code_now", lambda algorithms: {**now(algorithms), name: "f" * 16})


def accepts(layout):
    """Whether the small check accepts the shipped runs, and the lines that it prints."""
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "say", said.append)
        return same_bits.accept_same_bits(layout), said


def test_runs_of_todays_code_are_not_simulated(layout):
    assert accepts(layout) == (False, [])


def test_of_other_code_the_shortest_run_of_each_experiment_and_algorithm_is_compared(layout, monkeypatch):
    made_by_other_code(monkeypatch)
    accepted, said = accepts(layout)
    assert accepted
    assert said[0].startswith("same bits? comparing 3 shipped runs, because the simulator changed: about ")
    assert said[-1].startswith("same bits  3 of 3 runs, in ")


def test_of_an_edited_algorithm_only_its_runs_are_compared(layout, monkeypatch):
    made_by_other_code(monkeypatch, "libra")
    assert accepts(layout)[1][0].startswith("same bits? comparing 1 shipped runs")


def test_other_bits_of_other_code_are_named(layout, monkeypatch):
    made_by_other_code(monkeypatch)
    spoil(layout.bundled("ogura", "self"))
    accepted, said = accepts(layout)
    assert not accepted and said[-1] == "differs    ogura/self run 0"
    assert not available(layout, "pair")


def available(layout, experiment):
    paper = load_paper(layout.paper_config("ogura"))
    runs = store.asked(run_specs(paper, experiment))
    return store.held(store.manifest_of(layout, layout.bundled("ogura", experiment)), runs)


def test_compared_runs_count_as_todays_until_the_code_changes_again(layout, monkeypatch):
    made_by_other_code(monkeypatch)
    assert not available(layout, "pair")
    assert same_bits.accept_same_bits(layout)
    assert available(layout, "pair") and available(layout, "self")
    made_by_other_code(monkeypatch, "libra")
    monkeypatch.setattr(
        store, "_code_now", lambda algorithms, now=store._code_now: {**now(algorithms), code.SIMULATOR: "e" * 16}
    )
    assert not available(layout, "pair")


def test_what_was_not_compared_is_not_accepted(layout, monkeypatch):
    made_by_other_code(monkeypatch)
    assert not store.accept_bits(layout, set(), set())
    assert store.accept_bits(layout, {("ogura", "self")}, {"libra", "newreno"})
    assert available(layout, "self") and not available(layout, "pair")
