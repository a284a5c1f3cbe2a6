"""What stands behind the sliders."""

from types import SimpleNamespace

import numpy as np
import pytest

from tcpfair.exhibits import explore

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def ogura():
    return explore.open_config("ogura")


def test_sliders_take_their_values_from_the_configuration(ogura):
    assert explore.choice(ogura, "rtt_sweep", "rtt_ms", start=80).value == 80
    assert explore.choice(ogura, "loss_sweep", "loss_rate").options[0] == 1e-6
    assert explore.protocol_menu(ogura, "rtt_sweep").options == ("Proposal", "Reno", "Libra", "Alpha")
    slider = explore.rate(ogura, 0.2)
    assert (slider.max, slider.value) == (100, 20)


def test_figures_are_images(ogura):
    assert explore.windows(ogura, rtt_ms=80, buffer_pkts=500).data.startswith(PNG)
    assert explore.fairness(20, 70, 45, 45).data.startswith(PNG)


def test_a_scenario_between_the_values_of_the_grid(ogura):
    made = explore.scenario(ogura, "rtt_sweep", {"protocol": "Libra", "rtt_ms": 90}, buffer_pkts=77, duration_s=20)
    assert [flow.protocol for flow in made.flows] == ["Libra", "Libra"]
    assert made.flows[1].rtt_s == pytest.approx(0.090, rel=0.011)  # perturbed by up to 1 %
    assert (made.buffer_pkts, made.duration_s, made.loss_rate) == (77, 20, 1e-5)


def test_a_live_run_simulates_what_the_sliders_say(ogura):
    asked = []

    def simulate(scenario, seed):
        asked.append((scenario, seed))
        samples = round(scenario.duration_s / scenario.sample_s)
        t_s = scenario.sample_s * np.arange(1, samples + 1)
        pkts = np.outer(np.arange(samples), [100, 200])
        result = SimpleNamespace(t_s=t_s, received_pkts=pkts, cwnd_pkts=pkts, queue_pkts=np.zeros(samples))
        return SimpleNamespace(scenario=scenario, result=result)

    image = explore.live_run(simulate, ogura, "Reno", 60, 300, 1e-4, 0.0, duration_s=20, seed=7)
    ((scenario, seed),) = asked
    assert image.data.startswith(PNG)
    assert seed == 7
    assert (scenario.buffer_pkts, scenario.loss_rate, scenario.jitter_s) == (300, 1e-4, 0.0)
