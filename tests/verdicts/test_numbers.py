"""The numbers of the exhibits, as data/cells.yaml says: those of the baseline, without a drawing."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.files.rounding import rounded_table
from tcpfair.runs import reach, record
from tcpfair.verdicts import baseline, numbers
from tcpfair.verdicts.columns import csv_bytes, rounded
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.measured import Measured
from tcpfair.verdicts.numbers import numbers_of
from tcpfair.verdicts.printed import compare, load_printed, load_tolerances
from tests.verdicts import bundled

# what the text of bhatti2009 says of figures that no exhibit puts into a number
NOT_DRAWN = {("bhatti2009.sec-V-D", "rtt_of_U_N_min"), ("bhatti2009.sec-V-D", "rtt_of_first_U_N+")}


class Shipped(Context):
    """The shipped runs, measured here and now, as a build keeps them."""

    def metrics(self, experiment):
        if experiment not in self._metrics:
            self._metrics[experiment] = rounded_table(bundled.metrics(self.paper.paper, experiment))
        return self._metrics[experiment]


@pytest.mark.parametrize("paper", [pytest.param(paper, marks=pytest.mark.slow) for paper in PAPERS])
def test_every_table_is_that_of_the_baseline(paper):
    seen = Shipped(bundled.CONFIGS[paper], Layout(bundled.LAYOUT.root, "bundled"))
    for exhibit in seen.paper.exhibits:
        table = rounded(numbers_of(seen, exhibit).table).assign(source="bundled")
        name = record.place(seen.layout, "numbers", exhibit.id, ".csv").name
        assert csv_bytes(table) == (seen.layout.expected(paper) / name).read_bytes(), exhibit.id


@pytest.mark.parametrize("paper", PAPERS)
def test_the_bundled_metrics_at_the_cell_are_the_reproduced_number(paper):
    """Measured once for both tests."""
    config = bundled.CONFIGS[paper]
    rows = bundled.cells(paper)
    drawn = baseline.joined(sorted(bundled.LAYOUT.expected(paper).glob("*.csv")))
    tolerances = load_tolerances(bundled.LAYOUT.data / "tolerances.yaml")
    ledger = compare(load_printed(config, bundled.LAYOUT.data), drawn, tolerances)
    assert ledger["key"].tolist() == rows["key"].tolist()
    measured = Measured(partial(bundled.metrics, paper))
    found = [cell and cell.value(measured) for cell in rows["cell"]]
    compared = 0
    for number, value, reproduced in zip(rows.itertuples(), found, ledger["reproduced"], strict=True):
        if number.cell is None:
            continue
        if (number.exhibit, number.metric) in NOT_DRAWN:
            assert pd.isna(reproduced) and np.isfinite(value)
            continue
        if isinstance(value, str):
            assert value == reproduced, number
        else:
            assert value == pytest.approx(
                float("nan" if reproduced == "-" else reproduced), rel=1e-6, nan_ok=True
            )  # 7 digits
        compared += 1
    assert compared >= 0.9 * rows["cell"].notna().sum() > 0


def test_nothing_of_it_draws():
    """The step that writes the numbers does not pay for matplotlib."""
    libraries = reach.reached(["verdicts/numbers.py"]).libraries
    assert "pandas" in libraries and not {"matplotlib", "IPython"} & libraries


def test_an_exhibit_without_its_metrics_has_no_rows_and_the_others_have(tmp_path, monkeypatch):
    for name in ("config", "data"):
        (tmp_path / name).symlink_to(bundled.LAYOUT.root / name)
    layout = Layout(tmp_path, "bundled")

    def metrics(self, experiment):
        table = bundled.metrics("ogura", experiment)
        return table if experiment == "efficiency" else table.assign(metric="none of them")

    monkeypatch.setattr(Context, "metrics", metrics)
    stale = record.place(layout, "numbers", "ogura.fig8", ".csv")
    stale.parent.mkdir(parents=True)
    stale.write_text("of an earlier run")
    written = numbers.write(layout, bundled.CONFIGS["ogura"], {"ogura.fig8", "ogura.fig11"})
    assert [path.name for path in written] == ["fig08.csv", "fig11.csv"]
    assert stale.read_text() == "exhibit,key,metric,value,sd,n_runs,source\n"
    assert set(pd.read_csv(written[1])["source"]) == {"bundled"}


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda fig: fig.update(series=[{"function": "quantiles"}]), "function 'quantiles' is unknown"),
        (lambda fig: fig["series"][0].update(metrics=["ration"]), "metric 'ration': not among the metrics"),
        (lambda fig: fig["series"][0].update(colour="red"), "fig8.series"),
    ],
)
def test_a_wrong_series_is_named(tmp_path, change, hint):
    seen = Shipped(bundled.CONFIGS["ogura"], bundled.with_rules(tmp_path, lambda rules: change(rules["fig8"])))
    with pytest.raises(InputError, match=re.escape(hint)):
        numbers_of(seen, seen.paper.exhibit("ogura.fig8"))
