"""Published numbers, keys, tolerances and the comparison with reproduced numbers."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpfair.errors import InputError
from tcpfair.papers.papers import Exhibit, PaperConfig
from tcpfair.verdicts.printed import (
    IDENTITY,
    PRINTED_COLUMNS,
    Counted,
    Tolerance,
    compare,
    count,
    count_within,
    drawn_marks,
    load_printed,
    load_tolerances,
    make_key,
    parse_key,
    quoted_identity,
    within,
)
from tests.verdicts import bundled

DATA = bundled.LAYOUT.data


@pytest.fixture(scope="module")
def printed():
    return bundled.published()


@pytest.fixture(scope="module")
def tolerances():
    return load_tolerances(DATA / "tolerances.yaml")


def reproduced(*rows):
    columns = ["exhibit", "key", "metric", "value", "sd", "n_runs", "source"]
    return pd.DataFrame([(*row, 0.1, 5, "engine") for row in rows], columns=columns)


# ---- keys


def test_key_is_alphabetical_and_canonical():
    assert make_key(rtt_ms=100, protocol="CUBIC", flow=2) == "flow=2;protocol=CUBIC;rtt_ms=100"
    assert make_key(rtt_ms=np.float64(100.0), protocol="CUBIC", flow=None) == "protocol=CUBIC;rtt_ms=100"
    assert make_key(rtt_ms=np.int64(25), flow=np.nan) == "rtt_ms=25"
    assert make_key(item="two values", buffer_mb=0.5) == "buffer_mb=0.5;item=two values"


names = st.builds("{}{}".format, st.sampled_from("az"), st.text("az09_", max_size=8))
words = st.lists(st.text("AZaz09+.,'/-", min_size=1, max_size=6), min_size=1, max_size=3).map(" ".join)


@given(st.dictionaries(names, words, min_size=1))
def test_keys_round_trip(parts):
    assert parse_key(make_key(**parts)) == parts


@pytest.mark.parametrize(
    "key", ["", "rtt_ms", "rtt_ms=", "=25", "rtt_ms=25;flow=1", "flow=1;flow=1", "flow=1;", "flow=1; rtt_ms=25"]
)
def test_parse_key_rejects_what_is_not_canonical(key):
    with pytest.raises(ValueError):
        parse_key(key)


@pytest.mark.parametrize("parts", [{}, {"flow": None}, {"item": "a;b"}, {"item": "a=b"}, {"item": " a"}, {"A": 1}])
def test_make_key_rejects_what_cannot_be_parsed_again(parts):
    with pytest.raises(ValueError):
        make_key(**parts)


# ---- the files


def test_text_that_quotes_a_printed_cell_repeats_it_but_for_five(printed):
    cells = printed.set_index(IDENTITY)["value"].to_dict()
    repeated, differing = 0, {}
    for row in printed.to_dict("records"):
        there = cells.get(quoted_identity(row))
        if there == row["value"]:
            repeated += 1
        elif there is not None:
            differing[row["exhibit"], row["key"]] = (row["value"], there)
    assert repeated == 19
    assert differing == {
        ("bhatti2009.sec-V-C", "condition=self;flow=2;protocol=BIC;rtt_ms=25"): ("51", "61"),
        ("bhatti2009.sec-V-C", "condition=self;flow=2;protocol=BIC;rtt_ms=100"): ("49", "63"),
        ("bhatti2009.sec-V-C", "protocol=BIC;rtt_ms=25"): ("0.93", "0.94"),
        ("bhatti2009.sec-V-C", "condition=pair;flow=1;protocol=BIC;rtt_ms=100"): ("15", "16"),
        ("bhatti2009.sec-V-C", "protocol=BIC;rtt_ms=100"): ("0.66", "0.67"),
    }
    assert (printed["quotes"] != "").sum() == 68


# ---- malformed files

GOOD_ROW = ["bhatti2009.table3", "protocol=BIC;rtt_ms=25", "jfi_mean", "0.91", "1", "result", "table", "", ""]
TEXT = {"how": "text", "note": "quotes bhatti2009.table9"}
PAPER = PaperConfig(paper="bhatti2009", cite="", exhibits=[Exhibit(id="bhatti2009.table3", kind="table", title="JFI")])


def write_printed(data_dir, *rows, header=PRINTED_COLUMNS):
    (data_dir / "equations.yaml").write_text("- {id: bhatti2009.eq1}\n")
    path = data_dir / "published" / "bhatti2009.csv"
    path.parent.mkdir()
    path.write_text("".join(",".join(row) + "\n" for row in [header, *rows]), encoding="utf-8")


def row(**fields):
    return list((dict(zip(PRINTED_COLUMNS, GOOD_ROW, strict=True)) | fields).values())


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"exhibit": "bhatti2008.table3"}, "bhatti2009.fig1"),
        ({"exhibit": "table3"}, "bhatti2009.fig1"),
        ({"key": "rtt_ms=25;protocol=BIC"}, "protocol=BIC;rtt_ms=25"),
        ({"key": "BIC"}, "rtt_ms=100"),
        ({"metric": ""}, "1 character"),
        ({"value": "0.91 approx"}, "not a number"),
        ({"value": "nan"}, "not a number"),
        ({"value": "-"}, "left empty"),
        ({"value": "F", "metric": "case_1dp"}, "from A to E"),
        ({"kind": "setting"}, "'result' or 'parameter'"),
        ({"how": "figure"}, "'table' or 'text'"),
        ({"quotes": "bhatti2009.table3"}, "only a number in the text"),
        *(
            ({"quotes": quotes, **TEXT}, f"'{quotes}' is neither an exhibit nor an equation")
            for quotes in ("bhatti2009.table99", "bhatti2009.eq2", "bhatti2008.table3", "table3")
        ),
    ],
)
def test_a_bad_field_is_named_by_file_line_and_column(tmp_path, fields, hint):
    write_printed(tmp_path, row(key="protocol=BIC;rtt_ms=50"), row(**fields))
    message = rf"bhatti2009\.csv:3: column '{next(iter(fields))}': .*{re.escape(hint)}"
    with pytest.raises(InputError, match=message):
        load_printed(PAPER, tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        {"metric": "case", "value": "A"},
        *({"quotes": quotes, **TEXT} for quotes in ("", "bhatti2009.table3", "bhatti2009.eq1")),
    ],
)
def test_letters_are_results_and_the_text_may_quote_an_exhibit_or_an_equation(tmp_path, fields):
    write_printed(tmp_path, row(**fields))
    assert load_printed(PAPER, tmp_path).to_numpy().tolist() == [row(**fields)]


@pytest.mark.parametrize(
    ("rows", "hint"),
    [
        ([GOOD_ROW, GOOD_ROW], "csv:3: column 'key': same exhibit, key and metric as line 2"),
        ([GOOD_ROW[:-1]], "csv:2: 9 columns expected"),
        ([[*GOOD_ROW, "more"]], "csv:2: 9 columns expected"),
    ],
)
def test_bad_rows(tmp_path, rows, hint):
    write_printed(tmp_path, *rows)
    with pytest.raises(InputError, match=re.escape(hint)):
        load_printed(PAPER, tmp_path)


@pytest.mark.parametrize(
    ("missing", "hint"), [("published/bhatti2009.csv", "cannot be read"), ("equations.yaml", "no such file")]
)
def test_a_missing_file_is_named(tmp_path, missing, hint):
    write_printed(tmp_path, GOOD_ROW)
    (tmp_path / missing).unlink()
    with pytest.raises(InputError, match=re.escape(f"{missing}: {hint}")):
        load_printed(PAPER, tmp_path)


def test_a_bad_header_is_named(tmp_path):
    write_printed(tmp_path, GOOD_ROW, header=[*PRINTED_COLUMNS[:-1], "remark"])
    with pytest.raises(InputError, match=re.escape("csv:1: the columns must be exhibit,key,metric")):
        load_printed(PAPER, tmp_path)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("jfi: {absolute: 0.05, relative: 0.1}", "jfi: give exactly one of"),
        ("jfi: {}", "jfi: give exactly one of"),
        ("jfi: {absolute: -1}", "jfi: absolute: Input should be greater than 0"),
        ("jfi: {absolut: 1}", "jfi: absolut: Extra inputs"),
        ("jfi: 0.05", "jfi: Input should be"),
        ("jfi: [", "not valid YAML"),
    ],
)
def test_bad_tolerances_are_named(tmp_path, text, hint):
    path = tmp_path / "tolerances.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_tolerances(path)
    message = str(error.value)
    assert "tolerances.yaml" in message and hint in message


# ---- tolerances and comparison


def test_every_printed_result_has_a_tolerance_and_no_tolerance_is_idle(printed, tolerances):
    assert set(tolerances) == set(printed.loc[printed["kind"].eq("result"), "metric"])


@pytest.mark.parametrize(
    ("printed_text", "value", "metric", "expected"),
    [
        ("0.90", 0.85, "jfi_mean", True),  # on the edge: 0.90 - 0.85 > 0.05 in binary
        ("0.90", 0.949, "jfi_mean", True),
        ("0.90", 0.84, "jfi_mean", False),
        ("55", 60.0, "throughput_mean", True),
        ("55", 60.1, "throughput_mean", False),
        ("-4.24", -4.7, "U_N-", True),
        ("4.00", 5.0, "S_N", True),
        ("4.00", 5.01, "S_N", False),
        ("-0.46", -0.4576, "U_c", True),
        ("-0.46", -0.45, "U_c", False),
        ("", np.nan, "T_U", True),
        ("-", "-", "T_U", True),
        ("", 120.0, "T_U", False),
        ("62", np.nan, "T_U", False),
        ("62", "-", "T_U", False),
        ("A", "A", "case", True),
        ("A", "B", "case", False),
        ("0.90", 0.99, "jfi_lower_bound", True),  # a stated "above 0.90"
        ("0.90", 0.84, "jfi_lower_bound", False),
        ("0.8", 0.6, "jfi_upper_bound", True),
        ("0.8", 0.86, "jfi_upper_bound", False),
        ("62", None, "T_U", None),
    ],
)
def test_within(tolerances, printed_text, value, metric, expected):
    assert within(printed_text, value, metric, tolerances).within is expected


def test_error_is_reproduced_less_printed_in_the_printed_unit(tolerances):
    tolerance, error, agrees = within("6.66", 5.66, "S_N", tolerances)
    assert (tolerance, agrees) == ("25 %", True)
    assert error == pytest.approx(-1.0)
    assert within("0.90", 0.95, "jfi_lower_bound", tolerances).tolerance == "0.05 below"
    assert within("", np.nan, "T_U", tolerances).error is None


def test_a_metric_without_tolerance_is_an_input_error(tolerances):
    with pytest.raises(InputError, match="'delay_mean'"):
        within("1", 1.0, "delay_mean", tolerances)


def test_compare_sets_reproduced_beside_printed(printed, tolerances):
    ours = reproduced(
        ("bhatti2009.table6", "flow=1;protocol=BIC;rtt_ms=100", "throughput_mean", 18.0),
        ("bhatti2008.table7", "protocol=NewReno;rtt_ms=75", "T_U", np.nan),
        ("bhatti2008.table7", "protocol=CUBIC;rtt_ms=200", "T_U", np.nan),
        ("bhatti2009.table6", "flow=1;protocol=BIC;rtt_ms=37", "throughput_mean", 18.0),  # nowhere in print
    )
    ledger = compare(printed, ours, tolerances)
    done = ledger.dropna(subset="reproduced").set_index(["exhibit", "metric", "key"])

    table = done.loc[("bhatti2009.table6", "throughput_mean", "flow=1;protocol=BIC;rtt_ms=100")]
    assert (table["printed"], table["reproduced"], table["error"]) == ("16", 18.0, 2.0)
    assert (table["sd"], table["n_runs"], table["source"], table["within"]) == (0.1, 5, "engine", True)

    # section V-C quotes 15 for this cell of table 6
    text = done.loc[("bhatti2009.sec-V-C", "throughput_mean", "condition=pair;flow=1;protocol=BIC;rtt_ms=100")]
    assert (text["printed"], text["reproduced"], text["error"]) == ("15", 18.0, 3.0)

    dash = done.loc[("bhatti2008.table7", "T_U", "protocol=NewReno;rtt_ms=75")]
    assert (dash["printed"], dash["reproduced"], dash["within"]) == ("-", "-", True)
    missed = done.loc[("bhatti2008.table7", "T_U", "protocol=CUBIC;rtt_ms=200")]
    assert (missed["printed"], missed["reproduced"], missed["within"]) == ("62", "-", False)
    assert len(done) == 4


def test_the_scatter_of_repetitions_counts_beside_the_tolerance(printed, tolerances):
    by_scatter = {
        "throughput_mean": Tolerance(absolute=19),
        "bhatti2009.table10 throughput_mean": Tolerance(absolute=1),
    }
    by_scatter |= {metric: tolerance for metric, tolerance in tolerances.items() if metric not in by_scatter}
    ours = reproduced(
        ("bhatti2009.table6", "flow=1;protocol=BIC;rtt_ms=100", "throughput_mean", 30.0),  # printed: 16
        ("bhatti2009.table10", "flow=1;protocol=NewReno;rtt_ms=25", "throughput_mean", 19.0),  # printed: 17
        ("bhatti2008.table7", "protocol=NewReno;rtt_ms=75", "T_U", np.nan),
    )
    done = compare(printed, ours, tolerances, by_scatter).dropna(subset="reproduced")
    done = done[done["exhibit"].str.contains("table")].set_index("exhibit")
    columns = ["within", "tolerance_scatter", "within_scatter"]
    assert done.loc["bhatti2009.table6", columns].tolist() == [False, "19", True]
    assert done.loc["bhatti2009.table10", columns].tolist() == [True, "1", False]  # the exhibit's own stands first
    assert done.loc["bhatti2008.table7", columns].tolist() == [True, "20", True]
    assert done["within_scatter"].sum() == 2
    without = compare(printed, ours, tolerances)
    assert without["within_scatter"].isna().all() and without["tolerance_scatter"].isna().all()


def test_self_pairs_are_not_taken_for_pairs(printed, tolerances):
    """Section V-C names flow 2 of BIC at 25 ms twice: 51 against itself (table 4), 54 against CCID2 (table 6)."""
    ours = reproduced(("bhatti2009.table4", "flow=2;protocol=BIC;rtt_ms=25", "throughput_mean", 61.0))
    done = compare(printed, ours, tolerances).dropna(subset="reproduced")
    assert dict(zip(done["exhibit"], done["printed"], strict=True)) == {
        "bhatti2009.table4": "61",
        "bhatti2009.sec-V-C": "51",
    }


def test_compare_agrees_with_itself_when_the_printed_numbers_are_handed_in(printed, tolerances):
    results = printed[printed["kind"].eq("result")]
    values = [value if value in set("ABCDE") else np.nan if value == "" else float(value) for value in results["value"]]
    ours = reproduced(*zip(results["exhibit"], results["key"], results["metric"], values, strict=True))
    ledger = compare(printed, ours, tolerances)
    assert ledger["within"].all()


def test_compare_rejects_doubles_and_keys_that_match_nothing(printed, tolerances):
    row = ("bhatti2009.table8", "rtt_ms=25", "jfi", 0.5)
    with pytest.raises(ValueError, match=r"twice: bhatti2009\.table8 rtt_ms=25 jfi"):
        compare(printed, reproduced(row, row), tolerances)
    with pytest.raises(ValueError, match="not canonical"):
        compare(printed, reproduced(("bhatti2009.table3", "rtt_ms=25;protocol=BIC", "jfi_mean", 0.9)), tolerances)


# ---- counts


def test_what_belongs_to_a_table_is_its_own_and_what_the_text_quotes_of_it(printed, tolerances):
    """bhatti2009, table 5: 32 cells, and 6 numbers in sections V-A to V-C and VI."""
    assert count_within(compare(printed, reproduced(), tolerances), "bhatti2009.table5") == (0, 0, 38, 6)
    cell = ("bhatti2009.table5", "protocol=BIC;rtt_ms=100", "jfi_mean")  # 0.67 in the table, 0.66 in section V-C
    for value, within_tolerance in ((0.70, 2), (0.715, 1), (0.75, 0)):
        counted = count_within(compare(printed, reproduced((*cell, value)), tolerances), "bhatti2009.table5")
        assert counted == (within_tolerance, 2 - within_tolerance, 36, 6)
        assert counted.total == 38


def test_a_number_of_the_text_counts_for_its_section_too(printed, tolerances):
    compared = compare(printed, reproduced(), tolerances)
    assert count_within(compared, "ogura.fig8") == (0, 0, 1, 1)
    assert count_within(compared, "ogura.sec-5.4") == (0, 0, 1, 0)
    assert count_within(compared, "ogura.fig9").total == 0
    assert count(compared) == {"within": 0, "outside": 0, "not computed": len(compared)}


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((8, 0, 0, 0), "8 of 8 published numbers within tolerance"),
        ((1, 1, 6, 0), "1 of 8 published numbers within tolerance, 1 outside, 6 not computed"),
        ((19, 19, 0, 6), "19 of 38 published numbers within tolerance, 19 outside (6 of them in the text)"),
    ],
)
def test_counts_have_one_wording(counts, words):
    assert str(Counted(*counts)) == words


def test_marks_are_those_of_the_exhibits_that_the_options_name():
    options = {"panels": [{"printed": "ogura.table2"}, {"at": {"own": "ogura.table3", "pair": "ogura.table2"}}], "y": 1}
    figure = Exhibit(id="ogura.fig8", kind="figure", title="", options=options | {"also": "ogura.fig8"})
    assert drawn_marks(figure, ["ogura.table3", "ogura.table2", "ogura.fig8"]) == ["ogura.table2", "ogura.table3"]
    assert drawn_marks(figure, []) == []
