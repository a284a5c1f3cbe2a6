"""Runs that are there and runs that are missing: by key, by code, in three places."""

import json

import pytest

from tcpfair import sources
from tcpfair.contract import code, store, trace
from tcpfair.contract.manifest import read_manifest, write_manifest
from tcpfair.errors import InputError
from tests.small_checkout import edit, make_checkout, make_plan, make_trace


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path)


def ship(plan, experiment):
    """Move a made trace to where shipped ones stand."""
    shipped = plan.layout.bundled("ogura", experiment)
    shipped.parent.mkdir(parents=True, exist_ok=True)
    return make_trace(plan, experiment).rename(shipped)


def lacking(plan):
    return {"/".join(pair): len(runs) for pair, runs in plan.lacking.items()}


def test_what_was_made_is_found_and_nothing_is_missing(root):
    folder = make_trace(make_plan(root), "pair")
    plan = make_plan(root)
    assert plan.traces["ogura", "pair"] == folder
    assert lacking(plan) == {"ogura/self": 1, "ogura/watched": 1}


def test_shipped_runs_serve_the_source_bundled_alone(root):
    shipped = ship(make_plan(root), "pair")
    assert make_plan(root, source="bundled").traces["ogura", "pair"] == shipped
    assert lacking(make_plan(root, source="engine"))["ogura/pair"] == 4


def test_a_new_value_of_a_grid_asks_for_its_own_runs_only(root):
    make_trace(make_plan(root), "pair")
    edit(root / "config/papers/ogura.yaml", "value: [Reno, Libra]", "value: [Reno, Libra, Alpha]")
    edit(
        root / "config/papers/ogura.yaml", "  Libra: {cc", "  Alpha: {cc: {value: alpha, source: sec. 2}}\n  Libra: {cc"
    )
    plan = make_plan(root)
    assert lacking(plan)["ogura/pair"] == 2
    assert set(plan.why_simulated("ogura", "pair")) == {
        "protocols + Alpha",
        "grid.protocol [Reno, Libra] -> [Reno, Libra, Alpha]",
    }


def test_fewer_runs_are_put_together_without_simulating(root):
    whole = trace.read(make_trace(make_plan(root), "pair"))
    edit(root / "config/papers/ogura.yaml", "value: [Reno, Libra]", "value: [Libra]")
    plan = make_plan(root)
    assert plan.traces["ogura", "pair"] is None
    assert lacking(plan)["ogura/pair"] == 0
    made = sources.assemble(plan.layout, plan.papers["ogura"], "pair", plan.specs("ogura", "pair"))
    assert made.runs["run_id"].tolist() == [0, 1]
    of_libra = whole.samples[whole.samples["run_id"] >= 2]
    assert made.samples["delivered_bytes"].tolist() == of_libra["delivered_bytes"].tolist()


def test_assembling_from_parts_gives_the_bytes_of_simulating_at_once(root, tmp_path):
    plan = make_plan(root)
    config, specs = plan.papers["ogura"], plan.specs("ogura", "pair")
    sources.simulate_missing(plan.layout, config, "pair", specs[1::2])
    sources.simulate_missing(plan.layout, config, "pair", specs[0::2])
    trace.write(sources.assemble(plan.layout, config, "pair", specs), tmp_path / "parts")
    for folder in sorted(plan.layout.finished_runs("ogura", "pair").iterdir()):
        trace.read(folder)  # each part is a whole trace
    at_once = sources.merge([sources.simulate(config, "pair", specs=specs)])
    at_once.provenance = {**at_once.provenance, "pkts": sources.delivered_pkts(at_once)}
    trace.write(at_once, tmp_path / "once")
    files = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert len(files) == 6
    for name in files:
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "once" / name).read_bytes(), name


def test_what_an_interruption_left_is_not_simulated_again(root, monkeypatch):
    plan = make_plan(root)
    config, specs = plan.papers["ogura"], plan.specs("ogura", "pair")
    told = []

    def interrupt(done, of):
        told.append((done, of))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sources.simulate_missing(plan.layout, config, "pair", specs, progress=interrupt)
    assert lacking(make_plan(root))["ogura/pair"] == 1
    again = []
    sources.simulate_missing(plan.layout, config, "pair", specs, progress=lambda done, of: again.append((done, of)))
    assert again == [(0, 1), (1, 1)]


class KilledError(BaseException):
    """What ends a process at once; nothing that would tidy up comes after it."""


