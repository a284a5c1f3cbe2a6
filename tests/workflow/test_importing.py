"""./reproduce import: read once, checked, written whole or not at all, with what was inferred."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import repository_root
from tcpfair.files.manifest import MANIFEST
from tcpfair.papers.recordings import sidecar_path
from tcpfair.runs import sidecar
from tcpfair.runs.recorded import open_recorded
from tcpfair.runs.sidecar import AT_IMPORT, FLOWS_AT_IMPORT, Said, is_trace, trace_place
from tcpfair.runs.trace import in_schema, write
from tcpfair.sources.readers.sidecar import SaidFlow, Sidecar
from tcpfair.workflow import importing

SAMPLES = Path(__file__).parents[1] / "samples"
REPORT = SAMPLES / "iperf3" / "reno_4s.json"
RUN = SAMPLES / "testbed" / "reno_14s"


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_becomes_a_trace_with_what_was_inferred_and_where_it_is_from(layout):
    folder, found = importing.bring(layout, REPORT)
    assert folder == layout.data / "raw" / "reno_4s" and is_trace(folder)
    assert not any(path.read_bytes() == REPORT.read_bytes() for path in folder.iterdir())
    assert found.flows["cc"].tolist() == ["reno"]
    text = (folder / "trace.yaml").read_text()
    assert "#     protocol: reno" in text and "#   capacity_bps:   # rate of the bottleneck" in text
    # what was inferred becomes what is said once the number signs are taken away
    stated = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith(("# flows", "#   ")))
    said = yaml.safe_load(stated[stated.index("flows:") :].replace("#  ", "   "))
    assert said["flows"] == [{"flow": "reno_4s.json", "protocol": "reno", "rtt_s": pytest.approx(0.05169)}]
    (folder / "trace.yaml").write_text(yaml.safe_dump(said))
    assert importing.look(folder).flows["rtt_s"].item() == said["flows"][0]["rtt_s"]
    told = json.loads((folder / "manifest.json").read_text())
    content = REPORT.read_bytes()
    sha = hashlib.sha256(content).hexdigest()
    assert told["native"] == [{"name": "reno_4s.json", "sha256": sha, "bytes": len(content)}]
    assert told["format"] == "iperf3" and told["said"] == {}


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 50), os.unlink], ids=["truncated", "removed"])
def test_a_damaged_recording_is_to_be_imported_again(layout, damage):
    folder, _ = importing.bring(layout, REPORT)
    damage(folder / "samples.parquet")
    with pytest.raises(
        InputError, match=r"samples\.parquet: .*; import the recording again: ./reproduce import --repl"
    ):
        importing.look(folder)
    importing.bring(layout, REPORT, replace=True)
    importing.look(folder)


@pytest.mark.parametrize("path", [REPORT, RUN], ids=lambda path: path.name)
def test_a_recording_is_read_once(layout, tmp_path, monkeypatch, path):
    """And never again: what is drawn afterwards needs the tool's own files no more."""
    read, observe = [], importing.observe
    monkeypatch.setattr(importing, "observe", lambda *what: read.append(what) or observe(*what))
    copied = shutil.copytree if path.is_dir() else shutil.copy
    own = Path(copied(path, tmp_path / path.name))
    before = importing.look(own)
    read.clear()
    folder, found = importing.bring(layout, own)
    assert len(read) == 1
    shutil.rmtree(own) if own.is_dir() else own.unlink()
    after, _ = open_recorded(folder)
    assert len(read) == 1
    for name, table in before.tables.items():
        same = in_schema(name, table).to_pandas().equals(in_schema(name, after.tables[name]).to_pandas())
        assert same, name
    assert importing.told(folder, found)[1:] == importing.told(own, before)[1:]


def test_of_two_that_read_a_recording_for_the_first_time_at_once_the_trace_of_the_first_stays(layout, monkeypatch):
    """Another process may be reading it."""
    observe, first = importing.observe, []

    def after_another(*what):
        monkeypatch.setattr(importing, "observe", observe)
        first.append((importing.read_once(layout, REPORT) / MANIFEST).stat().st_ino)
        return observe(*what)

    monkeypatch.setattr(importing, "observe", after_another)
    folder = importing.read_once(layout, REPORT)
    assert [(folder / MANIFEST).stat().st_ino] == first
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_is_left_of_a_trace_that_was_read_once_is_replaced(layout):
    folder = importing.read_once(layout, REPORT)
    (folder / MANIFEST).unlink()
    assert importing.read_once(layout, REPORT) == folder and is_trace(folder)


# --- Corrected afterwards -----------------------------------------------------------------------------------------------

