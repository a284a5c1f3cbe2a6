"""TCP-LP's guess of the receiver's clock decides its window; ns-2 runs the kernel's module on the same scenarios."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.files.layout import Layout
from tcpfair.papers.expand import run_specs
from tcpfair.validation.scenarios import label_of, load

LAYOUT = Layout(Path(__file__).parents[2])
RUNS = 10


def test_window_under_random_losses_is_that_of_the_kernels_module_in_ns2():
    """Random losses spread the ACKs, the guess passes 1000 Hz, and indications halve what exact delays would allow."""
    config = load(LAYOUT.validation_config)
    specs = [spec for spec in run_specs(config, "random_loss") if label_of(spec) == "lp"][:RUNS]
    windows = [result.cwnd_pkts[result.t_s > 40, 0].mean() for result in (run(s.scenario, s.seed) for s in specs)]
    shipped = pd.read_csv(LAYOUT.validated / "ns2" / "random_loss.csv")
    theirs = shipped.loc[shipped["label"] == "lp", "mean_cwnd"]
    assert len(theirs) >= RUNS
    assert np.mean(windows) == pytest.approx(theirs.mean(), rel=0.15)
