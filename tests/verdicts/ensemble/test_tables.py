"""From a shipped ensemble to the ledger's tables, on a small ensemble of kozu2014 made here."""

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import ENSEMBLE_TABLES, Layout, repository_root
from tcpfair.files.rounding import rounded_table
from tcpfair.papers.papers import load_paper
from tcpfair.papers.settings import grid_points, point_text
from tcpfair.runs import ensemble_table
from tcpfair.runs.ensemble import HeldOut, ensemble_of, load
from tcpfair.runs.ensemble_table import Shipped
from tcpfair.verdicts.claims.statement import load_claims
from tcpfair.verdicts.ensemble import clauses as of_settings
from tcpfair.verdicts.ensemble import tables
from tcpfair.verdicts.ensemble.clauses import clauses_held
from tcpfair.verdicts.ensemble.members import Members, NotInEnsembleError

LAYOUT = Layout(repository_root())
PAPER = load_paper(LAYOUT.paper_config("kozu2014"))
N = 24
BUFFERS = np.r_[600, np.linspace(100, 4000, N - 1).round()]


def shipped():
    """Transitions whose 2 ms window is 0.6 MB and more with the buffer: 0.82 MB, as printed, with 1420 packets."""
    rows = []
    for setting, buffer_pkts in enumerate(BUFFERS):
        for point in grid_points(PAPER.experiments["transitions"]):
            for flow, cwnd_mb in ((1, 0.4 + 0.3 * buffer_pkts / 1000), (2, 2.83)):
                rows.append(("", setting, point_text(point), flow, "cwnd_mean", cwnd_mb * 1e6 / 1448))
            rows += [("", setting, point_text(point), flow, "k_mean", 3.0 - flow) for flow in (1, 2)]
    columns = ["hypothesis", "setting", "point", "flow", "metric", "value"]
    metrics = pd.DataFrame(rows, columns=columns).assign(experiment="transitions", flow_protocol="CUBIC", n=2)
    settings = pd.DataFrame({"hypothesis": "", "setting": range(N), "refused": "", "settings.buffer_pkts": BUFFERS})
    settings.loc[N] = ["", N, "flow.rwnd_pkts: must be 1 or more", 1e9]
    return Shipped(metrics, settings)


@pytest.fixture(scope="module")
def made():
    """With intervals, although the settings are few."""
    config = load(LAYOUT.ensemble_config)
    judging = config.judging.model_copy(update={"least_effective": 1})
    config = config.model_copy(update={"judging": judging})
    return tables.tables(LAYOUT, "kozu2014", {"kozu2014": PAPER}, {"kozu2014": shipped()}, config)


def test_every_table_has_its_columns(made):
    assert list(made) == list(ENSEMBLE_TABLES)
    assert {name: list(table.columns) for name, table in made.items()} == tables.COLUMNS
    empty = tables.tables(LAYOUT, "kozu2014", {"kozu2014": PAPER}, {}, load(LAYOUT.ensemble_config))
    assert {name: list(table.columns) for name, table in empty.items()} == tables.COLUMNS


