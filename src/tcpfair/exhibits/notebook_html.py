"""An executed notebook as one HTML page that needs no network: its equations are MathML, which browsers draw.

nbconvert's own page loads MathJax, require.js and mermaid from other hosts. The last two serve widgets and diagrams, which the
converted notebooks do not have. The conversion that MathJax would do in the browser is done here once.
"""

from __future__ import annotations

import re
from html import escape

from jinja2 import DictLoader, pass_context
from jinja2.runtime import Context
from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from traitlets.config import Config

from tcpfair.verdicts.typeset import without_roots

_TEMPLATE = "offline.html.j2"
_EMPTIED = ("html_head_js", "jupyter_widgets", "html_head_js_mathjax", "html_head_js_mermaidjs")
_BLOCKS = "".join(f"{{% block {name} %}}{{% endblock %}}" for name in _EMPTIED)
_ICON = re.compile(
    r"^\s*--jp-icon-.*\n", re.MULTILINE
)  # JupyterLab's buttons, which the page does not have; a tenth of its size


def page(executed: NotebookNode, title: str) -> str:
    """The page of an executed notebook."""
    html, _ = _Offline().from_notebook_node(executed, {"metadata": {"name": title}})
    return _ICON.sub("", html)


def mathml(latex: str, display: str = "inline") -> str:
    """LaTeX as MathML; ``display`` is ``inline`` or ``block``. LaTeX that cannot be converted is shown as code."""
    try:
        return convert(without_roots(latex), display=display)
    except Exception:  # the converter's errors have no common base; a wrong formula must not stop a page
        return f"<code>{escape(latex)}</code>"


class _Renderer(IPythonRenderer):
    """Markdown as nbconvert renders it, except for equations."""

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def block_math(self, body: str) -> str:
        return mathml(body, "block")

    def latex_environment(self, name: str, body: str) -> str:
        return mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")


class _Offline(HTMLExporter):
    """nbconvert's page without its scripts."""

    def __init__(self) -> None:
        loader = DictLoader({_TEMPLATE: f"{{% extends 'index.html.j2' %}}{_BLOCKS}"})
        hidden = Config(
            TagRemovePreprocessor={"enabled": True, "remove_input_tags": {"hide-input", "injected-parameters"}}
        )
        super().__init__(extra_loaders=[loader], template_file=_TEMPLATE, config=hidden)

    @pass_context
    def markdown2html(self, context: Context, source: str) -> str:
        """The filter that turns a cell of text into HTML."""
        attachments = context.get("cell", {}).get("attachments", {})
        return MarkdownWithMath(renderer=_Renderer(escape=False, attachments=attachments)).render(source)
