"""Every format: an anonymised import tells nothing of the original, and its figures' numbers are the original's.

The shipped samples are anonymous already. So their own readers first make telling recordings of them, of one person at one place
and time, which are imported like any other; what is written is unpacked and searched for all that was told.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import re
import shutil
from pathlib import Path

import pytest

from tcpfair.contract.layout import Layout
from tcpfair.metrics.fairness import jfi_over_time
from tcpfair.sources.readers import READERS, anonymised, observe, read_any
from tcpfair.sources.readers.anonymous import Anonymous
from tcpfair.sources.readers.sidecar import load_sidecar
from tcpfair.workflow import importing

SAMPLES = Path(__file__).parents[1] / "samples"
PERSON = "alice.w"
TOLD_S = 1_773_112_000  # a day in March 2026; all clocks of the telling recordings are within hours of it
RECORDINGS = {
    "iperf3": "iperf3_recorded/bidir_p2.json",
    "iperf3 server": "iperf3_recorded/bidir_server.json",
    "ss": "ss/sender.log.gz",
    "ss date": "ss/date.log.gz",
    "tcp_info": "tcp_info/three_flows.csv.gz",
    "tcp_probe": "tcp_probe/perf_script.txt.xz",
    "pcap": "pcap/two_flows_4s.pcap.gz",
    "tshark": "tshark/two_flows_4s.csv.xz",
    "ns2": "ns2/small.tr.gz",
    "flowmonitor": "flowmonitor/two_flows.xml.gz",
    "mahimahi": "mahimahi/uplink.log.gz",
    "flent": "flent/two_uploads.flent.gz",
    "plain": "plain/long.csv.gz",
    "patterns": "iperf2/client_e.txt",
    "testbed": "testbed/reno_14s",
}

SAY_NOTHING = ("ns2",)  # its times begin at 0, and its nodes are numbers


class Telling(Anonymous):
    """Puts a person's own in the place of pseudonyms, and keeps what it told."""

    def __init__(self, shift_s: float) -> None:
        super().__init__(shift_s)
        self.words: set[bytes] = set()
        self.packed: set[bytes] = set()  # as captures have them

    def clock_s(self, clock_s):
        return clock_s + self.shift_s

    def address(self, text: str) -> str:
        number = super().address(text)
        if re.fullmatch(r"[\d.]+", number):
            *_, last = number.split(".")
            told = f"10.91.{73}.{last}"
            self.packed.add(bytes(map(int, told.split("."))))
        elif ":" in number:
            told = f"fd91:73::{number.rpartition(':')[2]}"
        else:
            told = f"{PERSON}-{number}"
        self.words.add(told.encode())
        return told

    def port(self, port: int) -> int:
        told = port and 61_000 + super().port(port) % 1000
        self.words.add(str(told).encode() if told else b"61000")
        return told

    def cookie(self, text: str) -> str:
        number = super().cookie(text).removeprefix("cookie")
        self.words.add(b"5ec2e7" + number.encode())
        return f"cookie5ec2e7{number}"


def telling(sample: Path, folder: Path) -> tuple[Path, Telling]:
    """A recording that tells whose it is, made of a sample by its own reader; and what it tells."""
    said = load_sidecar(sample)
    observed = observe(sample, said)
    clocks_s = [flow.clock_s for flow in observed.flows if flow.clock_s is not None]
    keep = Telling(TOLD_S - math.floor(min(clocks_s, default=0.0)))
    copies = anonymised(sample, observed, said, keep)
    place = folder / PERSON
    place.mkdir()
    for name, content in copies.items():
        (place / (name if sample.is_dir() else f"{PERSON}.{name}")).write_bytes(content)
    return (place if sample.is_dir() else next(place.iterdir())), keep


def unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    for magic, unpack in ((b"\x1f\x8b", gzip.decompress), (b"\xfd7zXZ", lzma.decompress), (b"BZh", bz2.decompress)):
        if content.startswith(magic):
            return unpack(content)
    return content


