"""The guided tours: nothing in them that is not there, and every number as it is."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy

import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import load_yaml
from tcpfair.web import tours as tours_module
from tcpfair.web.tours import FILE, Run, label, spec_of, tours
from tests.web.node import ROOT, STATIC, needs_node
from tests.web.tour_numbers import evaluated

LAYOUT = Layout(ROOT)
LIVE = re.compile(r'<data class="live" value="(\w+)">')


@pytest.fixture(scope="module")
def steps():
    """By name, such as ``cubic/2``."""
    return {
        f"{tour['id']}/{k}": step for tour in tours(LAYOUT)["tours"] for k, step in enumerate(tour["steps"], start=1)
    }


def test_the_tours_that_were_promised_are_there(steps):
    lengths = Counter(name.partition("/")[0] for name in steps)
    assert {"models", "cubic", "rtt", "nru", "phase", "background", "packets"} == lengths.keys()
    assert all(3 <= length <= 6 for length in lengths.values())


def test_every_step_shows_something_and_asks_a_question_that_it_answers(steps):
    for name, step in steps.items():
        of_packets = step["panel"] == "packets"
        assert "?" in step["question"] and step["answer"], name
        assert (step["stretch"] is not None) == of_packets, name
        assert step["point"]["plot"] in ([None] if of_packets else step["plots"]), name
        assert all(number["shipped"] is not None for number in step["numbers"].values()), name


def test_texts_are_html_without_open_ends(steps):
    for step in steps.values():
        for text in (step["text"], step["look"], step["question"], step["answer"]):
            assert re.fullmatch(r"(<p>[^{}*`\0]+</p>)+", text), text
            assert not re.search(r"<(?!/?(p|em|i|sub|code)>|data |/data>)", text), text


def test_plots_and_settings_are_those_of_the_page(steps):
    keys = set(re.findall(r'key: "(\w+)"', (STATIC / "panels.js").read_text()))
    controls = (STATIC / "controls.js").read_text()
    names = re.findall(r"^        (\w+): \(key", controls, re.MULTILINE)
    names += [f"flow {n} {name}" for n in (1, 2) for name in re.findall(r"^      (\w+): \(key", controls, re.MULTILINE)]
    for step in steps.values():
        assert set(step["plots"]) <= keys
        axes = [name.removeprefix("axis ") for name in step["controls"] if name not in names]
        assert set(axes) <= step["run"]["point"].keys(), step["controls"]


def test_a_number_is_of_the_page_or_marked_as_a_mean_over_runs(steps):
    assert LIVE.findall(steps["models/1"]["look"]) == ["bdp", "rtt", "t1", "law"]
    assert steps["models/1"]["numbers"]["t1"]["shipped"] == 6.7
    title = "U_N- of bhatti2008.table6, value over its runs, with the settings as shipped"
    assert f'title="{title}">−7.48<' in steps["nru/3"]["look"]


def test_labels_of_equations():
    assert label("kozu2014.eq6") == "kozu2014, equation 6"
    assert label("ogura.eq_B") == "ogura, not numbered"


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
        (of_number(of=None, exhibit="ogura.fig4", key="", metric="t9"), "data/expected has no t9 of ogura.fig4"),
        (of_number(exhibit="ogura.fig4"), "a number is either a cell"),
        (of_step(look="after {t1} and {t3}"), "numbers: bdp, rtt, t3: not given or not in the text"),
        (of_step(run={"example": "none"}), "example 'none' is unknown"),
        (of_step(run={"point": {}}), "paper and experiment, or an example, must be given"),
        (of_step(controls=[]), "tours.1.steps.0.controls"),
        (of_step(holds=[]), "tours.1.steps.0.holds"),
        (of_step(draw={"plot": "cwnd", "ask": "x", "label": "x", "slip": "seen"}), "draw.hint: Field required"),
        (of_step(predict={"slip": "2", "hint": "x"}), "a prediction is either a number or one of the choices"),
        (of_step(predict={"choices": {"a": "1"}, "slip": "b", "hint": "x"}), "slip 'b' is not one of the choices: a"),
        (lambda v: v["tours"][0].pop("asks"), "tours.0.asks: Field required"),
        (of_step(plots=["everything"]), "plots.0: Input should be"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(tmp_path, change, complaint):
    values = load_yaml(FILE)
    change(values)
    (tmp_path / "tours.yaml").write_text(json.dumps(values))  # which is YAML, and written at once
    with pytest.raises(InputError) as refused:
        tours(LAYOUT, tmp_path / "tours.yaml")
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


# the steps whose runs take a second or two together; all others in the slow test
QUICK = ("packets/1", "packets/2", "packets/3", "packets/4", "models/1", "models/3", "cubic/1")


def faults(step, found):
    """What the runs of a step do not bear out: numbers as a reader sees them, conditions, and what is predicted or drawn."""
    for number, value in found["numbers"].items():
        about = step["numbers"][number]
        shown = [f"{about['times'] * x:.{about['decimals']}f}" for x in (value, about["shipped"])]
        if shown[0] != shown[1]:
            yield number
    yield from (each["condition"] for each in found["holds"] if not each["holds"])
    if found["drawn"] and any(judged != ["right", "slip", "other"] for judged in found["drawn"]):
        yield "curve"
    assert bool(found["drawn"]) == (step["draw"] is not None)
    for each in found["predicted"]:
        if [each[what] for what in ("ways", "exact", "rounded", "slip")] != [1, "right", "right", "slip"]:
            yield f"prediction at {each['at']!r}"


@needs_node
@pytest.mark.parametrize("names", [QUICK, pytest.param((), marks=pytest.mark.slow)], ids=["quick", "all"])
def test_what_runs_give_is_what_the_tours_say(steps, names):
    """Every number is the shipped one, and every condition holds wherever a reader can go."""
    found = evaluated(*names)
    assert found.keys() == set(names or steps)
    assert {name: wrong for name in found if (wrong := list(faults(steps[name], found[name])))} == {}


# what is altered: the step, its new fields, and what is then found wrong with it
ALTERED = [
    ("models/1", {"numbers": {"t1": {"shipped": 6.8}}}, ["t1"]),
    ("models/1", {"holds": ["abs(t1_80 / t1_40 - 2) < 0.1"]}, ["abs(t1_80 / t1_40 - 2) < 0.1"]),
    ("models/1", {"predict": {"slip": "4.1"}}, ["prediction at ''"]),
    ("packets/2", {"predict": {"choices": {"about a tenth of it": "lost < 2 * room"}}}, ["prediction at ''"]),
    ("cubic/1", {"draw": {"slip": "seen"}}, ["curve"]),
]


def merged(old, new):
    """``old`` with the fields of ``new``, at every depth."""
    if not isinstance(new, dict):
        return new
    return old | {name: merged(old.get(name), value) for name, value in new.items()}


@needs_node
def test_whatever_is_altered_in_a_step_is_found(steps):
    altered = [merged(steps[name], change) for name, change, _ in ALTERED]
    found = evaluated(everywhere=False, data={"tours": [{"id": "altered", "steps": altered}]})
    wrong = [list(faults(step, of)) for step, of in zip(altered, found.values(), strict=True)]
    assert wrong == [expected for *_, expected in ALTERED]


def test_what_was_taught_and_wrong_stays_corrected(steps):
    """Sentences that rows of the page's own tables once contradicted; what they say now is among the conditions."""
    first = steps["cubic/1"]
    answer = re.sub(r"<[^>]+>", "", first["answer"])
    assert "K is the cube root of what is missing to Wmax, over C, in each of the … rows" in answer
    assert "fast convergence sets Wmax to 0.9 of the window" in answer and "K = ∛(Wmax/2)" in answer
    assert "It counts whole packets" in answer.replace("it counts", "It counts") and "∛(1/C)" in answer
    assert any("isFast(row) ? 3.6 : 2" in condition for condition in first["holds"])
    assert any("row.backS > row.kS - near_k + sampleS" in condition for condition in first["holds"])
    assert steps["models/1"]["controls"] == ["axis rtt_ms"]
    assert "RTT of the experiment" in steps["models/1"]["question"]


