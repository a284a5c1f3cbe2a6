"""Reading of plain and gzipped text: every damage is one InputError that names the file."""

import gzip

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers.text import check_increasing, head, located, read_csv, read_json, read_text
from tests.sources.readers.edits import written

TEXT = "t,n\n" + "".join(f"{i}.5,{i * i}\n" for i in range(500))
COLUMNS = {"t": ("float64", 0, 1000), "n": ("int64", 0, 250_000)}


@pytest.fixture
def packed(tmp_path):
    return written(tmp_path, gzip.compress(TEXT.encode(), mtime=0), "table.csv.gz")


def test_gzip_is_told_by_its_bytes_not_by_its_name(tmp_path, packed):
    renamed = packed.rename(tmp_path / "table.csv")
    assert read_text(renamed) == TEXT
    assert head(renamed) == TEXT


def test_half_a_gzip_is_refused_but_its_head_is_known(packed):
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    with pytest.raises(InputError, match=r"table\.csv\.gz: damaged gzip .*copy the file again"):
        read_text(packed)
    assert head(packed).startswith("t,n\n0.5,0\n")


def test_flipped_byte_in_gzip_is_refused(packed):
    data = bytearray(packed.read_bytes())
    data[-6] ^= 0xFF  # in the checksum
    packed.write_bytes(data)
    with pytest.raises(InputError, match="damaged gzip"):
        read_text(packed)


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_text(tmp_path / "nothing")
    with pytest.raises(InputError, match="Is a directory"):
        read_text(tmp_path)
    assert head(tmp_path / "nothing") == head(tmp_path) == ""


def test_binary_is_refused(tmp_path):
    path = written(tmp_path, b"ab\xff\xfe", "picture.json")
    with pytest.raises(InputError, match=r"picture\.json: not text \(byte 2 is not UTF-8\)"):
        read_text(path)


@pytest.mark.parametrize("text", ['{"a": [1, 2', "", "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "[1]"])
def test_anything_but_one_json_object_is_refused(tmp_path, text):
    with pytest.raises(InputError, match=r"x\.json: "):
        read_json(written(tmp_path, text, "x.json"))


def test_csv_keeps_the_named_columns_with_their_types(packed):
    table = read_csv(packed, COLUMNS)
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
