"""The manifest of a trace: written, read, and what is said of a broken one."""

import hashlib

import pytest

from tcpfair.errors import InputError
from tcpfair.files.manifest import MANIFEST, file_hash, read_manifest, write_manifest


def test_what_is_written_is_read_and_does_not_depend_on_the_order_of_its_keys(tmp_path):
    write_manifest({"schema": 1, "files": {"b": "2", "a": "1"}}, tmp_path)
    first = (tmp_path / MANIFEST).read_bytes()
    assert read_manifest(tmp_path) == {"files": {"a": "1", "b": "2"}, "schema": 1}
    write_manifest({"files": {"a": "1", "b": "2"}, "schema": 1}, tmp_path)
    assert (tmp_path / MANIFEST).read_bytes() == first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no manifest; the trace is missing"),
        (b'{"schema": 1,', r"not JSON \(.* at line 1\)"),
        (b"\xff", r"not JSON \(not UTF-8\)"),
        *((text, "not JSON") for text in (b"[" * 100_000, b'{"a": ' * 100_000, b"9" * 5000)),
        (b"[]", "not a manifest"),
        (b'{"digest": "0"}', "differs from its own digest"),
    ],
    ids=lambda given: str(given)[:20],
)
def test_what_is_no_manifest_is_one_line_that_names_the_file(tmp_path, content, message):
    if content is not None:
        (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(InputError, match=rf"manifest\.json: {message}"):
        read_manifest(tmp_path)


def test_the_hash_is_that_of_the_bytes(tmp_path):
    (tmp_path / "table").write_bytes(b"abc")
    assert file_hash(tmp_path / "table") == hashlib.sha256(b"abc").hexdigest()
