"""What hangs together: sections of claims, lines of configuration, cells of notebooks, commands."""

import shlex

import pandas as pd
import pytest
import yaml

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Config
from tcpfair.verdicts import cell_links
from tcpfair.verdicts.assumptions import ALL
from tcpfair.verdicts.report import chain as chains
from tcpfair.verdicts.report.words import anchor
from tcpfair.verdicts.scope import scope_of
from tests.verdicts import bundled

LAYOUT = bundled.LAYOUT


@pytest.fixture(scope="module")
def chain():
    plan = [
        (paper, name, f"data/bundled/{paper}/{name}")
        for paper, config in bundled.CONFIGS.items()
        for name in config.experiments
    ]
    return chains.build(LAYOUT, bundled.CONFIGS, pd.DataFrame(plan, columns=["paper", "experiment", "trace"]))


def test_a_notebook_that_the_run_will_execute_is_linked_before_it_is_there(monkeypatch, tmp_path):
    monkeypatch.setattr(Layout, "results", tmp_path)
    layout, config = Layout(LAYOUT.root), bundled.CONFIGS["ogura"]
    plan = pd.DataFrame(columns=["paper", "experiment", "trace"])
    executed = layout.results / "notebooks/ogura.html"
    assert chains.build(layout, {"ogura": config}, plan, [executed]).notebooks == {"ogura": "notebooks/ogura.html"}
    assert chains.build(layout, {"ogura": config}, plan).notebooks["ogura"].endswith("/notebooks/ogura.ipynb")


def claims(chain):
    return [claim for of_paper in chain.claims.values() for claim in of_paper]


def test_every_claim_stands_in_a_section_and_every_section_is_of_something(chain):
    assert [claim.id for claim in claims(chain) if not chain.sections_of(claim.id)] == []
    named = yaml.safe_load((LAYOUT.data / "sections.yaml").read_text())
    for paper, sections in chain.sections.items():
        ids = [section.id for section in sections]
        assert ids == [each["id"] for each in named[paper]]
        assert len(set(ids)) == len({section.anchor for section in sections}) == len(ids)


def test_every_exhibit_and_equation_stands_in_one_section(chain):
    equations = yaml.safe_load((LAYOUT.data / "equations.yaml").read_text())
    exhibits = [each for config in chain.configs.values() for each in config.exhibits if each.kind != "supplement"]
    assert len(exhibits) == 91
    members = [each["id"] for each in equations] + [each.id for each in exhibits]
    assert [member for member in members if len(chain.sections_of(member)) != 1] == []


def test_sections_name_no_printed_number_twice(chain):
    """Published numbers of the text stand in sections that exist, by the same names."""
    known = {f"{paper}.sec-{section.id}" for paper, sections in chain.sections.items() for section in sections}
    printed = bundled.published()["exhibit"]
    assert set(printed[printed.str.contains(".sec-", regex=False)]) <= known


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ("5.4, Fig 8", ["5.4"]),
        ("IV-B, IV-C", ["IV-B", "IV-C"]),
        ("appendix A", ["appendix-A"]),
        ("B", ["appendix-B"]),
        ("Fig 4", ["4.1.1"]),
        ("abstract, V-A", ["abstract", "V-A"]),
    ],
)
def test_sections_that_a_claim_names(chain, section, found):
    claim = chain.claims["ha2006"][0].model_copy(update={"section": section})
    assert chains.section_ids(claim, {"fig4": "4.1.1"}) == found


def test_lines_of_an_experiment_are_its_entry(chain):
    text = LAYOUT.paper_config("ogura").read_text().splitlines()
    part = chain.lines["ogura", "loss_sweep"]
    assert text[part.first - 1] == "  loss_sweep:"
    assert text[part.last].startswith("  rtt_sweep:") or not text[part.last].strip()
    assert part.text.splitlines()[0] == f"{part.first}    loss_sweep:"
    assert len(part.text.splitlines()) == part.last - part.first + 1
    assert chain.lines["ogura", ALL].first == 1
    for paper, config in chain.configs.items():
        assert {name for of, name in chain.lines if of == paper} == {ALL, *config.experiments}


def test_every_exhibit_has_its_cell_in_the_notebook(chain):
    exhibits = [each.id for config in chain.configs.values() for each in config.exhibits]
    assert [name for name in exhibits if not chain.cells.get(name)] == []
    href, name = chain.notebook("ogura", "ogura.fig8")
    assert href.partition("#")[0].endswith(name)


def test_the_command_of_a_claim_decides_it(chain):
    """What the command asks for covers all that the claim needs: the ledger then counts it."""
    scopes = {}
    for claim in claims(chain):
        *_, option, value = shlex.split(chain.command_of_claim(claim))
        assert option == "--config"
        name, _, listed = value.partition("=")
        assert name in ("only", "papers")
        if value not in scopes:
            scopes[value] = scope_of(LAYOUT, Config(**{name: listed.strip("[]").split(",")}))
        assert scopes[value].left_out(claim) == "", claim.id


def test_experiments_lead_to_what_needs_them_for_weights_too(chain):
    assert "bhatti2008.fig4" in chain.exhibits_of_experiment("bhatti2008", "self")
    assert "bhatti2008.c09" in chain.claims_of("bhatti2008", "pair")
    assert chain.equations_of_claim(chain.claims["ogura"][0]) == [
        "ogura.eq1"
    ]  # no exhibit shows it; its section has it
    assert "ogura.c17" in chain.claims_of_equation("ogura", "ogura.eq3")


def test_addresses_are_those_of_anchors():
    assert chains.to("ogura.c17") == (f"#{anchor('ogura.c17')}", "c17")
    assert chains.to_experiment("ogura", "loss_sweep") == ("#ogura-x-loss_sweep", "loss_sweep")


def test_an_executed_notebook_leads_back_to_the_report():
    page = '<div class="jp-Cell jp-CodeCell jp-Notebook-cell" id="cell-id=ogura-21">x</div><div id="cell-id=ogura-22"></div>'
    back = cell_links.linked_back(page, {"ogura.fig8": "ogura-21"})
    assert '<a href="../report/ogura.html#ogura-fig8">Figure 8 in the report, with its claims</a></p>x' in back
    assert back.endswith('<div id="cell-id=ogura-22"></div>')
    assert cell_links.linked_back(page, {}) == page