NAME = "reno_4s.json"
CORRECTED = {
    "label": ({"flows": [{"flow": NAME, "label": "mine"}]}, lambda t: t.flows["protocol"].item() == "mine"),
    "rtt": ({"flows": [{"flow": NAME, "rtt_s": 0.05}]}, lambda t: t.flows["rtt_s"].item() == 0.05),
    "link": ({"link": {"capacity_bps": 5e8}}, lambda t: t.runs["capacity_bps"].item() == 5e8),
    "kind": ({"kind": "pairs"}, lambda t: True),
}
CANNOT = {
    "another protocol": ({"flows": [{"flow": NAME, "protocol": "bbr"}]}, "'bbr', but it was recorded as 'reno'"),
    "an RTT above the smallest": ({"flows": [{"flow": NAME, "rtt_s": 0.5}]}, "but RTTs down to 0.051"),
    "an RTT in ms": ({"flows": [{"flow": NAME, "rtt_s": 0.0001}]}, "give seconds"),
    "a slow link": ({"link": {"capacity_bps": 1e6}}, "above what a link of 1e\\+06 bit/s carries"),
    "no such flow": ({"flows": [{"flow": "reno.json"}]}, "did you mean 'reno_4s.json'"),
    "a start": (
        {"flows": [{"flow": NAME, "start_s": 3}]},
        "trace.yaml: flows: start_s: is used only to read the tool's own files",
    ),
    "columns": ({"columns": {"time": "t"}}, "trace.yaml: columns: is used only to read the tool's own files"),
    "a word": ({"link": {"capacity": 1}}, r"link\.capacity: "),
}


@pytest.mark.parametrize(("said", "holds"), CORRECTED.values(), ids=CORRECTED)
def test_what_holds_for_a_trace_can_be_corrected_at_any_time_and_taken_back(layout, said, holds):
    folder, before = importing.bring(layout, REPORT)
    (folder / "trace.yaml").write_text(yaml.safe_dump(said))
    assert importing.bring(layout, folder)[0] == folder and holds(importing.look(folder))
    importing.bring(layout, REPORT)  # the same recording again: what a person wrote stays
    assert yaml.safe_load((folder / "trace.yaml").read_text()) == said
    importing.bring(layout, REPORT, replace=True)
    assert importing.look(folder).flows.equals(before.flows)


@pytest.mark.parametrize(("said", "says"), CANNOT.values(), ids=CANNOT)
def test_what_contradicts_a_trace_or_comes_too_late_is_one_line(layout, said, says):
    folder, _ = importing.bring(layout, REPORT)
    (folder / "trace.yaml").write_text(yaml.safe_dump(said))
    for look in (importing.look, open_recorded, lambda folder: importing.bring(layout, folder)):
        with pytest.raises(InputError, match=says):
            look(folder)


def test_what_counts_at_import_is_stated_beside_the_file_and_imported_again(layout, tmp_path):
    own = tmp_path / NAME
    shutil.copy(REPORT, own)
    folder, found = importing.bring(layout, own)
    assert found.runs["sample_s"].item() == 1
    said = {"interval_s": 2, "flows": [{"flow": NAME, "label": "slow", "start_s": 1}]}
    Path(f"{own}.trace.yaml").write_text(yaml.safe_dump(said))
    again, found = importing.bring(layout, own)
    assert again == folder and found.runs["sample_s"].item() == 2 and found.flows["start_s"].item() == 1
    assert yaml.safe_load((folder / "trace.yaml").read_text()) == {"flows": [{"flow": NAME, "label": "slow"}]}
    assert json.loads((folder / "manifest.json").read_text())["said"] == said


def test_what_counts_at_import_is_what_the_sidecar_of_a_file_has_beyond_that_of_a_trace():
    assert set(AT_IMPORT) == set(Sidecar.model_fields) - set(Said.model_fields)
    assert set(FLOWS_AT_IMPORT) == set(SaidFlow.model_fields) - set(sidecar.SaidFlow.model_fields)


def test_another_recording_is_refused_unless_it_replaces(layout, tmp_path):
    folder, _ = importing.bring(layout, REPORT)
    other = tmp_path / "reno_4s.json"
    report = json.loads(REPORT.read_text())
    report["title"] = "start=3"
    other.write_text(json.dumps(report))
    before = files_of(folder)
    with pytest.raises(InputError, match="contains another recording; choose --name, or --replace it"):
        importing.bring(layout, other)
    assert files_of(folder) == before
    importing.bring(layout, other, replace=True)
    assert importing.look(folder).flows["start_s"].item() == 3


# --- Refused, shared, left in place -------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "nothing", "a letter"])
def test_what_is_refused_leaves_everything_as_it_was(layout, tmp_path, damage):
    importing.bring(layout, REPORT)
    before = files_of(layout.root)
    bad = tmp_path / "reno_4s.json"
    if damage != "nothing":
        bad.write_bytes(REPORT.read_bytes()[:3000] if damage == "cut" else b"Dear reader")
    with pytest.raises(InputError):
        importing.bring(layout, bad, replace=True)
    assert files_of(layout.root) == before


