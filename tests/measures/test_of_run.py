"""A run's metrics as one row: the same numbers as the table of measures has."""

import math
from types import SimpleNamespace

import pytest

from tcpfair import measures, sources
from tcpfair.errors import InputError
from tcpfair.measures import of_run
from tcpfair.measures.catalogue import METRICS, READS
from tcpfair.measures.groups import BY_GROUP
from tcpfair.papers.papers import MeasureValues
from tcpfair.runs.study import STUDY, make
from tests.measures.made import ANALYSIS
from tests.runs.test_study import ALGORITHMS, values

OF_STUDIES = {name: ANALYSIS[name] for name in MeasureValues.model_fields}
TRAFFIC = {
    "short": {
        "protocol": "reno",
        "arrivals_per_s": 2,
        "sizes": [{"law": "pareto", "share": 1, "shape": 1.5, "min_bytes": 2000, "cap_bytes": 50000}],
        "rtt_ms": 30,
        "rtt_extra_mean_ms": 10,
        "rtt_cap_ms": 100,
        "long_lived": {"protocol": "reno", "flows": 1, "start_s": 1},
    }
}


def study(names, background=False):
    given = values(measures=names, analysis=OF_STUDIES, window_s=[2, 10])
    if background:
        given["traffic"], given["base"]["background"] = TRAFFIC, [{"traffic": "short"}]
    return make(given, "x", "x.yaml", ALGORITHMS, READS)


@pytest.mark.parametrize("background", [False, True], ids=["alone", "with background"])
@pytest.mark.parametrize("group", sorted(BY_GROUP.keys() - {"nru", "stability", "convergence"}))
def test_a_row_has_what_the_table_has(group, background):
    asked = study([group], background)
    spec = asked.spec(0)
    trace = sources.simulate(asked.paper, STUDY, [spec])
    table = measures.measure(trace, asked.paper, STUDY)
    expected = {
        row.metric + (f"{of_run.FLOW}{row.flow}" if row.flow else ""): row.value
        for row in table.itertuples(index=False)
    }
    assert set(table["metric"]) <= METRICS.keys(), "give each metric its words in measures/catalogue.py"
    found = of_run.row(trace, asked.paper, STUDY)
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert value == expected[name] or (math.isnan(value) and math.isnan(expected[name])), name
    assert any(not math.isnan(value) for value in found.values()), "the study recorded nothing to measure"


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["throughput", "rates"], "measures: rates: throughput_mean is a metric of another group too"),
        (["peak"], "measures: peak: reads a value that is not given, analysis.peak_share"),
    ],
)
def test_what_cannot_be_measured_is_one_line(names, complaint):
    asked = make(
        values(measures=names, analysis=OF_STUDIES if len(names) == 2 else {}), "x", "x.yaml", ALGORITHMS, READS
    )
    trace = sources.simulate(asked.paper, STUDY, [asked.spec(0)])
    with pytest.raises(InputError, match=complaint):
        of_run.row(trace, asked.paper, STUDY)


def test_a_comparison_of_flows_needs_two():
    given = values(measures=["ratio"])
    given["base"]["flows"] = given["base"]["flows"][:1]
    asked = make(given, "x", "x.yaml", ALGORITHMS, READS)
    trace = sources.simulate(asked.paper, STUDY, [asked.spec(0)])
    with pytest.raises(InputError, match=r"measures: ratio: compares two flows or more \(got 1\)"):
        of_run.row(trace, asked.paper, STUDY)


def test_a_row_is_of_one_run():
    with pytest.raises(InputError, match="needs a trace of one run"):
        of_run.row(SimpleNamespace(runs=[1, 2]), None, STUDY)
