"""Plain tables: columns and units by name or by trace.yaml, both forms, and what contradicts itself.

The samples are one ns-2 run (tests/samples/ns2) that awk summed up every 0.25 s: 298,560 and 267,840 bytes of payload.
"""

import numpy as np
import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.sources.readers import plain, read_any
from tcpfair.sources.readers.columns import meaning
from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.sidecar import Sidecar
from tests.sources.readers.edits import NOTHING, SAMPLES, by_name, told
from tests.sources.readers.mutations import assert_sound

WIDE, LONG, PARQUET = (SAMPLES / "plain" / name for name in ("wide.csv", "long.csv.gz", "long.parquet"))


@pytest.fixture
def flows(read):
    """The flows of a table by their names, with what trace.yaml says."""

    def of(text, **stated):
        observed = read(text, Sidecar.model_validate(stated))
        assert_sound(observed, text[:40])
        return by_name(observed)

    return of


@pytest.mark.parametrize(("path", "names"), [(WIDE, ["flow1", "flow2"]), (LONG, ["1", "2"]), (PARQUET, ["1", "2"])])
def test_samples_give_the_bytes_that_awk_counted(path, names):
    observed = plain.read(path, NOTHING)
    assert [flow.name for flow in observed.flows] == names
    assert [flow.total_bytes[-1] for flow in observed.flows] == pytest.approx([298_560, 267_840], abs=1)
    assert observed.flows[1].start_s + (observed.flows[1].clock_s or 0) == pytest.approx(
        observed.flows[0].start_s + (observed.flows[0].clock_s or 0) + 2.0
    )


def test_parquet_and_csv_hold_the_same_and_a_trace_comes_out():
    one, other = plain.read(LONG, NOTHING), plain.read(PARQUET, NOTHING)
    for a, b in zip(one.flows, other.flows, strict=True):
        assert a.clock_s == b.clock_s and a.cc == b.cc and a.rtt_s == b.rtt_s == {"1": 0.032, "2": 0.033}[a.name]
        np.testing.assert_allclose(a.times_s, b.times_s)
        np.testing.assert_allclose(a.total_bytes, b.total_bytes)
        pd.testing.assert_frame_equal(a.windows, b.windows)
    trace = compose(one, NOTHING, LONG)
    assert list(trace.flows["cc"]) == ["reno", "cubic"]
    assert trace.samples.groupby("flow_id")["delivered_bytes"].sum().tolist() == [298_560, 267_840]


@pytest.mark.parametrize(
    ("name", "quantity", "unit", "label"),
    [
        ("t", "time", None, ""),
        ("Time [ms]", "time", "ms", ""),
        ("flow_id", "flow", None, ""),
        ("flow1_mbps", "rate", "Mbps", "flow1"),
        ("Reno goodput [kbit/s]", "rate", "kbps", "Reno"),
        ("Throughput (MB/s)", "rate", "MBps", ""),
        ("bits_per_second", "rate", "bps", ""),
        ("MBPS", "rate", None, ""),
        ("bytes_acked", "total_bytes", "B", ""),
        ("transfer_KiB", "bytes", "KiB", ""),
        ("KB", "bytes", None, ""),
        ("snd_cwnd", "cwnd", None, ""),
        ("srtt_us", "srtt", "us", ""),
        ("10.0.0.1:5201_mbps", "rate", "Mbps", "10.0.0.1:5201"),
    ],
)
def test_names_of_columns(name, quantity, unit, label):
    assert meaning(name)[1:] == (quantity, unit, label)


NOTHING_TO_US = ["queue_bytes", "min_rtt_us", "pacing_rate_bps", "sum_mbps", "total_mbps", "lost", "capacity_mbps", "x"]


@pytest.mark.parametrize("name", [*NOTHING_TO_US, "", "é" * 90])
def test_names_that_are_nothing_to_us(name):
    assert meaning(name) is None


def test_intervals_end_at_their_times(flows):
    flow = flows("time_s,flow,bytes\n1,a,1000\n2,a,1500\n3,a,5\n")["a"]
    np.testing.assert_allclose(flow.times_s, [0, 1, 2, 3])
    np.testing.assert_allclose(flow.total_bytes, [0, 1000, 2500, 2505])
    assert flow.interval_s == 1 and flow.clock_s is None and flow.offset_s == 0


def test_rates_are_bits_and_rows_of_zero_before_the_first_bytes_are_no_starvation(flows):
    both = flows("time,flow1_mbps,flow2_mbps\n1,8,0\n2,8,0\n3,8,4\n4,8,\n5,8,4\n")
    assert both["flow1"].total_bytes[-1] == 5e6
    late = both["flow2"]
    assert late.start_s == 2 and late.offset_s == 2 and late.gaps_s == ((3, 4),) and late.total_bytes[-1] == 1e6


