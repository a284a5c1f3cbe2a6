"""Verdicts: bars, what chance does, sides without a value, and the lines that explain a disagreement."""

import math

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.papers.papers import Value
from tcpfair.validation import agreement
from tcpfair.validation.agreement import BEYOND, EXPLAINED, NO_VALUE, UNDECIDED, UNEXPLAINED, WITHDRAWN, WITHIN
from tcpfair.validation.scenarios import load
from tests.validation.fake_simulators import make_checkout

NAN = math.nan


@pytest.fixture
def config(tmp_path):
    return load(make_checkout(tmp_path).validation_config)


@pytest.mark.parametrize(
    ("engine", "tool", "distance", "bar", "chance", "expected"),
    [
        (103, 100, 3, 3, 0.1, WITHIN),  # the bar belongs to it
        (103, 100, 3.1, 3, 0.1, BEYOND),
        (103, 100, 3.1, 3, 3.2, UNDECIDED),
        (103, 100, 3.1, 3, NAN, BEYOND),  # one run each: chance is not known
        (NAN, 100, NAN, NAN, NAN, BEYOND),  # only one of them loses anything
        (100, NAN, NAN, NAN, NAN, BEYOND),
        (NAN, NAN, NAN, NAN, NAN, NO_VALUE),
    ],
)
def test_verdicts(engine, tool, distance, bar, chance, expected):
    assert agreement.verdict(engine, tool, distance, bar, chance) == expected


def test_the_error_of_a_difference():
    assert agreement.difference_se(3.0, 9, 4.0, 16) == pytest.approx(math.sqrt(2))
    # a run alone is lent the spread of the other side
    assert agreement.difference_se(3.0, 9, NAN, 1) == pytest.approx(math.sqrt(1 + 9))
    assert math.isnan(agreement.difference_se(NAN, 1, NAN, 1))
    assert math.isnan(agreement.difference_se(NAN, 0, 4.0, 16))


def runs(label="slow", window_s=(10, 50), **columns) -> pd.DataFrame:
    n = len(next(iter(columns.values())))
    about = {"label": label, "replicate": range(n), "from_s": window_s[0], "until_s": window_s[1]}
    return pd.DataFrame({**about, **columns})


def of_one(mean_cwnd, window_s=(10, 50)) -> pd.DataFrame:
    n = len(mean_cwnd)
    others = {name: [1.0] * n for name in ("peak", "losses", "utilisation")}
    return runs(window_s=window_s, mean_cwnd=mean_cwnd, epoch=[NAN] * n, **others)


def compared(config, engine, tool, experiment="one", window_s=(10, 50)) -> dict[str, dict]:
    rows = agreement.compare(config, experiment, "ns2", engine, tool, window_s)
    assert list(rows) == agreement.COLUMNS
    return {row["metric"]: row for row in rows.to_dict("records")}


def test_windows_are_compared_as_a_part_of_the_other_simulators(config):
    row = compared(config, of_one([102.0, 103.0, 101.0]), of_one([100.0, 99.0, 101.0]))["mean_cwnd"]
    assert (row["difference"], row["relative"], row["bar"]) == (2.0, 0.02, 3.0)
    assert row["verdict"] == WITHIN
    assert (row["engine_runs"], row["tool_sd"]) == (3, 1.0)
    assert row["difference_se"] == pytest.approx(math.sqrt(2 / 3))


def test_means_deviations_and_errors_leave_out_runs_without_a_value(config):
    row = compared(config, of_one([1.0, 3.0, NAN]), of_one([4.0, NAN]))["mean_cwnd"]
    assert (row["engine_mean"], row["engine_runs"]) == (2.0, 2)
    assert (row["engine_sd"], row["engine_se"]) == (pytest.approx(math.sqrt(2)), pytest.approx(1.0))
    assert (row["tool_mean"], row["tool_runs"]) == (4.0, 1)
    assert math.isnan(row["tool_sd"]) and math.isnan(row["tool_se"])


def test_utilisations_are_compared_in_points(config):
    engine, tool = of_one([1.0, 1.0]), of_one([1.0, 1.0])
    engine["utilisation"], tool["utilisation"] = [0.5, 0.5], [0.511, 0.511]
    row = compared(config, engine, tool)["utilisation"]
    assert (row["bar"], row["verdict"]) == (0.01, BEYOND)
    tool["utilisation"] = [0.509, 0.509]
    assert compared(config, engine, tool)["utilisation"]["verdict"] == WITHIN


def test_a_share_that_hardly_varies_has_to_agree_more_closely(config):
    def of_two(*shares):
        return runs(window_s=(10, 40), share=list(shares), jfi=[1.0] * len(shares), utilisation=[1.0] * len(shares))

    def share(engine, tool):
        return compared(config, of_two(*engine), of_two(*tool), "two", (10, 40))["share"]

    steady = share((0.60, 0.602), (0.63, 0.632))
    assert steady["bar"] == pytest.approx(2 * math.sqrt(2 * 0.001**2))
    assert steady["verdict"] == BEYOND
    noisy = share((0.60, 0.70), (0.63, 0.71))
    assert (noisy["bar"], noisy["verdict"]) == (0.05, WITHIN)
    assert share((0.5, 0.7), (0.6, 0.8))["verdict"] == UNDECIDED
    assert share((0.5,), (0.6,))["bar"] == 0.05  # no spread is known


