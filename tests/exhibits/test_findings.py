"""What the ledger says, as tables, sentences and figures."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits.findings import Findings
from tcpfair.files.layout import repository_root

CLAIM, OTHER = "kozu2014.c01", "kozu2014.c02"


@pytest.fixture
def findings(tmp_path, monkeypatch):
    for name in ("data", "config", "Snakefile"):
        (tmp_path / name).symlink_to(repository_root() / name)
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    ledger = tmp_path / "results" / "bundled" / "ledger"
    ledger.mkdir(parents=True)
    tables = {
        "claims": [
            {"id": CLAIM, "paper": "kozu2014", "verdict": "partly", "certainty": 0.987, "settings_share": 0.5,
             "why": "It holds at 64 ms."},
            {"id": OTHER, "paper": "kozu2014", "verdict": "reproduced", "certainty": np.nan, "settings_share": np.nan},
        ],
        "headlines": [
            {"paper": "kozu2014", "says": "K helps", "verdict": "partly", "certainty": 0.987, "settings_share": 0.5,
             "claims": f"{CLAIM};{OTHER}"},
        ],
        "clauses": [
            {"id": CLAIM, "clause": name, "says": says, "outcome": outcome, "quantity": "ratio", "value": 1.5, "unit": unit,
             "asks": "at least 1"}
            for name, says, outcome, unit in (
                ("more", "the short flow gets more", "holds", "Mb/s"),
                ("most", "at most RTTs", "does not hold", ""),
            )
        ],
        "readings": [
            {"paper": "kozu2014", "reading": reading, "numbers": 4, "within": within, "within_scatter": 4, "in_ensemble": of,
             "inside": 1}
            for reading, within, of in (("configured", 2, 2), ("H1", 3, 0))
        ],
        "ensemble_papers": [
            {"paper": "kozu2014", "hypothesis": hypothesis, "settings": 9, "numbers": 6, "within_best": 3,
             "explained": 5, "effective_settings": 2.0}
            for hypothesis in ("", "H1")
        ],
        "ensemble_clauses": [
            {"id": CLAIM, "paper": "kozu2014", "clause": clause, "hypothesis": hypothesis, "share": share, "decides": text}
            for clause, hypothesis, share, text in (
                ("more", "", 0.5, "holds in 50 % of 9 settings"),
                ("most", "", 1.0, "holds in 100 % of 9 settings"),
                ("more", "H1", 0.0, "holds in 0 % of 9 settings"),
            )
        ],
        "ensemble_held_out": [
            {"paper": "bhatti2009", "hypothesis": hypothesis, "fitted_paper": "bhatti2008", "judged": "table3", "n": 20,
             "within_base": 0.1, "within_prior": 0.2, "within_inferred": inferred, "within_best": 0.4}
            for hypothesis, inferred in (("", 0.3), ("H1", 0.35))
        ],
        "ensemble_testbed": [
            {"paper": "kozu2014", "hypothesis": "", "assumption": name, "used": used, "low": low, "median": median,
             "high": high, "prior_low": 100, "prior_high": 4000, "shift": shift}
            for name, used, low, median, high, shift in (
                ("settings.buffer_pkts", 600, 500, 700, 900, 0.5),
                ("flow.iw_pkts", "x", 200, 1000, 3900, 0.1),
                ("flow.stack = text", 0.0, np.nan, 0.4, np.nan, 0.2),
            )
        ],
    }  # fmt: skip
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(ledger / f"{name}.csv", index=False)
    return Findings.open()


def test_verdicts_are_counted_per_paper_and_in_all(findings):
    assert findings.verdicts().loc["all"].to_dict() == {"partly": 1, "reproduced": 1}


def test_numbers_have_a_share_by_reading_and_none_where_nothing_was_compared(findings):
    shares = findings.numbers().loc["kozu2014"]
    assert shares.loc["configured"].to_list() == [4, "50 %", "100 %", "50 %"]
    assert shares.loc["H1"].to_list() == [4, "75 %", "100 %", ""]


def test_conclusions_have_their_verdict_and_how_sure_it_is(findings):
    table = findings.conclusions()
    assert table.loc["kozu2014"].tolist() == [
        "K helps",
        "partly (98 % sure; its weakest clause in 50 % of the settings)",
    ]


def test_the_claims_behind_a_conclusion_have_their_reason(findings):
    table = findings.behind("kozu2014")
    assert table.index.tolist() == [CLAIM, OTHER]
    assert table["verdict"].tolist() == ["partly (98 % sure; its weakest clause in 50 % of the settings)", "reproduced"]
    assert table["why"].tolist() == ["It holds at 64 ms.", ""]
    with pytest.raises(InputError, match="kozu2015"):
        findings.behind("kozu2015")


def test_a_sentence_has_outcome_value_and_circumstances(findings):
    assert findings.sentence(CLAIM, "more") == (
        "the short flow gets more: holds (ratio 1.5 Mb/s, required: at least 1); holds in 50 % of 9 settings"
    )
    with pytest.raises(InputError, match="more"):
        findings.sentence(CLAIM, "mor")


def test_clauses_are_told_by_name(findings):
    table = findings.told(f"{CLAIM}.more", f"{CLAIM}.most")
    assert table.index.tolist() == [f"{CLAIM}.more", f"{CLAIM}.most"]
    assert table.loc[f"{CLAIM}.most", "found"].startswith(
        "at most RTTs: does not hold (ratio 1.5, required: at least 1)"
    )


def test_what_another_paper_foretells_is_one_sentence(findings):
    assert findings.foretold("bhatti2009", "bhatti2008", "table3", "H1").data == (
        "<p>Of 20 numbers of bhatti2009 (table3, under H1), a testbed inferred from bhatti2008 alone has 35 % within tolerance; "
        "the mean of all settings has 20 %, the setting as configured 10 %, and no single setting more than 40 %.</p>"
    )
    with pytest.raises(InputError, match="check of bhatti2009 by bhatti2008.*'table9'"):
        findings.foretold("bhatti2009", "bhatti2008", "table9")


def test_the_testbed_is_drawn_with_words_and_what_is_used(findings):
    figure = findings.testbed("kozu2014")
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["initial window (packets)", "buffer (packets)"]
    assert not any(line.get_visible() for line in ax.get_ygridlines())  # they would strike the numbers through
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [pytest.approx(np.log(6) / np.log(40))]
    assert figure._repr_png_()[0].startswith(b"\x89PNG")
    assert findings.testbed("ogura").startswith("No ensemble of ogura is shipped; ./reproduce ensemble ogura")
    assert "has no number of the paper" in findings.testbed("kozu2014", "H1")
    table = findings.table("ensemble_testbed").assign(low=np.nan, high=np.nan)
    table.to_csv(findings.layout.ledger / "ensemble_testbed.csv", index=False)
    assert findings.testbed("kozu2014") == "kozu2014: 2 settings carry the weight, too few for an interval."


def test_assumptions_with_the_same_words_are_told_apart(findings):
    names = ["traffic.Type I.rtt_ms", "traffic.Type I, fixed RTT.rtt_ms", "settings.jitter_s", "flow.iw_pkts"]
    labels = findings._labels(names)
    assert [label.partition(", ")[2] for label in labels] == ["Type I", "Type I, fixed RTT", "", ""]
    assert len(set(labels)) == len(names)


def test_without_a_ledger_the_command_is_named(findings):
    (findings.layout.ledger / "claims.csv").unlink()
    with pytest.raises(InputError, match=r"no ledger; \./reproduce writes it"):
        Findings.open()


def test_figures_are_shown_as_they_were_drawn_and_a_missing_one_is_named(findings):
    folder = findings.layout.figures("kozu2014")
    folder.mkdir(parents=True)
    (folder / "fig06.png").write_bytes(b"a picture")
    shown = findings.figures("kozu2014.fig6").data
    assert 'src="data:image/png;base64,YSBwaWN0dXJl"' in shown
    with pytest.raises(InputError, match=r"fig07\.png: no such figure; \./reproduce figure kozu2014\.fig7 draws it"):
        findings.figures("kozu2014.fig6", "kozu2014.fig7")
