"""Sketches of CUBIC's window, and the map of two CUBIC flows beside simulated windows."""

from types import SimpleNamespace

import numpy as np
import pytest

from tcpfair.exhibits import explore

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
        return SimpleNamespace(result=SimpleNamespace(events=np.array(rows, dtype=kinds)))

    paper = explore.open_config("kozu2014")
    image = explore.common_losses_live(simulate, paper, "CUBIC (map)", 128, 250, True, duration_s=60, seed=3)
    ((scenario, seed),) = asked
    assert image.data.startswith(b"\x89PNG")
    assert (scenario.buffer_pkts, scenario.duration_s, scenario.synchronised_losses, seed) == (250, 60, True, 3)
