"""What steps cost, from Snakemake's benchmarks."""

import json
import os
import subprocess
import sys
import time

import pytest

from tcpfair.files import costs
from tcpfair.files.layout import Layout

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, "engine")


def bench(layout, name, wall_s, rss_mb, cpu_s):
    path = costs.folder(layout) / f"{name}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADER}{wall_s}\t0:00:01\t{rss_mb}\t0\t0\t0\t0\t0\t0\t{cpu_s}\n")


def test_jobs_of_a_campaign_are_one_cost_of_their_group_with_what_each_of_them_took(layout):
    for job, cpu_s in (("ogura/H1/0001-a", 9.0), ("ogura/0002-b", 20.0), ("kozu2014/0001-c", 1.0)):
        bench(layout, f"ensemble/{job}", 10.0, 300.0, 0.0)
        said = {"runs": 2, "simulated_pkts": 100, "cpu_s": cpu_s}
        (costs.folder(layout) / f"ensemble/{job}.json").write_text(json.dumps(said))
    assert costs.read(layout) == [
        costs.Cost("ensemble", "kozu2014", 10.0, 1.0, 300.0, 100),
        costs.Cost("ensemble", "ogura", 10.0, 29.0, 300.0, 200, jobs=2),
    ]
    assert costs.read(layout)[0].pkts_per_s == 100.0


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


def test_the_cpu_time_that_a_step_noted_counts_not_what_was_sampled(layout):
    bench(layout, "place", 41.0, 300.0, 14.0)
    costs.note(costs.folder(layout) / "place")
    (cost,) = costs.read(layout)
    assert cost.cpu_s == pytest.approx(costs.cpu_s(), abs=1.0)


def test_children_that_have_ended_count():
    before_s = costs.cpu_s()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
    assert costs.cpu_s() - before_s >= 0.5


def test_steps_and_workflow_add_up_to_what_the_run_took(layout):
    began_s, before_s = time.time() - 1, costs.cpu_s() - 100
    bench(layout, "place", 41.0, 300.0, 14.0)
    (costs.folder(layout) / "place.json").write_text('{"cpu_s": 41.5}')
    bench(layout, "ledger", 5.0, 300.0, 5.0)
    (costs.folder(layout) / "ledger.json").write_text('{"cpu_s": 20}')
    os.utime(costs.folder(layout) / "ledger.json", (began_s - 60, began_s - 60))  # of an earlier run
    costs.note_workflow(layout, began_s, 60.0, before_s)
    took = {cost.step: cost.cpu_s for cost in costs.read(layout)}
    assert took["place"] + took["workflow"] == pytest.approx(100, abs=1)


@pytest.mark.parametrize("cpu_s", [0.5, 3.0, 6.0])
def test_a_short_simulation_has_no_speed_of_its_own(cpu_s):
    tiny = costs.Cost("simulate", "ogura/pair", 3.0, cpu_s, 300.0, 20_000)
    assert 0.5 < costs.expected_pkts_per_s([tiny]) / costs.PLANNED_PKTS_PER_S < 2


def test_long_simulations_have():
    long = costs.Cost("simulate", "ogura/pair", 2000.0, 4008.0, 300.0, 4_000_000_000, jobs=2)
    assert costs.expected_pkts_per_s([long]) == pytest.approx(1e6, rel=0.5)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")]
)
def test_durations_are_short(seconds, text):
    assert costs.duration_text(seconds) == text
