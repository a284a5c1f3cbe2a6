"""Shards: whole or not there, and what is said about a table comes back."""

import pyarrow as pa
import pytest

from tcpfair.errors import InputError
from tcpfair.runs import shards

TABLE = pa.table({"key": ["a", "b"], "value": [0.1, float("nan")]})
ABOUT = {"refused": "ü", "curves": {"t_s": [1.5, None]}, "metrics": ["b", "a"]}


def test_a_table_and_what_is_said_about_it_come_back(tmp_path):
    path = tmp_path / "a" / "1.parquet"
    shards.write(path, TABLE, ABOUT)
    table, about = shards.read(path)
    assert about == shards.about(path) == ABOUT
    assert table.schema.equals(TABLE.schema) and table.to_pandas().equals(TABLE.to_pandas())
    before = path.read_bytes()
    shards.write(path, TABLE, ABOUT)
    assert path.read_bytes() == before and [each.name for each in path.parent.iterdir()] == ["1.parquet"]


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"\0" * 1000])
def test_a_damaged_shard_is_removed_in_one_line(tmp_path, damage):
    path = tmp_path / "1.parquet"
    path.write_bytes(damage)
    assert shards.about(path) == {}
    with pytest.raises(InputError, match=r"1\.parquet: was damaged and is removed; run the same command again"):
        shards.read(path)
    assert not path.exists()
    assert shards.about(path) == {}


def test_the_name_depends_on_what_it_is_made_from():
    names = {shards.named("ogura/H-1/0001", {"code": digest}) for digest in "ab"}
    assert len(names) == 2 and {shards.label(name) for name in names} == {"ogura/H-1/0001"}


def test_others_are_discarded_whatever_they_are(tmp_path):
    kept, *others = (tmp_path / name for name in ("a/1.parquet", "a/2.parquet", "1.done", ".3.new.parquet"))
    for path in (kept, *others):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    shards.discard_others(tmp_path, {kept})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]
