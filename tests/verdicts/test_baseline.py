"""What moved since the committed baseline, and making today's results the baseline."""

import pandas as pd
import pytest

from tcpfair.contract.layout import Layout
from tcpfair.errors import InputError
from tcpfair.verdicts.baseline import accept, built_numbers, compare, read_numbers
from tests.fake_checkout import put_exhibit

JFI = ("rtt_ms=25", "jfi")


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, "bundled")


def put_verdicts(layout, **verdicts):
    ids = [f"ogura.{name}" for name in verdicts]
    claims = pd.DataFrame({"id": ids, "verdict": list(verdicts.values())}, dtype=str)
    layout.ledger.mkdir(parents=True, exist_ok=True)
    claims.to_csv(layout.ledger / "claims.csv", index=False)
    return claims


def accepted(layout, *numbers, **verdicts):
    """A baseline with these numbers of ogura.fig8 and these verdicts."""
    put_exhibit(layout, "ogura.fig8", numbers)
    put_verdicts(layout, **verdicts)
    accept(layout)


def changes(layout, *numbers, **verdicts):
    put_exhibit(layout, "ogura.fig8", numbers)
    table = compare(layout, put_verdicts(layout, **verdicts))
    return table[["id", "expected", "today", "change"]].to_numpy().tolist()


def test_what_was_just_accepted_has_not_moved(layout):
    numbers = [(*JFI, 0.93), ("rtt_ms=50", "jfi", ""), ("rtt_ms=50", "case", "B")]
    accepted(layout, *numbers, c01="reproduced")
    assert changes(layout, *numbers, c01="reproduced") == []


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        ("8333.3333333", "8333.3333334", False),  # 1.2e-11 of the value
        ("8333.33333", "8333.33334", True),  # 1.2e-9
        ("-1.5", "-1.49", True),
        ("0", "0.0", False),
        ("0", "1e-12", True),  # no share of nothing is small
        ("A", "B", True),
        ("-", "61", True),
    ],
)
def test_numbers_move_beyond_a_billionth(layout, before, now, moved):
    accepted(layout, (*JFI, before))
    assert changes(layout, (*JFI, now)) == ([["ogura.fig8", before, now, "moved"]] if moved else [])


def test_size_of_a_move_is_a_share_of_the_expected_value_with_its_sign(layout):
    accepted(layout, (*JFI, -2.0))
    put_exhibit(layout, "ogura.fig8", [(*JFI, -2.5)])
    assert compare(layout, put_verdicts(layout))["relative"].tolist() == [-0.25]


def test_flipped_verdicts_come_first_then_numbers_that_moved_are_gone_or_new(layout):
    accepted(layout, (*JFI, 0.9), ("rtt_ms=50", "jfi", 0.8), c01="reproduced", c02="partly")
    found = changes(layout, (*JFI, 0.7), ("rtt_ms=75", "jfi", 0.6), c01="not reproduced", c02="partly")
    assert [(row[0], row[3]) for row in found] == [
        ("ogura.c01", "flipped"),
        ("ogura.fig8", "moved"),
        ("ogura.fig8", "gone"),
        ("ogura.fig8", "new"),
    ]
    assert found[0][1:3] == ["reproduced", "not reproduced"]


def test_exhibits_that_failed_or_were_not_drawn_are_not_compared(layout):
    accepted(layout, (*JFI, 0.9))
    put_exhibit(layout, "ogura.fig8", [(*JFI, 0.1)], error="no trace")
    assert built_numbers(layout) == []
    assert compare(layout, put_verdicts(layout)).empty


def test_accepting_keeps_the_baseline_of_other_exhibits(layout):
    accepted(layout, (*JFI, 0.9))
    put_exhibit(layout, "ogura.fig8", error="no trace")
    put_exhibit(layout, "ogura.fig9", [(*JFI, 0.5)])
    assert accept(layout) == ["ogura"]
    assert sorted(path.name for path in layout.expected("ogura").iterdir()) == ["fig08.csv", "fig09.csv"]
    assert read_numbers(layout.expected("ogura") / "fig08.csv")["value"].tolist() == ["0.9"]


def test_nothing_to_accept_is_one_clear_line(layout):
    with pytest.raises(InputError, match=r"^results/bundled/numbers: nothing to accept; run ./reproduce first$"):
        accept(layout)
    put_exhibit(layout, "ogura.fig8", [(*JFI, 0.9)])
    with pytest.raises(InputError, match=r"^results/bundled/ledger/claims.csv: nothing to accept"):
        accept(layout)
    assert not layout.expected("ogura").exists()


def test_a_file_that_is_no_table_of_numbers_is_named(tmp_path):
    path = tmp_path / "fig08.csv"
    path.write_text("exhibit,key\nogura.fig8,rtt_ms=25\n")
    with pytest.raises(InputError, match=r"fig08.csv: column metric is missing"):
        read_numbers(path)
    path.write_text("")
    with pytest.raises(InputError, match=r"fig08.csv: cannot be read as a table of numbers"):
        read_numbers(path)
