"""Whatever a file is, it is read or refused with an InputError of one line: no other exception leaves the readers."""

import gzip
import json
import shutil
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpfair.errors import InputError
from tcpfair.runs import trace
from tcpfair.sources.readers import read_any
from tcpfair.sources.readers.text import read_bytes
from tests.sources.readers.edits import SAMPLES, edited, written
from tests.sources.readers.mutations import mutated

REPORT = SAMPLES / "iperf3" / "reno_4s.json"
POLLS = SAMPLES / "tcp_info" / "cubic_8s.csv.gz"
RUN = SAMPLES / "testbed" / "reno_14s"

# one temporary folder serves all examples of a test: each overwrites the file of the one before
fuzz = settings(
    max_examples=settings().max_examples // 5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

json_leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
json_value = json_leaf | st.lists(json_leaf, max_size=3) | st.dictionaries(st.text(max_size=5), json_leaf, max_size=3)


def read_or_refuse(path, folder):
    """Reads ``path``; a trace must obey the schema."""
    with suppress(InputError):
        trace.write(read_any(path), folder / "trace")


def leaves(value, path=()):
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, str(key)))]
    if isinstance(value, list):
        return [leaf for key, item in enumerate(value) for leaf in leaves(item, (*path, str(key)))]
    return [path]


@fuzz
@given(seed=st.integers(0, 2**32), packed=st.booleans())
@pytest.mark.parametrize("sample", [REPORT, POLLS])
def test_mutated_bytes(tmp_path, sample, seed, packed):
    """Bytes are changed in the text, or in the gzip around it."""
    data = gzip.compress(read_bytes(sample), mtime=0) if packed else read_bytes(sample)
    read_or_refuse(written(tmp_path, mutated(data, seed).data), tmp_path)


@fuzz
@given(data=st.data(), new=json_value)
@pytest.mark.parametrize(("sample", "name"), [(REPORT.parent, REPORT.name), (RUN, "meta.json")])
def test_replaced_value_in_a_document(tmp_path, sample, name, data, new):
    shutil.copytree(sample, tmp_path / "run", dirs_exist_ok=True)
    document = json.loads((sample / name).read_text())
    place = data.draw(st.sampled_from(leaves(document)))
    edited(document, ".".join(place[: data.draw(st.integers(1, len(place)))]), new)
    read_or_refuse(written(tmp_path / "run", document, name).parent, tmp_path)
