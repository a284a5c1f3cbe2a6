"""Goodput against windows and RTTs, and two tools at one flow: right recordings pass, wrong units and mixed-up files do not."""

import gzip
import json
import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import conservation, read_any
from tcpfair.sources.readers.text import read_bytes
from tests.sources.readers.edits import SAMPLES, edit_meta, written
from tests.sources.readers.test_compose import flow, windows

POLLS = SAMPLES / "tcp_info" / "cubic_8s.csv.gz"
RUN = SAMPLES / "testbed" / "reno_14s"
CAPTURE = SAMPLES / "pcap" / "two_flows_4s.pcap.gz"


# --- A flow delivers a window per round trip ----------------------------------------------------------------------------

UNITS = {
    "rtt in ms": lambda t: t.assign(rtt_us=t["rtt_us"] // 1000, min_rtt_us=1),
    "rtt in ns": lambda t: t.assign(rtt_us=np.minimum(t["rtt_us"] * 1000, 2**32 - 1)),
    "cwnd in bytes": lambda t: t.assign(cwnd=t["cwnd"] * 1448),
    "bytes in kB": lambda t: t.assign(bytes_acked=t["bytes_acked"] // 1000),
    "bytes in packets": lambda t: t.assign(bytes_acked=t["bytes_acked"] // 1448),
}


@pytest.mark.parametrize("wrong", UNITS)
def test_a_wrong_unit_of_tcp_info_is_refused(tmp_path, wrong):
    path = tmp_path / "polls.csv"
    UNITS[wrong](pd.read_csv(POLLS)).to_csv(path, index=False)
    with pytest.raises(InputError, match="check the units of cwnd and srtt"):
        read_any(path)


def test_a_window_that_tcp_cannot_have_is_refused(tmp_path):
    polls = pd.read_csv(POLLS)
    data = polls.index[polls["sport"] == polls.loc[polls["bytes_acked"].idxmax(), "sport"]]
    polls.loc[data[len(data) // 2], "cwnd"] = 4_000_000_000
    polls.to_csv(tmp_path / "polls.csv", index=False)
    with pytest.raises(InputError, match=r"cwnd: 4e\+09 packets are more than TCP can have in flight"):
        read_any(tmp_path / "polls.csv")


@pytest.mark.parametrize(
    ("cwnd_pkts", "srtt_s", "mss_bytes", "says"),
    [  # 8 Mb/s are 690 packets of 1448 bytes a second; windows at the bounds 0.02 and 2.5 of that
        (100.0, 100 / 691 * 2.45, 1448, ""),
        (100.0, 100 / 691 * 2.55, 1448, "delivers more than its window"),
        (100.0, 100 / 691 * 0.0205, 1448, ""),
        (100.0, 100 / 691 * 0.0195, 1448, "delivers almost none"),
        (10.0, 10 / 691 * 0.0195, 1448, ""),  # an initial window that a slow application never fills
        (100.0, 100 / 691 * 20, np.nan, ""),  # of large segments on loopback
    ],
)
def test_the_bounds_of_the_law(cwnd_pkts, srtt_s, mss_bytes, says):
    one = replace(flow("a", stop_s=20.0, windows=windows(cwnd_pkts, srtt_s)), mss_bytes=mss_bytes)
    one = replace(one, total_bytes=one.times_s * 1e6)
    with pytest.raises(InputError, match=says) if says else nullcontext():
        conservation.refuse_impossible_windows(one)


# --- A run of the testbed -----------------------------------------------------------------------------------------------


MIXED_UP = {
    "polls of the other flow": (
        lambda folder: shutil.copy(folder / "s2.tcp.csv.gz", folder / "s1.tcp.csv.gz"),
        r"s1\.tcp\.csv\.gz: bytes_acked: .* check that both are of the same flow and run",
    ),
    **{
        f"t0 {by_s} s later": (
            lambda folder, by_s=by_s: edit_meta(folder, t0=json.loads((folder / "meta.json").read_text())["t0"] + by_s),
            "check that both are of the same flow and run",
        )
        for by_s in (3, -3)
    },
    "an RTT of half": (lambda folder: edit_meta(folder, rtt=[25, 25]), "min_rtt_us: .* has an RTT of 25 ms"),
    "an RTT of twice": (lambda folder: edit_meta(folder, rtt=[100, 100]), "min_rtt_us: .* has an RTT of 100 ms"),
    "no drops": (
        lambda folder: (folder / "queue.csv.gz").write_bytes(
            gzip.compress(pd.read_csv(folder / "queue.csv.gz").assign(drops=0).to_csv(index=False).encode())
        ),
        r"queue\.csv\.gz: drops: 0 in all, but the senders sent \d+ packets again",
    ),
}


@pytest.mark.parametrize("name", MIXED_UP)
def test_files_of_a_testbed_run_that_contradict_each_other_are_refused(tmp_path, name):
    folder = Path(shutil.copytree(RUN, tmp_path / "run"))
    damage, says = MIXED_UP[name]
    damage(folder)
    with pytest.raises(InputError, match=says):
        read_any(folder)


def test_a_capture_appended_to_itself_is_refused(tmp_path):
    content = read_bytes(CAPTURE)
    for name, twice in (("with its header", content + content), ("without", content + content[24:])):
        with pytest.raises(InputError):
            read_any(written(tmp_path, twice, name))
