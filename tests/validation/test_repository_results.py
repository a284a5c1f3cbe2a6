"""What this repository ships for the validation: scenarios that run, results that belong to them, reasons that are needed."""

from fnmatch import filter as fitting

import pytest

from tcpfair.files.layout import Layout, repository_root
from tcpfair.validation import agreement, chance, comparison, drawn, shipped
from tcpfair.validation.scenarios import ENGINE, TOOLS, load, quick, whole
from tcpfair.workflow.cli import main

LAYOUT = Layout(repository_root())
CONFIG = load(LAYOUT.validation_config)


def test_every_run_is_a_valid_scenario():
    for name, experiment in CONFIG.experiments.items():
        specs = whole(CONFIG, ENGINE).specs(CONFIG, name)
        drawn_ones = CONFIG.analysis_value("drawn").get(name)
        settings = drawn_ones["count"] if drawn_ones else len(experiment.grid["protocol"].value)
        assert len(specs) == settings * experiment.runs.value
        assert experiment.window_s.value[1] <= specs[0].scenario.duration_s


def test_buffers_are_of_whole_packets_where_fractions_would_decide_who_wins():
    # ns-2 rounds them
    for name in (*chance.paired_experiments(CONFIG), *drawn.experiments(CONFIG)):
        assert all(s.scenario.buffer_pkts % 1 == 0 for s in whole(CONFIG, ENGINE).specs(CONFIG, name))


@pytest.mark.parametrize("tool", TOOLS)
def test_a_simulator_measures_within_its_own_runs(tool):
    selection = whole(CONFIG, tool)
    assert any(selection.specs(CONFIG, name) for name in CONFIG.experiments)
    for name in CONFIG.experiments:
        for spec in selection.specs(CONFIG, name):
            assert selection.window(CONFIG, name)[1] <= spec.scenario.duration_s


def test_the_quick_check_has_runs():
    assert all(quick(CONFIG).specs(CONFIG, name) for name in CONFIG.analysis_value("quick_experiments"))


def test_shipped_results_belong_to_the_present_scenarios():
    assert shipped.faults(LAYOUT, CONFIG) == []


def test_every_explanation_fits_a_row():
    comparison.explanations(LAYOUT, CONFIG)


@pytest.mark.slow
def test_every_disagreement_is_explained_and_every_explanation_is_needed():
    assert main(["validate"]) == 0
    compared = comparison.compare(LAYOUT, CONFIG, comparison.engine_parts(LAYOUT, CONFIG))
    rows = compared.rows
    unexplained = rows[rows["explanation"] == agreement.UNEXPLAINED]
    assert [f"{row['tool']}: {agreement.row_name(row)}" for row in unexplained.to_dict("records")] == []
    with_results = [tool for tool in TOOLS if compared.tools[tool].runs]
    beyond = rows[rows["verdict"] == agreement.BEYOND]
    names = {tool: [agreement.row_name(row) for row in of.to_dict("records")] for tool, of in beyond.groupby("tool")}
    lines = [(tool, key) for tool in with_results for key in comparison.explanations(LAYOUT, CONFIG).get(tool, {})]
    assert [(tool, key) for tool, key in lines if not fitting(names.get(tool, []), key)] == []
