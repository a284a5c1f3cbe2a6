"""Files and folders written whole: what a reader sees, what an error says, and what a crash of the machine leaves."""

import errno
import os

import pandas as pd
import pytest

from tcpfair.files import files
from tcpfair.runs import trace


@pytest.mark.parametrize("write", [files.whole, files.whole_folder])
def test_what_fails_leaves_the_old_one_and_nothing_beside_it(tmp_path, write):
    path = tmp_path / "a.csv"
    path.mkdir() if write is files.whole_folder else path.write_text("old")
    before = path.stat().st_ino
    with pytest.raises(KeyError), write(path) as scratch:
        assert files.is_scratch(scratch.relative_to(tmp_path))
        raise KeyError
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_ino == before


@pytest.mark.parametrize("write", [files.whole, files.whole_folder])
def test_an_error_that_names_no_file_names_the_one_that_was_written(tmp_path, write):
    for named, expected in ((None, str(tmp_path / "a")), ("b", "b")):
        with pytest.raises(OSError) as failed, write(tmp_path / "a"):
            raise OSError(errno.ENOSPC, "full", named)
        assert failed.value.filename == expected
    with pytest.raises(OSError) as failed, write(tmp_path / "a"):
        raise OSError("of a library")
    assert failed.value.filename is None


@pytest.mark.parametrize("replaces", [True, False])
def test_a_folder_that_another_writer_put_there_meanwhile_is_whole_and_stays(tmp_path, monkeypatch, replaces):
    """In the moment before the new folder takes the place of the old one."""
    folder, rename = tmp_path / "a", files.Path.rename

    def after_another(scratch, target):
        if target == folder:
            monkeypatch.setattr(files.Path, "rename", rename)
            with files.whole_folder(folder) as other:
                (other / "b").write_text("other")
        return rename(scratch, target)

    monkeypatch.setattr(files.Path, "rename", after_another)
    with files.whole_folder(folder, replaces=replaces) as scratch:
        (scratch / "b").write_text("own")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (folder / "b").read_text() == "other"


def test_a_folder_is_not_replaced_where_the_first_one_stays(tmp_path):
    for text in ("first", "second"):
        with files.whole_folder(tmp_path / "a", replaces=False) as scratch:
            (scratch / "b").write_text(text)
    assert (tmp_path / "a/b").read_text() == "first"


def test_scratch_is_removed_directly_below_a_folder_or_wherever_it_stands(tmp_path):
    here, deeper = tmp_path / ".a-x.new.csv", tmp_path / "b" / ".c-x.new" / "d.csv"
    for path in (here, deeper, tmp_path / "b" / "new.csv"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    files.discard_scratch(tmp_path)
    assert (here.exists(), deeper.exists()) == (False, True)
    files.discard_scratch(tmp_path, deep=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["b", "new.csv"]


@pytest.fixture
def order(monkeypatch):
    """What is forced to the disk and what comes to stand in its place, in the order in which it happens."""
    seen, fsync, replace = [], os.fsync, os.replace

    def settled(number):
        seen.append(f"settled {os.path.basename(os.readlink(f'/proc/self/fd/{number}'))}")  # noqa: PTH115, PTH119
        fsync(number)

    def replaced(old, new):
        seen.append(f"there {new.name}")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", settled)
    monkeypatch.setattr(os, "replace", replaced)
    return seen


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks at /proc")  # noqa: PTH112
def test_the_tables_of_a_trace_are_on_the_disk_before_its_manifest_says_so(tmp_path, order):
    runs = {"run_id": [0], "paper": ["p"], "experiment": ["e"], "backend": ["b"], "seed": [1], "replicate": [0]}
    made = trace.Trace(
        runs=pd.DataFrame({**runs, "duration_s": [1.0], "sample_s": [1.0]}),
        flows=trace.empty("flows"),
        samples=trace.empty("samples"),
    )
    trace.write(made, tmp_path / "t")
    assert order == [*(f"settled {name}.parquet" for name in trace.TABLES), "there manifest.json"]


@pytest.mark.parametrize(
    ("umask", "of_file", "of_folder"), [(0o022, 0o644, 0o755), (0o002, 0o664, 0o775), (0o077, 0o600, 0o700)]
)
def test_the_umask_decides_who_may_read(tmp_path, umask, of_file, of_folder):
    before = os.umask(umask)
    try:
        files.write_whole(tmp_path / "a.csv", "1")
        with files.whole_folder(tmp_path / "b"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == of_file
    assert (tmp_path / "b").stat().st_mode & 0o777 == of_folder
