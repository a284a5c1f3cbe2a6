"""What is shown of quantities: every measured one has words, and pages take them from here."""

import re

import pytest

from tcpfair import measures, sources
from tcpfair.measures import catalogue, shown
from tcpfair.runs import reach
from tcpfair.runs.study import STUDY
from tcpfair.validation.measures import MEASURES
from tcpfair.web.page import STATIC
from tests.measures import test_of_run


def test_every_measure_of_the_validation_is_shown_and_no_other():
    assert shown.OF_VALIDATION.keys() == MEASURES.keys()


def test_decimals_are_of_metrics_in_the_catalogue():
    assert shown._DECIMALS.keys() <= catalogue.METRICS.keys() == shown.METRICS.keys()


def test_every_plot_of_the_packet_lab_is_shown():
    keys = re.findall(r'\bkey: "(\w+)", height', (STATIC / "panels.js").read_text())
    assert len(keys) == 8 and set(keys) <= shown.OVER_TIME.keys()


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("throughput_sum", "throughput of all (Mb/s)"),
        ("ratio", "flow 2 over flow 1"),
        ("throughput_mean_flow2", "mean throughput, flow 2 (Mb/s)"),
        ("U_N@per_column", "U_N, mean over flows, by per column (dB)"),
        ("unheard_of", "unheard_of"),
    ],
)
def test_a_metric_is_named_with_its_flow_and_rule(name, label):
    assert shown.of_metric(name).label == label


def test_a_symbol_stands_for_words_on_an_axis():
    assert shown.OVER_TIME["cwnd"].label == "cwnd (packets)"
    assert shown.OVER_TIME["cwnd"].title == "Congestion window"
    assert shown.OVER_TIME["ssthresh"].title == "ssthresh"


def test_what_measures_does_not_import_what_is_shown():
    files = reach.reached(["measures/of_run.py", "validation/measures.py"]).files
    assert "measures/catalogue.py" in files and "measures/shown.py" not in files


def test_the_help_of_a_study_lists_measures_and_metrics(capsys):
    from tcpfair.workflow.cli import parser

    with pytest.raises(SystemExit):
        parser().parse_args(["study", "--help"])
    text = capsys.readouterr().out
    assert "common_losses" in text and re.search(r"jfi_mean +mean of J\(t\)", text)
    assert "nru" not in text.partition("metrics")[0]  # its weights come from self-pairs, which a study does not have
    asked = test_of_run.study([name for name, reads in catalogue.READS.items() if reads is not None], background=True)
    trace = sources.simulate(asked.paper, STUDY, [asked.spec(0)])
    named = re.findall(r"^  (\S+) +\S", text.partition("metrics")[2], re.MULTILINE)
    assert set(named) == set(measures.measure(trace, asked.paper, STUDY)["metric"])
