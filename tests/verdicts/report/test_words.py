"""Names and numbers as the report says them."""

import pytest

from tcpfair.verdicts.printed import key_text
from tcpfair.verdicts.report import words


@pytest.mark.parametrize(
    ("function", "given", "shown"),
    [
        (words.number_text, ("46.2345", "45"), "46.2"),  # one decimal more than in print
        (words.number_text, ("-0.0071", "0.93"), "−0.007"),
        (words.number_text, ("B", "A"), "B"),
        (words.number_text, ("-", "61"), "–"),
        (words.number_text, ("", "61"), "–"),
        (key_text, ("flow=2;protocol=CUBIC;rtt_ms=100",), "CUBIC, flow 2, 100 ms"),
        (key_text, ("condition=self;protocol=BIC",), "BIC, self"),
        (key_text, ("item=80 ms over 40 ms",), "80 ms over 40 ms"),
        (key_text, ("loss_rate=0.01;protocol=Reno",), "Reno, loss_rate 0.01"),
        (words.label, ("ogura.fig8",), "Figure 8"),
        (words.label, ("bhatti2009.table10",), "Table 10"),
        (words.label, ("bhatti2009.sec-V-C",), "section V-C"),
        (words.label, ("bhatti2009.sens_ack",), "sens_ack"),
        (words.count_text, (56,), "56"),
        (words.count_text, (4687,), "4\u202f687"),
        (words.count_text, (2.5e6,), "2.5 million"),
        (words.count_text, (29.5e9,), "29.5 billion"),
        (words.three_digits, ("0.57735",), "0.577"),
        (words.three_digits, ("",), ""),
        (words.three_digits, ("inf",), "never"),
        (words.three_digits, ("1460.2",), "1460"),
        (words.three_digits, ("-2e-06",), "−2e−06"),
        (words.listed, ([],), ""),
        (words.listed, (["a"],), "a"),
        (words.listed, (["a", "b", "c"],), "a, b and c"),
        (words.plural, (0, "claim"), "0 claims"),
        (words.plural, (1, "claim"), "1 claim"),
        (words.plural, (2, "claim is", "claims are"), "2 claims are"),
        (words.equation_label, ("ogura.eq3",), "eq. 3"),
        (words.equation_label, ("ogura.eq_B",), "eq. B"),
    ],
)
def test_names_and_numbers_as_text(function, given, shown):
    assert function(*given) == shown