def traces_of(content: bytes, keep: Telling) -> list[bytes]:
    """What of the original stands in the content of a file."""
    is_capture = content.startswith(bytes.fromhex("4d3cb2a1"))
    if is_capture:
        seconds = [(TOLD_S + s).to_bytes(4, order) for s in range(-60, 120) for order in ("big", "little")]
        ports = [int(word).to_bytes(2, "big") for word in keep.words if word.isdigit()]
        pairs = [one + other for one in ports for other in ports]  # two bytes alone are anywhere
        return [word for word in (*keep.packed, *seconds, *pairs) if word in content]
    digits = rb"(?<![\d.])%s(?![\d])"
    found = [
        word
        for word in keep.words
        if re.search(digits % re.escape(word) if word.isdigit() else re.escape(word), content)
    ]
    days = re.findall(rb"2026-\d\d|Mar 2026|\b17731\d{5}", content)
    return found + days + ([PERSON.encode()] if PERSON.encode() in content else [])


@pytest.fixture
def layout(tmp_path):
    (tmp_path / "checkout" / "data" / "raw").mkdir(parents=True)
    return Layout(tmp_path / "checkout")


def test_every_format_is_here():
    assert {name.split()[0] for name in RECORDINGS} == {reader.NAME for reader in READERS}


@pytest.mark.parametrize("name", RECORDINGS)
def test_an_anonymous_import_tells_nothing_and_gives_the_same_figures(name, layout, tmp_path):
    source, keep = telling(SAMPLES / RECORDINGS[name], tmp_path)
    before = read_any(source)
    told = {file.name: traces_of(unpacked(file), keep) for file in ([source] if source.is_file() else source.iterdir())}
    assert any(told.values()) == (name not in SAY_NOTHING)
    folder, found = importing.bring(layout, source, name="shared", anonymise=True)
    shutil.rmtree(source.parent if source.is_file() else source)
    for file in folder.iterdir():
        assert traces_of(file.name.encode(), keep) == [], file.name
        assert traces_of(unpacked(file), keep) == [], file.name
        if file.read_bytes().startswith(b"\x1f\x8b"):
            assert file.read_bytes()[3:8] == bytes(5)  # no name in the header, time 0
    after = read_any(folder)
    assert after.flows["cc"].tolist() == before.flows["cc"].tolist()
    for column in ("start_s", "stop_s", "rtt_s"):
        assert after.flows[column].to_numpy() == pytest.approx(before.flows[column].to_numpy(), abs=1e-5, nan_ok=True)
    one, other = (
        run.samples.pivot(index=["run_id", "flow_id"], columns="t_s", values="delivered_bytes").to_numpy(dtype=float)
        for run in (before, after)
    )
    assert other.sum(axis=1) == pytest.approx(one.sum(axis=1), rel=1e-4)
    assert jfi_over_time(other) == pytest.approx(jfi_over_time(one), abs=2e-3, nan_ok=True)
    assert found.trace.events["kind"].tolist() == before.events["kind"].tolist()


def test_names_that_a_person_gave_to_flows_and_columns_are_gone(layout, tmp_path):
    rows = [
        f"{TOLD_S + t},{flow}@{PERSON},{1000 * t * share},{PERSON}"
        for t in range(12)
        for flow, share in (("up", 3), ("down", 2))
    ]
    source = tmp_path / f"{PERSON}.csv"
    source.write_text("\n".join(["time,flow,total_bytes,who", *rows]) + "\n")
    before = read_any(source)
    folder, found = importing.bring(layout, source, name="shared", anonymise=True)
    for file in folder.iterdir():
        assert traces_of(file.name.encode() + unpacked(file), Telling(0)) == [], file.name
    assert found.trace.samples["delivered_bytes"].tolist() == before.samples["delivered_bytes"].tolist()
