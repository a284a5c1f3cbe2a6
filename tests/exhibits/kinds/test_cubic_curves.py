"""Sketches of CUBIC's window, and the map of two CUBIC flows beside simulated windows."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tcpfair.exhibits import explore
from tcpfair.exhibits.context import draw
from tcpfair.models import cubic_map
from tcpfair.papers.expand import run_specs
from tcpfair.runs import trace
from tcpfair.verdicts import paper_models
from tests.exhibits import standin


@pytest.fixture
def kozu(tmp_path):
    return standin.context(tmp_path, "kozu2014")


def values(drawn, metric):
    return drawn.numbers[drawn.numbers["metric"] == metric].set_index("key")["value"]


def test_the_link_is_that_of_the_configuration(kozu):
    link = paper_models.link_of(kozu.paper, (2, 128))
    assert link.capacity_pps == pytest.approx(1e9 / (8 * 1538))
    assert link.rtt_s == (0.002, 0.128)
    assert link.buffer_pkts == kozu.paper.settings["buffer_pkts"].value


def test_the_next_common_loss_falls_between_both_k(kozu):
    drawn = draw(kozu, kozu.paper.exhibit("kozu2014.fig5"))
    at_s, ratio = values(drawn, "time_B_s"), values(drawn, "window_ratio")
    # windows of 381 and 5502 packets: K of 5.75 and 14.0 s; half way between them by the sum of windows
    assert at_s["form=paper"] == pytest.approx((5.754 + 14.014) / 2, abs=0.01)
    assert 5.754 < at_s["form=full link"] < at_s["form=paper"]
    for form in ("paper", "full link"):
        assert ratio[f"flow=1;form={form}"] > 1 > ratio[f"flow=2;form={form}"]


@pytest.mark.parametrize(
    ("figure", "protocol", "starts"),
    [("fig11", "Proposed K", (1 - 0.2 / 2, 1 - 0.2 / 128)), ("fig12", "Proposed K and C'", (0.8, 0.8))],
)
def test_where_the_curve_starts_after_a_loss(kozu, figure, protocol, starts):
    """W_max - C K^3 with K^3 = 0.2 W_max / (C RTT); with C' the RTT cancels."""
    drawn = draw(kozu, kozu.paper.exhibit(f"kozu2014.{figure}"))
    start = values(drawn, "curve_start")
    for rtt_ms, expected in zip((2, 128), starts, strict=True):
        assert start[f"protocol={protocol};rtt_ms={rtt_ms}"] == pytest.approx(expected)
        assert start[f"protocol=CUBIC;rtt_ms={rtt_ms}"] == pytest.approx(0.8)


def test_ssthresh_of_the_text_is_a_number_of_figure_11(kozu):
    drawn = draw(kozu, kozu.paper.exhibit("kozu2014.fig11"))
    compared = kozu.against_print("kozu2014.fig11", drawn.numbers)
    assert compared[["exhibit", "printed", "within"]].values.tolist() == [["kozu2014.sec-5.2", "0.8", True]]


def test_windows_for_400_mbps_are_the_printed_ones(kozu):
    drawn = draw(kozu, kozu.paper.exhibit("kozu2014.fig16"))
    compared = kozu.against_print("kozu2014.fig16", drawn.numbers)
    assert compared[["printed", "within"]].values.tolist() == [["100", True], ["6.4", True]]
    titles = [ax.get_title() for ax in drawn.output.axes]
    assert titles == ["100 KB per 2 ms: 400 Mb/s", "6.4 MB per 128 ms: 400 Mb/s"]


# --- The map -----------------------------------------------------------------------------------------------------


def test_methods_follow_the_configuration(kozu):
    w_pkts, rtt_s = np.array([2000.0, 2000.0]), np.array([0.001, 0.008])
    expected = {
        "CUBIC (map)": [10, 10],
        "K of 5000 ms (map)": [5, 5],
        "Proposed K (map)": [10, 5],
        "Proposed K and C' (map)": [10, 5],
        "Existing method (map)": [10, 2.5],
    }
    for protocol, k_s in expected.items():
        method = paper_models.method_of(kozu.paper, protocol, x=0.25)
        assert method.k_s(w_pkts, rtt_s).tolist() == pytest.approx(k_s)
    scaled = paper_models.method_of(kozu.paper, "Proposed K and C' (map)")
    assert scaled.c(rtt_s).tolist() == pytest.approx([0.4, 3.2])


def test_fixed_points_of_the_table(kozu):
    drawn = draw(kozu, kozu.paper.exhibit("kozu2014.map_table"))
    ratio = values(drawn, "window_ratio")
    assert ratio["form=paper;protocol=CUBIC"] == pytest.approx(1, rel=1e-3)  # equal windows
    assert ratio["form=paper;protocol=Proposed K"] == pytest.approx(64, rel=1e-3)  # equal windows per RTT
    assert ratio["form=paper;protocol=Existing method"] == pytest.approx(8, rel=1e-3)  # 1 / x^3
    assert values(drawn, "slope")["form=paper;protocol=CUBIC"] == pytest.approx(1, abs=1e-3)
    assert np.isnan(values(drawn, "fixed_share")["form=paper;protocol=K of 5000 ms"])
    assert "every share" in drawn.output.cells.iloc[:, 0].tolist()


