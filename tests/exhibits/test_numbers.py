"""Numbers as a notebook shows them."""

import pandas as pd

from tcpfair.exhibits.numbers import cells
from tcpfair.verdicts.columns import no_numbers


def test_numbers_become_a_table_of_metrics_by_the_parts_of_their_keys():
    rows = [("U_N+", "0.5"), ("case", "B"), ("U_N+", "1.25"), ("case", "D")]
    keys = ["protocol=BIC;rtt_ms=25"] * 2 + ["protocol=BIC;rtt_ms=50"] * 2
    frame = pd.DataFrame(rows, columns=["metric", "value"]).assign(key=keys)  # letters make text of the whole column
    table = cells(frame)
    assert table.loc[("BIC", 25)].to_dict() == {"U_N+": 0.5, "case": "B"}
    assert table["U_N+"].to_dict() == {("BIC", 25): 0.5, ("BIC", 50): 1.25}
    assert list(cells(frame, "case").columns) == ["case"]


def test_a_table_of_no_numbers_has_no_rows():
    assert cells(no_numbers(), "U_N+").to_dict() == {"U_N+": {}}


def test_keys_that_lack_a_part_have_a_place_of_their_own():
    keys = ["rtt_ms=25", "item=all;rtt_ms=25"]
    table = cells(pd.DataFrame({"key": keys, "metric": "J", "value": [0.9, 0.8]}))
    assert sorted(table["J"]) == [0.8, 0.9]
