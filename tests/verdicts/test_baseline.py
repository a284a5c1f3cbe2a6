"""What moved since the committed baseline, beyond its spread, and making today's results the baseline."""

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.verdicts.baseline import accept, built_numbers, compare, read_numbers, terminal_lines, told_apart
from tests.small_checkout import put_exhibit

JFI = ("rtt_ms=25", "jfi")
FIG8, FIG9 = "ogura.fig8", "ogura.fig9"


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, "bundled")


def put_ledger(layout, verdicts=(), **statuses):
    """The tables of a ledger that a baseline is made of; returns the claims."""
    ids = [f"ogura.{name}" for name in dict(verdicts)]
    claims = pd.DataFrame({"id": ids, "paper": "ogura", "verdict": list(dict(verdicts).values())}, dtype=str)
    claims = claims.assign(certainty="0.9", settings_share="")
    exhibits = {f"ogura.{name}": status for name, status in ({"fig8": "built"} | statuses).items()}
    layout.ledger.mkdir(parents=True, exist_ok=True)
    claims.to_csv(layout.ledger / "claims.csv", index=False)
    pd.DataFrame(exhibits.items(), columns=["exhibit", "status"]).to_csv(layout.ledger / "exhibits.csv", index=False)
    (layout.ledger / "supplements.csv").write_text("exhibit,status\n")
    return claims


def accepted(layout, *numbers, sd=0.1, n_runs=5, **verdicts):
    """A baseline with these numbers of ogura.fig8 and these verdicts."""
    put_exhibit(layout, FIG8, numbers, sd=sd, n_runs=n_runs)
    put_ledger(layout, verdicts)
    return accept(layout)


def changed(layout, *numbers, sd=0.1, n_runs=5, exhibits=None, **verdicts):
    put_exhibit(layout, FIG8, numbers, sd=sd, n_runs=n_runs)
    return compare(layout, put_ledger(layout, verdicts), exhibits)


def changes(layout, *numbers, **more):
    return changed(layout, *numbers, **more)[["id", "baseline", "today", "change"]].to_numpy().tolist()


# ---- numbers


def test_what_was_just_accepted_has_not_moved(layout):
    numbers = [(*JFI, 0.93), ("rtt_ms=50", "jfi", ""), ("rtt_ms=50", "case", "B")]
    accepted(layout, *numbers, c01="reproduced")
    assert changes(layout, *numbers, c01="reproduced") == []


NONE, OF_8, OF_2 = {"n_runs": 1}, {"sd": 0.2, "n_runs": 8}, {"sd": 0.2, "n_runs": 2}  # spreads
SAME_IN_ALL, UNKNOWN = {"sd": 0.0, "n_runs": 8}, {"sd": None, "n_runs": 8}


@pytest.mark.parametrize(
    ("before", "now", "spreads", "change"),
    [
        ("8333.3333333", "8333.3333334", (NONE, NONE), None),  # 1.2e-11 of the value
        ("8333.33333", "8333.33334", (NONE, NONE), "moved"),  # 1.2e-9
        ("0", "0.0", (NONE, NONE), None),
        ("0", "1e-12", (NONE, NONE), "moved"),  # no share of nothing is small
        ("A", "B", (NONE, NONE), "moved"),
        ("A", "B", (OF_8, OF_8), "moved"),  # a letter has no spread
        ("-", "61", (NONE, NONE), "moved"),
        ("61", "", (NONE, NONE), "moved"),
        # two means over 8 runs with sd 0.2: one standard error is 0.0707 each, 0.1 of the difference, so the bar is 0.2
        (1.0, 1.199, (OF_8, OF_8), "within spread"),
        (1.0, 1.201, (OF_8, OF_8), "moved"),
        (1.0, 0.801, (OF_8, OF_8), "within spread"),
        (1.0, 0.799, (OF_8, OF_8), "moved"),
        (0.0, 0.01, (OF_8, OF_8), "within spread"),
        (1.0, 1.1, (OF_8, SAME_IN_ALL), "within spread"),  # 0.14 of the one alone
        (1.0, 1.1, (SAME_IN_ALL, SAME_IN_ALL), "moved"),
        (1.0, 1.1, (OF_2, OF_2), "within spread"),
        (1.0, 1.1, ({"sd": 0.2, "n_runs": 1}, OF_8), "moved"),  # of one run nobody knows the spread
        (1.0, 1.1, (OF_8, UNKNOWN), "moved"),
    ],
)
def test_a_number_moves_beyond_two_standard_errors_of_the_difference(layout, before, now, spreads, change):
    accepted(layout, (*JFI, before), **spreads[0])
    assert changed(layout, (*JFI, now), **spreads[1])["change"].tolist() == ([change] if change else [])


