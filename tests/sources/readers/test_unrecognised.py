"""What no reader recognises is refused with the tool that it is probably of, and a table that is read."""

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import read_any
from tcpfair.sources.readers.unrecognised import SMALLEST_TABLE
from tests.sources.readers.edits import written


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "an empty file"),
        (b"PK\x03\x04" + bytes(50), "a spreadsheet or zip archive"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a figure, without its numbers"),
        (b"\x80\x04\x95" + bytes(50), "numbers that numpy, Matlab or a database saved"),
        (b'{"results": [1, 2, 3]}', "JSON of another tool"),
        (b"12:00:01.5 IP 10.0.0.1.5201 > 10.0.0.2.40000: Flags [.]\n", "tcpdump's text"),
        (b"0x 12 zz\n", None),
    ],
)
def test_the_refusal_names_the_likely_tool_in_one_short_line(tmp_path, content, says):
    with pytest.raises(InputError, match="recording: no reader recognises it") as caught:
        read_any(written(tmp_path, content))
    line = str(caught.value).removeprefix(str(tmp_path))
    assert (f"it looks like {says}" in line) if says else ("looks like" not in line)
    assert len(line) < 400


def test_the_table_that_the_refusal_shows_is_read(tmp_path):
    assert read_any(written(tmp_path, SMALLEST_TABLE)).samples["delivered_bytes"].tolist() == [1_250_000, 1_180_000]