# what sentences of a step state about its means over many runs, next to the shipped numbers of its own runs
OVER_RUNS = {
    "models/5": "low < 1 - 0.1 and high > 1 + 0.1 and max(abs(mean - 1), abs(between - 1)) < 0.07 and reno_mean < mean",
    "cubic/2": "mean_short > mean_long and short > long",
    "cubic/4": "1 < lead < was and now > before",
    "cubic/5": "jfi > jfi_k and mean_short > mean_long",
    "rtt/4": "common_law < mean < random and 0.02 < sd < 0.1",
    "nru/1": "j125 < j25 and j25 > 0.95",
    "nru/3": "1.6 < 10 ** (mean_plus / 10) < 2 and 0.15 < 10 ** (mean_minus / 10) < 0.2",
    # the difference of two flows that share a full link deviates by twice as much as one of them
    "nru/4": "1 < (ccid2_mean - newreno_mean) / (2 * sd) < 2 and abs(still - 94 / 2) < still_sd / 2 and still_sd > 2 * sd"
    " and plus > 0 > minus and j_mean > 0.9",
    "phase/1": "low < 0.1 and high > 1 and share > 90",
    "phase/3": "0.3 < low < high < 0.6 and share < 5",
    "phase/4": "low < 1 < high and abs(mean - 1) < 0.02",
    "background/1": "p10 < p50 < p90 < capacity * 1.1 and 3 < sd < 10",
    "background/2": "five > 2 * alone",
    "background/3": "0.1 < sack_five < sack and cubic_five < cubic and stcp < stcp_five < 0.05",
    "background/4": "max(abs(alone - stcp), abs(alone - sack)) < half",
}


def over_runs():
    """By step with means over runs: their names, and the values of all numbers."""
    for tour in tours_module.load().tours:
        for k, step in enumerate(tour.steps, 1):
            values = {
                name: of.times * (of.shipped if of.of else tours_module.cell(LAYOUT, of))
                for name, of in step.numbers.items()
            }
            if cells := [name for name, of in step.numbers.items() if not of.of]:
                yield f"{tour.id}/{k}", cells, values


def test_means_over_runs_bear_their_sentences_out():
    known = {name: values for name, _, values in over_runs()}
    assert [name for name, values in known.items() if not eval(OVER_RUNS[name], {}, values)] == []
    assert known.keys() == OVER_RUNS.keys()
    # all rows of the table that the answer names
    table = tours_module._table(LAYOUT.data / "expected" / "bhatti2008" / "tab05.csv")
    jfi = {key: float(row["value"]) for (_, key, metric), row in table.items() if metric == "jfi_mean"}
    of_cubic = {key: value for key, value in jfi.items() if "protocol=CUBIC" in key}
    assert len(of_cubic) == 8 and min(of_cubic, key=of_cubic.get) == "protocol=CUBIC;rtt_ms=125"


def test_an_altered_mean_is_found():
    """Each mean, altered in four ways, one of which contradicts the sentence of its step."""
    for name, cells, values in over_runs():
        for cell in cells:
            x = values[cell]
            altered = [values | {cell: other} for other in (10 * x, x / 10, -x, x + 50)]
            assert not all(eval(OVER_RUNS[name], {}, each) for each in altered), f"{name}: {cell}"