def test_lost_rows_are_a_gap_and_uneven_intervals_are_not(flows):
    lost = flows("t_s,rate_kbps\n1,8\n2,8\n3,8\n4,8\n9,8\n10,8\n11,8\n")["flow1"]
    assert lost.gaps_s == ((4, 8),) and lost.total_bytes[-1] == 7000
    uneven = flows("t_s,rate_kbps\n1,8\n2,8\n3.5,8\n7,8\n7.7,8\n9,8\n12,8\n")["flow1"]
    assert uneven.gaps_s == () and uneven.total_bytes[-1] == pytest.approx(1000 * (12 - uneven.times_s[0]))


def test_semicolons_with_decimal_commas_tabs_comments_and_windows_ends(flows):
    assert flows("time;rate_kbps\r\n1,5;8,5\r\n2,5;9,5\r\n")["flow1"].total_bytes[-1] == 2250
    with_dots = flows("time;flow;rate_kbps\n1,5;10.0.0.1:5001;8,5\n2,5;10.0.0.1:5001;9,5\n")
    assert [flow.total_bytes[-1] for flow in with_dots.values()] == [2250]
    assert flows("time;rate_kbps\n1.5;8.5\n2.5;9.5\n")["flow1"].total_bytes[-1] == 2250
    assert flows("# by hand\n# t_s\tbytes\n1\t5\n2\t6\n")["flow1"].total_bytes[-1] == 11


def test_wall_clocks_in_any_unit_and_as_text(flows):
    for times in (
        ("1714521600.5", "1714521601.5"),
        ("1714521600500", "1714521601500"),
        ("2024-05-01T00:00:00.5Z", "2024-05-01 00:00:01.5Z"),
    ):
        flow = flows(f"timestamp,bytes\n{times[0]},5\n{times[1]},9\n")["flow1"]
        assert flow.clock_s == pytest.approx(1714521599.5) and flow.total_bytes[-1] == 14


def test_units_that_another_column_tells(read, flows, tmp_path):
    flow = flows("time_ms,rate,bytes\n1000,8,1000000\n2000,9,1125000\n3000,9,1125000\n")["flow1"]
    assert flow.total_bytes[-1] == 3.25e6
    assert "rate: in Mbps, by comparison with the bytes" in told(read(tmp_path / "recording"))


def test_a_trace_yaml_says_what_names_do_not(flows):
    stated = {"columns": {"time": "a", "rate": "b", "flow": "who"}, "units": {"rate": "kBps", "time": "ms"}}
    flow = flows("a,b,who\n1000,8,x y\n2000,8,x y\n", **stated)["x y"]
    assert flow.total_bytes[-1] == 16_000 and flow.interval_s == 1
    both = flows("time,flow1,flow2\n1,2,3\n2,2,3\n", units={"rate": "Mbps"})
    assert both["flow2"].total_bytes[-1] == 750_000


def test_cwnd_in_bytes_becomes_packets_and_without_unit_is_left_out(read, flows, tmp_path):
    text = "t_s,bytes,cwnd_bytes,rtt_ms\n1,10,14480,20\n2,10,28960,25\n"
    windows = flows(text)["flow1"].windows
    assert windows["cwnd_pkts"].tolist() == [10, 20] and windows["srtt_s"].tolist() == [0.02, 0.025]
    flow = flows(text.replace("cwnd_bytes", "cwnd"))["flow1"]
    assert flow.windows["cwnd_pkts"].isna().all()
    assert "`units: {cwnd: UNIT}`" in told(read(tmp_path / "recording"))


# a unit, a flow or a beginning that names and numbers leave open: what to write, and what is then read
def _rows(header, *rows):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


_TWO = [(t + part, port, 1000 + 10 * (t % 3)) for t in range(1, 9) for part, port in ((0, 5001), (0.5, 5002))]
OPEN = {
    **{
        f"a flow called {name}": (_rows(f"time_s,{name},bytes", *_TWO), f"columns: {{flow: {name}}}", ["5001", "5002"])
        for name in ("sport", "client", "name", "run", "Client IP", "src_port", "clientName", "trial")
    },
    "one flow, from two ports": (_rows("time_s,sport,bytes", *_TWO), "columns: {ignore: [sport]}", ["flow1"]),
    **{
        f"a column called {name}": (
            _rows(f"time_s,flow1_mbps,flow2_mbps,{name}", *((t, 8 + t % 2, 6, 7) for t in range(1, 9))),
            f"columns: {{ignore: [{name}]}}",
            ["flow1", "flow2"],
        )
        for name in ("fair_share_mbps", "bottleneck_mbps", "ideal_mbps", "fairShare_mbps")
    },
    "the sum of the others": (
        _rows("time_s,a_mbps,b_mbps,x_mbps", *((t, 8 + t % 2, 6, 14 + t % 2) for t in range(1, 9))),
        "columns: {ignore: [x_mbps]}",
        ["a", "b"],
    ),
    "10 ms in ms": (_rows("time,bytes", *((t, 100) for t in range(0, 5000, 10))), "units: {time: ms}", ["flow1"]),
    "10 ms in ms of two flows": (
        _rows("t,flow,bytes", *((t + n, n, 100) for t in range(0, 5000, 10) for n in (1, 2))),
        "units: {time: ms}",
        ["1", "2"],
    ),
    "1 ms in ms": (_rows("time,bytes", *((t, 100) for t in range(5000))), "units: {time: ms}", ["flow1"]),
    "a total that begins with its largest interval": (
        _rows("time_s,total_bytes", (1, 9000), (2, 10_000), (3, 11_000), (4, 12_000)),
        "columns: {total_from_zero: true}",
        ["flow1"],
    ),
}


