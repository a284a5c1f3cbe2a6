"""Names and numbers as the report says them."""

import pytest

from tcpfair.verdicts.printed import key_text
from tcpfair.verdicts.report import words

SHOWN = {
    words.number_text: {
        ("46.2345", "45"): "46.2",  # one decimal more than in print
        ("-0.0071", "0.93"): "−0.007",
        ("B", "A"): "B",
        ("-", "61"): "–",
        ("", "61"): "–",
    },
    key_text: {
        ("flow=2;protocol=CUBIC;rtt_ms=100",): "CUBIC, flow 2, 100 ms",
        ("condition=self;protocol=BIC",): "BIC, self",
        ("item=80 ms over 40 ms",): "80 ms over 40 ms",
        ("loss_rate=0.01;protocol=Reno",): "Reno, loss_rate 0.01",
    },
    words.label: {
        ("ogura.fig8",): "Figure 8",
        ("bhatti2009.table10",): "Table 10",
        ("bhatti2009.sec-V-C",): "section V-C",
        ("bhatti2009.sens_ack",): "sens_ack",
    },
    words.count_text: {(56,): "56", (4687,): "4\u202f687", (2.5e6,): "2.5 million", (29.5e9,): "29.5 billion"},
    words.three_digits: {
        ("0.57735",): "0.577",
        ("",): "",
        ("inf",): "never",
        ("1460.2",): "1460",
        ("-2e-06",): "−2e−06",
    },
    words.listed: {((),): "", (("a",),): "a", (("a", "b", "c"),): "a, b and c"},
    words.plural: {
        (0, "claim"): "0 claims",
        (1, "claim"): "1 claim",
        (2, "claim is", "claims are"): "2 claims are",
    },
    words.equation_label: {("ogura.eq3",): "eq. 3", ("ogura.eq_B",): "eq. B"},
}


@pytest.mark.parametrize(
    ("function", "given", "shown"), [(function, *case) for function, cases in SHOWN.items() for case in cases.items()]
)
def test_names_and_numbers_as_text(function, given, shown):
    assert function(*given) == shown
