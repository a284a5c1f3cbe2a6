"""What was worked out from files is kept while they are as they were, and a damaged cache only costs time."""

import json
import os
import random

import pytest

from tcpfair.files.remembered import Remembered


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "src" / "a.py"
    path.parent.mkdir()
    path.write_text("x = 1\n")
    return path


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """Files count as settled at once, but in the test of those that do not."""
    monkeypatch.setattr("tcpfair.files.remembered._SETTLED_S", -1e9)


def opened(source, made_by="v1"):
    return Remembered(source.parents[1] / "cache.json", made_by)


def value(cache, source):
    """The value, and whether it was computed now."""
    asked = []

    def compute():
        asked.append(1)
        return source.read_text()

    return cache.of_file("text", source, compute), bool(asked)


def kept(source):
    cache = opened(source)
    value(cache, source)
    cache.save()
    return cache.path


def test_a_value_is_worked_out_once(source):
    kept(source)
    assert value(opened(source), source) == ("x = 1\n", False)


def test_an_edit_of_the_same_size_with_the_same_date_is_noticed(source):
    kept(source)
    before = source.stat()
    source.write_text("x = 2\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_mtime_ns == before.st_mtime_ns
    assert value(opened(source), source) == ("x = 2\n", True)


def test_another_version_of_the_code_is_noticed(source):
    kept(source)
    assert value(opened(source, made_by="v2"), source)[1]


def test_a_value_is_kept_with_what_it_was_computed_from(source):
    cache = opened(source)
    assert [cache.get("a", made_from, lambda made_from=made_from: made_from) for made_from in "xxy"] == ["x", "x", "y"]
    cache.save()
    assert opened(source).get("a", "y", lambda: "computed") == "y"


def test_a_file_that_may_change_again_within_a_tick_of_the_clock_is_not_kept(source, monkeypatch):
    monkeypatch.setattr("tcpfair.files.remembered._SETTLED_S", 60.0)
    cache = opened(source)
    value(cache, source)
    cache.save()
    assert not cache.path.exists()


def test_twenty_damages_heal(source):
    place = kept(source)
    whole, chance = place.read_bytes(), random.Random(1)
    for trial in range(20):
        at = chance.randrange(len(whole))
        damaged = [whole[:at], whole[:at] + bytes([whole[at] ^ 1 << trial % 8]) + whole[at + 1 :], b"", b"\0" * at][
            trial % 4
        ]
        place.write_bytes(damaged)
        cache = opened(source)
        assert value(cache, source) == ("x = 1\n", True), (trial, at)
        cache.save()
        assert value(opened(source), source) == ("x = 1\n", False), (trial, at)


@pytest.mark.parametrize("entries", [[], {"text": 1}, {"text": [1]}, None])
def test_a_cache_of_another_form_is_none(source, entries):
    import hashlib

    body = json.dumps({"made_by": "v1", "entries": entries})
    opened(source).path.write_text(f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}")
    assert value(opened(source), source) == ("x = 1\n", True)


def test_a_cache_that_cannot_be_written_is_no_error(source):
    cache = opened(source)
    cache.path.mkdir()
    value(cache, source)
    cache.save()
    assert cache.path.is_dir()
