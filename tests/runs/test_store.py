"""Runs that are there and runs that are missing: by key, by code, in the shards of two places."""

import pytest

from tcpfair import sources
from tcpfair.errors import InputError
from tcpfair.files.manifest import MANIFEST, read_manifest, write_manifest
from tcpfair.runs import code, store, trace
from tcpfair.runs.outputs import describe, making
from tests.small_checkout import edit, make_checkout, make_plan, make_trace, put_shard, ship

CONFIG = "config/papers/ogura.yaml"


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path)


def lacking(plan):
    return {"/".join(pair): len(runs) for pair, runs in plan.lacking.items()}


def of_pair(plan):
    """What `sources.assemble` is given."""
    return plan.layout, plan.papers["ogura"], "pair"


def shards(plan, experiment="pair"):
    return store.shards(plan.layout, "ogura", experiment)


def assembled(plan, folder):
    """The bytes of the trace of `pair`, put together."""
    trace.write(sources.assemble(*of_pair(plan), plan.held["ogura"].specs("pair")), folder)
    return contents(folder)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def at_once(root, tmp_path_factory):
    """The bytes of the trace of `pair` when all runs are simulated together."""
    plan = make_plan(root)
    made = sources.simulate(plan.papers["ogura"], "pair", specs=plan.held["ogura"].specs("pair"))
    made.provenance |= {"pkts": sources.delivered_pkts(made)}
    folder = tmp_path_factory.mktemp("once") / "trace"
    trace.write(made, folder)
    return contents(folder)


def test_what_was_made_is_found_and_nothing_is_missing(root):
    folder = make_trace(make_plan(root), "pair")
    plan = make_plan(root)
    assert plan.traces["ogura", "pair"] == folder and shards(plan) == [folder]
    assert lacking(plan) == {"ogura/self": 1, "ogura/watched": 1}


def test_shipped_runs_serve_the_source_bundled_alone(root):
    shipped = ship(make_plan(root), "pair")
    assert make_plan(root, source="bundled").traces["ogura", "pair"] == shipped
    assert lacking(make_plan(root, source="engine"))["ogura/pair"] == 4


def test_a_new_value_of_a_grid_asks_for_its_own_runs_only(root):
    make_trace(make_plan(root), "pair")
    edit(root / CONFIG, "value: [Reno, Libra]", "value: [Reno, Libra, Alpha]")
    edit(root / CONFIG, "  Libra: {cc", "  Alpha: {cc: {value: alpha, source: sec. 2}}\n  Libra: {cc")
    plan = make_plan(root)
    assert lacking(plan)["ogura/pair"] == 2
    why = {"protocols + Alpha", "grid.protocol [Reno, Libra] -> [Reno, Libra, Alpha]"}
    assert set(plan.held["ogura"].why_missing("pair").split("; ")) == why


@pytest.mark.parametrize("cut", [[[0, 1, 2, 3]], [[1, 3], [0, 2]], [[2], [0, 3], [1]], [[3], [2], [1], [0]]], ids=str)
def test_a_trace_has_the_same_bytes_however_its_runs_were_cut_into_shards(root, tmp_path, at_once, cut):
    plan = make_plan(root)
    specs = plan.held["ogura"].specs("pair")
    written = [put_shard(plan, "pair", [specs[i] for i in own]) for own in cut]
    assert set(shards(plan)) == set(written)
    assert assembled(plan, tmp_path / "trace") == at_once
    if len(cut) == 1:
        assert contents(written[0]) == at_once


def test_shards_that_a_trace_holds_are_removed_and_of_others_the_newest_stay(root, monkeypatch):
    monkeypatch.setattr(sources, "_KEPT_SHARDS", 1)
    seen = []
    for buffer_pkts in (20, 30, 40):
        edit(root / CONFIG, f"buffer_pkts: {{value: {buffer_pkts - 10},", f"buffer_pkts: {{value: {buffer_pkts},")
        seen.append(make_trace(make_plan(root), "pair"))
    assert set(shards(make_plan(root))) == set(seen[1:])
    edit(root / CONFIG, "buffer_pkts: {value: 40,", "buffer_pkts: {value: 30,")  # taken back
    assert make_plan(root).traces["ogura", "pair"] == seen[1]


