"""Pages of notebooks: everything in one file, equations as MathML."""

import re

import nbformat
import pytest

from tcpfair.exhibits.notebook_html import mathml, page


@pytest.fixture(scope="module")
def made():
    text = "# Title\n\nA rate $r_n$ below\n\n$$J < \\frac{1}{N}$$\n\n| symbol | unit |\n|---|---|\n| $W_{max}$ | packets |\n"
    broken = "and \\begin{cases} x \\end{cases}, `$not math$`, $\\left( x$ & more"
    book = nbformat.v4.new_notebook(metadata={"language_info": {"name": "python"}})
    output = nbformat.v4.new_output("execute_result", {"text/html": "<table><tr><td>1</td></tr></table>"})
    code = nbformat.v4.new_code_cell("J = 1 / 2", outputs=[output], id="sum")
    book.cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_markdown_cell(broken), code]
    return page(book, "a name")


def test_a_page_asks_for_nothing(made):
    assert not re.search(r"<script|<link|<iframe|@import", made)
    assert not re.search(r"(?:src|href)=[\"']?(?![\"']|data:|#)", made)
    assert not re.search(r"url\((?![\"']?data:)", made)


def test_equations_are_mathml_inline_in_tables_and_as_blocks(made):
    assert '<math display="inline"' in made
    assert re.search(r'<math display="block".*?<mfrac><mrow><mn>1</mn></mrow><mrow><mi>N</mi></mrow></mfrac>', made)
    assert re.search(r"<td><math.*?<mi>W</mi>.*?</math></td>", made)
    assert "$$" not in made
    assert "&lt;" in made[made.index("<mfrac>") - 200 : made.index("<mfrac>")]


def test_what_is_no_equation_or_a_wrong_one_stays_as_it_is_written(made):
    assert "<code>$not math$</code>" in made
    assert r"<code>\left( x</code>" in made
    assert mathml("a < b & c }").startswith(("<math", "<code>a &lt; b &amp; c"))


def test_code_output_title_and_headings_are_there(made):
    assert "<title>a name</title>" in made
    assert "<td>1</td>" in made
    assert re.search(r"<h1 id=.Title.>", made)
    assert not re.search(r"--jp-icon-[\w-]+: url", made)
    assert "--jp-code-font-size" in made  # the rest of the style is
