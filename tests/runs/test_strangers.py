"""Files of strangers: configuration, traces and manifests cannot run code, leave their folder, or use up memory."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tcpfair.errors import InputError
from tcpfair.files import manifest
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper, load_yaml, plain_yaml
from tcpfair.runs import trace
from tcpfair.runs.study import load
from tcpfair.workflow.cli import main
from tests.runs.test_study import ALGORITHMS, MEASURES
from tests.small_checkout import OGURA, make_checkout, make_plan, make_trace

READERS = {
    "a paper's configuration": load_paper,
    "a study": lambda path: load(path, ALGORITHMS, MEASURES),
    "any other": load_yaml,
}
TAGS = [
    "!!python/object/apply:os.system ['touch {}']",
    "!!python/object/new:subprocess.Popen [['touch', '{}']]",
    "!!python/name:os.system",
    "!!python/module:os",
    "!reader {}",
]


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_tag_makes_no_object(tmp_path, read, tag):
    proof, path = tmp_path / "proof", tmp_path / "x.yaml"
    path.write_text(f"what: {tag.format(proof)}\n")
    with pytest.raises(InputError, match=r"x.yaml: line 1 not valid YAML \(could not determine a constructor"):
        read(path)
    assert not proof.exists()


def test_nor_does_one_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TCPFAIR_ROOT", str(make_checkout(tmp_path)))
    assert main(["check-config", "--config", f"only=!!python/object/apply:os.system ['touch {tmp_path}/proof']"]) == 1
    assert "is not a value" in capsys.readouterr().err
    assert not (tmp_path / "proof").exists()


LEVELS = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
BOMBS = {
    "references of references": ("a0: &a0 [x]\n" + LEVELS, "more than 1000000 values"),
    "a list that holds itself": ("a: &a [*a]", "more than 1000000 values, or a value that contains itself"),
    "a mapping that holds itself": ("a: &a {b: *a}", "or a value that contains itself"),
    "lists in lists": ("a: " + "[" * 100_000, "nested more than 50 levels deep"),
    "mappings in mappings": ("{a: " * 100_000, "nested more than 50 levels deep"),
    "indented": ("".join(" " * i + "a:\n" for i in range(200)), "nested more than 50 levels deep"),
    "no text": ("a: \x00", "control characters are not allowed"),
    "no such day": ("a: 2001-99-99", "month must be in 1..12"),
    "a name given twice": ("a: 1\nb: {c: 1, d: 2, c: 3}", r"line 2 not valid YAML \('c' is given twice\)"),
    "a list called a mapping": ("a: !!map [b]", "expected a mapping node"),
    "a list for a name": ("? [a]\n: b", "found unhashable key"),
    "no mapping": ("[1, 2]", "must be a mapping of names to values"),
    "no text in UTF-8": (b"a: \xe9", "not text in UTF-8"),
    "a folder": (None, "cannot be read"),
}


@pytest.mark.parametrize(("text", "complaint"), BOMBS.values(), ids=BOMBS)
def test_what_swells_or_is_no_yaml_is_one_line(tmp_path, text, complaint):
    path = tmp_path / "x.yaml"
    path.mkdir() if text is None else path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=complaint) as error:
        load_yaml(path)
    assert str(error.value).startswith(str(path))


def test_what_people_write_is_read():
    assert plain_yaml("a: &a [1, 2]\nb: [*a, *a]\nc: {<<: {d: 1}}", "x:") == {
        "a": [1, 2],
        "b": [[1, 2], [1, 2]],
        "c": {"d": 1},
    }


# --- Names ------------------------------------------------------------------------------------------------------

NAMES = ["../../outside", "/tmp/outside", "a/b", "..", "$(touch proof)", "a; touch proof", "a b", "a\nb", "-n", ""]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("old", "kind"), [("  watched:\n", "experiments"), ("{id: ogura.table1,", "exhibits")])
def test_a_name_that_becomes_a_file_is_held_to_letters(tmp_path, old, kind, name):
    path = tmp_path / "ogura.yaml"
    new = f"  {json.dumps(name)}:\n" if kind == "experiments" else f"{{id: {json.dumps(name)},"
    assert old in OGURA
    path.write_text(OGURA.replace(old, new))
    with pytest.raises(InputError, match=f"ogura.yaml: {kind}: .* must be letters, digits and _"):
        load_paper(path)


def test_a_protocol_may_be_called_anything_and_is_nothing_but_a_name(tmp_path):
    path = tmp_path / "ogura.yaml"
    path.write_text(OGURA.replace("Libra", "'../x; $(id) <b>'"))
    labels = {flow.protocol for spec in run_specs(load_paper(path), "pair") for flow in spec.scenario.flows}
    assert labels == {"Reno", "../x; $(id) <b>"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return make_checkout(tmp_path_factory.mktemp("checkout"))


VALUES = ["$(touch proof)", "`touch proof`", "a; touch proof", "a | touch proof", "a' touch proof '", "../../x", "<b>"]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "name", ["source", "papers", "only", "source=raw only", "source=raw trace", "shards", "smoke_duration_s", "missing"]
)
def test_a_value_of_the_command_line_is_a_value(checkout, monkeypatch, capsys, name, value):
    monkeypatch.setenv("TCPFAIR_ROOT", str(checkout))
    monkeypatch.chdir(checkout)
    pairs = f"{name}={value}".split(" ", name.count(" "))
    assert main(["build", "--config", *pairs]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1
    assert not (checkout / "proof").exists() and not (checkout / "results" / "raw").exists()


# --- Traces -----------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    make_checkout(tmp_path)
    return make_trace(make_plan(tmp_path), "watched")


def rewritten(folder, **changes):
    """The trace with another manifest, which vouches for itself."""
    said = manifest.read_manifest(folder)
    manifest.write_manifest(said | changes, folder)


@pytest.mark.parametrize("place", ["../../..", "/tmp", "a/../../../.."])
def test_a_manifest_does_not_lead_out_of_the_folder(folder, place):
    rewritten(folder, shared={"samples.parquet": place})
    with pytest.raises(InputError, match=r"manifest.json: shared: .* leads out of the folder of traces"):
        trace.read(folder)


@pytest.mark.parametrize(
    ("key", "value"), [("shared", []), ("shared", {"a": 1}), ("files", "x"), ("files", {"a": None})]
)
def test_a_manifest_of_another_kind_is_one_line(folder, key, value):
    rewritten(folder, **{key: value})
    with pytest.raises(InputError, match=f"manifest.json: {key}: must be names by file"):
        trace.read(folder)


def test_a_table_that_swells_when_it_is_read_is_refused(tmp_path):
    path, n = tmp_path / "samples.parquet", 1_000_000
    one = pa.table({"run_id": pa.array(np.zeros(n, np.int32)), "t_s": pa.array(np.zeros(n))})
    with pq.ParquetWriter(path, one.schema, compression="zstd") as writer:
        for _ in range(3):
            writer.write_table(one)
    assert path.stat().st_size < 100_000  # of 36 MB
    with pytest.MonkeyPatch.context() as patch, pytest.raises(InputError, match="3,000,000 rows of 2 columns are more"):
        patch.setattr(trace, "_MOST_CELLS", 5_000_000)
        trace.read_table(path, "samples")


@pytest.mark.parametrize("cut", [0, 4, 100, -8])
def test_a_table_that_is_torn_is_one_line(folder, cut):
    path = folder / "samples.parquet"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        trace.read_table(path, "samples")
