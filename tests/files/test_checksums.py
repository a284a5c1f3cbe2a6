"""Files that are not what the list of checksums says."""

import hashlib

import pytest

from tcpfair.files.checksums import differing, listed, shipped_files, update
from tcpfair.files.layout import Layout, repository_root


@pytest.fixture
def data(tmp_path):
    """Three listed files, and files of the user's and of a killed run that are none of the repository's."""
    for name in ("published/a.csv", "published_too.csv", "raw/examples/b.json"):
        put(tmp_path, name)
    sums = {name: hashlib.sha256(name.encode()).hexdigest() for name in shipped_files_of(tmp_path)}
    (tmp_path / "SHA256SUMS").write_text("".join(f"{sha}  {name}\n" for name, sha in sums.items()))
    for name in ("raw/mine.json", ".hidden/x", "bundled/.x-1.new/y"):
        put(tmp_path, name)
    return tmp_path


def put(data, name):
    (data / name).parent.mkdir(parents=True, exist_ok=True)
    (data / name).write_text(name)


def shipped_files_of(data):
    return list(shipped_files(data))


def test_every_file_that_the_repository_ships_has_its_checksum():
    assert differing(Layout(repository_root()).data) == []


def test_what_is_listed_is_shipped_and_nothing_differs(data):
    assert list(listed(data)) == ["published/a.csv", "published_too.csv", "raw/examples/b.json"]
    assert shipped_files_of(data) == list(listed(data))
    assert differing(data) == []


def test_changed_missing_and_unlisted_files_are_named(data):
    (data / "published/a.csv").write_text("another")
    (data / "published_too.csv").unlink()
    put(data, "published/stray.csv")
    assert differing(data) == [
        "data/published_too.csv: missing; data/SHA256SUMS lists it",
        "data/published/stray.csv: not listed in data/SHA256SUMS",
        "data/published/a.csv: differs from its checksum in data/SHA256SUMS",
    ]


def test_only_what_is_asked_for_is_looked_at(data):
    (data / "published/a.csv").unlink()
    (data / "published_too.csv").unlink()
    assert differing(data, ["published"]) == ["data/published/a.csv: missing; data/SHA256SUMS lists it"]
    assert differing(data, ["published_too.csv"]) == ["data/published_too.csv: missing; data/SHA256SUMS lists it"]
    assert differing(data, ["raw"]) == []


def test_without_a_list_nothing_is_vouched_for(data):
    (data / "SHA256SUMS").unlink()
    assert listed(data) == {}
    assert len(differing(data)) == 3


def test_only_what_is_updated_is_listed_anew_and_named(data):
    for name in ("published/a.csv", "published_too.csv"):
        (data / name).write_text("another")
    put(data, "published/new.csv")
    assert update(data, [data / "published"]) == ["published/a.csv", "published/new.csv"]
    assert differing(data) == ["data/published_too.csv: differs from its checksum in data/SHA256SUMS"]
    assert update(data, [data / "raw/mine.json"]) == update(data, []) == []
