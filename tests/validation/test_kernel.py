"""The engine beside a real kernel: what is shipped of it, and how it is compared."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import curve_fit

from tcpfair.engine import dumbbell
from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.models import cubic
from tcpfair.models import kernel as linux
from tcpfair.papers.expand import run_specs
from tcpfair.runs import trace
from tcpfair.sources import guest
from tcpfair.sources.readers.polls import losses
from tcpfair.sources.testbed.setup import PAYLOAD_BYTES, WIRE_BYTES
from tcpfair.validation import agreement, comparison, papers, recordings, shipped
from tcpfair.validation.scenarios import ENGINE, GUEST, KERNEL, TESTBED, TOOLS, WHOLE, label_of, load, tools_of, whole
from tests.validation.fake_simulators import make_checkout

LAYOUT = Layout(repository_root())
CONFIG = load(LAYOUT.testbed_config)
KERNELS = {KERNEL: CONFIG}
PLACE = recordings.place(LAYOUT)


@pytest.fixture(scope="module")
def of():
    return shipped.read(LAYOUT, CONFIG, TESTBED)


@pytest.fixture(scope="module")
def checks():
    return pd.read_csv(PLACE / recordings.CHECKS)


# ---------------------------------------------------------------- what is shipped


def test_every_scenario_has_five_recordings_of_the_present_configuration(of):
    assert of.stale == of.missing == []
    for name, runs in of.runs.items():
        assert runs.groupby("label")["replicate"].nunique().min() >= 5, name
        assert set(runs["label"]) == set(CONFIG.experiments[name].grid["protocol"].value)


def test_every_recording_has_passed_its_checks(of, checks):
    assert len(checks) == sum(len(runs) for runs in of.runs.values())
    decided = checks.dropna(subset="dropped_pkts")
    assert len(decided) > 0.9 * len(checks)  # the others were never quiet
    assert (decided["dropped_pkts"] == decided["retransmitted_pkts"] - decided["needless_pkts"]).all()
    off_ms = [
        abs(float(probed) - float(given))
        for row in checks.itertuples()
        for probed, given in zip(row.rtt_probe_ms.split(), row.rtt_set_ms.split(), strict=True)
    ]
    assert max(off_ms) <= 1.0


def test_recordings_name_no_machine_and_no_time_of_day(checks):
    assert checks["kernel"].str.fullmatch(r"\d+\.\d+(\.\d+)?").all()
    for name in CONFIG.experiments:
        held = trace.read(PLACE / name)
        assert held.samples["t_s"].max() < 1000  # from the start of the run


def test_a_flow_alone_at_50_ms_gets_99_percent_of_what_headers_leave():
    held = trace.read(PLACE / "alone_50")
    from_s, until_s = whole(CONFIG, TESTBED).window(CONFIG, "alone_50")
    settled = held.samples[held.samples["t_s"].between(from_s, until_s, inclusive="right")]
    goodput_bps = 8 * settled.groupby("run_id")["delivered_bytes"].sum() / (until_s - from_s)
    assert (goodput_bps > 0.99 * 100e6 * PAYLOAD_BYTES / WIRE_BYTES).all()


def test_cubic_returns_to_its_w_max_within_3_percent_of_the_formula():
    """K fitted to the polled windows of every epoch that lasts longer than K, against the closed form."""
    polls = pd.read_parquet(PLACE / recordings.POLLS).query("experiment == 'alone_50' and label == 'cubic'")
    errors = []
    for _, own in polls.groupby("replicate"):
        errors += [fitted / k_s - 1 for fitted, k_s in epochs_of(own)]
    assert len(errors) >= 15
    assert np.abs(errors).max() < 0.03


def epochs_of(own: pd.DataFrame) -> list[tuple[float, float]]:
    """(fitted K, K of the formula) of the epochs of one run that last longer than K."""
    t_s, cwnd = own["t_s"].to_numpy(dtype=float), own["cwnd"].to_numpy(dtype=float)
    events = losses(own.assign(cc="cubic").reset_index(drop=True), t_s)
    ends_s = events.loc[events["kind"] == "recovery_end", "t_s"]
    found = []
    for loss, following in pairwise(list(events[events["kind"] == "loss"].itertuples())):
        began_s = ends_s[ends_s >= loss.t_s].min()
        if not (loss.k_s > 1 and following.t_s - began_s > loss.k_s):
            continue
        during = (t_s > began_s + 0.1) & (t_s < following.t_s - 0.05)

        def curve(since_s, k_s, w_max=loss.w_max):
            return cubic.window_pkts(since_s, k_s, w_max, linux.CUBIC_C)

        # Linux runs the curve's clock one least RTT ahead
        (fitted,), _ = curve_fit(curve, t_s[during] - began_s + 0.05, cwnd[during], p0=[loss.k_s])
        found.append((fitted, loss.k_s))
    return found


# ---------------------------------------------------------------- how it is compared


def test_the_kernel_has_scenarios_of_its_own():
    assert tools_of(CONFIG) == (TESTBED,)
    assert tools_of(load(LAYOUT.guest_config)) == (GUEST,)
    assert tools_of(load(LAYOUT.validation_config)) == TOOLS


def test_only_the_engine_is_given_the_window_of_the_guests_sockets():
    config = load(LAYOUT.guest_config)
    scaled = papers.plans(LAYOUT)["kozu2014"]
    for of_engine, of_guest in (
        (whole(config, backend).specs(config, "alone") for backend in (ENGINE, GUEST)),
        (scaled.specs(papers.AS_KERNEL, "rtt_sweep"), scaled.guest_specs("rtt_sweep")),
    ):
        assert of_engine[0].scenario.flows[0].rwnd_pkts < np.inf == of_guest[0].scenario.flows[0].rwnd_pkts


def test_explanations_of_the_kernel_are_held_against_its_rows(tmp_path):
    config = load(LAYOUT.validation_config)
    path = tmp_path / "explanations.yaml"
    path.write_text("testbed: {'share/reno/far': 'far away'}\n")
    assert agreement.load_explanations(path, config, KERNELS) == {
        TESTBED: {"share/reno/far": ("explained", "far away")}
    }
    with pytest.raises(InputError, match="simulator 'testbed' is unknown; known are ns2, ns3"):
        agreement.load_explanations(path, config, {})


def test_a_checkout_without_scenarios_of_the_kernel_has_no_comparison(tmp_path):
    layout = make_checkout(tmp_path)
    config = load(layout.validation_config)
    assert comparison.kernel_configs(layout) == {}
    parts = comparison.engine_parts(layout, config)
    assert {part.kind for part in parts} == {WHOLE}
    assert comparison.compare(layout, config.model_copy(update={"experiments": {}}), []).kernels == {}


# ---------------------------------------------------------------- the kernel in virtual time


def test_results_of_the_guest_are_of_the_present_configuration():
    config = load(LAYOUT.guest_config)
    of = shipped.read(LAYOUT, config, GUEST)
    assert of.stale == [] and "alone" in of.runs
    for name, runs in of.runs.items():
        wanted = {label_of(spec) for spec in whole(config, GUEST).specs(config, name)}
        assert set(runs["label"]) == wanted
    (tool,) = of.tools
    assert tool.startswith("Linux 6.")


def test_every_scenario_of_the_guest_is_one_that_it_can_do():
    config = load(LAYOUT.guest_config)
    for name in config.experiments:
        for spec in whole(config, GUEST).specs(config, name):
            guest.check(spec.scenario)


def test_cubic_leaves_slow_start_where_the_kernel_does():
    """HyStart's rounds begin with the first ACK: with rounds from 16 packets on it would be at 272."""
    runs = run_specs(load(LAYOUT.guest_config), "ccid2_at_40_mbps")
    spec = next(spec for spec in runs if label_of(spec) == "cubic" and spec.replicate == 1)
    alone = spec.scenario.model_copy(update={"duration_s": 2.5, "flows": spec.scenario.flows[:1]})
    result = dumbbell.run(alone, spec.seed)
    at_2_s = round(2.0 / alone.sample_s) - 1
    assert result.ssthresh_pkts[at_2_s, 0] == pytest.approx(489, abs=2)  # Linux 6.1.192 in the guest


def test_a_flow_alone_fills_the_guests_link_and_its_window_is_that_of_path_and_queue():
    """Sanity of what is shipped: no flow alone leaves the link idle or exceeds path and queue."""
    alone = shipped.read(LAYOUT, load(LAYOUT.guest_config), GUEST).runs["alone"].set_index("label")
    assert alone["utilisation"].between(0.99, 1.001).all()
    path_pkts, queue_pkts = 10e6 * 0.05 / (8 * 1514), 39
    assert (alone["mean_cwnd"] < path_pkts + queue_pkts + 3).all() and (alone["mean_cwnd"] > path_pkts).all()
    assert alone["peak"].dropna().between(path_pkts + queue_pkts, 90).all()