@pytest.mark.parametrize("what", OPEN)
def test_what_is_open_is_refused_with_the_line_that_decides_it(flows, refused, what):
    text, line, names = OPEN[what]
    assert f"`{line}`" in refused(text)
    assert list(flows(text, **yaml.safe_load(line))) == names


def test_a_total_counts_its_first_interval_or_not_as_is_said(flows):
    text, _, _ = OPEN["a total that begins with its largest interval"]
    for from_zero, total in ((True, 12_000), (False, 3000)):
        assert flows(text, columns={"total_from_zero": from_zero})["flow1"].total_bytes[-1] == total
    with_bytes = _rows("time_s,bytes,total_bytes", (1, 9000, 9000), (2, 1000, 10_000), (3, 1000, 11_000))
    assert flows(with_bytes)["flow1"].total_bytes[-1] == 11_000


RIGHT = {
    "a second port that never changes": "time_s,sport,bytes\n1,5001,10\n2,5001,20\n3,5001,15\n",
    "flows with their ports": "time_s,flow,sport,bytes\n1,a,1,10\n1,b,2,20\n2,a,1,15\n2,b,2,25\n",
    "seconds in halves": "t,bytes\n0.5,10\n1.0,20\n1.5,15\n",
    "an hour of seconds": "time,mbps\n" + "".join(f"{t},{5 + t % 3}\n" for t in range(1, 3600)),
    "two flows and no sum": "time_s,a_mbps,b_mbps\n1,5,5\n2,6,6\n3,7,7\n",
    "losses beside": "time_s,bytes,drops,cwnd_pkts,retransmits\n1,10,0,5,0\n2,20,3,6,3\n3,15,1,7,1\n",
    "a total from zero": "time_s,total_bytes\n0,0\n1,900\n2,1000\n3,1100\n",
}


@pytest.mark.parametrize("what", RIGHT)
def test_right_tables_are_not_asked_about(flows, what):
    assert flows(RIGHT[what])


def test_a_trace_yaml_that_does_not_fit_names_its_field(refused):
    text = "time_s,bytes\n1,5\n2,6\n"
    missing = refused(text, Sidecar(columns={"rate": "speed"}))
    assert "columns.rate: no column 'speed'; there are 'time_s', 'bytes'" in missing
    assert "interval_s: 0.001; check units.time" in refused(text, Sidecar(interval_s=0.001))


def test_damaged_parquet_is_one_line(refused, tmp_path):
    assert "damaged Parquet" in refused(PARQUET.read_bytes()[:3000])
    assert plain.sniff(tmp_path / "recording")


def test_more_readings_than_memory_are_refused(refused, monkeypatch):
    monkeypatch.setattr(plain.readings, "MAX_READINGS", 10)
    for path in (LONG, PARQUET):
        assert "10" in refused(path)


def test_two_tables_without_a_wall_clock_do_not_state_their_starts_to_each_other(tmp_path):
    """Each counts from a zero of its own, so only the user can state how they overlap."""
    for name, start_s in (("a", 1.0), ("b", 8.0)):
        rows = "".join(f"{start_s + k},{1000 * (k + 1)}\n" for k in range(30))
        (tmp_path / f"{name}.csv").write_text(f"time,total_bytes\n{rows}")
    with pytest.raises(
        InputError, match=r"a\.csv: a\.csv#flow1: when it started is not recorded; give flows: start_s in "
    ):
        read_any(tmp_path)
    starts = [{"flow": "a.csv#flow1", "start_s": 0}, {"flow": "b.csv#flow1", "start_s": 7}]
    (tmp_path / "trace.yaml").write_text(yaml.safe_dump({"flows": starts}))
    assert list(read_any(tmp_path).flows["start_s"]) == [0.0, 7.0]


def test_a_time_of_day_without_a_date_is_a_clock_without_a_known_zero(tmp_path, read, refused):
    times = [f"14:59:{s}.250" for s in range(50, 60)] + [f"15:00:0{s}.250" for s in range(10)]
    rows = [f"{time};{1000 * number}" for number, time in enumerate(times, start=1)]
    path = tmp_path / "day.csv"
    path.write_text("\n".join(["time;total_bytes", *rows, ""]))
    flow = read(path).flows[0]
    assert flow.times_s[[0, -1]] == pytest.approx([14 * 3600 + 59 * 60 + 49.25, 15 * 3600 + 9.25])
    assert flow.clock_s is None
    path.write_text(path.read_text().replace("15:00:05.250", "15.00.05"))
    assert "'15.00.05' in line 17 is not a time (a number, ISO 8601 or HH:MM:SS)" in refused(path)
