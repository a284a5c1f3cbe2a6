"""What steps cost, from Snakemake's benchmarks."""

import json

import pytest

from tcpfair.contract import costs
from tcpfair.contract.layout import Layout

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, "engine")


def bench(layout, name, wall_s, rss_mb, cpu_s):
    path = costs.folder(layout) / f"{name}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADER}{wall_s}\t0:00:01\t{rss_mb}\t0\t0\t0\t0\t0\t0\t{cpu_s}\n")


def test_parts_that_ran_side_by_side_are_one_cost_with_their_packets(layout):
    bench(layout, "simulate/ogura/pair.1-of-2", 10.0, 300.0, 9.0)
    bench(layout, "simulate/ogura/pair.2-of-2", 12.0, 200.0, 11.0)
    bench(layout, "measure/ogura/pair", 1.5, 250.0, 1.0)
    costs.counted(layout, "simulate", "ogura/pair").write_text(json.dumps({"simulated_runs": 4, "simulated_pkts": 400}))
    assert costs.read(layout) == [
        costs.Cost("measure", "ogura/pair", 1.5, 1.0, 250.0),
        costs.Cost("simulate", "ogura/pair", 12.0, 20.0, 300.0, 400),
    ]
    assert costs.read(layout)[1].pkts_per_s == 20.0


def test_what_was_too_short_to_measure_costs_nothing(layout):
    bench(layout, "ledger", 0.1, "NA", "-")
    (cost,) = costs.read(layout)
    assert (cost.step, cost.item, cost.cpu_s, cost.pkts_per_s) == ("ledger", "", 0.0, 0.0)


@pytest.mark.parametrize("content", ["", HEADER, "torn"])
def test_a_benchmark_that_was_cut_short_is_passed_over(layout, content):
    path = costs.folder(layout) / "measure/ogura/pair.tsv"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert costs.read(layout) == []


def test_no_benchmarks_are_no_costs(layout):
    assert costs.read(layout) == []


def test_a_step_that_is_taken_again_is_forgotten_and_no_other(layout):
    for name in ("simulate/ogura/pair.1-of-2", "simulate/ogura/pair_ack.1-of-1", "measure/ogura/pair"):
        bench(layout, name, 1.0, 1.0, 1.0)
    costs.forget(layout, "simulate", "ogura/pair")
    assert [(cost.step, cost.item) for cost in costs.read(layout)] == [
        ("measure", "ogura/pair"),
        ("simulate", "ogura/pair_ack"),
    ]
