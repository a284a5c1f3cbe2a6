"""The engine as a source of traces: the schema, sharding, and the shipped data re-simulated."""

import random

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.expand import run_specs, shorten
from tcpfair.papers.papers import load_paper
from tcpfair.runs.trace import read, write
from tcpfair.sources import engine, merge, simulate, simulator

ROOT = repository_root()
LAYOUT = Layout(ROOT)
SHIPPED = sorted(path.parent for path in (ROOT / "data" / "bundled").glob("*/*/manifest.json"))


def paper(name: str):
    return load_paper(LAYOUT.paper_config(name))


def short_specs(config, experiment):
    """One run of each grid point, cut to 5 s."""
    return [shorten(spec, 5) for spec in run_specs(config, experiment) if spec.replicate == 0]


def test_smoke_trace_has_the_schema_and_the_grid(tmp_path):
    config = paper("bhatti2009")
    trace = simulate(config, "pair_ccid2_first", specs=short_specs(config, "pair_ccid2_first"))
    write(trace, tmp_path / "trace")
    back = read(tmp_path / "trace")
    assert back.grid == ["protocol", "rtt_ms"] and len(back.runs) == 16
    assert set(back.flows["cc"]) == {"ccid2", "reno", "bic", "cubic", "compound"}
    assert len(back.samples) == 16 * 2 * 5
    rate_mbps = back.samples.groupby(["run_id", "t_s"])["received_bytes"].sum() * 8 / 1e6
    assert rate_mbps.max() < 100


def test_traces_do_not_depend_on_sharding_or_order(tmp_path):
    chosen = paper("ogura")
    specs = short_specs(chosen, "model1")
    whole = simulate(chosen, "model1", specs=specs)
    shards = [simulate(chosen, "model1", specs=specs[k::4]) for k in (2, 0, 3, 1)]
    write(merge([whole]), tmp_path / "whole")
    write(merge(shards), tmp_path / "shards")
    for name in ("runs", "flows", "samples", "events"):
        assert (tmp_path / "whole" / f"{name}.parquet").read_bytes() == (
            tmp_path / "shards" / f"{name}.parquet"
        ).read_bytes()


def test_unknown_experiment_and_backend_name_the_known_ones():
    with pytest.raises(InputError, match="no such experiment; known are model1"):
        simulate(paper("ogura"), "fig99")
    with pytest.raises(InputError, match="no simulator called 'ns9'"):
        simulator("ns9")


def simulate_again(folder, trace, run_id):
    """Simulate one run of a shipped trace and hold the two against each other."""
    chosen = paper(trace.provenance["paper"])
    experiment = trace.provenance["experiment"]
    specs = [spec for spec in run_specs(chosen, experiment) if spec.run_id == run_id]
    again = engine.simulate_runs(chosen, experiment, specs)
    shipped = trace.samples[trace.samples["run_id"] == run_id].reset_index(drop=True)
    assert np.array_equal(shipped["delivered_bytes"], again.samples["delivered_bytes"]), (folder, run_id)
    assert np.array_equal(shipped["received_bytes"], again.samples["received_bytes"]), (folder, run_id)
    pd.testing.assert_series_equal(
        trace.flows.loc[trace.flows["run_id"] == run_id, "rtt_s"].reset_index(drop=True), again.flows["rtt_s"]
    )


@pytest.mark.skipif(not SHIPPED, reason="data/bundled is empty")
def test_a_shipped_run_drawn_at_random_is_simulated_again_and_found_identical():
    draw = random.Random()
    trace = read(folder := draw.choice(SHIPPED))
    simulate_again(folder, trace, int(draw.choice(trace.runs["run_id"].tolist())))


@pytest.mark.slow
@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_of_every_algorithm_in_every_experiment_a_shipped_run_is_found_identical(folder):
    trace = read(folder)
    carried = trace.samples.groupby("run_id")["delivered_bytes"].sum()
    least = {}
    for run_id in carried.sort_values(kind="stable").index:  # short runs tell as much
        for cc in trace.flows.loc[trace.flows["run_id"] == run_id, "cc"]:
            least.setdefault(cc, int(run_id))
    for run_id in sorted(set(least.values())):
        simulate_again(folder, trace, run_id)
