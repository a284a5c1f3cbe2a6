"""A run of the testbed: the sample is the first 14 s of two Reno flows, the second from 10 s, on 100 Mb/s and 50 ms."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.runs import trace
from tcpfair.sources.readers import read_any, testbed
from tests.sources.readers.edits import SAMPLES, edit_meta, sample_text

SAMPLE = SAMPLES / "testbed" / "reno_14s"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(SAMPLE, tmp_path / "run"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The sample, written and read again, so that it obeys the schema."""
    path = tmp_path_factory.mktemp("trace") / "trace"
    trace.write(read_any(SAMPLE), path)
    return trace.read(path)


def test_run_carries_the_scenario(run):
    row = run.runs.iloc[0]
    assert (row["paper"], row["experiment"], row["backend"]) == ("raw", "reno_14s", "testbed")
    assert (row["duration_s"], row["sample_s"], row["capacity_bps"]) == (14, 1, 100e6)
    assert (row["wire_bytes"], row["payload_bytes"], row["buffer_bytes"]) == (1538, 1448, 625_000)
    assert row["buffer_pkts"] == pytest.approx(625_000 / 1538)
    assert run.flows["start_s"].tolist() == [0, 10]
    assert run.flows["rtt_s"].tolist() == [0.05, 0.05]
    assert run.provenance["goodput"] == ["receiver: server_output_text"]
    assert run.provenance["kernel"] == "6.18.44"


def test_goodput_of_both_flows_is_what_the_servers_printed(run):
    rates_mbps = run.samples.pivot(index="flow_id", columns="t_s", values="delivered_bytes").to_numpy() * 8 / 1e6
    assert rates_mbps.shape == (2, 14)
    assert rates_mbps[0, :4] == pytest.approx([67.9, 93.6, 94.1, 94.2])
    assert rates_mbps[1] == pytest.approx([0] * 10 + [26.3, 43.6, 44.0, 45.5])


def test_windows_are_the_last_polled_ones(run):
    first = run.samples[run.samples["flow_id"] == 1]
    # the last polls before 1, 2 and 3 s: cwnd 814, 420, 439
    assert first["cwnd_pkts"].tolist()[:3] == [814, 420, 439]
    second = run.samples[run.samples["flow_id"] == 2]
    assert second["cwnd_pkts"].isna().tolist() == [True] * 10 + [False] * 4


def test_both_flows_lose_when_the_second_starts(run):
    losses = run.events[run.events["kind"] == "loss"]
    assert losses["flow_id"].tolist() == [1, 1, 1, 2]
    assert losses["t_s"].tolist() == pytest.approx([0.8, 1.2, 10.9, 10.9], abs=0.05)
    assert losses["cwnd_after"].tolist() == [814, 407, 283, 249]


def test_link_is_full_and_its_queue_within_the_buffer(run):
    link = run.link
    assert link["t_s"].tolist() == list(range(1, 15))
    assert (link["direction"] == "forward").all()
    # 100 Mb/s carry 8127 frames of 1538 bytes a second, counted without overhead as 1514
    assert link["forwarded_bytes"].iloc[2:10].to_numpy() == pytest.approx(100e6 / 8 * 1514 / 1538, rel=0.005)
    assert link["dropped_pkts"].sum() == pytest.approx(1074, abs=5)
    assert link["queue_pkts"].max() <= 625_000 / 1538


def test_samples_that_the_queue_does_not_cover_have_no_link_row(folder):
    path = folder / "queue.csv.gz"
    header, *rows = sample_text(path).splitlines()
    start_s = json.loads((folder / "meta.json").read_text())["t0"]
    late = [row for row in rows if float(row.split(",")[0]) > start_s + 9.95]
    path.write_bytes(gzip.compress("\n".join([header, *late]).encode()))
    assert read_any(folder).link["t_s"].tolist() == [11, 12, 13, 14]


def test_recordings_beside_the_reports_are_optional(folder, tmp_path):
    for file in [*folder.glob("s*.csv.gz"), folder / "queue.csv.gz"]:
        file.unlink()
    run = read_any(folder)
    trace.write(run, tmp_path / "trace")
    assert run.link.empty
    assert run.events.empty
    assert "cwnd_pkts" not in run.samples


def test_flow_without_windows_has_nan(folder):
    (folder / "s1.tcp.csv.gz").unlink()
    samples = read_any(folder).samples
    assert samples[samples["flow_id"] == 1]["cwnd_pkts"].isna().all()
    assert np.isfinite(samples[samples["flow_id"] == 2]["cwnd_pkts"].iloc[-1])


def test_flow_without_its_report_is_refused(folder):
    (folder / "flow2.iperf.json.gz").unlink()
    with pytest.raises(InputError, match=r"flow2\.iperf\.json\[\.gz\]: missing; meta\.json lists 2 flows"):
        read_any(folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"dur": 60}, r"flow1\.iperf\.json\.gz: intervals: 14 end at 14 s; meta\.json has 60 s"),
        ({"cc": ["reno", "cubic"]}, r"flow2\.iperf\.json\.gz: end\.sender_tcp_congestion: 'reno', but .* 'cubic'"),
        ({"rtt": [50]}, r"meta\.json: rtt must have a value for each of the 2 flows"),
        ({"start": [0, 14]}, r"meta\.json: start must be before dur"),
        ({"rate": -1}, r"meta\.json: rate: Input should be greater than 0 \(got -1\)"),
        ({"bottleneck": "netem"}, r"meta\.json: bottleneck: Input should be 'tbf' or 'wire'"),
        ({"t0": 1.0}, r"s1\.tcp\.csv\.gz: t: outside the run"),
    ],
)
def test_contradiction_with_meta_is_refused(folder, changes, says):
    edit_meta(folder, **changes)
    with pytest.raises(InputError, match=says):
        read_any(folder)


def test_sniff_wants_meta(folder):
    assert testbed.sniff(folder)
    assert not testbed.sniff(folder / "meta.json")
    (folder / "meta.json").unlink()
    assert not testbed.sniff(folder)