@pytest.mark.parametrize("damage", ["gone", "empty"])
def test_a_trace_whose_tables_are_not_there_is_made_again_unless_it_is_shipped(root, damage):
    shipped, made = ship(make_plan(root), "pair"), make_trace(make_plan(root), "self")
    for folder in (shipped, made):
        (folder / "samples.parquet").unlink()
        if damage == "empty":
            (folder / "samples.parquet").touch()
    assert lacking(make_plan(root))["ogura/self"] == 1
    assert make_trace(make_plan(root), "self") == made
    assert "ogura/self" not in lacking(make_plan(root))
    assert make_plan(root, source="bundled").traces["ogura", "pair"] == shipped  # reading it refuses
    with pytest.raises(InputError, match=r"pair/samples.parquet"):
        trace.read(shipped)


@pytest.mark.parametrize(("edited", "n_runs"), [("libra", 2), (code.SIMULATOR, 4)])
def test_edited_code_makes_the_runs_stale_that_it_acts_in(root, monkeypatch, edited, n_runs):
    make_trace(make_plan(root), "pair")
    now = dict(store.code_behind(make_plan(root).asked["ogura", "pair"]))
    monkeypatch.setattr(store, "_code_now", lambda algorithms: now | {edited: "0" * 16})
    plan = make_plan(root)
    assert lacking(plan)["ogura/pair"] == n_runs
    assert plan.held["ogura"].why_missing("pair") == f"code of {edited}"


def test_keys_do_not_depend_on_the_reasons_in_the_configuration(root):
    make_trace(make_plan(root), "pair")
    edit(root / CONFIG, "assumed: headers, range: [1448", "assumed: why, range: [1400")
    assert make_plan(root).traces["ogura", "pair"] is not None


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "list"])
def test_a_damaged_manifest_is_an_error_where_it_is_shipped_and_nothing_elsewhere(root, damage):
    shipped = ship(make_plan(root), "pair")
    made = make_trace(make_plan(root), "self")
    for path in (shipped / MANIFEST, made / MANIFEST):
        text = path.read_text()
        spoilt = {"cut": text[:40], "flipped": text.replace("engine", "engina", 1), "list": "[]"}
        path.unlink() if damage == "gone" else path.write_text(spoilt[damage])
    with pytest.raises(InputError, match=r"pair/manifest.json"):
        make_plan(root, source="bundled").traces  # noqa: B018
    assert make_plan(root).traces["ogura", "self"] is None


def test_the_manifest_of_a_trace_without_keys_holds_nothing(root):
    folder = make_trace(make_plan(root), "pair")
    manifest = read_manifest(folder)
    del manifest["runs"]
    write_manifest(manifest, folder)
    assert lacking(make_plan(root))["ogura/pair"] == 4


def test_a_missing_trace_is_refused_with_what_has_changed_and_what_makes_it(root):
    make_trace(make_plan(root), "pair")
    edit(root / CONFIG, "buffer_pkts: {value: 10,", "buffer_pkts: {value: 20,")
    plan = make_plan(root)
    with pytest.raises(
        store.MissingRunsError,
        match=r"^ogura/pair: 4 of the 4 requested runs .*settings.buffer_pkts 10 -> 20.*"
        r"; ./reproduce --config source=engine simulates them$",
    ):
        store.Held(plan.layout, plan.papers["ogura"]).trace("pair")


def test_metrics_count_only_when_made_from_what_is_asked_for(root):
    plan = make_plan(root)
    (step,) = (step for step in plan.of_kind("measure") if step.item == "ogura/pair")
    assert store.Held(plan.layout, plan.papers["ogura"]).metrics("pair") is None
    describe(step.folder, step.parts)
    with making(plan.layout, step.folder) as scratch:
        (scratch / "metrics/ogura").mkdir(parents=True)
        (scratch / "metrics/ogura/pair.parquet").write_text("rows")
    held = store.Held(plan.layout, plan.papers["ogura"])
    assert held.metrics("pair") == step.folder / "metrics/ogura/pair.parquet"
    edit(root / CONFIG, "value: -10", "value: -20")
    plan = make_plan(root)
    assert store.Held(plan.layout, plan.papers["ogura"]).metrics("pair") is None


def test_made_by_says_engine_for_what_is_shipped_in_part(root):
    ship(make_plan(root), "pair")
    made = make_trace(make_plan(root, source="bundled"), "self")
    plan = make_plan(root, source="bundled")
    held = store.Held(plan.layout, plan.papers["ogura"])
    for names, by in ((["pair"], "bundled"), (["self"], "engine"), (["pair", "self"], "bundled and engine")):
        assert held.made_by(names) == by
    assert read_manifest(made)["backend"] == "engine"
