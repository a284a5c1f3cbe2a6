"""Records of exhibits: what is written is read, what is no record is refused in one line."""

import hashlib
import json
from dataclasses import replace

import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Exhibit
from tcpfair.runs import record
from tcpfair.runs.record import Record


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, "engine")


@pytest.fixture
def built(layout):
    """A record of an exhibit whose two files are there."""
    files = {}
    for name in ("fig08.csv", "fig08.svg", "fig08.png"):
        path = layout.figures("ogura") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        files[f"figures/engine/ogura/{name}"] = hashlib.sha256(name.encode()).hexdigest()
    return Record("ogura.fig8", "built", files, n_runs=20, source="engine")


FAILED = Record("bhatti2009.table5", "failed", error="no trace")
LEFT_OUT = Record("two.runs.jfi", "left out", error="one flow")  # a recording's name may have a dot


def test_what_is_written_is_read(layout, built):
    assert record.read_all(layout) == {}
    for one in (built, FAILED, LEFT_OUT):
        record.write(layout, one)
    assert record.read(layout.results / "exhibits" / "ogura" / "fig08.json") == built
    assert record.read(layout.results / "exhibits" / "two.runs" / "jfi.json") == LEFT_OUT
    assert record.read_all(layout) == {one.exhibit: one for one in (FAILED, built, LEFT_OUT)}
    assert list(record.read_all(layout, "ogura")) == ["ogura.fig8"]
    assert list(record.read_all(layout)["ogura.fig8"].files) == list(built.files)  # in the order of writing


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ('{"exhibit": "ogura.fig8", "status": "bui', "Unterminated string"),
        ("[]", "Input should be a dictionary"),
        (json.dumps({"status": "failed"}), "exhibit: Field required"),
        (json.dumps({"exhibit": "ogura.fig8", "status": "done"}), "status: Input should be 'built', 'failed'"),
        (json.dumps({"exhibit": "ogura.fig8", "status": "failed", "files": ["a.svg"]}), "files: Input should be"),
        (json.dumps({"exhibit": "ogura.fig8", "status": "failed", "colour": 1}), "colour: "),
        (json.dumps({"exhibit": "ogura.fig8", "status": "built"}), "files: a built exhibit has at least one"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(layout, text, reason):
    path = record.place(layout, "exhibits", "ogura.fig8", ".json")
    with pytest.raises(InputError, match="fig08.json: not a record of an exhibit"):
        record.read(path)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    for reading in (lambda: record.read(path), lambda: record.read_all(layout)):
        with pytest.raises(InputError) as refused:
            reading()
        message = str(refused.value)
        assert message.startswith(
            f"{path}: not a record of an exhibit; run ./reproduce, which redraws it, or remove it"
        )
        assert reason in message
        assert "\n" not in message


def test_a_record_that_is_being_written_does_not_count(layout, built):
    record.write(layout, built)
    (layout.results / "exhibits" / "ogura" / ".fig09-x.new.json").write_text('{"exhi')
    assert list(record.read_all(layout)) == ["ogura.fig8"]


def test_an_exhibit_is_whole_while_every_file_and_its_numbers_are_there(layout, built):
    assert record.is_whole(layout.root, built)
    assert record.is_whole(layout.root, LEFT_OUT)  # nothing to miss
    numbered = replace(built, numbers={"results/engine/numbers/ogura/fig08.csv": "0"})
    record.write(layout, numbered)
    assert record.read(record.place(layout, "exhibits", "ogura.fig8", ".json")) == numbered
    assert not record.is_whole(layout.root, numbered)
    path = record.place(layout, "numbers", "ogura.fig8", ".csv")
    path.parent.mkdir(parents=True)
    path.touch()
    assert record.is_whole(layout.root, numbered)
    (layout.root / "figures/engine/ogura/fig08.svg").unlink()
    assert not record.is_whole(layout.root, numbered)


@pytest.mark.parametrize(
    ("kind", "form", "suffixes"),
    [
        ("table", None, (".csv", ".html")),
        ("figure", None, (".csv", ".svg", ".png")),
        ("diagram", None, (".csv", ".svg", ".png")),
        ("supplement", None, (".csv", ".svg", ".png")),
        ("supplement", "table", (".csv", ".html")),
    ],
)
def test_files_are_known_before_anything_is_drawn(layout, kind, form, suffixes):
    exhibit = Exhibit(id="ogura.table3", kind=kind, form=form, title="t")
    assert record.suffixes(exhibit) == suffixes
    names = [f"figures/engine/ogura/tab03{suffix}" for suffix in suffixes]
    assert [path.relative_to(layout.root).as_posix() for path in record.figure_files(layout, exhibit)] == names
