"""Recordings of strangers: what an import reads cannot use up memory, hang, leave its folder, or be anything but words."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import sys
import tracemalloc
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from tcpfair.errors import InputError
from tcpfair.runs.sidecar import is_trace
from tcpfair.sources.readers import read_any
from tcpfair.workflow import importing
from tests.workflow.test_importing import REPORT, RUN, files_of

MOST_MB = 700  # at any time, of Python's own; a report of 120 MB is read whole


def refused(layout, path, **given) -> str:
    """The one line with which an import ends; nothing is kept."""
    with pytest.raises(InputError) as error:
        importing.bring(layout, path, **given)
    said = str(error.value)
    assert files_of(layout.data / "raw") == {}
    return said


# --- Memory ------------------------------------------------------------------------------------------------------

BEGINNINGS = {
    "an iperf3 report": b'{"start": {"version": "iperf 3.12"}, "intervals": [',
    "a table": b"time,flow,bytes\n",
    "ss": b"ESTAB 0 0 10.0.0.1:5001 10.0.0.2:5001\n\t cubic wscale:7,7 rto:204 rtt:1.5/0.75\n",
    "a flow monitor": b"<?xml version='1.0'?><FlowMonitor>",
    "mahimahi": b"# mahimahi mm-link\n# base timestamp: 1\n",
    "nothing known": b"",
}


def gzip_bomb(path: Path, beginning: bytes, filling: bytes, n_mb: int) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    with path.open("wb") as stream:
        stream.write(packer.compress(beginning))
        for _ in range(n_mb):
            stream.write(packer.compress((filling * (1 << 20))[: 1 << 20]))
        stream.write(packer.flush())


@pytest.mark.slow
@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize("filling", [b" ", b"\n", b"\0", b"[", b"1,1,1\n"], ids=repr)
def test_a_packed_bomb_is_one_line(layout, tmp_path, beginning, filling):
    path = tmp_path / "bomb.gz"
    gzip_bomb(path, beginning, filling, 400)
    tracemalloc.start()
    try:
        refused(layout, path)
        assert tracemalloc.get_traced_memory()[1] < MOST_MB * 1e6
    finally:
        tracemalloc.stop()


def test_what_swells_as_no_recording_does_is_refused_whatever_packed_it(layout, tmp_path, monkeypatch):
    monkeypatch.setattr("tcpfair.sources.readers.text._FREE_BYTES", 1_000_000)
    content = b"time,flow,bytes\n" + b"\n" * 20_000_000
    packed = {
        "xz": lzma.compress(content, preset=0),
        "zstd": pa.compress(content, codec="zstd", asbytes=True),
        "gzip": zlib.compress(content, 9, wbits=zlib.MAX_WBITS | 16),
    }
    for name, data in packed.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert "unpacks to more than 400 times its size" in refused(layout, path), name
    many = tmp_path / "table.csv.gz"  # the same poll again and again is no bomb
    rows = "".join(f"{i / 10},1,{1000 * (i % 7)}\n" for i in range(100_000))
    many.write_bytes(zlib.compress(f"time_s,flow,bytes\n{rows}".encode(), 9, wbits=zlib.MAX_WBITS | 16))
    assert len(read_any(many).samples) > 1000


@pytest.mark.parametrize("name", ["trace.yaml", "config.yaml", "manifest.json"])
def test_what_has_to_be_small_is(tmp_path, name):
    from tcpfair.files.manifest import read_manifest
    from tcpfair.papers.papers import load_yaml
    from tcpfair.sources.readers.sidecar import load_sidecar

    path = tmp_path / name
    with path.open("wb") as stream:
        stream.truncate(50_000_000_000)  # holes take no room on the disk, but all of it in memory
    read = {"trace.yaml": load_sidecar, "manifest.json": read_manifest}.get(name, lambda _: load_yaml(path))
    with pytest.raises(InputError, match=f"{name}: larger than 20 MB"):
        read(tmp_path)


# --- Places ------------------------------------------------------------------------------------------------------


def test_a_link_to_somewhere_else_is_not_copied(layout, tmp_path):
    secret = tmp_path / "home" / "secret.json"
    secret.parent.mkdir()
    shutil.copy(REPORT, secret)
    folder = tmp_path / "gift"
    folder.mkdir()
    (folder / "flow1.json").symlink_to("../home/secret.json")
    assert "flow1.json: a link to somewhere else" in refused(layout, folder)
    shutil.copy(secret, folder / "real.json")
    (folder / "flow1.json").unlink()
    (tmp_path / "home" / "said.yaml").write_text("link: {capacity_bps: 1.0e+9}\n")
    (folder / "trace.yaml").symlink_to(tmp_path / "home" / "said.yaml")
    assert "a link to somewhere else" in refused(layout, folder)
    (folder / "trace.yaml").unlink()
    (folder / "flow1.json").symlink_to("real.json")  # twins are refused too, but for what they are
    assert "a link to somewhere else" not in refused(layout, folder)


def test_links_of_a_testbed_run_are_not_followed_either(layout, tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    (tmp_path / "elsewhere.json").write_bytes((tmp_path / "run" / "meta.json").read_bytes())
    (tmp_path / "run" / "meta.json").unlink()
    (tmp_path / "run" / "meta.json").symlink_to("../elsewhere.json")
    assert "meta.json: a link to somewhere else" in refused(layout, tmp_path / "run")


def test_a_link_that_its_owner_names_is_followed(layout, tmp_path):
    (tmp_path / "mine.json").symlink_to(REPORT)
    folder, _ = importing.bring(layout, tmp_path / "mine.json")
    assert is_trace(folder) and not any(path.is_symlink() for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["pipe", "device", "loop"])
def test_what_has_no_end_is_not_opened(layout, tmp_path, kind):
    folder = tmp_path / "recording"
    folder.mkdir()
    for path in (folder / "flow.csv", tmp_path / "flow.csv"):
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero" if kind == "device" else path.name)
        refused(layout, path if path.parent == tmp_path else folder)


@pytest.mark.parametrize("kept", ["folder", "file"])
def test_replacing_replaces_a_link_and_not_what_it_leads_to(layout, tmp_path, kept):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    place = layout.data / "raw" / "reno_4s"
    place.symlink_to(outside if kept == "folder" else outside / "precious")
    importing.bring(layout, REPORT, replace=True)
    assert files_of(outside) == {"precious": b"mine"}
    assert place.is_dir() and not place.is_symlink() and is_trace(place)


def test_a_sidecar_is_written_beside_the_recording_wherever_a_link_of_its_name_leads(layout, tmp_path):
    dropped = layout.data / "raw" / "dropped.json"
    shutil.copy(REPORT, dropped)
    beside = layout.data / "raw" / "dropped.json.trace.yaml"
    beside.symlink_to(tmp_path / "not there yet")
    importing.bring(layout, dropped)
    assert not (tmp_path / "not there yet").exists()
    assert beside.is_file() and not beside.is_symlink()


# --- Words -------------------------------------------------------------------------------------------------------

WORDS = [
    "<script>alert(1)</script>",
    "$(touch PWNED)",
    "`touch PWNED`; touch PWNED",
    "{wildcards.x}",
    "../../../up",
    "$x$ \\frac",
]


@pytest.mark.parametrize("words", WORDS)
def test_a_file_of_any_name_becomes_a_trace_in_data_raw_and_nowhere_else(layout, tmp_path, words):
    path = tmp_path / "given" / f"{words.replace('/', '_')}.json"
    path.parent.mkdir()
    shutil.copy(REPORT, path)
    folder, found = importing.bring(layout, path)
    assert folder.parent == layout.data / "raw" and set(folder.name) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-"
    )
    assert found.provenance["names"] == [path.name] and importing.told(folder, found)
    assert not list(tmp_path.rglob("PWNED"))


@pytest.mark.parametrize("words", WORDS)
def test_titles_hosts_and_algorithms_are_words_in_trace_yaml(layout, tmp_path, words):
    """A comment that ends early, or a value that is read as another, would say what nobody has said."""
    report = json.loads(REPORT.read_text())
    report["title"] = words
    report["start"]["connecting_to"]["host"] = f"{words}\nflows: [{{flow: x}}]"
    path = tmp_path / "r.json"
    path.write_text(json.dumps(report))
    folder, _ = importing.bring(layout, path)
    said = [line for line in (folder / "trace.yaml").read_text().splitlines() if line and not line.startswith("#")]
    assert said == []
    assert not list(tmp_path.rglob("PWNED"))


def test_nothing_of_a_recording_is_loaded_as_code(tmp_path, monkeypatch):
    """Pickles and the like: no reader knows them, whatever they are called."""
    import pickle

    class Opened:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "PWNED"),))

    for name in ("r.pkl", "r.json", "r.parquet", "r.npy", "r.csv.gz"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Opened()))
        with pytest.raises(InputError):
            read_any(path)
    assert not (tmp_path / "PWNED").exists() and "pickle" in sys.modules