@pytest.mark.parametrize(("before", "now", "size"), [(-2.0, -2.5, -0.25), ("A", "B", None), ("", 1.0, None)])
def test_size_of_a_move_is_a_share_of_the_baseline_with_its_sign(layout, before, now, size):
    accepted(layout, (*JFI, before), **OF_8)
    (row,) = changed(layout, (*JFI, now), **OF_8).to_dict("records")
    assert row["relative"] == pytest.approx(size, nan_ok=True)
    if size:
        assert (row["baseline_reach"], row["today_reach"]) == pytest.approx((0.14142, 0.14142), rel=1e-4)


def test_flipped_verdicts_come_first_then_numbers_that_moved_are_gone_new_or_within_their_spread(layout):
    accepted(layout, (*JFI, 0.9), ("rtt_ms=50", "jfi", 0.8), ("rtt_ms=99", "jfi", 0.8), c01="reproduced", c02="partly")
    today = [(*JFI, 0.7), ("rtt_ms=75", "jfi", 0.6), ("rtt_ms=99", "jfi", 0.81)]
    found = changes(layout, *today, c01="not reproduced", c02="partly")
    assert [(row[0], row[3]) for row in found] == [
        ("ogura.c01", "flipped"),
        (FIG8, "moved"),
        (FIG8, "gone"),
        (FIG8, "new"),
        (FIG8, "within spread"),
    ]
    assert found[0][1:3] == ["reproduced", "not reproduced"]


# ---- what counts


def test_exhibits_that_were_not_asked_for_are_not_compared(layout):
    accepted(layout, (*JFI, 0.9))
    assert len(changed(layout, (*JFI, 0.1))) == 1
    assert len(changed(layout, (*JFI, 0.1), exhibits={FIG8})) == 1
    assert changed(layout, (*JFI, 0.1), exhibits={FIG9}).empty
    built_numbers(layout)[0].unlink()  # as those are that could not be computed
    assert compare(layout, put_ledger(layout)).empty


def test_a_claim_that_was_not_run_has_not_flipped_but_one_that_failed_has(layout):
    accepted(layout, (*JFI, 0.9), c01="reproduced", c02="reproduced")
    assert changes(layout, (*JFI, 0.9), c01="not run", c02="failed") == [
        ["ogura.c02", "reproduced", "failed", "flipped"]
    ]


def test_a_claim_of_another_paper_is_not_gone(layout):
    accepted(layout, (*JFI, 0.9), c01="reproduced")
    baseline = layout.data / "expected" / "verdicts.csv"
    baseline.write_text(baseline.read_text() + "kozu2014.c01,partly,,\nogura.c99,partly,,\n")
    found = changes(layout, (*JFI, 0.9), c01="reproduced", c02="partly")
    assert [(row[0], row[3]) for row in found] == [("ogura.c99", "gone"), ("ogura.c02", "new")]


# ---- accepting


def test_accepting_a_part_keeps_the_rest_of_the_baseline(layout):
    accepted(layout, (*JFI, 0.9), c01="reproduced", c02="partly", c03="reproduced")
    put_exhibit(layout, FIG8, [(*JFI, 0.1)])  # drawn by an earlier run, not asked for in the last
    put_exhibit(layout, FIG9, [(*JFI, 0.5)])
    put_ledger(
        layout, {"c01": "not run", "c02": "reproduced", "c03": "pending", "c04": "partly"}, fig8="pending", fig9="built"
    )
    folder = layout.data / "expected"
    assert accept(layout) == [folder / "ogura" / "fig09.csv", folder / "verdicts.csv"]
    assert read_numbers(folder / "ogura" / "fig08.csv")["value"].tolist() == ["0.9"]
    assert read_numbers(folder / "ogura" / "fig09.csv")["value"].tolist() == ["0.5"]
    verdicts = ("reproduced", "reproduced", "reproduced", "partly")
    assert (folder / "verdicts.csv").read_text().splitlines() == [
        "id,verdict,certainty,settings_share",
        *(f"ogura.{name},{verdict},0.9," for name, verdict in zip(("c01", "c02", "c03", "c04"), verdicts, strict=True)),
    ]


def test_accepting_what_is_accepted_writes_nothing(layout):
    assert len(accepted(layout, (*JFI, 0.9), c01="reproduced")) == 2
    assert accept(layout) == []


def test_accepting_forgets_claims_that_are_no_more_but_not_those_of_other_papers(layout):
    accepted(layout, (*JFI, 0.9), c01="reproduced", c02="partly")
    baseline = layout.data / "expected" / "verdicts.csv"
    header, *rows = baseline.read_text().splitlines()
    baseline.write_text("\n".join([header, "kozu2014.c01,partly,1,1", *rows, ""]))
    put_ledger(layout, {"c02": "partly"})
    accept(layout)
    assert baseline.read_text().splitlines() == [header, "kozu2014.c01,partly,1,1", rows[1]]