def test_what_is_left_for_the_ledger_reads_the_same_there(made, tmp_path, monkeypatch):
    layout = Layout(tmp_path)
    with pytest.raises(
        InputError, match=r"^results/bundled/placed/ogura/ensemble_papers.parquet: missing; ./reproduce "
    ):
        tables.read_shipped(layout, ["ogura"])
    monkeypatch.setattr(tables, "of_shipped", lambda *_: made)
    monkeypatch.setattr(tables, "load_paper", lambda path: None)
    tables.write_shipped(layout, "ogura", layout.placed / "ogura")
    found = tables.read_shipped(layout, ["ogura"])
    assert list(found) == list(made)
    for name, table in made.items():
        assert found[name].to_csv(float_format="%.7g") == table.to_csv(float_format="%.7g"), name
        assert found[name].select_dtypes("number").equals(rounded_table(table).select_dtypes("number")), name
    (layout.placed / "ogura/ensemble_papers.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(InputError, match="placed/ogura/ensemble_papers.parquet: not a Parquet table; ./reproduce "):
        tables.read_shipped(layout, ["ogura"])


def test_printed_numbers_are_placed_and_refused_settings_counted(made):
    (paper,) = made["ensemble_papers"].to_dict("records")
    assert (paper["settings"], paper["refused"], paper["numbers"]) == (N, 1, 2)
    numbers = made["ensemble_numbers"]
    assert numbers["metric"].tolist() == ["cwnd_mean", "cwnd_mean"]
    assert numbers["printed"].tolist() == [0.82, 2.83]
    assert numbers["nearest"].to_numpy() == pytest.approx([0.82, 2.83], abs=0.03)
    assert numbers["explained"].all()


def test_a_clause_is_decided_in_each_setting_and_by_its_assumption(monkeypatch):
    monkeypatch.setattr(of_settings, "fresh", lambda *_: shipped())
    table = of_settings.clause_table(LAYOUT, PAPER)
    assert list(table) == of_settings.CLAUSES
    clauses = table.set_index(["id", "clause"])
    short = clauses.loc[("kozu2014.c04", "short")]
    assert 0.3 < short["share"] < 0.7
    assert "a buffer above" in short["decides"]
    assert clauses.loc[("kozu2014.c13", "smaller"), "share"] == 1.0
    assert not {"kozu2014.c01", "kozu2014.c20"} & set(table["id"])  # not in this ensemble


def test_the_testbed_is_inferred_from_print(made):
    (buffer,) = made["ensemble_testbed"].to_dict("records")
    assert buffer["assumption"] == "settings.buffer_pkts"
    assert buffer["low"] < 1420 < buffer["high"]
    assert buffer["used"] == 600
    assert buffer["high"] - buffer["low"] < 0.5 * (buffer["prior_high"] - buffer["prior_low"])


def test_a_testbed_inferred_from_another_paper_is_a_second_reference():
    """The other paper is here the same one once more."""
    config, (metrics, settings) = load(LAYOUT.ensemble_config), shipped()
    table = ensemble_of(config, PAPER).table.iloc[: len(settings)]
    drawn = settings.join(table.drop(columns="settings.buffer_pkts").reset_index(drop=True))
    fit = {"paper": "ogura"}
    update = {"second_reference": "ogura", "held_out": [HeldOut(fit=fit, predict={"exhibits": []})]}
    plan = config.papers["kozu2014"].model_copy(update=update)
    config = config.model_copy(update={"papers": {"kozu2014": plan}})
    own = Shipped(metrics, drawn)
    papers, both = {"kozu2014": PAPER, "ogura": PAPER}, {"kozu2014": own, "ogura": own}
    found = tables.tables(LAYOUT, "kozu2014", papers, both, config)
    (paper,) = found["ensemble_papers"].to_dict("records")
    assert paper["effective_second"] == pytest.approx(paper["effective_settings"])
    assert found["ensemble_numbers"]["second"].to_numpy() == pytest.approx([0.82, 2.83], abs=0.1)
    assert found["ensemble_numbers"]["within_second"].tolist() == [True, True]
    (check,) = found["ensemble_held_out"].to_dict("records")
    assert (check["fitted_paper"], check["n_fitted"], check["n"], check["within_inferred"]) == ("ogura", 2, 2, 1.0)
    alone = tables.tables(LAYOUT, "kozu2014", {"kozu2014": PAPER}, {"kozu2014": own}, config)
    assert alone["ensemble_held_out"].empty
    assert alone["ensemble_numbers"]["second"].isna().all()


def test_an_experiment_that_is_left_out_is_named():
    members = Members(shipped(), PAPER)
    with pytest.raises(NotInEnsembleError, match="kozu2014/rtt_sweep: not in the ensemble"):
        members.of("rtt_sweep", "ratio")


def test_claims_that_read_traces_are_left_out():
    members = Members(shipped(), PAPER)
    claims = {claim.id: claim for claim in load_claims(LAYOUT.data / "claims" / "kozu2014.yaml")}
    assert clauses_held(claims["kozu2014.c05"], members) == {}
    assert list(clauses_held(claims["kozu2014.c04"], members)) == ["short", "long"]


def test_what_no_setting_is_said_to_give_is_given_by_none_of_the_shipped_ones():
    """But for as many settings as lie below the range in which a printed number counts as inside."""
    config = load(LAYOUT.ensemble_config)
    given, looked_at = {}, 0
    for name in config.papers:
        members = Members(ensemble_table.read(LAYOUT.ensembles, name), load_paper(LAYOUT.paper_config(name)))
        for claim in load_claims(LAYOUT.data / "claims" / f"{name}.yaml"):
            held = (
                pd.DataFrame(clauses_held(claim, members)) if claim.cause == "no setting gives it" else pd.DataFrame()
            )
            given[claim.id] = float((held == 1).all(axis=1).mean()) if len(held) else 0
            looked_at += len(held) > 0
    assert looked_at  # or the claims with this cause are out of the ensembles' reach
    assert {name: share for name, share in given.items() if share > config.judging.inside[0]} == {}
