"""The journal: what was added is there whatever happens next, and what is torn is cut off."""

import json
import threading
import zlib

import pytest

from tcpfair.contract import journal

ABOUT = {"study": "x", "stamp": {"code": "1"}}


def put(path, *entries, about=ABOUT):
    """Add entries as a new process would; what was there before."""
    with journal.opened(path, about) as (kept, before):
        for entry in entries:
            kept.add(entry)
    return before


def test_what_was_added_is_there_the_next_time(tmp_path):
    path = tmp_path / "parts" / "1.jsonl"
    assert put(path, [1, 0.1, "ü\n"]) == []
    assert put(path, [2, float("inf"), None]) == [[1, 0.1, "ü\n"]]
    assert journal.read(path) == (ABOUT, [[1, 0.1, "ü\n"], [2, float("inf"), None]])


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_torn_end_is_cut_off_and_written_again(tmp_path, cut):
    path = tmp_path / "1.jsonl"
    put(path, [1], [2])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert put(path, [2]) == [[1]]
    assert path.read_bytes() == whole


@pytest.mark.parametrize("place", [0, 5, 30, 60])
def test_from_a_damaged_byte_on_nothing_is_believed(tmp_path, place):
    path = tmp_path / "1.jsonl"
    put(path, [1], [2])
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    head, entries = journal.read(path)
    n_sound = content[:place].count(b"\n")
    assert entries == [[1], [2]][: max(n_sound - 1, 0)]
    assert (head is None) == (n_sound == 0)


def test_one_about_something_else_is_begun_anew(tmp_path):
    path = tmp_path / "1.jsonl"
    put(path, [1])
    other = {"study": "x", "stamp": {"code": "2"}}
    assert put(path, [3], about=other) == []
    assert journal.read(path) == (other, [[3]])


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 5000, b"00000000 []\n", b"%08x [1]\n" % zlib.crc32(b"[1]"), b"x" * 99]
)
def test_what_is_no_journal_is_an_empty_one(tmp_path, content):
    path = tmp_path / "1.jsonl"
    path.write_bytes(content)
    assert journal.read(path) == (None, [])
    assert put(path, [1]) == []
    assert journal.read(path) == (ABOUT, [[1]])


def test_what_is_forgotten_is_gone_and_what_follows_is_kept(tmp_path):
    path = tmp_path / "1.jsonl"
    with journal.opened(path, ABOUT) as (kept, _):
        kept.add([1])
        kept.forget()
        assert journal.read(path) == (ABOUT, [])
        kept.add([2])
    assert journal.read(path) == (ABOUT, [[2]])
    with journal.opened(path, ABOUT) as (kept, _):
        kept.forget()
    assert put(path, [3]) == []


def test_where_there_is_none_nothing_is_in_it(tmp_path):
    assert journal.read(tmp_path / "none.jsonl") == (None, [])


def test_a_second_writer_waits_for_the_first(tmp_path):
    path = tmp_path / "1.jsonl"
    other = threading.Thread(target=put, args=(path, *[["b", i] for i in range(3)]))
    with journal.opened(path, ABOUT) as (kept, _):
        other.start()
        other.join(0.2)  # long enough to write, had it not to wait
        for i in range(3):
            kept.add(["a", i])
    other.join(30)
    assert [name for name, _ in journal.read(path)[1]] == ["a"] * 3 + ["b"] * 3


def test_it_is_text_that_other_programs_can_read(tmp_path):
    path = tmp_path / "1.jsonl"
    put(path, [1, "x"])
    assert [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()] == [ABOUT, [1, "x"]]
