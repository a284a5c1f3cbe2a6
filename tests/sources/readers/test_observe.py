"""Each file of a recording to its reader; none is dropped without a word."""

import shutil

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import READERS, observe
from tcpfair.sources.readers.sidecar import Sidecar
from tests.sources.readers.edits import SAMPLES

REPORT = SAMPLES / "iperf3" / "reno_4s.json"


@pytest.fixture
def folder(tmp_path):
    shutil.copy(REPORT, tmp_path / "a.json")
    return tmp_path


def test_readers_have_what_the_contract_asks_for():
    for reader in READERS:
        assert reader.NAME and reader.ACCEPTS and callable(reader.sniff) and callable(reader.read)
    assert len({reader.NAME for reader in READERS}) == len(READERS)


def test_what_is_beside_a_recording_is_named(folder):
    for name in ("README.md", "LICENSE.txt", ".DS_Store"):
        (folder / name).write_text("about it")
    (folder / "trace.yaml").write_text("# nothing")
    found = observe(folder, Sidecar())
    assert [file.name for file in found.files] == ["a.json"]
    assert found.remarks[-1] == "not used: .DS_Store, LICENSE.txt, README.md"


@pytest.mark.parametrize(
    ("prepare", "said", "says"),
    [
        (lambda folder: (folder / "more").mkdir(), {}, "more: a folder in a recording"),
        (lambda folder: (folder / "a.json").unlink(), {}, "an empty folder"),
        (shutil.rmtree, {}, "no such file or folder"),
        (lambda folder: None, {"format": "iperf"}, "format 'iperf' is unknown; did you mean 'iperf3'"),
        (lambda folder: None, {"format": "tcp_info"}, "not of tcp_info, which is the format in .*: TCP_INFO polls"),
    ],
)
def test_what_is_no_recording_is_refused(folder, prepare, said, says):
    prepare(folder)
    with pytest.raises(InputError, match=says):
        observe(folder, Sidecar(**said))


def test_flows_are_named_by_their_files(folder):
    shutil.copy(REPORT, folder / "b.json")
    names = [flow.name for flow in observe(folder, Sidecar()).flows]
    assert len(set(names)) == 2 and names[0].startswith("a.json") and names[1].startswith("b.json")
