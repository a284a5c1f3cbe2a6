"""The guided tours: nothing in them that is not there, and every number as it is."""

from __future__ import annotations

import re
from copy import deepcopy

import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.web import tours as tours_module
from tcpfair.web.tours import FILE, Run, label, load, spec_of, tours
from tests.web.node import ROOT, STATIC
from tests.web.tour_numbers import asked, measured

LAYOUT = Layout(ROOT)
NUMBERS = list(asked(load().tours))


@pytest.fixture(scope="module")
def data():
    return tours(LAYOUT)


def steps(data):
    return [step for tour in data["tours"] for step in tour["steps"]]


def test_the_tours_that_were_promised_are_there(data):
    assert {"models", "cubic", "rtt", "nru", "phase", "background", "packets"} == {tour["id"] for tour in data["tours"]}
    assert all(3 <= len(tour["steps"]) <= 6 for tour in data["tours"])


def test_every_step_shows_something_and_asks_a_question_that_it_answers(data):
    for step in steps(data):
        assert (step["run"] is None) != (step["packets"] is None), step["title"]
        assert "?" in step["question"] and step["answer"], step["title"]
        assert step["look"], step["title"]


def test_texts_are_html_without_open_ends(data):
    for step in steps(data):
        for text in (step["text"], step["look"], step["question"], step["answer"]):
            assert re.fullmatch(r"(<p>[^{}*`]+</p>)+", text), text
            assert not re.search(r"<(?!/?(p|em|i|sub|code)>)", text), text


def test_stretches_and_plots_are_those_of_the_page(data):
    names = re.findall(r'name: "([^"]+)"', (STATIC / "packets.js").read_text())
    assert {step["packets"] for step in steps(data) if step["packets"]} <= set(names)
    keys = set(re.findall(r'key: "(\w+)"', (STATIC / "panels.js").read_text()))
    assert {key for step in steps(data) for key in step["plots"]} <= keys


def test_numbers_stand_in_the_text(data):
    [models] = [tour for tour in data["tours"] if tour["id"] == "models"]
    assert "takes 6.70 s; the equation says 6.67 s" in models["steps"][0]["look"]
    [nru] = [tour for tour in data["tours"] if tour["id"] == "nru"]
    assert "−7.19 dB" in nru["steps"][2]["look"]


def test_labels_of_equations():
    assert label("kozu2014.eq6") == "kozu2014, equation 6"
    assert label("ogura.eq_B") == "ogura, not numbered"


def edited(tmp_path, change):
    values = yaml.safe_load(FILE.read_text())
    change(values)
    path = tmp_path / "tours.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def of_step(**changes):
    return lambda values: values["tours"][1]["steps"][0].update(deepcopy(changes))


def of_number(**changes):
    return lambda values: values["tours"][1]["steps"][0]["numbers"]["t1"].update(changes)


RUN = {"paper": "ogura", "experiment": "model1", "point": {"protocol": "Reno", "rtt_ms": 40}}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (of_step(run={**RUN, "experiment": "model9"}), "ogura: experiment 'model9' is unknown"),
        (of_step(run={**RUN, "point": {"protocol": "Reno", "rtt_ms": 41}}), "ogura.model1 has no run 0 at"),
        (of_step(run={**RUN, "replicate": 1}), "ogura.model1 has no run 1 at"),
        (of_step(run={**RUN, "change": {"loss_rate": 2}}), "loss_rate: Input should be less than 1"),
        (of_step(run={**RUN, "change": {"losses": 0.1}}), "losses: Extra inputs are not permitted"),
        (of_step(equations=["ogura.eq99"]), "ogura.eq8, ogura.eq99: not here or not used"),
        (lambda v: v["equations"].update({"ogura.eq99": ""}), "data/equations.yaml has no such equation"),
        (of_number(metric="t9"), "data/expected has no t9 of ogura.fig4"),
        (of_number(of="mbps"), "a number is either a cell"),
        (of_step(look="after {t1} and {t3}"), "numbers: law, t3: not given or not in the text"),
        (lambda v: v["tours"][2]["steps"][0]["numbers"]["long_k"].update(value=None), "numbers.long_k: has no value"),
        (lambda v: v["tours"][0].pop("asks"), "tours.0.asks: Field required"),
        (of_step(plots=["everything"]), "plots.0: Input should be"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(tmp_path, change, complaint):
    with pytest.raises(InputError) as refused:
        tours(LAYOUT, edited(tmp_path, change))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_changes_reach_the_scenario():
    run = Run(**RUN, change={"jitter_s": 0.25, "synchronised_losses": True}, flow={"ack_every": 2})
    plain, changed = spec_of(LAYOUT, Run(**RUN)).scenario, spec_of(LAYOUT, run).scenario
    assert (changed.jitter_s, changed.synchronised_losses, changed.flows[0].ack_every) == (0.25, True, 2)
    assert (plain.jitter_s, plain.synchronised_losses, plain.flows[0].ack_every) == (0.0, False, 1)
    assert changed.flows[0].rtt_s == plain.flows[0].rtt_s


def test_markup():
    html = tours_module._html("*One* of `a_b`, U_n and W_max < {x}.\n\nTwo ha2006, sens_phase", {"x": "3"})
    first, second = re.findall(r"<p>(.*?)</p>", html)
    assert first == "<em>One</em> of <code>a_b</code>, <i>U</i><sub>n</sub> and <i>W</i><sub>max</sub> &lt; 3."
    assert second == "Two ha2006, sens_phase"


@pytest.mark.slow
@pytest.mark.parametrize(("where", "run", "number"), NUMBERS, ids=[where for where, _, _ in NUMBERS])
def test_a_single_run_gives_what_the_tour_says(where, run, number):
    assert tours_module.shown(number, measured(LAYOUT, run, number)) == tours_module.shown(number, number.value)
