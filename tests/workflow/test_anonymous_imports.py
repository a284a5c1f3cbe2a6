"""An anonymised trace tells nothing of the original, and has its numbers: one function, so formats need no tests of their own.

Whatever a reader gives, or a stranger's manifest holds, stands in the tables, the provenance and what is stated. A word that
tells is put into each of these places in turn and looked for in all that is written.
"""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tcpfair.runs import trace as traces
from tcpfair.runs.recorded import anonymised, open_recorded
from tcpfair.runs.sidecar import Said, SaidFlow, SelfPair
from tcpfair.runs.trace import in_schema
from tcpfair.workflow import importing

SAMPLES = Path(__file__).parents[1] / "samples"
RUN = SAMPLES / "testbed" / "reno_14s"
PERSON = "alice.w"
RECORDINGS = [
    "iperf3_recorded/bidir_p2.json",
    "ss/sender.log.gz",
    "tcp_info/three_flows.csv.gz",
    "pcap/two_flows_4s.pcap.gz",
    "flowmonitor/two_flows.xml.gz",
    "mahimahi/uplink.log.gz",
    "flent/two_uploads.flent.gz",
    "plain/long.csv.gz",
    "iperf2/client_e.txt",
    "testbed/reno_14s",
]
TEXTS = {
    "runs": ("paper", "experiment", "backend", "host"),
    "flows": ("protocol", "cc", "role", "direction", "owner"),
    "samples": ("where",),
    "link": ("direction",),
    "events": ("comment",),
}
PROVENANCE = ("experiment", "backend", "kernel", "bottleneck", "format", "flent", "native", "said", "host")
LISTS = ("names", "goodput", "origins", "remarks", "grid")
STATED = {
    "label": {"flows": [SaidFlow(flow="flow1", label=PERSON)]},
    "protocol": {"flows": [SaidFlow(flow="flow2", protocol=PERSON)]},
    "self-pair": {"self_pairs": [SelfPair(protocol="reno", recording=f"../{PERSON}")]},
}


@pytest.fixture(scope="module")
def recorded():
    return importing.trace_of(RUN)[0]


def written(folder: Path) -> str:
    """All that the files of an import have, tables as text, with the files' names."""
    return "\n".join(
        f"{path.name} {pd.read_parquet(path).to_csv() if path.suffix == '.parquet' else path.read_text()}"
        for path in folder.iterdir()
    )


def telling(recorded, place):
    """A trace in which every text of a table, or of the provenance, tells whose it is, and where it stood."""
    if place in TEXTS:
        table = getattr(recorded, place)
        return replace(recorded, **{place: table.assign(**{name: f"{PERSON} {name}" for name in TEXTS[place]})})
    told = {name: f"{PERSON} {name}" for name in PROVENANCE}
    told |= {name: [f"{PERSON} {name}{number}" for number in recorded.flows["flow_id"]] for name in LISTS}
    return replace(recorded, provenance={**recorded.provenance, **told})


@pytest.mark.parametrize("place", [*TEXTS, "provenance", *STATED])
def test_no_text_of_a_trace_survives_nor_anything_that_is_stated_but_numbers_and_algorithms(recorded, tmp_path, place):
    told = recorded if place in STATED else telling(recorded, place)
    kept, said = anonymised(told, Said(**STATED.get(place, {})))
    importing.write_recorded(kept, said, tmp_path / "shared", tmp_path / "shared")
    assert PERSON not in written(tmp_path / "shared")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (k % 2)) for k, name in enumerate(RECORDINGS)]
)
def test_an_anonymous_import_has_the_numbers_and_neither_names_nor_files(name, layout, tmp_path):
    source = tmp_path / PERSON / f"{PERSON}-{Path(name).name}"
    source.parent.mkdir()
    (shutil.copytree if (SAMPLES / name).is_dir() else shutil.copy)(SAMPLES / name, source)
    before = importing.look(source)
    folder, found = importing.bring(layout, source, anonymise=True)
    text = written(folder) + folder.name
    assert (folder / "LICENSE").is_file() and "sha256" not in text
    assert folder.name.startswith(f"{before.runs['backend'].iloc[0].replace(' ', '_')}-")
    for word in (PERSON, *(name for name in before.provenance["names"] if len(name) > len("flow10"))):
        assert word not in text, word
    after, _ = open_recorded(folder)
    for table in ("samples", "events", "link", "polls"):
        one, other = before.tables.get(table), after.tables.get(table)
        same = one is None and other is None
        assert same or in_schema(table, one).to_pandas().equals(in_schema(table, other).to_pandas()), table
    columns = ["flow_id", "cc", "rtt_s", "start_s", "stop_s", "direction", "observed_bytes", "observed_s"]
    pd.testing.assert_frame_equal(after.flows[columns], before.flows[columns], check_dtype=False, check_exact=True)
    assert after.resolution_s == before.resolution_s
    assert importing.told(folder, found)[1].startswith("flow 1     flow1: ")
    notes = [line for line in importing.told(source, before) if line.startswith("note")]
    assert [
        line for line in importing.told(folder, found) if line.startswith("note")
    ] == notes  # for who has the original
    if name == RECORDINGS[-1]:
        assert importing.bring(layout, source, anonymise=True)[0] == folder  # the same content has the same name


def test_what_is_stated_of_flows_goes_by_their_new_names(layout, tmp_path):
    source = tmp_path / "alice_at_home"
    source.mkdir()
    shutil.copy(SAMPLES / "iperf3" / "reno_4s.json", source)
    (source / "trace.yaml").write_text("flows: [{flow: reno_4s.json, label: of alice, rtt_s: 0.05}]\n")
    folder, found = importing.bring(layout, source, anonymise=True)
    assert found.flows[["protocol", "rtt_s"]].to_numpy().tolist() == [["reno", 0.05]]
    assert "alice" not in written(folder) + folder.name


def test_an_anonymous_trace_has_no_clock_and_no_address(layout):
    folder, _ = importing.bring(layout, RUN, name="shared", anonymise=True)
    meta = json.loads((RUN / "meta.json").read_text())
    report = json.loads(gzip.decompress((RUN / "flow1.iperf.json.gz").read_bytes()))
    start, text = report["start"], written(folder)
    host = start["connected"][0]["local_host"]
    for word in (int(meta["t0"]), start["timestamp"]["timesecs"], host, start["version"]):
        assert str(word) not in text, word
    kept = "paper experiment backend grid goodput names origins remarks bottleneck format kernel"
    assert set(traces.read(folder).provenance) == set(kept.split())
