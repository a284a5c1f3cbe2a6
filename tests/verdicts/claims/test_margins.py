"""What the margins decide."""

import numpy as np
import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.verdicts.claims import margins
from tcpfair.verdicts.claims.decision import FAILS, HOLDS, OPEN, holds, turning_point
from tcpfair.verdicts.claims.statement import Margin, load_margins
from tcpfair.verdicts.printed import Tolerance, load_tolerances
from tests.verdicts.claims.test_statement import CLAIMS, STATED, clause, entry

MARGIN = Margin(value=0.1, reason="x")
MARGINS = {"tie": MARGIN, "scatter": MARGIN, "share": Margin(value=0.1, relative=True, reason="x")}

# a clause, its values, and the multiple of its margin at which it turns
TURNING = yaml.safe_load("""
- [{at_least: 1, clear: tie}, [1.3, 1.2], 2]  # up to twice the tie it is clear of it
- [{at_least: 1, clear: tie}, [1.3, 1.05], 0.5]
- [{at_least: 1, clear: tie}, [0.9], .nan]  # on the wrong side, whatever counts as a tie
- [{at_least: 1, give: scatter}, [0.8], 2]
- [{at_least: 1, give: scatter}, [0.95, 1.2], 0.5]
- [{at_least: 1, give: scatter}, [1.2], .nan]  # needs no margin
- [{at_most: 2, give: scatter}, [2.3], 3]
- [{at_least: 1, at_most: 2, give: scatter}, [0.9, 2.3], 3]
- [{at_least: 4, give: share}, [3.6], 1]
- [{at_least: 0, give: share}, [-1], .nan]  # a share of nothing
- [{at_least: 0, at_most: 4, give: share}, [0.5, 4.2], 0.5]  # the other bound can turn it
- [{at_least: 0, at_most: 4, give: share}, [0, 4.2], 0.5]
- [{at_least: 0, at_most: 4, give: share}, [-1, 4.2], .nan]
- [{at_least: 1}, [0.9], .nan]  # names no margin
- [{at_least: 1, give: scatter}, [.nan], .nan]
""")


@pytest.mark.parametrize(("fields", "values", "expected"), TURNING)
def test_where_a_clause_turns(fields, values, expected):
    named = MARGINS.get(fields.get("give") or fields.get("clear"))
    about = clause(**{"at_least": None} | fields, margin=named)
    assert turning_point(about, pd.DataFrame([values])) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("kind", ["give", "clear"])
@pytest.mark.parametrize(
    "sides", [{"at_least": 1.0}, {"at_least": None, "at_most": 1.0}, {"at_least": 1.0, "at_most": 2.0}]
)
def test_what_turns_is_what_the_clause_itself_says_with_that_margin(kind, sides):
    random = np.random.default_rng(1)
    values = random.choice([1.0, 2.0], 120) + random.uniform(-0.3, 0.3, 120)  # near the bounds, where margins decide
    times = random.uniform(0, 4, 120)

    def of(k):
        return clause(**sides, **{kind: "m"}, margin=Margin(value=0.1 * k, reason="x"))

    words = {1.0: HOLDS, 0.0: FAILS}
    before = holds(of(1), pd.Series(values)).map(words)
    expected = [words[holds(of(k), value).iloc[0]] for value, k in zip(values, times, strict=True)]
    turns_at = [turning_point(of(1), value) for value in values]
    rows = pd.DataFrame({"outcome": before, "turns_at": turns_at, "give": kind == "give"})
    assert margins.outcomes(rows, pd.Series(times)).tolist() == expected
    assert (before != expected).sum() > 5


@pytest.mark.parametrize(
    ("give", "now", "turns_at", "times", "then"),
    [
        (False, OPEN, 0.5, 0, OPEN),
        (False, HOLDS, 1 - 1e-6, 1, HOLDS),  # the margin as it is turns nothing, nor does a rounding error
        *((True, FAILS, 2 + off, 2, HOLDS) for off in (0, 1e-12, -1e-12)),
        *((False, HOLDS, 2 + off, 2, HOLDS) for off in (0, 1e-12, -1e-12)),
        (True, FAILS, 2.001, 2, FAILS),
        (False, HOLDS, 1.999, 2, FAILS),
    ],
)
def test_at_its_turning_point_a_clause_holds_but_for_rounding(give, now, turns_at, times, then):
    rows = pd.DataFrame({"outcome": [now], "turns_at": turns_at, "give": give})
    assert margins.outcomes(rows, pd.Series([times])).tolist() == [then]


