"""What the page gives to be copied is the run that it shows: YAML and Python read by the package, links by the page."""

import ast
import re

import pytest
import yaml

from tcpfair.files.layout import Layout, repository_root
from tcpfair.library.digest import read
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import Flow, Scenario, Web, make_scenario
from tcpfair.web.schema import fields_of, plain
from tests.library.test_digest import SCENARIO
from tests.web.node import call, needs_node

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
    of = {"scenario": scenario.model_dump(mode="json"), "seed": str(seed)}  # every default stated, infinities too
    return {**of, "measuring": {"fromS": 1e-7}, "bufferUnit": "packets", "of": of, "result": {"digest": "0" * 64}}


@pytest.mark.parametrize(("name", "experiment", "place"), RUNS)
def test_yaml_python_and_link_give_the_scenario_back(name, experiment, place, tmp_path):
    spec = run_specs(load_paper(LAYOUT.paper_config(name)), experiment)[place]
    shown = side(spec.scenario, spec.seed)
    calls = [("copying.yamlOf", shown), ("copying.pythonOf", shown), ("copying.fragmentOf", [shown])]
    as_yaml, as_python, fragment = call(FILES, calls, SCHEMA)

    file = tmp_path / "run.yaml"
    file.write_text(as_yaml)
    assert read(file) == (spec.scenario, spec.seed)

    [values] = re.findall(r"make_scenario\((.+)\)\nresult", as_python, re.DOTALL)
    assert make_scenario(ast.literal_eval(values)) == spec.scenario
    assert f"seed={spec.seed}," in as_python

    [[kept]] = call(FILES, [("copying.sidesOf", "#" + fragment)])
    assert make_scenario(kept["scenario"]) == spec.scenario
    assert (kept["seed"], kept["measuring"]) == (str(spec.seed), {"fromS": 1e-7})


def test_small_and_large_numbers_stay_numbers():
    values = [1e-7, 2.5e-9, 1e20, 123456789.125, 5e-324, 0.1]
    [text] = call(FILES, [("copying.yamlText", {"x": values})])
    assert yaml.safe_load(text) == {"x": values}


def test_a_link_that_is_cut_off_says_so():
    [fragment] = call(FILES, [("copying.fragmentOf", [side(make_scenario(SCENARIO), 1)])], SCHEMA)
    cut, other = call(FILES, [("copying.sidesOf", damaged) for damaged in (fragment[:-9], "9" + fragment)])
    assert "cut off or changed" in cut and "version" in other
