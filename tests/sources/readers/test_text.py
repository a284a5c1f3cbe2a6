"""Reading of plain and gzipped text: every damage is one InputError that names the file."""

import gzip

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers.text import check_increasing, head, located, read_csv, read_json, read_text
from tests.sources.readers.edits import written

TEXT = "t,n\n" + "".join(f"{i}.5,{i * i}\n" for i in range(500))
COLUMNS = {"t": ("float64", 0, 1000), "n": ("int64", 0, 250_000)}


PACKED = gzip.compress(TEXT.encode(), mtime=0)
HALF = PACKED[: len(PACKED) // 2]


def test_gzip_is_told_by_its_bytes_not_by_its_name(tmp_path):
    path = written(tmp_path, PACKED, "table.csv")
    assert read_text(path) == head(path) == TEXT


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (HALF, "damaged gzip .*copy the file again"),
        (PACKED[:-6] + b"\0" + PACKED[-5:], "damaged gzip"),  # in the checksum
        (b"ab\xff\xfe", r"not text \(byte 2 is not UTF-8\)"),
    ],
)
def test_what_is_no_whole_text_is_refused(tmp_path, content, says):
    with pytest.raises(InputError, match=rf"table\.csv\.gz: {says}"):
        read_text(written(tmp_path, content, "table.csv.gz"))


def test_the_head_of_half_a_gzip_is_known(tmp_path):
    assert head(written(tmp_path, HALF)).startswith("t,n\n0.5,0\n")


def test_missing_file_and_folder_are_refused(tmp_path):
    for path, says in ((tmp_path / "nothing", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=says):
            read_text(path)
        assert head(path) == ""


@pytest.mark.parametrize("text", ['{"a": [1, 2', "", "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "[1]"])
def test_anything_but_one_json_object_is_refused(tmp_path, text):
    with pytest.raises(InputError, match=r"x\.json: "):
        read_json(written(tmp_path, text, "x.json"))


def test_csv_keeps_the_named_columns_with_their_types(tmp_path):
    table = read_csv(written(tmp_path, PACKED), COLUMNS)
    assert table["n"].tolist()[:4] == [0, 1, 4, 9]
    assert table["t"].iloc[-1] == 499.5


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("t,m\n1,2\n", "n: missing; give a CSV with numbers in the columns t, n"),
        ("t,n\n", "no rows"),
        ("t,n\n1,x\n", "give a CSV"),
        ("t,n\n1,\n", "give a CSV"),
        ("t,n\n1,2\n1,2,3\n", "give a CSV"),
        ("t,n\n1,2\ninf,2\n", "t: inf in line 3 is not between 0 and 1000"),
        ("t,n\n1,2\n2,-3\n", "n: -3 in line 3 is not between 0 and 250000"),
    ],
)
def test_csv_of_other_shape_is_refused(tmp_path, text, names):
    with pytest.raises(InputError, match=rf"x\.csv: .*{names}"):
        read_csv(written(tmp_path, text, "x.csv"), COLUMNS)


def test_clock_must_increase_and_counter_must_not_decrease(tmp_path):
    for text, column in (("t,n\n1,2\n1,3\n", "t"), ("t,n\n1,2\n2,1\n", "n")):
        table = read_csv(written(tmp_path, text), COLUMNS)
        with pytest.raises(InputError, match=f"^{column}: "):
            check_increasing(table, "t", ("n",))


@pytest.mark.parametrize(
    ("inner", "says"),
    [
        ("wrong", "run: line 3: wrong"),
        ("line 3: wrong", "run: line 3: wrong"),
        ("line 33: wrong", "run: line 3: line 33: wrong"),
    ],
)
def test_each_place_is_named_once(inner, says):
    with pytest.raises(InputError) as caught, located("run"), located("line 3"):
        raise InputError(inner)
    assert str(caught.value) == says
    with pytest.raises(InputError, match="^run/a.json: damaged$"), located("run"):
        raise InputError("run/a.json: damaged")
