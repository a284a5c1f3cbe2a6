"""Shipped data: copied whole, listed with checksums, checked against the configuration; killed at any line, never lost."""

import hashlib
import shutil
import sys

import pytest

from tcpfair.errors import InputError
from tcpfair.files import checksums
from tcpfair.files.files import is_scratch
from tcpfair.files.manifest import read_manifest, write_manifest
from tcpfair.runs import trace
from tcpfair.workflow import bundles
from tests.small_checkout import BOTH, edit, make_plan, ship_both


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A checkout in which `self` and `pair` are simulated and shipped."""
    plan = ship_both(tmp_path_factory.mktemp("made"))
    checksums.update(plan.layout.data, [plan.layout.data / "published"])
    return plan.root


@pytest.fixture
def plan(made, tmp_path):
    """A copy of it."""
    shutil.copytree(made, tmp_path / "checkout")
    return make_plan(tmp_path / "checkout")


def remake(plan, experiment, delivered_bytes):
    """Leave a trace of the experiment with samples that do not depend on it, so that two of them can share."""
    old = trace.read(plan.trace_folder("ogura", experiment))
    old.samples = trace.read(plan.trace_folder("ogura", "self")).samples.assign(delivered_bytes=delivered_bytes)
    trace.write(old, plan.trace_folder("ogura", experiment))


def test_shipped_traces_are_whole_and_what_the_configuration_asks_for(plan):
    assert bundles.faults(plan.root) == []
    assert make_plan(plan.root, source="bundled").traces["ogura", "pair"] == plan.layout.bundled("ogura", "pair")


def test_only_a_changed_trace_replaces_the_shipped_one(plan):
    assert bundles.ship(plan, BOTH) == []
    remake(plan, "self", 1460)
    assert bundles.ship(plan, BOTH) == ["ogura/self"]
    assert set(trace.read(plan.layout.bundled("ogura", "self")).samples["delivered_bytes"]) == {1460}
    assert bundles.faults(plan.root) == []


def test_runs_that_two_experiments_share_are_shipped_once(plan, monkeypatch):
    monkeypatch.setattr(bundles, "_WORTH_SHARING_BYTES", 0)
    own, borrowed = (plan.layout.bundled(*pair) / "samples.parquet" for pair in BOTH)
    for n_bytes in (4380, 5840):
        for _, experiment in BOTH:
            remake(plan, experiment, n_bytes)
        assert bundles.ship(plan, BOTH) == ["ogura/self", "ogura/pair"]
        assert own.is_file() and not borrowed.exists()
        assert set(trace.read(borrowed.parent).samples["delivered_bytes"]) == {n_bytes}
        assert bundles.faults(plan.root) == []
        assert bundles.ship(plan, BOTH) == []

    remake(plan, "self", 2920)
    assert bundles.ship(plan, BOTH[:1]) == ["ogura/self"]
    assert set(trace.read(own.parent).samples["delivered_bytes"]) == {2920}
    assert set(trace.read(borrowed.parent).samples["delivered_bytes"]) == {5840}
    assert bundles.faults(plan.root) == []


def test_a_shared_table_that_is_gone_is_named_with_the_manifest_that_wants_it(plan):
    folder = plan.layout.bundled("ogura", "self")
    write_manifest(read_manifest(folder) | {"shared": {"samples.parquet": "ogura/nosuch"}}, folder)
    with pytest.raises(InputError, match=r"ogura/nosuch/samples.parquet: missing; .*self/manifest.json lists it"):
        trace.read(folder)


# --- Kills --------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """Nothing catches it, as nothing catches the end of a process; `finally` blocks must not run either."""


def kill_at(line_number, action):
    """Run ``action`` and end it at the n-th line that it executes in bundles, files, manifest or trace.

    Returns the number of lines that were executed.
    """
    modules = {
        sys.modules[f"tcpfair.{name}"].__file__ for name in ("workflow.bundles", "files.files", "files.manifest")
    }
    count = 0

    def tracer(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename not in modules:
            return None
        if event == "line":
            count += 1
            if count >= line_number:  # every later line, those of `finally` among them, is never executed
                raise Killed
        return tracer

    sys.settrace(tracer)
    try:
        action()
    except Killed:
        pass
    finally:
        sys.settrace(None)
    return count


def digests(folder):
    """{file: hash} of all files below a folder that are no scratch."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not is_scratch(name):
            found[name.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.mark.parametrize("step", [40, pytest.param(8, marks=pytest.mark.slow)])
def test_a_rewriting_that_is_killed_anywhere_and_repeated_ends_as_if_it_had_not_been(plan, tmp_path, monkeypatch, step):
    monkeypatch.setattr(bundles, "_WORTH_SHARING_BYTES", 0)
    for _, experiment in BOTH:  # now they share
        remake(plan, experiment, 4380)
    bundles.ship(plan, BOTH)
    remake(plan, "self", 2920)  # the owner of what is shared changes
    before = digests(plan.layout.data)
    target = tmp_path / "target"
    shutil.copytree(plan.root, target)
    lines = kill_at(10**9, lambda: bundles.ship(make_plan(target), BOTH))
    wanted = digests(target / "data")
    assert wanted != before
    for line in range(1, lines + 1, step):
        root = tmp_path / f"kill{line}"
        shutil.copytree(plan.root, root, symlinks=True)
        killed = make_plan(root)
        kill_at(line, lambda killed=killed: bundles.ship(killed, BOTH))
        bundles.restore_interrupted(killed.layout)
        for pair in BOTH:  # old or new, but whole
            trace.read(killed.layout.bundled(*pair))
        again = make_plan(root)
        bundles.restore_interrupted(again.layout)
        bundles.ship(again, BOTH)
        assert digests(root / "data") == wanted, f"killed at line {line}"
        assert bundles.faults(root) == []
        assert not [path for path in (root / "data").rglob("*") if is_scratch(path.relative_to(root))]
        shutil.rmtree(root)


def test_scratch_folders_are_never_data(plan):
    shipped = plan.layout.bundled("ogura", "self")
    shutil.copytree(shipped, shipped.with_name(".self-abc.new"))
    assert set(bundles._shipped_manifests(plan.layout)) == {"ogura/self", "ogura/pair"}
    assert bundles.faults(plan.root) == []
    bundles.restore_interrupted(plan.layout)
    assert not shipped.with_name(".self-abc.new").exists()


# --- Faults -------------------------------------------------------------------------------------------------------


def test_a_damaged_table_is_a_fault_by_its_checksum_and_by_its_manifest(plan):
    (plan.layout.data / "bundled/ogura/self/samples.parquet").write_bytes(b"torn")
    by_checksum, by_manifest = bundles.faults(plan.root)
    assert by_checksum == "data/bundled/ogura/self/samples.parquet: differs from its checksum in data/SHA256SUMS"
    assert "samples.parquet: differs from the hash in manifest.json" in by_manifest


def test_every_flipped_bit_of_a_manifest_is_a_fault(plan):
    """Also when the checksums are written anew over it: the manifest's own digest tells."""
    path = plan.layout.bundled("ogura", "self") / "manifest.json"
    right = path.read_bytes()
    for number, place in enumerate(range(0, len(right), 23)):
        flipped = bytearray(right)
        flipped[place] ^= 1 << number % 8
        path.write_bytes(flipped)
        checksums.update(plan.layout.data, [path])
        found = bundles.faults(plan.root)
        assert any("self/manifest.json" in line for line in found), (place, bytes(flipped[place : place + 1]))
        assert all("\n" not in line for line in found)


def test_a_file_that_nobody_reads_as_a_checksum_list_gets_one_line(plan):
    (plan.layout.data / "SHA256SUMS").write_text("not a line\n")
    with pytest.raises(InputError, match="SHA256SUMS:1: not a line of sha256sum"):
        bundles.faults(plan.root)


def test_a_changed_parameter_makes_the_shipped_trace_a_fault(plan):
    edit(plan.root / "config/papers/ogura.yaml", "runs: {value: 2,", "runs: {value: 3,")
    assert bundles.faults(plan.root) == ["data/bundled/ogura/pair: holds 4 of the 6 requested runs (runs 2 -> 3)"]


def test_checksums_are_written_for_what_a_command_wrote_and_nothing_else(plan):
    data = plan.layout.data
    (data / "published/ogura.csv").write_text("exhibit,key\naltered,x\n")
    remake(plan, "self", 1460)
    bundles.ship(plan, BOTH)
    assert bundles.faults(plan.root) == ["data/published/ogura.csv: differs from its checksum in data/SHA256SUMS"]
    checksums.update(data, [data / "published/ogura.csv"])
    assert bundles.faults(plan.root) == []


@pytest.mark.parametrize("name", ["pair", "ogura/pair", "ogura.pair"])
def test_an_experiment_is_chosen_by_name_with_or_without_its_paper(plan, name):
    assert bundles.chosen(plan, name) == [("ogura", "pair")]


def test_all_experiments_are_chosen_without_a_name_and_none_with_a_wrong_one(plan):
    assert bundles.chosen(plan, None) == plan.experiments
    with pytest.raises(InputError, match="'ogura/pear' is unknown; did you mean 'ogura/pair'. known are ogura/self"):
        bundles.chosen(plan, "ogura/pear")
