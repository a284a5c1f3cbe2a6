"""What a run was asked for decides which exhibits and claims count."""

import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS
from tcpfair.papers.papers import Config
from tcpfair.verdicts.claims.statement import Claim
from tcpfair.verdicts.scope import scope_of
from tests.verdicts.bundled import LAYOUT
from tests.verdicts.claims.test_statement import entry


def scope(**asked):
    return scope_of(LAYOUT, Config(**asked))


def claim(*experiments, paper="ogura", exhibits=()):
    return Claim(**entry(id=f"{paper}.c99", experiments=list(experiments), exhibits=list(exhibits)))


def test_without_a_choice_everything_counts():
    everything = scope()
    assert list(everything.papers) == list(PAPERS)
    for paper, config in everything.papers.items():
        assert {exhibit.id for exhibit in config.exhibits} <= everything.exhibits
        assert {(paper, name) for name in config.experiments} <= everything.experiments
    assert everything.left_out(claim()) == ""
    assert everything.left_out(claim("loss_sweep", exhibits=["ogura.fig8"])) == ""


def test_papers_narrow_it_and_so_does_the_paper_of_an_exhibit():
    assert list(scope(papers=["kozu2014", "ogura"]).papers) == ["kozu2014", "ogura"]
    assert list(scope(only=["ogura.fig9"]).papers) == ["ogura"]
    assert list(scope(papers=["ogura", "ha2006"], only=[" Ogura.fig9", "ha2006.fig3"]).papers) == ["ogura", "ha2006"]


@pytest.mark.parametrize("name", ["ogura.fig8", "ogura.fig08", "Ogura.Figure8"])
def test_an_exhibit_counts_with_its_experiments_however_it_is_spelled(name):
    chosen = scope(only=[name])
    assert chosen.exhibits == {"ogura.fig8"}
    assert chosen.experiments == {("ogura", "loss_sweep")}


def test_experiments_that_weights_come_from_count():
    assert scope(only=["bhatti2008.table6"]).experiments == {("bhatti2008", "pair"), ("bhatti2008", "self")}


def test_a_claim_counts_when_all_its_experiments_do():
    chosen = scope(only=["ogura.fig8"])
    assert chosen.left_out(claim("loss_sweep")) == ""
    assert chosen.left_out(claim("loss_sweep", exhibits=["ogura.fig9"])) == ""
    why = "not requested: this run was limited to ogura.fig8"
    assert chosen.left_out(claim("loss_sweep", "model1", exhibits=["ogura.fig8"])) == why
    assert chosen.left_out(claim("model1")) == why
    assert chosen.left_out(claim("loss_sweep", paper="kozu2014")) == why


def test_a_closed_form_counts_when_an_exhibit_that_shows_it_was_asked_for():
    chosen = scope(only=["ogura.fig8"])
    assert chosen.left_out(claim(exhibits=["ogura.table1", "ogura.fig8"])) == ""
    assert chosen.left_out(claim(exhibits=["ogura.table1"])) != ""
    assert chosen.left_out(claim()) != ""


@pytest.mark.parametrize(
    ("asked", "named"),
    [({"only": ["ogura.fig88"]}, "ogura.fig88"), ({"papers": ["ogura"], "only": ["ha2006.fig3"]}, "ha2006.fig3")],
)
def test_an_unknown_exhibit_is_named(asked, named):
    with pytest.raises(InputError, match=rf"exhibit '{named}' is unknown"):
        scope(**asked)
