"""Twins: the same traffic recorded every 0.1, 1 and 10 s, and as one total, gives the same means and claims no more."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcpfair.exhibits.recordings.board import EXHIBITS, open_raw
from tcpfair.exhibits.recordings.recording import Recording
from tcpfair.files.layout import Layout
from tcpfair.papers.recordings import load_raw
from tcpfair.sources.readers import read_any
from tcpfair.workflow import importing
from tests.exhibits import standin
from tests.exhibits.standin import numbers_of, record_of

REPOSITORY = Path(__file__).parents[3]
SETTINGS = load_raw(REPOSITORY / "config" / "raw.yaml")
STEP_S = 0.1
FINE = {
    "jfi": {"jfi_mean"},
    "nru": {"U_n", "U_N", "U_N+", "U_N-", "case", "U_n_error", "zero_share"},
    "steadiness": {"S_n", "S_N_eq10", "T_U", "T_U_all"},
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    standin.draws_no_marks(monkeypatch)
    return standin.for_recordings(tmp_path, monkeypatch)


def traffic(duration_s=60.0, starts_s=(0.0, 3.4)):
    """Bytes of two flows in each 0.1 s that swing by a half and trade places, from their starts on."""
    rng = np.random.default_rng(7)
    n = round(duration_s / STEP_S)
    t_s = STEP_S * np.arange(1, n + 1)
    swing = 0.5 * np.sin(2 * np.pi * t_s / 7.3)
    flows = []
    for start_s, sign in zip(starts_s, (1, -1), strict=True):
        in_bytes = 60_000 * (1 + sign * swing) * rng.uniform(0.8, 1.2, n)
        first = round(start_s / STEP_S)
        flows.append((STEP_S * np.arange(first, n + 1), np.round(in_bytes[first:])))
    return flows


def recorded(root, name, every_s, flows):
    """A table of the traffic as a tool writes it that reports every ``every_s`` from each flow's own start."""
    per = max(round(every_s / STEP_S), 1)
    rows = []
    for number, (edges_s, in_bytes) in enumerate(flows, 1):
        totals = np.append(0, np.cumsum(in_bytes))
        at = np.unique(np.append(np.arange(0, len(totals), per), len(totals) - 1))
        rows += [(round(edges_s[i], 6), number, int(totals[i]), "reno") for i in at]
    path = root / f"{name}.csv"
    pd.DataFrame(rows, columns=["time_s", "flow", "total_bytes", "cc"]).to_csv(path, index=False)
    importing.read_once(Layout(root), path)  # here, which is quicker than in a process of its own
    return path


@pytest.mark.parametrize(
    "every_s", [0.1, *(pytest.param(every_s, marks=pytest.mark.slow) for every_s in (1.0, 10.0)), 60.0]
)
def test_twins_have_the_means_of_the_traffic_and_nothing_finer_than_they_recorded(root, every_s):
    flows = traffic()
    path = recorded(root, "twin", every_s, flows)
    true_mbps = [8e-6 * in_bytes.sum() / (edges_s[-1] - edges_s[0]) for edges_s, in_bytes in flows]
    raw = open_raw(str(path), keep=True)
    for name in EXHIBITS:
        raw.show(name)
    goodput = numbers_of(root, "twin", "goodput").query("metric == 'throughput_mean'")["value"].astype(float)
    assert goodput.to_numpy() == pytest.approx(true_mbps, rel=1e-3)
    told = importing.told(path, importing.look(path), SETTINGS.analysis.interval_s.value)
    for line, mbps in zip(told[1:3], true_mbps, strict=True):
        assert float(line.split(" Mb/s")[0].split()[-1]) == pytest.approx(mbps, rel=1e-3)
    coarse = every_s > 1
    assert [("are left out" in line) for line in told].count(True) == coarse
    for exhibit, fine in FINE.items():
        measured = set(numbers_of(root, "twin", exhibit)["metric"])
        assert measured & fine == (set() if coarse else fine), exhibit
    assert record_of(root, "twin", "goodput")["status"] == "built"
    if every_s == 10:
        reason = record_of(root, "twin", "steadiness")["error"]
        assert reason == "recorded every 10 s: S_n, S_N_eq10, T_U need intervals of 1 s and are left out"
        assert "jfi_of_means" in set(numbers_of(root, "twin", "jfi")["metric"])
        assert "U_n_of_means" in set(numbers_of(root, "twin", "nru")["metric"])


def test_every_header_states_the_recorded_interval(root):
    path = recorded(root, "twin", 10, traffic())
    recording = Recording(path, SETTINGS)
    for name in ("goodput", "jfi", "nru", "steadiness"):
        assert EXHIBITS[name].of(recording, name).title.endswith(", recorded every 10 s")
    assert "jfi_mean needs intervals of 1 s and is left out." in EXHIBITS["jfi"].of(recording, "jfi").caption
    items = open_raw(str(path)).show("trace").set_index("item")["value"]
    assert items["goodput"] == "recorded every 10 s, shown every 10 s" and "S_n" in items["left out"]


def test_a_total_of_a_run_is_no_evidence_of_its_seconds(root):
    """One total of 20 s, parted evenly, would be perfectly steady."""
    path = recorded(root, "twin", 20, traffic(20.0, (0.0, 0.0)))
    open_raw(str(path), keep=True).show("steadiness")
    assert record_of(root, "twin", "steadiness")["status"] == "left out"


def test_an_interval_shorter_than_what_was_recorded_makes_up_nothing(root):
    path = recorded(root, "twin", 10, traffic())
    Path(f"{path}.trace.yaml").write_text("interval_s: 1\n")
    assert read_any(path).resolution_s == 10 and Recording(path, SETTINGS).is_coarse


def test_one_late_row_does_not_make_a_recording_coarse(root):
    flows = traffic()
    path = recorded(root, "twin", 1, flows)
    table = pd.read_csv(path)
    late = table["time_s"].isin([20.0, 23.4, 24.4])
    table[~late].to_csv(path, index=False)
    assert read_any(path).resolution_s == 1
