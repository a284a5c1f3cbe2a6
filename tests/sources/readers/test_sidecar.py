"""trace.yaml: what a person says of a recording, and one line for what cannot be."""

import re

import pytest

from tcpfair.errors import InputError
from tcpfair.papers.recordings import sidecar_path
from tcpfair.sources.readers import read_any
from tcpfair.sources.readers.sidecar import Sidecar, load_sidecar


def test_beside_a_file_and_in_a_folder(tmp_path):
    assert sidecar_path(tmp_path) == tmp_path / "trace.yaml"
    assert sidecar_path(tmp_path / "run.json.gz") == tmp_path / "run.json.gz.trace.yaml"


@pytest.mark.parametrize("text", [None, "", "# all of it\n#   is a comment\n\n"])
def test_saying_nothing_is_fine(tmp_path, text):
    if text is not None:
        (tmp_path / "trace.yaml").write_text(text)
    assert load_sidecar(tmp_path) == Sidecar()


def test_what_is_said_of_a_flow_and_of_one_that_is_not_listed():
    said = Sidecar.model_validate({"flows": [{"flow": "a", "rtt_s": 0.1}]})
    assert said.of("a").rtt_s == 0.1 and said.of("b").rtt_s is None


TABLE, COLUMNS = "x;y;z\n1;a;1000\n2;a;3000\n", "columns: {time: x, flow: y, total_bytes: z}"
ROWS = r"rows: [{kind: interval, line: '@ (?P<start>\S+) (?P<end>\S+) (?P<bytes>\S+)', units: {time: s, bytes: B}}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE, COLUMNS),
        (TABLE, f"format: plain\n{COLUMNS}"),
        ("@ 0 1 1000\n@ 1 2 2000\n", f"pattern: {{origin: 'receiver: x', {ROWS}}}"),
    ],
)
def test_columns_or_a_pattern_in_a_folder_select_the_reader(tmp_path, text, said):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(InputError, match="no reader recognises it; .* `columns:` in trace.yaml"):
        read_any(tmp_path)
    (tmp_path / "trace.yaml").write_text(said)
    assert read_any(tmp_path).samples["delivered_bytes"].sum() >= 2000


def test_what_a_refusal_asks_for_can_be_written_as_it_stands(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("time_s,bytes\n" + "".join(f"{i},{1000 * i}\n" for i in range(1, 9)))
    with pytest.raises(InputError, match="as running totals do") as told:
        read_any(path)
    said, name = re.search(r"write `(.*?)` in (\S+),", str(told.value)).groups()
    (tmp_path / name).write_text(said)
    assert read_any(path).samples["delivered_bytes"].sum() >= 7000
