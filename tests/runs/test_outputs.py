"""Outputs of steps: complete or missing, named for what they are made from, copied to stable names."""

import json
import os

import pytest

from tcpfair.files.layout import Layout
from tcpfair.runs import outputs

PARTS = {"runs": "ab", "code": "cd"}
FILES = ("metrics/ogura/pair.parquet", "figures/ogura/pair.svg")
STABLE = ("results/engine/metrics/ogura/pair.parquet", "figures/engine/ogura/pair.svg")


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, "engine")


def folder_of(layout, parts):
    return outputs.folder_of(layout.work / "metrics" / "ogura" / "pair", parts)


def make(layout, parts=PARTS, files=FILES, at_s=None):
    """An output of these parts, whose files have them as content."""
    folder = folder_of(layout, parts)
    outputs.describe(folder, parts)
    with outputs.making(layout, folder) as scratch:
        for name in files:
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch / name).write_text(json.dumps(parts))
    if at_s is not None:
        os.utime(folder / outputs.MADE, (at_s, at_s))
    return folder


def stable(layout):
    """What the stable names show: the parts, by name."""
    return [json.loads(path.read_text()) if (path := layout.root / name).is_file() else None for name in STABLE]


def test_a_finished_output_is_intact_and_published_whatever_the_order_of_its_parts(layout):
    folder = make(layout)
    assert outputs.is_intact(folder) and stable(layout) == [PARTS, PARTS]
    assert folder_of(layout, dict(reversed(PARTS.items()))) == folder
    assert outputs.changed(folder, PARTS) == []
    for name, file in zip(STABLE, FILES, strict=True):
        assert outputs.inside(layout, folder, layout.root / name) == folder / file


def test_an_output_without_files_is_an_output(layout):
    folder = make(layout, files=())
    assert outputs.is_intact(folder) and stable(layout) == [None, None]


def test_one_that_was_not_finished_leaves_nothing(layout):
    with pytest.raises(KeyboardInterrupt):
        make_interrupted(layout)
    assert not folder_of(layout, PARTS).exists() and stable(layout) == [None, None]
    assert outputs.changed(folder_of(layout, PARTS), PARTS) == ["missing"]


def make_interrupted(layout):
    with outputs.making(layout, folder_of(layout, PARTS)) as scratch:
        (scratch / "half").touch()
        raise KeyboardInterrupt


def spoil(folder, how):
    made, file = folder / outputs.MADE, folder / FILES[0]
    match how:
        case "a file lost":
            file.unlink()
        case "a file altered":
            file.write_text("scribbled")
        case "the list lost":
            made.unlink()
        case "all lost":
            outputs.discard(folder)
        case content:
            made.write_bytes(content)


DAMAGES = ["a file lost", "a file altered", "the list lost", "all lost", b"", b"{", b"[]", b'"text"', b"\xff"]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_output_is_missing_and_can_be_made_again(layout, how):
    folder = make(layout)
    spoil(folder, how)
    assert not outputs.is_intact(folder)
    assert outputs.changed(folder, PARTS) == ["missing"]
    assert make(layout) == folder and outputs.is_intact(folder)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"runs": "xx", "code": "cd"}, ["runs"]),
        ({"runs": "xx", "code": "xx"}, ["runs", "code"]),
        ({"runs": "ab"}, ["code"]),
        ({"runs": "ab", "code": "cd", "print": "ef"}, ["print"]),
    ],
)
def test_the_parts_that_differ_from_the_last_output_are_named(layout, now, expected):
    make(layout, {"runs": "old", "code": "old", "print": "old"}, at_s=1e9)
    make(layout)
    assert sorted(outputs.changed(folder_of(layout, now), now)) == sorted(expected)


@pytest.mark.parametrize("content", [None, "", "{", "[1]", '"text"'])
def test_without_a_readable_list_of_parts_an_older_output_gives_no_reason(layout, content):
    place = make(layout).with_suffix(".json")
    place.unlink() if content is None else place.write_text(content)
    assert outputs.changed(folder_of(layout, {"runs": "xx"}), {"runs": "xx"}) == ["missing"]


def test_outputs_whose_names_begin_alike_are_others(layout):
    other = outputs.folder_of(layout.work / "metrics" / "ogura" / "pair-ack", PARTS)
    outputs.describe(other, PARTS)
    with outputs.making(layout, other) as scratch:
        (scratch / "x").touch()
    assert outputs.changed(folder_of(layout, {"runs": "xx"}), {"runs": "xx"}) == ["missing"]
    make(layout)
    outputs.collect(folder_of(layout, PARTS))
    assert outputs.is_intact(other)


@pytest.mark.parametrize("how", ["lost", "altered", "older"])
def test_stable_names_are_healed(layout, how):
    folder = make(layout)
    for name in STABLE:
        path = layout.root / name
        if how == "lost":
            path.unlink()
        elif how == "altered":
            path.write_text("{}")
        else:
            os.utime(path, (1e9, 1e9))
    outputs.publish(layout, folder)
    assert stable(layout) == [PARTS, PARTS]


def test_publishing_again_writes_nothing(layout):
    folder = make(layout)
    before = [(layout.root / name).stat().st_ino for name in STABLE]
    outputs.publish(layout, folder)
    assert [(layout.root / name).stat().st_ino for name in STABLE] == before


def test_an_edit_that_is_taken_back_shows_the_old_output_and_nothing_of_the_new_one(layout):
    before = make(layout, files=FILES[:1])
    make(layout, {"runs": "xx"})
    assert stable(layout) == [{"runs": "xx"}] * 2
    outputs.publish(layout, before)
    assert stable(layout) == [PARTS, None]  # the figure is one of the newer output alone


def test_all_but_the_last_two_outputs_are_collected_with_their_parts(layout):
    made = [make(layout, {"runs": str(n)}, at_s=1e9 + n) for n in range(4)]
    outputs.collect(made[0])  # the one of today, although the oldest
    assert [folder.exists() for folder in made] == [True, False, False, True]
    assert [folder.with_suffix(".json").exists() for folder in made] == [True, False, False, True]


def test_files_count_by_name_and_content_and_missing_ones_count_too(tmp_path):
    def digest(name, content=None):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        return outputs.files_part(tmp_path, [path])

    assert len({digest("a.csv"), digest("a.csv", "1"), digest("a.csv", "2"), digest("b.csv", "2")}) == 4
