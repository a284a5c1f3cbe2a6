"""Equations of the tours as MathML."""

from xml.etree import ElementTree

import pytest

from tcpfair.errors import InputError
from tcpfair.web.mathml import mathml


def shape(tex):
    """The tree as nested names and texts."""
    tree = ElementTree.fromstring(mathml(tex))
    assert tree.tag == "math"

    def of(node):
        children = [of(child) for child in node]
        return (node.tag, *children) if children else (node.tag, node.text)

    return of(tree[0]) if len(tree) == 1 else [of(child) for child in tree]


@pytest.mark.parametrize(
    ("tex", "tree"),
    [
        ("x", ("mi", "x")),
        ("12.5", ("mn", "12.5")),
        ("x_i^2", ("msubsup", ("mi", "x"), ("mi", "i"), ("mn", "2"))),
        ("x^2_i", ("msubsup", ("mi", "x"), ("mi", "i"), ("mn", "2"))),
        (r"\frac{a}{b - 1}", ("mfrac", ("mi", "a"), ("mrow", ("mi", "b"), ("mo", "−"), ("mn", "1")))),
        (r"\sqrt[3]{x}", ("mroot", ("mi", "x"), ("mn", "3"))),
        (r"\sqrt{2}", ("msqrt", ("mn", "2"))),
        (r"\mathrm{RTT}_{min}", ("msub", ("mi", "RTT"), ("mrow", ("mi", "m"), ("mi", "i"), ("mi", "n")))),
        (r"\sum_{n}^N", ("munderover", ("mo", "∑"), ("mi", "n"), ("mi", "N"))),
        (r"\text{if a < b}", ("mtext", "if a < b")),
        (r"\text{the } x", ("mrow", ("mtext", "the\u00a0"), ("mi", "x"))),
        (r"\beta' < 1", ("mrow", ("mi", "β"), ("mo", "′"), ("mo", "<"), ("mn", "1"))),
    ],
)
def test_notation(tex, tree):
    assert shape(tex) == tree


def test_lines():
    assert shape(r"a \\ b") == ("mtable", ("mtr", ("mtd", ("mi", "a"))), ("mtr", ("mtd", ("mi", "b"))))


@pytest.mark.parametrize(
    "tex", [r"\frac{a}", "{a", "a}", r"\unknown", "x^", "x^2^3", r"\left", r"\sqrt[3]x", r"\text a"]
)
def test_what_is_no_equation_is_refused_in_one_line(tex):
    with pytest.raises(InputError, match=r"^equation .*: .+$"):
        mathml(tex)