@pytest.mark.parametrize("n_written", [0, 1, 2])
@pytest.mark.parametrize("n_finished", [0, 1, 2, 3])
def test_a_simulation_that_is_killed_loses_the_run_in_flight_alone(root, tmp_path, monkeypatch, n_finished, n_written):
    plan = make_plan(root)
    config, specs = plan.papers["ogura"], plan.specs("ogura", "pair")
    writes = trace.write

    def killed(done, of):
        if done == n_written:
            monkeypatch.setattr(sources, "WRITE_EVERY_S", 0.0 if n_written else 60.0)
        if done == n_written + 1:
            monkeypatch.setattr(sources, "WRITE_EVERY_S", 60.0)
        if done == n_finished:
            monkeypatch.setattr(sources.trace, "write", lambda made, folder: None)
            monkeypatch.setattr(sources.finished.Finished, "forget", lambda self: None)
            raise KilledError

    with pytest.raises(KilledError):
        sources.simulate_missing(plan.layout, config, "pair", specs, progress=killed)
    monkeypatch.undo()
    assert lacking(make_plan(root))["ogura/pair"] == 4 - n_finished
    make_plan(root).discard_stale()
    assert lacking(make_plan(root))["ogura/pair"] == 4 - n_finished
    told = []
    sources.simulate_missing(plan.layout, config, "pair", specs, progress=lambda *counts: told.append(counts))
    assert told[-1] == (4 - n_finished, 4 - n_finished)
    writes(sources.assemble(plan.layout, config, "pair", specs), tmp_path / "parts")
    at_once = sources.merge([sources.simulate(config, "pair", specs=specs)])
    at_once.provenance |= {"pkts": sources.delivered_pkts(at_once)}
    writes(at_once, tmp_path / "once")
    for file in sorted((tmp_path / "once").iterdir()):
        assert (tmp_path / "parts" / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize("damage", ["gone", "empty"])
def test_a_trace_whose_tables_are_not_there_is_made_again_unless_it_is_shipped(root, damage):
    shipped, made = ship(make_plan(root), "pair"), make_trace(make_plan(root), "self")
    for folder in (shipped, made):
        (folder / "samples.parquet").unlink()
        if damage == "empty":
            (folder / "samples.parquet").touch()
    assert lacking(make_plan(root))["ogura/self"] == 1
    make_trace(make_plan(root), "self")
    assert "ogura/self" not in lacking(make_plan(root))
    assert make_plan(root, source="bundled").traces["ogura", "pair"] == shipped  # what is amiss is said when it is read
    with pytest.raises(InputError, match=r"pair/samples.parquet"):
        trace.read(shipped)


def test_an_edited_algorithm_makes_its_own_runs_stale(root, monkeypatch):
    make_trace(make_plan(root), "pair")
    now = dict(store.code_behind(make_plan(root).asked["ogura", "pair"]))

    def edited(algorithms):
        return now | {"libra": "0" * 16}

    monkeypatch.setattr(store, "_code_now", edited)
    plan = make_plan(root)
    assert lacking(plan)["ogura/pair"] == 2
    assert plan.why_simulated("ogura", "pair") == ["code of libra"]
    monkeypatch.setattr(store, "_code_now", lambda algorithms: now | {code.SIMULATOR: "0" * 16})
    assert lacking(make_plan(root))["ogura/pair"] == 4


def test_keys_do_not_depend_on_the_reasons_in_the_configuration(root):
    make_trace(make_plan(root), "pair")
    edit(root / "config/papers/ogura.yaml", "assumed: headers, range: [1448", "assumed: why, range: [1400")
    assert make_plan(root).traces["ogura", "pair"] is not None


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "list"])
def test_a_damaged_manifest_is_an_error_where_it_is_shipped_and_nothing_elsewhere(root, damage):
    shipped = ship(make_plan(root), "pair")
    made = make_trace(make_plan(root), "self")
    for path in (shipped / "manifest.json", made / "manifest.json"):
        text = path.read_text()
        path.write_text(
            {"cut": text[:40], "flipped": text.replace("engine", "engina", 1), "gone": "", "list": "[]"}[damage]
        )
        if damage == "gone":
            path.unlink()
    with pytest.raises(InputError, match=r"pair/manifest.json"):
        make_plan(root, source="bundled").traces  # noqa: B018
    assert make_plan(root).traces["ogura", "self"] is None


def test_the_manifest_of_a_trace_without_keys_holds_nothing(root):
    folder = make_trace(make_plan(root), "pair")
    manifest = read_manifest(folder)
    del manifest["runs"]
    write_manifest(manifest, folder)
    assert lacking(make_plan(root))["ogura/pair"] == 4


def test_a_view_says_what_has_changed_and_what_makes_it(root):
    make_trace(make_plan(root), "pair")
    edit(root / "config/papers/ogura.yaml", "buffer_pkts: {value: 10,", "buffer_pkts: {value: 20,")
    plan = make_plan(root)
    with pytest.raises(store.MissingRunsError) as error:
        store.Held(plan.layout, plan.papers["ogura"]).trace("pair")
    text = str(error.value)
    assert "ogura/pair: 4 of the 4 runs" in text
    assert "settings.buffer_pkts 10 -> 20" in text
    assert "./reproduce --config source=engine makes what is missing" in text


def test_metrics_count_only_when_made_from_what_is_asked_for(root):
    from tcpfair.contract.stamps import write_stamp

    plan = make_plan(root)
    path = plan.layout.metrics("ogura", "pair")
    path.parent.mkdir(parents=True)
    path.write_text("rows")
    held = store.Held(plan.layout, plan.papers["ogura"])
    assert held.metrics("pair") is None
    write_stamp(path, plan.measure_stamp("ogura", "pair"))
    assert held.metrics("pair") == path
    edit(root / "config/papers/ogura.yaml", "value: -10", "value: -20")
    plan = make_plan(root)
    assert store.Held(plan.layout, plan.papers["ogura"]).metrics("pair") is None


def test_made_by_says_engine_for_what_is_shipped_in_part(root):
    ship(make_plan(root), "pair")
    make_trace(make_plan(root, source="bundled"), "self")
    plan = make_plan(root, source="bundled")
    held = store.Held(plan.layout, plan.papers["ogura"])
    assert held.made_by(["pair"]) == "bundled"
    assert held.made_by(["self"]) == "engine"
    assert held.made_by(["pair", "self"]) == "bundled and engine"
    assert json.loads((plan.layout.simulated("ogura", "self") / "manifest.json").read_text())["backend"] == "engine"
