"""Tables: cells beside print, convergence over runs, definitions and cases."""

import numpy as np
import pytest

from tcpfair.exhibits.kinds import tables
from tests.exhibits import standin
from tests.exhibits.standin import value

# runs 0, 1, 2 give a mean of the printed value: table V of bhatti2009 has 0.94 for BIC at 25 ms
BIC_25 = {0: 0.93, 1: 0.94, 2: 0.95}


@pytest.fixture
def bhatti(tmp_path):
    context = standin.context(tmp_path, "bhatti2009")
    jfi = {
        "jfi_mean": lambda point, run: BIC_25[run],
        "jfi_of_means": 0.99,
        "jfi_mean_received": 0.9,
    }
    flows = {"throughput_mean": lambda point, run, flow: 15.0 * flow, "received_mean": 1.0}
    for experiment in ("self", "pair_ccid2_first"):
        standin.put_metrics(context, experiment, system=jfi, flows=flows)
    return context


def test_jfi_table_gives_mean_and_sd_over_runs_and_marks_what_differs(bhatti):
    drawn = standin.drawn(bhatti, "bhatti2009.table5")
    assert value(drawn, "protocol=BIC;rtt_ms=25", "jfi_mean") == pytest.approx(0.94)
    assert value(drawn, "protocol=BIC;rtt_ms=25", "jfi_sd") == pytest.approx(0.01)
    assert value(drawn, "protocol=BIC;rtt_ms=25", "jfi_of_means") == pytest.approx(0.99)
    cells = drawn.output.cells
    assert (
        cells.loc["BIC", "25 ms [0.31 MB]"] == '<div class="ours">0.94, 0.01</div><div class="printed">0.94, 0.02</div>'
    )
    assert '<span class="off">0.67 ✗</span>' in cells.loc["BIC", "100 ms [1.25 MB]"]  # printed 0.67
    assert drawn.n_runs == standin.RUNS


def test_convergence_counts_from_the_start_of_the_run(tmp_path):
    context = standin.context(tmp_path, "bhatti2008")
    never_at_75 = {"converged_at_s": lambda point, run: np.nan if point["rtt_ms"] == 75 else 62.0}
    since = {"T_U": lambda point, run: np.nan if point["rtt_ms"] == 75 else 32.0}
    standin.put_metrics(context, "pair", system={**never_at_75, **since})
    drawn = standin.drawn(context, "bhatti2008.table7")
    assert value(drawn, "protocol=CUBIC;rtt_ms=200", "T_U") == 62
    assert value(drawn, "protocol=CUBIC;rtt_ms=200", "T_U_since_t_e") == 32
    assert value(drawn, "item=convergence threshold", "U_c") == pytest.approx(-0.4576, abs=1e-4)
    cells = drawn.output.cells
    assert cells.loc["NewReno", "75 ms"] == '<div class="ours">–, 0.00</div><div class="printed">–</div>'
    assert cells.loc["CUBIC", "75 ms"].endswith('<span class="off">61 ✗</span></div>')


def test_definitions_name_the_functions_that_compute_them(tmp_path):
    context = standin.context(tmp_path, "bhatti2008")
    cells = standin.drawn(context, "bhatti2008.table1").output.cells
    assert len(cells) == 9
    assert cells.loc["U<sub>N+</sub>", "computed by"] == "<code>tcpfair.metrics.fairness.nru_tuple</code>"
    assert cells.loc["T<sub>U</sub>", "equation"] == "11"


def test_numbers_have_true_minus_signs_and_dashes():
    assert tables.number_text(-1.294, 2) == "−1.29"
    assert tables.number_text(np.nan, 2) == "–"
    assert tables.number_text("B", 0) == "B"
