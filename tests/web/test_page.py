"""The page is one file that needs nothing else, and the same for the same parts."""

from __future__ import annotations

import base64
import gzip
import re
import subprocess

import pytest

from tcpfair.errors import InputError
from tcpfair.web import page
from tests.web.node import NODE, STATIC, needs_node

PAGE = """<!doctype html>
<link rel="stylesheet" href="look.css">
<p>text</p>
<script src="one.js"></script>
<script src="two.js" defer></script>
"""


@pytest.fixture
def static(tmp_path):
    folder = tmp_path / "static"
    folder.mkdir()
    files = {
        "lab.html": PAGE,
        "look.css": "p { color: red }\n",
        "one.js": 'const text = "</script>";\n',
        "two.js": "two();\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_everything_is_in_it_in_order(static):
    made = page.assemble({"tcpfair-wasm": b"\0asm"}, static)
    order = ["color: red", "tcpfair-wasm", 'const text = "<\\/script>"', "two();"]
    assert sorted(order, key=made.index) == order
    assert not re.search(r"<script[^>]*\bsrc=|<link", made)
    assert made.count("</script>") == made.count("<script")
    # only what starts the others runs when it is read
    assert re.findall(r"<script[^>]*>", made)[-1] == "<script>" and made.count('type="text/plain"') == 3


def test_blocks_come_out_as_they_went_in_and_always_in_the_same_bytes(static):
    block = b"\0asm\xff"
    made = page.assemble({"tcpfair-wasm": block}, static)
    packed = re.search(r'id="tcpfair-wasm">([^<]*)<', made)[1]
    assert gzip.decompress(base64.b64decode(packed)) == block
    assert page.assemble({"tcpfair-wasm": block}, static) == made


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("one.js", "none.js", "none.js: no such file, and lab.html refers to it"),
        ("<p>text</p>", '<img src="https://example.org/x.png">', "refers to something outside the page"),
        ("<p>text</p>", '<script src="https://example.org/x.js"></script>', "refers to something outside the page"),
        ("<script", "<scrap", "has no <script>"),
    ],
)
def test_a_page_that_is_not_whole_is_refused_in_one_line(static, old, new, said):
    (static / "lab.html").write_text(PAGE.replace(old, new))
    with pytest.raises(InputError) as error:
        page.assemble({"tcpfair-wasm": b""}, static)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_the_page_begins_after_its_last_script():
    """A browser may start what is ready between two scripts; what begins the page must find all others."""
    names = re.findall(r'data-name="([^"]+)"', page.assemble({}))
    [begins] = [name for name in names if "begin().catch((error) => {" in (page.STATIC / name).read_text()]
    assert begins == names[-1] == "lab.js"


@needs_node
@pytest.mark.parametrize("script", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_scripts_parse(script):
    subprocess.run([NODE, "--check", script], check=True)