def put_common_losses(context, experiment, follow):
    """A trace in which every flow pair moves from loss to loss as the map ``follow`` says, from a share of 0.3."""
    chosen, params = context.paper.experiments[experiment], context.paper
    runs, flows, samples, events, metrics = [], [], [], [], []
    specs = run_specs(params, experiment)
    for spec in specs:
        about = {"run_id": spec.run_id, "replicate": spec.replicate}
        scenario = spec.scenario
        names = ("duration_s", "sample_s", "capacity_bps", "wire_bytes", "payload_bytes", "buffer_pkts")
        link = {name: getattr(scenario, name) for name in names}
        host = {"paper": "kozu2014", "experiment": experiment, "backend": "engine", "seed": 1}
        runs.append({**about, **host, **link, **spec.point})
        rtts_s = [flow.rtt_s for flow in scenario.flows]
        bottleneck = cubic_map.Link(link["capacity_bps"] / (8 * link["wire_bytes"]), link["buffer_pkts"], tuple(rtts_s))
        method = paper_models.method_of(params, spec.point["protocol"], spec.point.get("x", 1.0))
        model = cubic_map.CubicMap(bottleneck, method, paper_models.reading(params, follow))
        times_s, windows = model.path(bottleneck.windows_pkts(0.3), 9)
        for flow in (1, 2):
            fields = {"protocol": spec.point["protocol"], "cc": "cubic", "access_bps": 1e9, "role": "foreground"}
            flows.append({**about, "flow_id": flow, **fields, "rtt_s": rtts_s[flow - 1], "start_s": 0, "stop_s": 300})
            samples.append({"run_id": spec.run_id, "flow_id": flow, "t_s": 300.0, "delivered_bytes": 10**9})
            losses = {"t_s": 25 + times_s + 0.1 * (flow - 1), "cwnd_before": windows[:, flow - 1]}
            events.append(pd.DataFrame({"run_id": spec.run_id, "flow_id": flow, "kind": "loss", **losses}))
            value = {1: 700.0, 2: 200.0}[flow]
            metrics.append({**about, **spec.point, "flow": flow, "metric": "throughput_mean", "value": value})
    made = trace.Trace(
        runs=pd.DataFrame(runs).astype({"run_id": "int32", "replicate": "int32"}),
        flows=pd.DataFrame(flows).drop(columns="replicate").astype({"start_s": float, "stop_s": float}),
        samples=pd.DataFrame(samples),
        events=pd.concat(events, ignore_index=True).assign(cwnd_after=1.0),
        provenance={"paper": "kozu2014", "experiment": experiment, "grid": list(chosen.grid)},
    )
    standin.put(context, experiment, made, pd.DataFrame(metrics))


@pytest.fixture
def simulated(kozu):
    """Traces of fewer runs whose windows move as the physical map says."""
    for name in ("synchronised", "synchronised_x"):
        chosen = kozu.paper.experiments[name]
        chosen.runs.value, chosen.grid["rtt_ms"].value = 1, [8, 128]
        put_common_losses(kozu, name, "physical")
    return kozu


def test_the_map_that_made_the_windows_predicts_their_shares(simulated):
    drawn = draw(simulated, simulated.paper.exhibit("kozu2014.map_shares"))
    apart = values(drawn, "share_error")
    physical = apart[[key for key in apart.index if "form=physical" in key]]
    assert len(physical) == 5 * 2
    assert physical.to_numpy() == pytest.approx(0, abs=1e-9)
    share = values(drawn, "share")
    key = "protocol=CUBIC (map);rtt_ms=128"
    assert share[f"form=engine;{key}"] == pytest.approx(share[f"form=physical;{key}"])
    assert share[f"form=engine;{key}"] != pytest.approx(share[f"form=paper;{key}"], abs=1e-3)
    assert share[f"form=engine, losses not forced;{key}"] == pytest.approx(7 / 9)
    assert drawn.output.axes[0].get_title() == "CUBIC"


def test_paths_count_common_losses_from_the_first_after_slow_start(simulated):
    drawn = draw(simulated, simulated.paper.exhibit("kozu2014.map_paths"))
    forms = drawn.data.query("protocol == 'CUBIC (map)'").groupby("form")["share"]
    assert forms.size().to_dict() == {"engine": 10, "paper": 10, "physical": 10}
    assert forms.first().to_numpy() == pytest.approx(0.3)


# --- Sliders -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", explore.MAP_METHODS)
def test_figures_of_the_map_are_images(method):
    paper = explore.open_config("kozu2014")
    assert explore.common_losses(paper, method, 64, 600, 0.3, 5).data.startswith(b"\x89PNG")


def test_laws_of_rtt_fairness_are_an_image():
    paper = explore.open_config("kozu2014")
    assert explore.rtt_laws(paper, "standard K (eq. 2)", 600, 0.5, 3).data.startswith(b"\x89PNG")


def test_a_live_run_is_set_beside_the_maps():
    asked = []

    def simulate(scenario, seed):
        asked.append((scenario, seed))
        kinds = [("t_s", float), ("flow", int), ("kind", int), ("cwnd_before", float)]
        rows = [(30.0, 0, 0, 400.0), (30.1, 1, 0, 5000.0), (31.0, 0, 2, 1.0), (37.0, 0, 0, 410.0), (60.0, 1, 1, 4000.0)]
        return SimpleNamespace(events=np.array(rows, dtype=kinds))

    paper = explore.open_config("kozu2014")
    image = explore.common_losses_live(simulate, paper, "CUBIC (map)", 128, 250, True, duration_s=60, seed=3)
    ((scenario, seed),) = asked
    assert image.data.startswith(b"\x89PNG")
    assert (scenario.buffer_pkts, scenario.duration_s, scenario.synchronised_losses, seed) == (250, 60, True, 3)
