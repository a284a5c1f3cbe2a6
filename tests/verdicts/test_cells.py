"""Which cell of the metrics each printed number is: every number has one or a reason, and it is the right one."""

import re

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS
from tcpfair.verdicts.cells import cells
from tcpfair.verdicts.measured import Measured
from tests.verdicts import bundled


def row(exhibit, key, metric):
    return bundled.number(bundled.cells(exhibit.partition(".")[0]), exhibit, key, metric)


def test_every_printed_result_is_there_with_a_cell_or_a_reason():
    numbers = {}
    for paper in PAPERS:
        rows = bundled.cells(paper)
        assert (rows["cell"].notna() == rows["reason"].eq("")).all()
        numbers[paper] = (len(rows), int(rows["cell"].notna().sum()))
    assert numbers == {
        **{"ogura": (8, 7), "bhatti2008": (230, 226), "bhatti2009": (247, 241), "kozu2014": (6, 3), "ha2006": (30, 28)}
    }


def test_cells_as_a_reader_would_name_them():
    pair = row("bhatti2009.table5", "protocol=BIC;rtt_ms=100", "jfi_mean")
    assert (pair["experiment"], pair["cell"].measure, pair["flow"]) == ("pair_ccid2_first", "jfi_mean", 0)
    assert pair["where"] == {"protocol": "BIC", "rtt_ms": 100}
    assert (pair["cell"].scale, pair["derived"]) == (1.0, False)
    percent = row("ha2006.fig5", "protocol=FAST;rtt_ms=162", "utilisation")
    assert (percent["experiment"], percent["cell"].scale) == ("util_type2", 100.0)
    upper = row("bhatti2008.table6", "protocol=CUBIC;rtt_ms=100", "U_N+")
    assert (upper["cell"].measure, upper["cell"].flows, upper["derived"]) == ("U_n", "mean of fair", True)
    assert pd.isna(upper["flow"])
    megabytes = row("kozu2014.sec-3.1", "protocol=CUBIC;rtt_ms=2", "cwnd_mean")
    assert megabytes["flow"] == 1 and megabytes["where"] == {"protocol": "CUBIC", "rtt_ms": 128}
    assert megabytes["cell"].scale == pytest.approx(1448e-6)
    gain = row("ha2006.sec-4.2.2", "item=RTT-fairness;protocol=STCP", "improvement_max")
    assert (gain["experiment"], gain["cell"].cells, gain["derived"]) == ("rtt_fairness+rtt_types", "max", True)


def synthetic(values, **grid):
    """Runs of one cell: a row of throughput_mean of flow 1 for each value."""
    return bundled.runs(values, flow=1, metric="throughput_mean", **grid)


def test_a_ratio_divides_by_the_mean_of_its_base():
    share = row("bhatti2009.sec-V-C", "item=CCID2 share of its self-pair throughput;protocol=BIC;rtt_ms=100", "ratio")
    metrics = {
        "pair_ccid2_first": synthetic([10.0, 20.0], protocol="BIC", rtt_ms=100),
        "self": synthetic([40.0, 20.0], protocol="CCID2", rtt_ms=100),
    }
    measured = Measured(metrics.__getitem__)
    assert share["cell"].value(measured) == pytest.approx(15 / 30)
    assert share["cell"].by_replicate(measured).tolist() == pytest.approx([10 / 40, 20 / 20])


def test_a_scatter_over_runs_has_no_value_for_one_run():
    sd = row("bhatti2009.table5", "protocol=BIC;rtt_ms=100", "jfi_sd")["cell"]
    with pytest.raises(InputError, match="sd over runs"):
        sd.by_replicate(Measured(lambda name: synthetic([1.0], protocol="BIC", rtt_ms=100)))


def test_a_cell_that_nothing_was_measured_for_is_named():
    cell = row("bhatti2009.table6", "flow=1;protocol=BIC;rtt_ms=100", "throughput_mean")["cell"]
    with pytest.raises(InputError, match="pair_ccid2_first throughput_mean protocol=BIC, rtt_ms=100: no run has it"):
        cell.value(Measured(lambda name: synthetic([1.0], protocol="CUBIC", rtt_ms=100)))


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"experiment": "los_sweep"}, "did you mean 'loss_sweep'"),
        ({"where": {"loss": 0.01}}, "grid variable 'loss' is unknown"),
        ({"where": {"loss_rate": 0.5}}, "loss_rate=0.5 is not in the grid"),
        ({"runs": "mode"}, "ogura.fig8.ratio.runs"),
        ({"reason": "none"}, "give an experiment, or the reason"),
        (None, "no rule for ogura.sec-5.4 item=high loss;protocol=Alpha ratio"),
    ],
)
def test_wrong_rules_are_named(tmp_path, change, hint):
    layout = bundled.with_rules(
        tmp_path, lambda rules: rules["fig8"]["ratio"].update(change) if change else rules.pop("fig8")
    )
    with pytest.raises(InputError, match=f"cells.yaml.*{re.escape(hint)}"):
        cells(bundled.CONFIGS["ogura"], layout)


@pytest.mark.parametrize("lost", [None, ["ratio"], "ratio"])
def test_an_exhibit_that_lost_its_rules_is_named(tmp_path, lost):
    layout = bundled.with_rules(tmp_path, lambda rules: rules.update(fig8=lost))
    with pytest.raises(InputError, match=r"cells\.yaml.*fig8: must have series, of and metrics with their rules"):
        cells(bundled.CONFIGS["ogura"], layout)
