"""Names and numbers as the report says them."""

import pytest

from tcpfair.verdicts.printed import key_text
from tcpfair.verdicts.report import words


@pytest.mark.parametrize(
    ("value", "printed", "shown"),
    [("46.2345", "45", "46.2"), ("-0.0071", "0.93", "−0.007"), ("B", "A", "B"), ("-", "61", "–"), ("", "61", "–")],
)
def test_numbers_get_one_decimal_more_than_print(value, printed, shown):
    assert words.number_text(value, printed) == shown


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("flow=2;protocol=CUBIC;rtt_ms=100", "CUBIC, flow 2, 100 ms"),
        ("condition=self;protocol=BIC", "BIC, self"),
        ("item=80 ms over 40 ms", "80 ms over 40 ms"),
        ("loss_rate=0.01;protocol=Reno", "Reno, loss_rate 0.01"),
    ],
)
def test_keys_are_read_aloud(key, shown):
    assert key_text(key) == shown


@pytest.mark.parametrize(
    ("exhibit", "shown"),
    [
        ("ogura.fig8", "Figure 8"),
        ("bhatti2009.table10", "Table 10"),
        ("bhatti2009.sec-V-C", "section V-C"),
        ("bhatti2009.sens_ack", "sens_ack"),
    ],
)
def test_labels_are_those_of_the_papers(exhibit, shown):
    assert words.label(exhibit) == shown


def test_counts_are_short():
    assert [words.count_text(n) for n in (56, 4687, 2.5e6, 29.5e9)] == [
        "56",
        "4\u202f687",
        "2.5 million",
        "29.5 billion",
    ]


@pytest.mark.parametrize(
    ("text", "shown"), [("0.57735", "0.577"), ("", ""), ("inf", "never"), ("1460.2", "1460"), ("-2e-06", "−2e−06")]
)
def test_three_digits_are_enough(text, shown):
    assert words.three_digits(text) == shown


def test_lists_and_plurals_are_read_aloud():
    assert [words.listed(parts) for parts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [words.plural(n, "claim") for n in (0, 1, 2)] == ["0 claims", "1 claim", "2 claims"]
    assert words.plural(2, "claim is", "claims are") == "2 claims are"
    assert [words.equation_label(name) for name in ("ogura.eq3", "ogura.eq_B")] == ["eq. 3", "eq. B"]