@pytest.mark.parametrize(
    ("verdict", "status", "named"), [("failed", "built", "ogura.c01"), ("reproduced", "failed", "ogura.fig9")]
)
def test_what_failed_is_never_accepted(layout, verdict, status, named):
    accepted(layout, (*JFI, 0.9), c01="reproduced")
    put_exhibit(layout, FIG8, [(*JFI, 0.1)])
    put_ledger(layout, {"c01": verdict}, fig9=status)
    with pytest.raises(InputError, match=rf"^results/bundled/ledger: {named} failed; fix them before accepting"):
        accept(layout)
    assert read_numbers(layout.expected("ogura") / "fig08.csv")["value"].tolist() == ["0.9"]


def test_nothing_to_accept_is_one_clear_line(layout):
    put_exhibit(layout, FIG8, [(*JFI, 0.9)])
    with pytest.raises(
        InputError, match=r"^results/bundled/ledger/exhibits.csv: missing; run ./reproduce before accepting"
    ):
        accept(layout)
    put_ledger(layout, fig8="pending")
    with pytest.raises(
        InputError, match=r"^results/bundled/ledger: no exhibit is built; run ./reproduce before accepting"
    ):
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


# ---- what the terminal says


def told(layout, table):
    table.to_csv(layout.ledger / "changes.csv", index=False)
    return terminal_lines(layout, "what {} says".format)


def test_without_a_ledger_there_is_nothing_to_tell(layout):
    assert terminal_lines(layout, str) == []


def test_nothing_moved_is_said_with_what_stayed_within_its_spread(layout):
    accepted(layout, (*JFI, 0.9), c01="reproduced")
    assert told(layout, changed(layout, (*JFI, 0.9), c01="reproduced")) == ["moved      nothing since data/expected"]
    found = changed(layout, (*JFI, 0.91), ("rtt_ms=75", "jfi", 0.6), c01="reproduced", c02="partly")
    assert told(layout, found) == ["moved      nothing since data/expected; 2 new; 1 changed within their spread"]


def test_a_claim_that_is_no_more_is_told(layout):
    accepted(layout, (*JFI, 0.9), c01="reproduced", c02="partly")
    found = changed(layout, (*JFI, 0.9), c01="reproduced")
    assert told(layout, found) == ["moved      1 verdict gone since data/expected"]


def test_verdicts_and_numbers_are_told_with_old_new_and_spread(layout):
    before = [("flow=2;protocol=CUBIC;rtt_ms=25", "throughput_mean", 40), ("rtt_ms=50", "case", "A"), (*JFI, 1)]
    accepted(layout, *before, c01="reproduced", c02="partly")
    now = [("flow=2;protocol=CUBIC;rtt_ms=25", "throughput_mean", 50.0), ("rtt_ms=50", "case", "B")]
    found = changed(layout, *now, c01="not reproduced", c02="reproduced")
    assert told(layout, found) == [
        "moved      2 verdicts flipped, 2 numbers moved, 1 number gone since data/expected",
        "           ogura.c01 reproduced -> not reproduced: what ogura.c01 says",
        "           ogura.c02 partly -> reproduced: what ogura.c02 says",
        "           ogura.fig8 50 ms, case A -> B",
        "           ogura.fig8 CUBIC, flow 2, 25 ms, throughput_mean 40 -> 50 (spread 0.13)",
        "           ogura.fig8 25 ms, jfi gone",
    ]


def test_the_largest_moves_are_told_first_and_the_rest_is_counted(layout):
    cells = [f"rtt_ms={rtt}" for rtt in range(10, 30)]
    claims = {f"c{n:02d}": "reproduced" for n in range(1, 21)}
    accepted(layout, *((cell, "jfi", 1.0) for cell in cells), **NONE, **claims)
    numbers = [(cell, "jfi", 1 - (i + 1) / 100) for i, cell in enumerate(cells)]
    only_numbers = told(layout, changed(layout, *numbers, **NONE, **claims))
    assert only_numbers[1] == "           ogura.fig8 29 ms, jfi 1 -> 0.8"
    assert only_numbers[10:] == [
        "           ogura.fig8 20 ms, jfi 1 -> 0.89",
        "           and 10 more: results/bundled/ledger/changes.csv",
    ]
    both = told(layout, changed(layout, *numbers, **NONE, **dict.fromkeys(claims, "partly")))
    assert [line.split()[0] for line in both[1:6]] == [f"ogura.c{n:02d}" for n in range(1, 6)]
    assert [line.split()[1] for line in both[6:11]] == ["29", "28", "27", "26", "25"]
    assert both[11].split() == ["and", "30", "more:", "results/bundled/ledger/changes.csv"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (("0.57736681", "0.68129282"), ["0.5774", "0.6813"]),
        (("0.9414497", "0.9414543"), ["0.94145", "0.941454"]),
        (("12345678.1", "12345678.2"), ["12345678.1", "12345678.2"]),  # beyond seven digits: as they are
        (("A", "B"), ["A", "B"]),
        (("", "61"), ["-", "61"]),
    ],
)
def test_old_and_new_have_the_digits_that_tell_them_apart(values, texts):
    assert told_apart(*values) == texts
