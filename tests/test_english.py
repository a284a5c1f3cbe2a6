"""Documents, notebooks, comments and docstrings are plain technical English, without idioms that read as if translated."""

import ast
import io
import json
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest
import yaml

from tcpfair.papers.papers import load_models
from tcpfair.verdicts.claims.headlines import HEADLINES, Headline
from tests.commands import succeed

ROOT = Path(__file__).resolve().parent.parent
IDIOMS = (
    r"\bhang(s|ing)? (on|together)\b",
    r"\b(stand|stands|stood|standing) (in|beside|apart|there|for|alone|still|under|on)\b",
    r"\b(lie|lies|lying|lay) (in|between|among|within|near|apart|far|beside)\b",
    r"\b(says?|said|saying|tells?|told|speaks?|spoken)\b",
    r"\bknown? by\b|\b(know|knows)\b",
    r"\b(asks?|asked|wants?|wanted)\b",
    r"\b(is|are|be|was|were) (not )?there\b|\bnot there\b|\bthere (is|are)\b",
    r"\bwhat (is|was|has been|were) (made|there|drawn|left|new)\b",
    r"\bmade again\b|\bonce more\b|\bagain and again\b",
    r"\bbeside\b",
    r"\bin print\b|\bthe print\b|\bprint (itself|is)\b|\bwith print\b|\bprinted\b",
    r"\b(is|are|be|was) whole\b|\bwhole or\b|\bdata whole\b",
    r"\bin vain\b|\bcomes? to nothing\b",
    r"\bbyte for byte\b|\bto the byte\b",
    r"\bof (its|their|one's) own\b",
    r"\b(nobody|nothing)\b",
    r"\bhonest\b",
    r"\b(leave|leaves|left) (out|open)\b",
    r"\bgo(es)? (on|with)\b",
    r"\bbecomes? of\b",
    r"\bthe other way round\b|\bas (little|far) as (it|they) go\b",
    r"\bwould turn\b|\bturns? (on|out)\b",
    r"\bto be had\b|\bas much again\b|\bnext but one\b|\bbut for\b|\bas a rule\b|\bcounts? alike\b|\block step\b",
)
READMES = ("CONTRIBUTING.md", "config/README.md", "data/README.md", "data/raw/README.md")
PROSE = ("notebooks/*.ipynb", "data/claims/*.yaml", "data/validation/*.yaml", "src/tcpfair/web/tours.yaml")
ROOMS = sorted(path.parent.name for path in (ROOT / "src" / "tcpfair").glob("*/__init__.py"))
LITERAL = ("printed", "are whole", "be whole", "says")  # output of a program, integers, a key: not idioms in comments
_NAMES = re.compile(
    r"```.*?```|``.*?``|`[^`]*`|[Cc]ontradicted in print|\]\([^)]*\)", re.DOTALL
)  # code, a verdict, addresses


def texts():
    """Documents and the help, by name."""
    names = ("README.md", *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").glob("*.md"))))
    found = {name: (ROOT / name).read_text() for name in (*names, *READMES)}
    return found | {"./reproduce --help": succeed(ROOT / "reproduce", "--help").stdout}


def prose(path):
    """The Markdown of a notebook, or the texts of a YAML file."""
    if path.suffix == ".yaml":
        return "\n\n".join(strings(yaml.safe_load(path.read_text())))
    found = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in found)


def strings(node):
    """The texts of a YAML file, without its keys."""
    if isinstance(node, str):
        return [node]
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return [text for each in below for text in strings(each)]


def remarks(path):
    """Docstrings and comments of a module, or comments of a script."""
    source = path.read_text()
    if path.suffix == ".js":
        return "\n\n".join(re.findall(r"/\*\*.*?\*/|(?<!:)//[^\n]*", source, re.DOTALL))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n\n".join([*found, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


@cache
def conclusions():
    return [each.says for each in load_models(ROOT / "data" / "claims" / HEADLINES, Headline).values()]


def idioms(text):
    """The idioms in a text, outside its code and the conclusions of the papers."""
    plain = _NAMES.sub(" ", text)
    for said in conclusions():
        plain = plain.replace(said, " ")
    return [found[0] for idiom in IDIOMS for found in re.finditer(idiom, plain, re.IGNORECASE)]


@pytest.mark.parametrize(("name", "text"), texts().items())
def test_no_idiom_is_left(name, text):
    assert idioms(text) == []


@pytest.mark.parametrize("path", sorted(each for name in PROSE for each in ROOT.glob(name)), ids=lambda path: path.name)
def test_no_idiom_is_left_in_notebooks_and_texts_that_are_data(path):
    assert idioms(prose(path)) == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_idiom_is_left_in_comments(room):
    folder = ROOT / "src" / "tcpfair" / room
    paths = sorted([*folder.rglob("*.py"), *folder.glob("static/*.js")])
    found = {path: {each for each in idioms(remarks(path)) if each.lower() not in LITERAL} for path in paths}
    where = [
        f"{path.relative_to(ROOT)}:{number}: {each!r}; IDIOMS in tests/test_english.py lists what is refused"
        for path, named in found.items()
        for each in sorted(named)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if each.split()[0] in line
    ]
    is_clean = not any(found.values())
    assert is_clean, "\n".join(where)


@pytest.mark.parametrize(
    ("name", "source", "read"),
    [
        ("module.py", '"""One."""\nx = "two"  # three\n', "One.\n\n# three"),
        ("script.js", '/** One. */\nx = "two"; // three\n', "/** One. */\n\n// three"),
    ],
)
def test_comments_and_docstrings_are_read(tmp_path, name, source, read):
    (tmp_path / name).write_text(source)
    assert remarks(tmp_path / name) == read


def test_idioms_are_found():
    text = "What hangs on it stands beside the print, and nobody knows; `asked` is code"
    assert idioms(text) == ["hangs on", "stands beside", "knows", "beside", "the print", "nobody"]
