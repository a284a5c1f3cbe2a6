"""What the page gives to be copied is the run that it shows: YAML and Python read by the package, links by the page."""

import ast

import pytest
import yaml

from tcpfair.files.layout import Layout, repository_root
from tcpfair.library.digest import read
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import Flow, Scenario, Web, make_scenario
from tcpfair.web.schema import fields_of, plain
from tests.library.test_digest import SCENARIO
from tests.web.calls import call
from tests.web.node import needs_node

pytestmark = needs_node

FILES = ["engine.js", "dom.js", "measures.js", "analysis.js", "scenario.js", "copy.js"]
LAYOUT = Layout(repository_root())
SCHEMA = plain({"defaults": {"scenario": fields_of(Scenario), "flow": fields_of(Flow), "web": fields_of(Web)}})
RUNS = [
    ("bhatti2009", "pair_ccid2_first", 7),
    ("ha2006", "rtt_types", 20),
    ("kozu2014", "existing", 3),
    ("ogura", "model1", 0),
]


def side(scenario, seed):
    values = scenario.model_dump(mode="json")  # every default stated, infinities too
    shown = {"scenario": values, "seed": str(seed), "measuring": {"fromS": 1e-7}, "bufferUnit": "packets"}
    return {**shown, "of": {"scenario": values, "seed": str(seed)}, "result": {"digest": "0" * 64}}


@pytest.fixture(params=RUNS, ids=lambda run: ".".join(run[:2]))
def spec(request):
    name, experiment, place = request.param
    return run_specs(load_paper(LAYOUT.paper_config(name)), experiment)[place]


def test_yaml_python_and_link_give_the_scenario_back(spec, tmp_path):
    shown = side(spec.scenario, spec.seed)
    calls = [
        ("copying.yamlOf", SCHEMA, shown),
        ("copying.pythonOf", SCHEMA, shown),
        ("copying.fragmentOf", SCHEMA, [shown]),
    ]
    as_yaml, as_python, fragment = call(FILES, calls)

    file = tmp_path / "run.yaml"
    file.write_text(as_yaml)
    assert read(file) == (spec.scenario, spec.seed)

    given = next(
        node
        for node in ast.walk(ast.parse(as_python))
        if isinstance(node, ast.Call) and node.func.id == "make_scenario"
    )
    assert make_scenario(ast.literal_eval(given.args[0])) == spec.scenario
    assert f"seed={spec.seed}," in as_python

    [[kept]] = call(FILES, [("copying.sidesOf", "#" + fragment)])
    assert make_scenario(kept["scenario"]) == spec.scenario
    assert (kept["seed"], kept["measuring"]) == (str(spec.seed), {"fromS": 1e-7})


def test_small_and_large_numbers_stay_numbers():
    values = [1e-7, 2.5e-9, 1e20, 123456789.125, 5e-324, 0.1]
    [text] = call(FILES, [("copying.yamlText", {"x": values})])
    assert yaml.safe_load(text) == {"x": values}


def test_a_link_that_is_cut_off_says_so():
    [fragment] = call(FILES, [("copying.fragmentOf", SCHEMA, [side(make_scenario(SCENARIO), 1)])])
    for damaged, what in ((fragment[:-9], "cut off or changed"), ("9" + fragment, "version")):
        with pytest.raises(AssertionError, match=what):
            call(FILES, [("copying.sidesOf", damaged)])
