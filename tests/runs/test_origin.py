"""What a figure tells of where it comes from is found in the bytes of every kind of file, and nothing else is taken for it."""

import json

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Drawn, Table
from tcpfair.runs import origin
from tcpfair.runs.origin import Origin, digest_of_keys
from tcpfair.verdicts.columns import no_numbers
from tests.exhibits.test_pages import exhibit

TOLD = Origin(
    "ogura.fig8", "bundled", ("ogura/a", "ogura/b"), 720, "0123456789abcdef", {"simulator": "ff", "cubic": "0a"}
)


def files(told):
    """A figure and a table that tell of ``told``, by suffix."""
    figure, [[ax]] = style.new_figure()
    ax.plot([0, 1])
    drawn = Drawn(figure, no_numbers())
    of_figure = pages.rendered(exhibit("ogura.fig8", "figure"), drawn, "", told.text())
    table = Drawn(Table(pd.DataFrame({"a": [1]})), no_numbers())
    return {**pages.rendered(exhibit("ogura.table1", "table"), table, "", told.text()), **of_figure}


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
def test_every_file_tells_the_same(tmp_path, suffix):
    path = tmp_path / f"slide{suffix}"
    path.write_bytes(files(TOLD)[suffix])
    assert origin.read(path) == TOLD


def test_what_is_told_needs_no_escaping_and_is_one_line():
    assert not set(TOLD.text()) & set("<>&\n'")
    assert "--" not in TOLD.text()  # which would end a comment


def test_a_page_is_shown_as_it_was_without_it():
    table = Drawn(Table(pd.DataFrame({"a": [1]})), no_numbers())
    of = exhibit("ogura.table1", "table")
    with_it = pages.rendered(of, table, "", TOLD.text())[".html"].decode()
    without = pages.rendered(of, table, "")[".html"].decode()
    assert with_it.replace(f"<!-- {TOLD.text()} -->", "") == without


def damaged(change):
    plain = json.loads(TOLD.text().partition(":")[2])
    return ("tcpfair-origin:" + json.dumps({**plain, **change})).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<svg/>", "contains no origin"),
        (b"", "contains no origin"),
        (b"tcpfair-origin:", "is damaged"),
        (b'tcpfair-origin:{"exhibit":"ogura.fig8"', "is damaged"),
        (b"tcpfair-origin:[1]", "is damaged"),
        (b"tcpfair-origin:" + b"[" * 9000, "is damaged"),
        (b"tcpfair-origin:\xff\xff", "is damaged"),
        (damaged({"runs": "many"}), "is damaged"),
        (damaged({"more": 1}), "is damaged"),
    ],
)
def test_what_tells_of_nothing_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "slide.svg"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        origin.read(path)


def test_no_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        origin.read(tmp_path / "none.svg")
    with pytest.raises(InputError, match="Is a directory"):
        origin.read(tmp_path)


def test_runs_are_told_apart_by_key_and_order():
    assert digest_of_keys(["a", "b"]) == digest_of_keys(iter(["a", "b"]))
    assert len({digest_of_keys(keys) for keys in (["a", "b"], ["b", "a"], ["ab"], [])}) == 4