def test_an_undecided_row_is_withdrawn_where_the_configuration_states_it(config):
    withdraw = {"withdraw_undecided": Value(value=True, source="x")}
    sides = of_one([600.0, 640.0, 560.0]), of_one([630.0, 590.0, 660.0])
    assert compared(config, *sides)["mean_cwnd"]["verdict"] == UNDECIDED
    config = config.model_copy(update={"analysis": config.analysis | withdraw})
    assert compared(config, *sides)["mean_cwnd"]["verdict"] == WITHDRAWN


def test_what_has_no_bar_has_no_verdict_and_what_nobody_has_has_no_value(config):
    rows = compared(config, of_one([1.0, 1.0]), of_one([1.0, 1.0]))
    assert (rows["peak"]["verdict"], rows["losses"]["verdict"]) == ("", "")
    assert rows["epoch"]["verdict"] == NO_VALUE


def test_the_engine_is_taken_in_the_window_of_the_other_simulator(config):
    engine = pd.concat([of_one([500.0, 500.0]), of_one([100.0, 100.0], window_s=(5, 30))])
    row = compared(config, engine, of_one([100.0], window_s=(5, 30)), window_s=(5, 30))["mean_cwnd"]
    assert (row["engine_mean"], row["engine_runs"], row["verdict"]) == (100.0, 2, WITHIN)


def test_an_algorithm_that_the_engine_lacks_is_beyond_the_bar(config):
    row = compared(config, of_one([100.0]), of_one([100.0]).assign(label="fast"))["mean_cwnd"]
    assert (row["algorithm"], row["engine_runs"], row["verdict"]) == ("fast", 0, BEYOND)


# --- explanations -----------------------------------------------------------------------------------------------------


def table(*verdicts, tool="ns2") -> pd.DataFrame:
    names = [("mean_cwnd", "slow", "one"), ("epoch", "slow", "one"), ("share", "fast", "two")]
    return pd.DataFrame(
        [
            {"tool": tool, "metric": metric, "algorithm": label, "experiment": name, "verdict": verdict}
            for (metric, label, name), verdict in zip(names, verdicts, strict=True)
        ]
    )


def test_rows_beyond_their_bar_have_a_line_or_are_unexplained():
    lines = {"ns2": {"*/slow/*": (EXPLAINED, "it is slow"), "epoch/slow/one": (EXPLAINED, "its timer")}}
    rows = agreement.explained(table(BEYOND, BEYOND, BEYOND), lines)
    assert rows["explanation"].tolist() == ["it is slow", "its timer", UNEXPLAINED]
    assert rows["outcome"].tolist() == [EXPLAINED, EXPLAINED, UNEXPLAINED]
    rows = agreement.explained(table(WITHIN, UNDECIDED, NO_VALUE), lines)
    assert rows["explanation"].tolist() == ["", "", ""]
    assert rows["outcome"].tolist() == rows["verdict"].tolist()
    assert agreement.explained(table(BEYOND, WITHIN, WITHIN, tool="ns3"), lines)["explanation"][0] == UNEXPLAINED


def test_a_field_and_no_phrase_decides_whether_a_line_is_a_reason(config, tmp_path):
    path = tmp_path / "explanations.yaml"
    path.write_text(
        "ns2:\n"
        "  '*/slow/*': its timer is not understood by everybody\n"
        "  epoch/slow/one: {unexplained: 11.0 and 10.2 packets}\n"
        "  share/fast/*: {unexplained: of two flows}\n"
        "  share/fast/two: 'the last line that fits counts'\n"
    )
    rows = agreement.explained(table(BEYOND, BEYOND, BEYOND), agreement.load_explanations(path, config, {}))
    assert rows["outcome"].tolist() == [EXPLAINED, UNEXPLAINED, EXPLAINED]
    assert rows["explanation"].tolist()[1:] == ["11.0 and 10.2 packets", "the last line that fits counts"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ns4: {}\n", "simulator 'ns4' is unknown; did you mean 'ns.'. known are ns2, ns3"),
        ("ns2: {mean_cwnd/slow: x}\n", "'mean_cwnd/slow' fits no row; write it as metric/algorithm/experiment"),
        ("ns2: {share/slow/one: x}\n", "fits no row"),  # one flow has no share
        ("ns2: {share/slow/two: 5}\n", "must be one line of text"),
        ("ns2: {share/slow/two: {unexplained: 5}}\n", "must be one line of text"),
        ("ns2: {share/slow/two: {unexplained: x, reason: y}}\n", "must be one line of text"),
        ('ns2: {share/slow/two: "a\\nb"}\n', "must be one line of text"),
    ],
)
def test_a_line_for_no_row_is_refused(config, tmp_path, text, words):
    path = tmp_path / "explanations.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        agreement.load_explanations(path, config, {})


# --- the quick check --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mean_cwnd", "far"), [(120.0, False), (140.0, True), (NAN, True)])
def test_the_quick_check_has_wide_bars(config, mean_cwnd, far):
    rows = agreement.compare(config, "one", "ns2", of_one([100.0]), of_one([mean_cwnd]), (10, 50))
    found = agreement.far_off(config, rows)
    assert [line.startswith("mean_cwnd/slow/one: ") for line in found] == [True] * far