def test_a_trace_that_is_written_wrong_is_not_kept(layout, monkeypatch):
    monkeypatch.setattr(importing, "_sidecar_text", lambda *_: "flows: [{flow: nobody}]")
    with pytest.raises(InputError, match="'nobody' is unknown"):
        importing.bring(layout, REPORT)
    assert files_of(layout.data / "raw") == {}


def test_what_was_not_used_is_told(layout, tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    (tmp_path / "run" / "headers.pcap.gz").write_bytes(b"")
    folder, found = importing.bring(layout, tmp_path / "run")
    told = importing.told(folder, found)
    assert (
        told[0].endswith("testbed, 2 flows, 14 s, recorded every 1 s")
        and "note       not used: headers.pcap.gz" in told
    )
    assert "# not used: headers.pcap.gz" in (folder / "trace.yaml").read_text()


def test_a_trace_that_someone_shares_is_imported_like_any_recording(layout, tmp_path):
    folder, _ = importing.bring(layout, RUN, name="shared", anonymise=True)
    (folder / "trace.yaml").write_text("flows: [{flow: flow1, label: first}]\n")
    given = tmp_path / "from_alice"
    folder.rename(given)
    copy, found = importing.bring(layout, given)
    assert copy == layout.data / "raw" / "from_alice" and found.flows["protocol"].tolist() == ["first", "reno"]
    shutil.copy(given / "flows.parquet", given / "link.parquet")
    with pytest.raises(InputError, match=r"link\.parquet: differs from the hash"):
        importing.bring(layout, given, name="again")


STRANGE = {
    "no names": ({"names": "ab"}, "names: must be a list of texts"),
    "numbers": ({"names": [1, 2]}, "names: must be a list of texts"),
    "one name for two": ({"names": ["a", "a"]}, "names: must be a name for each of the 2 flows"),
    "too many": ({"names": ["a", "b", "c"]}, "names: must be a name for each of the 2 flows"),
    "an origin": ({"origins": ["receiver"]}, "origins: must be a text for each of the 2 flows"),
    "remarks": ({"remarks": {"a": 1}}, "remarks: must be a list of texts"),
}


@pytest.fixture
def given(tmp_path):
    """The trace of a stranger: that of a run with other tables or another manifest."""

    def _given(**changes):
        made, _ = importing.trace_of(RUN)
        write(
            replace(made, **{name: change(getattr(made, name)) for name, change in changes.items()}), tmp_path / "given"
        )
        return tmp_path / "given"

    return _given


@pytest.mark.parametrize(("manifest", "says"), STRANGE.values(), ids=STRANGE)
def test_a_manifest_of_a_stranger_names_each_flow_once(layout, given, manifest, says):
    with pytest.raises(InputError, match=rf"manifest\.json: {says}"):
        importing.bring(layout, given(provenance=lambda own: {**own, **manifest}))


def test_polls_of_a_stranger_are_checked_too(layout, given):
    with pytest.raises(InputError, match=r"polls\.parquet: cwnd_pkts: must be at least 0"):
        importing.bring(layout, given(polls=lambda polls: polls.assign(cwnd_pkts=-1.0)))


def test_a_flow_of_a_trace_without_names_is_called_by_its_number(layout, given):
    folder = given(provenance=lambda own: {"paper": "mine"})
    (folder / "trace.yaml").write_text("flows: [{flow: flow2, label: second}]\n")
    assert importing.bring(layout, folder)[1].flows["protocol"].tolist() == ["reno", "second"]


def native_in_raw(layout, kind):
    """A tool's own files in data/raw: dropped there, recorded there by ``./reproduce testbed``, or imported by version 0.10."""
    place = layout.data / "raw" / {"dropped": "dropped.json", "testbed": "testbed", "0.10": "reno_4s"}[kind]
    if kind == "testbed":
        shutil.copytree(RUN, place)
    elif kind == "dropped":
        shutil.copy(REPORT, place)
    else:
        place.mkdir()
        shutil.copy(REPORT, place)
        (place / "SHA256SUMS").write_text("")
        (place / "trace.yaml").write_text("# flows:\n#   - flow: reno_4s.json\n")
    return place


@pytest.mark.parametrize("kind", ["dropped", "testbed", "0.10"])
def test_own_files_in_data_raw_stay_and_are_read_once(layout, kind, monkeypatch):
    place = native_in_raw(layout, kind)
    before = files_of(place) if place.is_dir() else place.read_bytes()
    assert importing.chosen(layout, [], "") == [place]
    folder, found = importing.bring(layout, place)
    assert folder == place and sidecar_path(place).is_file()
    now = files_of(place) if place.is_dir() else place.read_bytes()
    assert now == before if kind != "testbed" else now.items() > before.items()
    kept = importing.read_once(layout, place)
    assert is_trace(kept) and kept.parent == layout.root / "results" / "recordings"
    monkeypatch.setattr(importing, "observe", None)  # from here on nothing is read
    assert importing.bring(layout, place)[1].samples.equals(found.samples)
    sidecar_path(place).write_text("link: {capacity_bps: 1.0e+9}\n")
    assert importing.trace_place(layout.root, place) != kept


def test_a_trace_in_results_belongs_to_content_statements_and_code(layout, tmp_path, monkeypatch):
    own = tmp_path / NAME
    shutil.copy(REPORT, own)
    first = trace_place(layout.root, own)
    Path(f"{own}.trace.yaml").write_text("# nothing\n")
    os.utime(own, (0, 0))
    assert trace_place(layout.root, own) == first
    Path(f"{own}.trace.yaml").write_text("interval_s: 2\n")
    assert trace_place(layout.root, own) != first
    Path(f"{own}.trace.yaml").unlink()
    monkeypatch.setattr("tcpfair.runs.reach.of_modules", lambda *_: {"code": "edited"})
    assert trace_place(layout.root, own) != first
    with pytest.raises(InputError, match="nothing: no such file or folder"):
        trace_place(layout.root, tmp_path / "nothing")


@pytest.mark.parametrize("name", ["examples", "a/b", "../up", "a b", "README.md", "$(ls)"])
def test_names_that_cannot_be(layout, name):
    with pytest.raises(InputError, match="--name"):
        importing.bring(layout, REPORT, name=name)


def test_without_a_path_there_has_to_be_something_in_data_raw(layout):
    with pytest.raises(InputError, match=r"nothing in .*data/raw yet"):
        importing.chosen(layout, [], "")
    with pytest.raises(InputError, match="--name: requires one PATH"):
        importing.chosen(layout, [], "mine")


# --- Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [76, 90, 200, 255])
def test_a_long_file_name_is_only_a_name(layout, tmp_path, length):
    path = tmp_path / f"{'n' * (length - 5)}.json"
    shutil.copy(REPORT, path)
    folder, found = importing.bring(layout, path)
    assert is_trace(folder) and len(folder.name) <= 100
    assert found.provenance["names"] == [path.name]
    (folder / "trace.yaml").write_text(yaml.safe_dump({"flows": [{"flow": path.name, "rtt_s": 0.05}]}))
    assert importing.look(folder).flows["rtt_s"].tolist() == [0.05]


def test_what_a_terminal_would_obey_is_shown_as_an_escape(layout, tmp_path, capsys):
    path = tmp_path / "a\x1b[2Jb\u202ec\x9bd.json"
    report = json.loads(REPORT.read_text())
    report["title"] = "start\x1b[31m"
    path.write_text(json.dumps(report))
    folder, found = importing.bring(layout, path)
    shown = "\n".join(importing.told(folder, found)) + (folder / "trace.yaml").read_text()
    assert r"a\x1b[2Jb\u202ec\x9bd.json" in shown
    path.write_text("Dear reader")
    with pytest.raises(InputError) as error:
        importing.bring(layout, path)
    for text in (*(line for line in shown.split("\n")), str(error.value)):
        assert text.isprintable(), repr(text)


def test_a_name_that_is_no_text_is_refused_or_read_but_never_a_traceback(layout, tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.json")
    shutil.copy(REPORT, path)
    _, found = importing.bring(layout, path)
    assert found.provenance["names"] == [r"caf\udce9.json"]


def test_the_others_are_imported_when_one_is_refused(layout, tmp_path, capsys, monkeypatch):
    from tcpfair.workflow import cli

    monkeypatch.setattr(cli, "repository_root", lambda: layout.root)
    layout.config.mkdir(parents=True, exist_ok=True)
    shutil.copy(repository_root() / "config/raw.yaml", layout.config)
    paths = [tmp_path / name for name in ("a.json", "bad.json", "missing.json", "c.json")]
    shutil.copy(REPORT, paths[0])
    paths[1].write_text("Dear reader")
    shutil.copy(REPORT, paths[3])
    assert cli.main(["import", *map(str, paths), "--no-figures"]) == 1
    said = capsys.readouterr()
    assert said.out.count("kept ") == 2 and {path.name for path in (layout.data / "raw").iterdir()} >= {"a", "c"}
    *each, last = said.err.splitlines()
    assert len(each) == 2 and "bad.json: no reader recognises it" in each[0] and "missing.json: no such file" in each[1]
    assert last.startswith("error: 2 of 4 recordings are refused: ") and "bad.json" in last and "missing.json" in last
    assert cli.main(["import", str(paths[0]), "--no-figures"]) == 0