def test_measured_scatter_is_a_multiple_of_the_margin_in_its_own_unit():
    scatter = {"rate": Tolerance(absolute=19), "share": Tolerance(absolute=4.5), "ratio": Tolerance(relative=0.2)}
    of = {"reason": "x", "value": 5.0, "measured": "rate"}
    assert margins.measured_times("m", Margin(**of), scatter) == pytest.approx(3.8)
    assert margins.measured_times("m", Margin(**{**of, "measured": ""}), scatter) == 1
    share = Margin(reason="x", value=0.03, measured="share", measured_per=100)
    assert margins.measured_times("m", share, scatter) == pytest.approx(1.5)
    with pytest.raises(InputError, match="m: measured: the margin is 0"):
        margins.measured_times("m", Margin(**{**of, "value": 0.0}), scatter)
    wrongs = [
        ({"measured": "jfi"}, "absolute 'jfi'"),
        ({"measured": "ratio"}, "absolute 'ratio'"),
        ({"relative": True}, "relative 'rate'"),
    ]
    for wrong, lacks in wrongs:
        with pytest.raises(InputError, match=rf"margins\.yaml: m: measured: .* has no {lacks}$"):
            margins.measured_times("m", Margin(**{**of, **wrong}), scatter)


def test_every_shipped_margin_that_could_be_measured_has_its_scatter():
    scatter = load_tolerances(CLAIMS.parent / "tolerances_scatter.yaml")
    times = {name: margins.measured_times(name, margin, scatter) for name, margin in load_margins(CLAIMS).items()}
    taken = {name for name, margin in load_margins(CLAIMS).items() if margin.of}
    assert {name for name in times if name.startswith("scatter_") and times[name] == 1} == taken


@pytest.fixture
def layout(tmp_path):
    folder = tmp_path / "data" / "claims"
    folder.mkdir(parents=True)
    (folder / "causes.yaml").write_text("{}\n")
    (folder / "margins.yaml").write_text(
        "tie_a: {value: 0.1, relative: true, reason: a}\nscatter_b: {value: 5, unit: Mb/s, measured: rate, reason: b}\n"
    )
    (folder.parent / "tolerances_scatter.yaml").write_text("rate: {absolute: 15}\n")
    stated = {
        "ogura.c05": ({"clear": "tie_a"},),
        "ogura.c01": ({"clear": "tie_a"}, {"give": "scatter_b"}),
        "ogura.c02": ({"give": "scatter_b"},),
        "ogura.c03": ({"clear": "tie_a"},),
    }
    claims = [
        entry(id=name, clauses=dict(zip("xy", [STATED | margin for margin in own], strict=False)))
        for name, own in stated.items()
    ]
    (folder / "ogura.yaml").write_text(yaml.safe_dump(claims))
    return Layout(tmp_path, "bundled")


CLAUSES = pd.DataFrame(
    [
        ("ogura.c05", "x", HOLDS, "tie_a", 1.6),
        ("ogura.c01", "x", HOLDS, "tie_a", 1.5),
        ("ogura.c01", "y", FAILS, "scatter_b", 2.5),
        ("ogura.c02", "x", FAILS, "scatter_b", 1.5),
        ("ogura.c03", "x", HOLDS, "tie_a", 1.5),
    ],
    columns=["id", "clause", "outcome", "margin", "turns_at"],
)
VERDICTS = {"ogura.c05": "reproduced", "ogura.c01": "partly", "ogura.c02": "undecidable", "ogura.c03": "not run"}
# what was not run is no clause; ogura.c02 stays undecidable, whatever its clause says; ties have no measured scatter
TABLE = """
margin,value,unit,tried,times,clauses,clauses_turned,claims,claims_turned,turned,reason
tie_a,0.1,of the bound,none,0,2,0,2,0,,a
tie_a,0.1,of the bound,half,0.5,2,0,2,0,,a
tie_a,0.1,of the bound,twice,2,2,2,2,2,ogura.c05: not reproduced; ogura.c01: not reproduced,a
scatter_b,5,Mb/s,none,0,2,0,2,0,,b
scatter_b,5,Mb/s,half,0.5,2,0,2,0,,b
scatter_b,5,Mb/s,twice,2,2,1,2,0,,b
scatter_b,5,Mb/s,measured scatter,3,2,2,2,1,ogura.c01: reproduced,b
all tie_*,,,none,,2,0,2,0,,
all tie_*,,,half,,2,0,2,0,,
all tie_*,,,twice,,2,2,2,2,ogura.c05: not reproduced; ogura.c01: not reproduced,
all scatter_*,,,none,,2,0,2,0,,
all scatter_*,,,half,,2,0,2,0,,
all scatter_*,,,twice,,2,1,2,0,,
all scatter_*,,,measured scatter,,2,2,2,1,ogura.c01: reproduced,
all,,,none,,4,0,3,0,,
all,,,half,,4,0,3,0,,
all,,,twice,,4,3,3,2,ogura.c05: not reproduced; ogura.c01: not reproduced,
all,,,measured scatter,,4,2,3,1,ogura.c01: reproduced,
"""


def test_the_table_says_which_verdicts_would_turn(layout):
    claims = pd.DataFrame(VERDICTS.items(), columns=["id", "verdict"])
    table = margins.margin_table(layout, ["ogura"], claims, CLAUSES)
    assert table.to_csv(index=False, float_format="%g") == TABLE.lstrip()
