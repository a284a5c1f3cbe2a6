"""Every equation of the papers has a function, and a test that calls it."""

import ast
import importlib
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tcpfair.papers.papers import read_yaml
from tcpfair.verdicts.typeset import typeset, without_roots
from tests.cc.test_vectors import NAMED

ROOT = Path(__file__).parents[2]
EQUATIONS = read_yaml(ROOT / "data" / "equations.yaml")
# commands of TeX that leave no letter behind
SILENT = {
    *("mathit", "mathrm", "mathrel", "text", "frac", "left", "right", "sum", "overline", "cdot", "times", "quad"),
    *("leftarrow", "sqrt", "ge", "propto", "langle", "rangle", "begin", "end", "cases"),
}

# numbered equations of each paper, then the unnumbered ones
EXPECTED = {
    "bhatti2009": [*range(1, 11), "_aimd", "_cubic", "_compound"],
    "bhatti2008": [*range(1, 15)],
    "kozu2014": [*range(1, 12), "_alpha"],
    "ogura": [*range(1, 21), "_B"],
}


def test_all_60_equations_are_listed_once():
    expected = [f"{paper}.eq{name}" for paper, names in EXPECTED.items() for name in names]
    assert len(expected) == 60
    assert [e["id"] for e in EQUATIONS] == expected


def test_entries_have_only_known_fields():
    assert {field for e in EQUATIONS for field in e} == {"id", "tex", "function", "test", "correction"}


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e["id"])
def test_function_exists_and_its_test_calls_it(equation):
    module, function = equation["function"].rsplit(".", 1)
    assert callable(getattr(importlib.import_module(module), function))

    path, test = equation["test"].split("::")
    if module.startswith("tcpfair.cc."):
        (case,) = (case for name, case in NAMED if f"{name}: {case}" in test)  # which is run there
        assert (path, test) == (
            "tests/cc/test_vectors.py",
            f"test_vector[{module.removeprefix('tcpfair.cc.')}: {case}]",
        )
        return
    tests = {n.name: n for n in ast.parse((ROOT / path).read_text()).body if isinstance(n, ast.FunctionDef)}
    assert test in tests
    assert function in {n.attr for n in ast.walk(tests[test]) if isinstance(n, ast.Attribute)}


def letters_of_tex(tex):
    """Letters and digits that a reader sees: names of commands are none, those of functions are."""
    plain = re.sub(r"(begin|end)\{cases\}", r"\1", tex)
    words = re.findall(r"\\[a-z]+|[A-Za-z0-9]", plain)
    silent = {f"\\{name}" for name in SILENT}
    greek = {
        name: letter for name, letter in zip(("alpha", "beta", "gamma", "eta", "sigma", "hat"), "αβγησ^", strict=True)
    }
    shown = (greek.get(word[1:], word[1:]) if word.startswith("\\") else word for word in words if word not in silent)
    return Counter("".join(shown).replace("^", ""))


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e["id"])
def test_the_typeset_equation_has_the_letters_of_its_tex(equation):
    text = "".join(ElementTree.fromstring(typeset(equation["tex"])).itertext())
    powers = Counter({"1": equation["tex"].count(r"\sqrt[")})  # a root of degree 3 is the power 1/3
    assert Counter(re.findall(r"[A-Za-z0-9αβγησ]", text)) == letters_of_tex(equation["tex"]) + powers


def test_names_stay_in_one_piece_and_means_have_a_bar():
    text = typeset(r"\mathit{cwnd} \mathrel{+}= \overline{\mathit{RTT}} < k")
    assert '<mi mathvariant="normal">cwnd</mi><mo>+=</mo>' in text
    assert '<mrow class="barred"><mi mathvariant="normal">RTT</mi></mrow>' in text
    assert "<mover" not in text
    ElementTree.fromstring(text)  # with `<` still escaped


@pytest.mark.parametrize(
    ("tex", "power"),
    [
        (r"\sqrt[3]{x}", "{x^{1/3}}"),
        (r"\sqrt[3]{W_{\max} \frac{\beta}{C}}", r"{\left(W_{\max} \beta / C\right)^{1/3}}"),
        (r"\sqrt[3]{\frac{a - b}{2 c}}", r"{\left((a - b) / (2 c)\right)^{1/3}}"),
        (r"\frac{1}{\sqrt[3-\alpha]{\mathit{RTT}}}", r"\frac{1}{{\mathit{RTT}^{1/(3-\alpha)}}}"),
        (r"\sqrt[3]{\sqrt[3]{x} + 1}", r"{\left({x^{1/3}} + 1\right)^{1/3}}"),
        (r"\sqrt{x}", r"\sqrt{x}"),
        (r"\sqrt[3]{x", r"\sqrt[3]{x"),
    ],
)
def test_roots_with_a_degree_are_powers(tex, power):
    """Without a mathematical font, browsers draw the degree of a root over its content."""
    assert without_roots(tex) == power


def test_no_equation_is_drawn_with_a_degree_on_a_root():
    assert [each["id"] for each in EQUATIONS if "<mroot>" in typeset(each["tex"])] == []
