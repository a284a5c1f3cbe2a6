"""./reproduce import: checked first, copied whole or not at all, with what was inferred."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from tcpfair.contract.layout import Layout, repository_root
from tcpfair.errors import InputError
from tcpfair.sources.readers import read_any
from tcpfair.workflow import importing

SAMPLES = Path(__file__).parents[1] / "samples"
REPORT = SAMPLES / "iperf3" / "reno_4s.json"
RUN = SAMPLES / "testbed" / "reno_14s"


@pytest.fixture
def layout(tmp_path):
    (tmp_path / "checkout" / "data" / "raw" / "examples").mkdir(parents=True)
    return Layout(tmp_path / "checkout")


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_becomes_a_folder_with_what_was_inferred(layout):
    folder, found = importing.bring(layout, REPORT)
    assert folder == layout.data / "raw" / "reno_4s"
    assert (folder / "reno_4s.json").read_bytes() == REPORT.read_bytes()
    assert found.trace.flows["cc"].tolist() == ["reno"]
    text = (folder / "trace.yaml").read_text()
    assert "#     protocol: reno" in text and "#   capacity_bps:   # rate of the bottleneck" in text
    # what was inferred becomes what is said once the number signs are taken away
    stated = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith(("# flows", "#   ")))
    said = yaml.safe_load(stated[stated.index("flows:") :].replace("#  ", "   "))
    assert said["flows"][0]["protocol"] == "reno" and said["flows"][0]["rtt_s"] == pytest.approx(0.05169)
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        sha, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha


def test_again_is_no_other_and_another_is_refused_unless_it_replaces(layout, tmp_path):
    folder, _ = importing.bring(layout, REPORT)
    (folder / "trace.yaml").write_text("flows: [{flow: reno_4s.json, label: mine, start_s: 10}]\n")
    importing.bring(layout, folder)  # what a person wrote stays
    assert "label: mine" in (folder / "trace.yaml").read_text()
    other = tmp_path / "reno_4s.json"
    report = json.loads(REPORT.read_text())
    report["title"] = "start=3"
    other.write_text(json.dumps(report))
    before = files_of(folder)
    with pytest.raises(InputError, match="is there already, with another recording; choose --name, or --replace it"):
        importing.bring(layout, other)
    assert files_of(folder) == before
    importing.bring(layout, other, replace=True)
    assert files_of(folder)["reno_4s.json"] == other.read_bytes()


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


def test_a_copy_that_goes_wrong_is_not_kept(layout, monkeypatch):
    monkeypatch.setattr(
        shutil, "copyfile", lambda source, target: Path(target).write_text(Path(source).read_text()[:-200])
    )
    with pytest.raises(InputError):
        importing.bring(layout, REPORT)
    assert files_of(layout.data / "raw") == {}


def test_a_testbed_run_is_copied_with_all_its_files(layout, tmp_path):
    folder, found = importing.bring(layout, RUN)
    assert {name for name in files_of(folder) if name not in ("trace.yaml", "SHA256SUMS")} == set(files_of(RUN))
    assert not any("not used" in line for line in importing.told(found))
    (tmp_path / "run").mkdir()
    shutil.copytree(RUN, tmp_path / "run", dirs_exist_ok=True)
    (tmp_path / "run" / "headers.pcap.gz").write_bytes(b"")
    assert "note       not used: headers.pcap.gz" in importing.told(importing.bring(layout, tmp_path / "run")[1])
    assert importing.told(found)[0].endswith("testbed, 2 flows, 14 s, recorded every 1 s")


def test_an_anonymous_copy_gives_the_same_and_tells_nothing(layout, tmp_path):
    source = tmp_path / "alice@laptop_home"
    shutil.copytree(RUN, source)
    folder, found = importing.bring(layout, source, name="shared", anonymise=True)
    before, after = read_any(source), found.trace
    assert before.samples["delivered_bytes"].tolist() == after.samples["delivered_bytes"].tolist()
    assert before.flows[["cc", "start_s", "rtt_s"]].equals(after.flows[["cc", "start_s", "rtt_s"]])
    assert (folder / "LICENSE").is_file()
    meta = json.loads((RUN / "meta.json").read_text())
    report = json.loads(gzip.decompress((RUN / "flow1.iperf.json.gz").read_bytes()))
    telling = [str(int(meta["t0"])), "alice", str(report["start"]["timestamp"]["timesecs"])]
    telling.append(report["start"]["connected"][0]["local_host"])
    for name, content in files_of(folder).items():
        for word in telling:
            assert word.encode() not in content, (name, word)


@pytest.mark.parametrize("name", ["examples", "a/b", "../up", "", "a b", "README.md", "$(ls)"])
def test_names_that_cannot_be(layout, name):
    if name:
        with pytest.raises(InputError, match="--name"):
            importing.bring(layout, REPORT, name=name)


def test_without_a_path_what_lies_in_data_raw_is_taken(layout):
    with pytest.raises(InputError, match=r"nothing in .*data/raw yet"):
        importing.chosen(layout, [], "")
    shutil.copy(REPORT, layout.data / "raw" / "dropped.json")
    (path,) = importing.chosen(layout, [], "")
    folder, _ = importing.bring(layout, path)
    assert folder == path and (layout.data / "raw" / "dropped.json.trace.yaml").is_file()
    assert importing.chosen(layout, [], "") == [path]
    with pytest.raises(InputError, match="--name: goes with one PATH"):
        importing.chosen(layout, [], "mine")


# --- Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [76, 90, 200, 255])
def test_a_long_file_name_is_only_a_name(layout, tmp_path, length):
    path = tmp_path / f"{'n' * (length - 5)}.json"
    shutil.copy(REPORT, path)
    folder, found = importing.bring(layout, path)
    assert (folder / path.name).is_file() and len(folder.name) <= 100
    assert found.trace.provenance["names"] == [path.name]
    (folder / "trace.yaml").write_text(yaml.safe_dump({"flows": [{"flow": path.name, "rtt_s": 0.05}]}))
    assert importing.look(folder).trace.flows["rtt_s"].tolist() == [0.05]


def test_what_a_terminal_would_obey_is_shown_as_an_escape(layout, tmp_path, capsys):
    path = tmp_path / "a\x1b[2Jb\u202ec\x9bd.json"
    report = json.loads(REPORT.read_text())
    report["title"] = "start\x1b[31m"
    path.write_text(json.dumps(report))
    folder, found = importing.bring(layout, path)
    shown = "\n".join(importing.told(found)) + (folder / "trace.yaml").read_text()
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
    assert found.trace.provenance["names"] == [r"caf\udce9.json"]


def test_an_anonymous_copy_has_neither_the_folders_name_nor_labels(layout, tmp_path):
    source = tmp_path / "alice_at_home"
    shutil.copytree(RUN, source)
    (source / "trace.yaml").write_text("flows: [{flow: flow1, label: of alice, rtt_s: 0.05}]\n")
    folder, found = importing.bring(layout, source, anonymise=True)
    assert folder.name.startswith("testbed-") and found.trace.flows["protocol"].tolist() == ["reno", "reno"]
    for name, content in files_of(layout.data / "raw").items():
        assert b"alice" not in name.encode() + content, name
    assert importing.bring(layout, source, anonymise=True)[0] == folder  # the same content has the same name


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
