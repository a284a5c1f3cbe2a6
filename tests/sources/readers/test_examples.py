"""The shipped traces of a real kernel: complete, free of host identifiers, and in agreement with themselves."""

import gzip
import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

from tcpfair.runs import trace
from tcpfair.sources.readers import read_any

EXAMPLES = Path(__file__).parents[3] / "data" / "raw" / "examples"
NAMES = ("c1_tbf", "rr_wire")


@pytest.fixture(scope="module", params=NAMES)
def example(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace"
    trace.write(read_any(EXAMPLES / request.param), path)
    return request.param, trace.read(path)


def text_of(path):
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


def test_checksums_cover_every_file():
    listed = dict(reversed(line.split("  ")) for line in (EXAMPLES / "SHA256SUMS").read_text().splitlines())
    found = {str(p.relative_to(EXAMPLES)): hashlib.sha256(p.read_bytes()).hexdigest() for p in EXAMPLES.glob("*/*")}
    assert found == listed


@pytest.mark.parametrize("name", NAMES)
def test_no_host_identifier_and_no_gzip_time(name):
    for path in (EXAMPLES / name).iterdir():
        text = text_of(path)
        for identifier in ("cookie", "PREEMPT", "/home", "/root", "/tmp"):
            assert identifier not in text, f"{path.name}: {identifier}"
        if path.suffix == ".gz":
            assert path.read_bytes()[3:8] == bytes(5)  # no name in the header, time 0
    assert json.loads((EXAMPLES / name / "meta.json").read_text())["kernel"] == "6.18.44"


def test_goodput_adds_up_to_iperfs_own_total_and_to_the_acknowledged_bytes(example):
    """What the server printed in three digits per second, its exact total, and what the sender's kernel saw acknowledged; the
    last 0.1 s is after the run."""
    name, run = example
    for flow_id, total in run.samples.groupby("flow_id")["delivered_bytes"].sum().items():
        end = json.loads(text_of(EXAMPLES / name / f"flow{flow_id}.iperf.json.gz"))["end"]["sum_received"]
        polls = pd.read_csv(EXAMPLES / name / f"s{flow_id}.tcp.csv.gz").groupby("sport")["bytes_acked"].last().max()
        assert [end["bytes"], polls] == pytest.approx([total] * 2, rel=0.003)


def test_queue_stays_within_the_buffer_and_drops_are_retransmitted(example):
    name, run = example
    assert run.link["queue_pkts"].max() <= run.runs["buffer_pkts"].item()
    resent = sum(
        pd.read_csv(path).groupby("sport")["total_retrans"].last().max()
        for path in (EXAMPLES / name).glob("s*.tcp.csv.gz")
    )
    assert run.link["dropped_pkts"].sum() == resent
