"""Windows of Model I and II: numbers of the paper, curves, sketches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair import sources
from tcpfair.exhibits.kinds import windows
from tcpfair.papers.expand import run_specs, shorten
from tcpfair.papers.papers import load_paper
from tcpfair.verdicts.paper_models import AimdLink
from tests.exhibits import standin

PAPER = load_paper(standin.ROOT / "config" / "papers" / "ogura.yaml")
LINK = AimdLink.of(PAPER)
PROTOCOLS = ("Reno", "Libra", "Alpha", "Proposal")


@pytest.fixture(scope="module")
def ogura(tmp_path_factory):
    """Model I and II simulated: six runs of one flow each, less than a second."""
    context = standin.context(tmp_path_factory.mktemp("ogura"), "ogura")
    for name in ("model1", "model2"):
        standin.put(context, name, sources.simulate(context.paper, name))
    return context


def values(drawn, metric):
    return drawn.numbers[drawn.numbers["metric"] == metric].set_index("key")["value"]


def test_simulated_curves_run_from_half_the_bdp_to_the_bdp(ogura):
    drawn = standin.drawn(ogura, "ogura.fig4")
    for (_, rtt_ms), curve in drawn.data.groupby(["protocol", "rtt_ms"]):
        bdp = rtt_ms / 1e3 * LINK.B
        assert curve["t_s"].iloc[0] == 0
        assert curve["cwnd_pkts"].iloc[0] == pytest.approx(bdp / 2, rel=0.02)
        assert curve["cwnd_pkts"].iloc[-1] == pytest.approx(bdp, rel=0.01)


def test_simulated_curves_of_model_2_end_at_the_first_loss(ogura):
    drawn = standin.drawn(ogura, "ogura.fig6")
    assert set(drawn.data["protocol"]) == {"Reno", "Libra", "Alpha"}  # the papers' names, not those of the variants
    assert values(drawn, "t2_ratio")["item=80 ms over 40 ms;protocol=Alpha"] == pytest.approx(1, rel=0.02)
    peaks = drawn.data.groupby("rtt_ms")["cwnd_pkts"].max()
    assert peaks.to_numpy() == pytest.approx(peaks.index / 1e3 * LINK.B + LINK.S, rel=0.02)


def test_exact_windows_bulge_above_the_straight_ones_and_end_as_high(ogura):
    curves = standin.drawn(ogura, "ogura.fig7").data
    for _, both in curves.groupby(["protocol", "rtt_ms"]):
        straight, exact = both[both["form"] == ""], both[both["form"] == "exact"]
        half_way_s = straight["t_s"].iloc[-1] / 2
        windows_pkts = [np.interp(half_way_s, form["t_s"], form["cwnd_pkts"]) for form in (straight, exact)]
        assert windows_pkts[1] > windows_pkts[0] + 10
        assert exact["cwnd_pkts"].iloc[-1] == pytest.approx(straight["cwnd_pkts"].iloc[-1], rel=1e-3)


@given(st.sampled_from(PROTOCOLS), st.floats(0.02, 0.2))
def test_sketched_windows_stay_between_half_of_their_peak_and_the_full_buffer(protocol, rtt_s):
    path = windows.window_path(LINK, protocol, rtt_s, losses=2)["cwnd_pkts"]
    full = LINK.bdp_pkts(rtt_s) + LINK.S
    assert path.max() == pytest.approx(full)
    assert path.min() >= min(LINK.bdp_pkts(rtt_s), full) / 2 - 1e-9
    assert path.iloc[-1] == pytest.approx(full)  # it ends at the overflow


def test_the_proposal_falls_to_the_bdp_and_reno_to_half(ogura):
    for name, after in (("fig2", LINK.bdp_pkts(0.080)), ("fig1", (LINK.bdp_pkts(0.080) + LINK.S) / 2)):
        path = standin.drawn(ogura, f"ogura.{name}").data
        falls = path["cwnd_pkts"].diff() < 0
        assert path["cwnd_pkts"][falls].to_numpy() == pytest.approx(after)


def test_reno_takes_t1_and_t2_of_the_model():
    path = windows.window_path(LINK, "Reno", 0.080, losses=1)
    t1_s = path["t_s"][path["cwnd_pkts"] >= LINK.bdp_pkts(0.080)].iloc[0]
    assert t1_s == pytest.approx(26.7, abs=0.2)
    assert path["t_s"].iloc[-1] - t1_s == pytest.approx(55.0, abs=0.3)


def test_runs_too_short_for_a_loss_leave_the_figure_empty(tmp_path):
    context = standin.context(tmp_path, "ogura")
    specs = [shorten(spec, 2) for spec in run_specs(context.paper, "model2")]
    standin.put(context, "model2", sources.simulate(context.paper, "model2", specs=specs))
    drawn = standin.drawn(context, "ogura.fig6")
    assert values(drawn, "t2").isna().all()
    assert drawn.data.empty
