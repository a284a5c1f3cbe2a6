"""Stamps: what differs between what an output was made from and what it should be made from."""

import pytest

from tcpfair.contract import stamps
from tcpfair.errors import InputError

STAMP = {"runs": "ab", "code": "cd"}


@pytest.fixture
def output(tmp_path):
    path = tmp_path / "table.parquet"
    path.write_text("rows")
    stamps.write_stamp(path, STAMP)
    return path


def test_an_output_with_the_same_stamp_is_fresh(output):
    assert stamps.changed(output, STAMP) == []
    assert stamps.changed(output, dict(reversed(STAMP.items()))) == []


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"runs": "xx", "code": "cd"}, ["runs"]),
        ({"runs": "xx", "code": "xx"}, ["code", "runs"]),
        ({"runs": "ab"}, ["code"]),
        ({"runs": "ab", "code": "cd", "print": "ef"}, ["print"]),
    ],
)
def test_the_parts_that_differ_are_named(output, now, expected):
    assert sorted(stamps.changed(output, now)) == expected


@pytest.mark.parametrize("content", [None, "", "{", "[]", '"text"', "\xff"])
def test_without_a_readable_stamp_nothing_is_fresh(output, content):
    place = stamps.stamp_path(output)
    place.unlink() if content is None else place.write_bytes(content.encode("latin-1"))
    assert stamps.changed(output, STAMP) == ["missing"]


def test_a_stamp_without_its_output_is_nothing(output):
    output.unlink()
    assert stamps.changed(output, STAMP) == ["missing"]
    stamps.discard(output)
    assert not stamps.stamp_path(output).exists()


def test_discarding_removes_both(output):
    stamps.discard(output)
    assert list(output.parent.iterdir()) == []


def test_files_count_by_name_and_content_and_missing_ones_count_too(tmp_path):
    path = tmp_path / "a.csv"
    none = stamps.files_part(tmp_path, [path])
    path.write_text("1")
    one = stamps.files_part(tmp_path, [path])
    path.write_text("2")
    other = stamps.files_part(tmp_path, [path])
    path.rename(tmp_path / "b.csv")
    renamed = stamps.files_part(tmp_path, [tmp_path / "b.csv"])
    assert len({none, one, other, renamed}) == 4


def test_a_step_takes_its_stamp_from_the_plan(tmp_path):
    plan, output = tmp_path / "results/planned.json", tmp_path / "results/a.csv"
    stamps.write_planned(plan, tmp_path, {output: STAMP})
    assert stamps.Planned(plan, tmp_path).stamp(output) == STAMP
    with pytest.raises(InputError, match=r"planned.json: says nothing of results/b.csv; start .* with ./reproduce"):
        stamps.Planned(plan, tmp_path).stamp(tmp_path / "results/b.csv")
    begun = stamps.Planned(plan, tmp_path)
    plan.unlink()
    with pytest.raises(InputError, match="says nothing"):
        stamps.Planned(plan, tmp_path).stamp(output)
    assert begun.stamp(output) == STAMP  # that of the plan with which the step began
