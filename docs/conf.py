"""Sphinx settings of the site that ``./reproduce site`` builds (`tcpfair.workflow.site` puts its sources together)."""

from __future__ import annotations

from tcpfair.exhibits.notebook_html import mathml

project = "tcpfair"
author = "the tcpfair authors"
extensions = ["myst_nb", "sphinx.ext.autodoc"]
autodoc_typehints = "none"  # signatures show them
suppress_warnings = ["myst.header"]  # levels of headings in notebooks

nb_execution_mode = "off"  # the notebooks were executed by ./reproduce
nb_ipywidgets_js = {}
myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3
math_number_all = True
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "tcpfair"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # a page that is opened from disk may not read other pages
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "tcpfair"},
    "navbar_align": "left",
    "navbar_end": ["pages.html", "theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_toc_level": 2,
    "footer_start": [],
    "footer_center": [],
    "footer_end": [],
}


def _inline(writer, node) -> None:
    writer.body.append(mathml(node.astext()))
    raise _skipped()


def _block(writer, node) -> None:
    attributes = {"class": "math"} | ({"ids": node["ids"]} if node["ids"] else {})
    writer.body.append(writer.starttag(node, "div", **attributes))
    writer.body.append(mathml(node.astext(), "block"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({node["number"]})</span>')
    writer.body.append("</div>\n")
    raise _skipped()


def _skipped() -> Exception:
    from docutils.nodes import SkipNode

    return SkipNode()


def _with_fields(app, what, name, thing, options, lines) -> None:
    """The fields of a pydantic model below its docstring, with what they mean."""
    for field, about in getattr(thing, "model_fields", {}).items():
        given = ", required" if about.is_required() else f", default {about.get_default(call_default_factory=True)!r}"
        lines += ["", f"* ``{field}``{given}{': ' if about.description else ''}{about.description or ''}"]


def setup(app) -> dict:
    """Equations as MathML: pages need no script and no font from elsewhere. Models with their fields."""
    app.connect("autodoc-process-docstring", _with_fields)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
