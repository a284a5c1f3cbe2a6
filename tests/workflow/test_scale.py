"""Curves of scale: their file, the runs they stand for, the table; costs that must not depend on the machine."""

from __future__ import annotations

import io

import pandas as pd
import pytest
import yaml

from tcpfair.engine.dumbbell import run
from tcpfair.errors import InputError
from tcpfair.files.layout import repository_root
from tcpfair.workflow import cli, scale
from tcpfair.workflow.scale import Point

FILE = repository_root() / "config" / "bench.yaml"
SCALE = scale.load(FILE)
POINTS = {
    "few": {"label": "few", "over": "flows", "points": [{"flows": 3, "capacity_bps": 1e7, "duration_s": 5, "sample_s": 1}]},
    "long": {
        "label": "long",
        "over": "duration_s",
        "points": [{"flows": 1, "capacity_bps": 1e5, "duration_s": 2000, "sample_s": 0.01}],
    },
}  # fmt: skip


def written(tmp_path, **changes):
    values = {"speed": {}, "scale": yaml.safe_load(FILE.read_text())["scale"] | changes}
    path = tmp_path / "bench.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def test_curves_go_from_one_to_ten_thousand_flows_to_40_gbps_and_a_hundred_times_as_long():
    spans = {name: [getattr(curve.points[at], curve.over) for at in (0, -1)] for name, curve in SCALE.curves.items()}
    assert spans == {"flows_10g": [1, 10_000], "flows_1m": [1, 10_000], "rate": [1e6, 40e9], "duration": [100, 10_000]}


def test_a_point_is_a_dumbbell_with_spread_rtts_and_a_buffer_of_one_mean_bdp():
    scenario = SCALE.scenario(Point(flows=3, capacity_bps=10e6, duration_s=5, sample_s=1))
    assert [flow.rtt_s for flow in scenario.flows] == pytest.approx([0.010, 0.105, 0.200])
    assert [flow.cc for flow in scenario.flows] == ["reno", "cubic", "reno"]
    assert [flow.start_s for flow in scenario.flows] == pytest.approx([0, 1 / 3, 2 / 3])
    assert scenario.buffer_pkts == pytest.approx(87.5)  # 10 Mb/s * 105 ms / 12,000 bits
    assert scenario.jitter_s == pytest.approx(3 * 0.0012)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rtts": [0.1, 0.2]}, "scale: rtts: "),
        ({"payload_bytes": 1501}, "scale: payload_bytes must not exceed wire_bytes"),
        ({"cc": ["reno", "cubik"]}, "scale: cc: 'cubik' is not one of "),
        ({"curves": {"odd": {"label": "x", "over": "loss", "points": []}}}, "scale: curves.odd.over: "),
        ({"curves": {"odd": {"label": "x", "over": "flows", "points": [{"flow": 1}]}}}, r"scale: curves.odd.points.0.\w+: "),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(tmp_path, changes, says):
    with pytest.raises(InputError, match=f"bench.yaml: {says}"):
        scale.load(written(tmp_path, **changes))


def test_a_file_without_curves_is_refused(tmp_path):
    path = tmp_path / "bench.yaml"
    path.write_text("speed: {}")
    with pytest.raises(InputError, match="bench.yaml: scale: the sections are speed and scale"):
        scale.load(path)
    path.write_text("{speed: {}, scale: 3}")
    with pytest.raises(InputError, match="bench.yaml: scale: must be a mapping"):
        scale.load(path)


@pytest.mark.slow
def test_table_figure_and_lines_of_small_points(tmp_path, capsys):
    path = written(tmp_path, curves=POINTS)
    scale.main(path, tmp_path / "out", as_json=False)
    table = pd.read_csv(tmp_path / "out" / "scale.csv")
    assert list(table["curve"]) == ["few", "long"]
    assert {"flows", "capacity_bps", "duration_s", "ns_per_packet", "set_up_s", "memory_bytes", "load"} <= set(table)
    few, long = table.to_dict("records")
    expected = run(scale.load(path).scenario(scale.load(path).curves["few"].points[0]))
    assert few["packets"] == expected.received_total_pkts > 3000
    # 200,000 samples: five numbers of the flow and five of the link, in the record and in the result, and short flows
    assert 2e5 * 20 * 8 < long["memory_bytes"] < 2e5 * 50 * 8
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("few            3 flows     10 Mb/s      5 s") and "ns/packet" in lines[0]
    assert len(lines) == 3 and "scale.svg" in lines[2]
    assert (tmp_path / "out" / "scale.svg").read_text().count("</svg>") == 1
    assert (tmp_path / "out" / "scale.png").is_file()


def test_a_point_that_does_not_fit_is_refused_in_one_line():
    vast = SCALE.model_copy(update={"curves": {}})
    point = Point(flows=2, capacity_bps=1e15, duration_s=1, sample_s=1)
    with scale._processes() as pool, pytest.raises(InputError, match=r"^scenario: .* packets in flight need [^\n]*$"):
        pool.submit(scale._cost, vast, point).result()


def test_where_memory_cannot_be_measured_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(scale, "_PROC", tmp_path)
    with pytest.raises(InputError, match="bench --scale: measures memory on Linux only"):
        scale._peak_bytes()


def test_the_command_measures_and_prints_json(monkeypatch, tmp_path, capsys):
    row = {"curve": "rate", "flows": 2, "capacity_bps": 1e6, "duration_s": 1.0, "sample_s": 1.0, "packets": 80}
    cost = {"ns_per_packet": 20.0, "set_up_s": 0.1, "memory_bytes": 10**6, "load": 1.0}
    monkeypatch.setattr(scale, "measure", lambda of: [row | cost])
    monkeypatch.setattr(cli, "repository_root", lambda: tmp_path)
    (tmp_path / "config").mkdir()
    written(tmp_path).rename(tmp_path / "config" / "bench.yaml")
    assert cli.main(["bench", "--scale", "--json"]) == 0
    assert pd.read_json(io.StringIO(capsys.readouterr().out), lines=True).loc[0, "packets"] == 80
    assert pd.read_csv(tmp_path / "results" / "bench" / "scale.csv")["memory_bytes"].tolist() == [10**6]
