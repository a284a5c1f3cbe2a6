"""The table of costs: rows replaced, not repeated, also by processes side by side."""

import subprocess
import sys
import time

import pytest

from tcpfair.contract import costs


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "costs.csv"


def test_a_measured_step_leaves_one_row(path):
    for _ in range(2):
        with costs.measured(path, "engine", "simulate", "ogura/pair") as cost:
            begin = time.process_time()
            while time.process_time() - begin < 0.05:
                pass
            cost.packets = 1000
    (row,) = costs.read(path)
    assert (row["source"], row["step"], row["item"], row["packets"]) == ("engine", "simulate", "ogura/pair", "1000")
    assert 0.04 <= float(row["cpu_s"]) <= 1
    assert float(row["wall_s"]) >= 0.05
    assert 10 < float(row["max_rss_mb"]) < 10_000
    assert float(row["packets_per_s"]) == pytest.approx(1000 / float(row["cpu_s"]), rel=1e-3)


def test_a_failed_step_leaves_none(path):
    with pytest.raises(ZeroDivisionError), costs.measured(path, "engine", "simulate", "ogura/pair"):
        1 / 0  # noqa: B018
    assert costs.read(path) == []


def test_the_cpu_time_of_children_counts(path):
    with costs.measured(path, "engine", "notebook", "ogura"):
        busy = "import time\nwhile time.process_time() < 0.3: pass"
        subprocess.run([sys.executable, "-c", busy], check=True)
    assert float(costs.read(path)[0]["cpu_s"]) >= 0.3


def test_parts_that_ran_side_by_side_become_one_row(path):
    parts = [
        costs.Cost("engine", "simulate", "ogura/pair 1-of-2", wall_s=4, cpu_s=3, max_rss_mb=90, packets=600),
        costs.Cost("engine", "simulate", "ogura/pair 2-of-2", wall_s=5, cpu_s=2, max_rss_mb=80, packets=400),
    ]
    costs.record(path, parts)
    costs.record(path, [costs.Cost("ns2", "simulate", "ogura/pair 1-of-2", wall_s=99)])
    costs.join(path, "engine", "simulate", "ogura/pair", tuple(part.item for part in parts))
    engine, ns2 = costs.read(path)
    assert [engine[name] for name in ("wall_s", "cpu_s", "max_rss_mb", "packets")] == ["5.0", "5.0", "90.0", "1000"]
    assert float(engine["packets_per_s"]) == 200
    assert ns2["wall_s"] == "99"


def test_rows_written_by_processes_at_once_are_all_there(path):
    write = (
        "import sys; from pathlib import Path; from tcpfair.contract import costs\n"
        "for i in range(20): costs.record(Path(sys.argv[1]), [costs.Cost('engine', sys.argv[2], str(i))])"
    )
    writers = [subprocess.Popen([sys.executable, "-c", write, str(path), name]) for name in ("a", "b", "c")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(costs.read(path)) == 60
