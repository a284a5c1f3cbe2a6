"""What a stamp depends on, and what it does not."""

import pytest

from tcpfair.contract.papers import load_paper
from tcpfair.contract.stamps import code_files, is_fresh, measured_slice, simulated_slice, stamp_path, write_stamp
from tests.small_checkout import edit, make_checkout, make_plan


@pytest.fixture
def root(tmp_path):
    return make_checkout(tmp_path)


def slices(root):
    """(simulated, measured) slice of each experiment."""
    paper = load_paper(root / "config/papers/ogura.yaml")
    return {name: (simulated_slice(paper, name), measured_slice(paper, name)) for name in paper.experiments}


def changed(before, after):
    """Which slices differ: {("pair", "simulate"), ...}."""
    kinds = ("simulate", "measure")
    return {(name, kind) for name in before for i, kind in enumerate(kinds) if before[name][i] != after[name][i]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("source: sec. 3", "source: section 3", set(), id="another place in the paper"),
        pytest.param("assumed: headers, range: [1448", "assumed: why, range: [1400", set(), id="another reason"),
        pytest.param("what: two protocols", "what: two", set(), id="another description"),
        pytest.param(
            "value: 1460",
            "value: 1448",
            {("self", "simulate"), ("pair", "simulate"), ("watched", "simulate")},
            id="a setting of the paper",
        ),
        pytest.param("k1: {value: 2.0", "k1: {value: 3.0", {("pair", "simulate")}, id="a protocol of one experiment"),
        pytest.param("runs: {value: 2,", "runs: {value: 3,", {("pair", "simulate")}, id="number of runs"),
        pytest.param("[10, 20]", "[5, 20]", {("pair", "measure")}, id="window"),
        pytest.param("[throughput, nru]", "[throughput, jfi]", {("pair", "measure")}, id="measures"),
        pytest.param(
            "value: -10",
            "value: -20",
            {("self", "measure"), ("pair", "measure"), ("watched", "measure")},
            id="analysis",
        ),
        pytest.param("title: shares", "title: parts", set(), id="an exhibit"),
    ],
)
def test_an_edit_touches_the_slices_that_use_it(root, old, new, expected):
    before = slices(root)
    edit(root / "config/papers/ogura.yaml", old, new)
    assert changed(before, slices(root)) == expected


@pytest.mark.parametrize(
    ("layer", "kinds"),
    [
        ("cc", {"simulate", "measure", "notebook", "ledger", "report"}),
        ("engine", {"simulate", "measure", "notebook", "ledger", "report"}),
        ("metrics", {"measure", "notebook", "ledger", "report"}),
        ("exhibits", {"notebook", "ledger", "report"}),
        ("verdicts", {"ledger", "report"}),
    ],
)
def test_an_edit_of_code_reaches_the_steps_after_its_layer(root, layer, kinds):
    before = {(step.kind, step.item): step.stamp for step in make_plan(root).steps()}
    edit(root / f"src/tcpfair/{layer}/code.py", "x = 1", "x = 2")
    after = make_plan(root).steps()
    assert {step.kind for step in after if before[step.kind, step.item] != step.stamp} == kinds


def test_an_edit_of_the_simulator_leaves_the_bundled_source_alone(root):
    manifest = root / "data/bundled/ogura/self/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}")
    before = [step.stamp for step in make_plan(root, source="bundled").steps()]
    edit(root / "src/tcpfair/cc/code.py", "x = 1", "x = 2")
    assert [step.stamp for step in make_plan(root, source="bundled").steps()] == before
    manifest.write_text('{"digest": "another"}')
    assert all(a.stamp != b for a, b in zip(make_plan(root, source="bundled").steps(), before, strict=True))


def test_the_weights_of_an_experiment_are_among_its_inputs(root):
    before = make_plan(root).stamp("measure", "ogura", "pair")
    edit(root / "config/papers/ogura.yaml", "measures: [throughput]\n", "measures: [throughput, peak]\n")
    assert make_plan(root).stamp("measure", "ogura", "pair") != before


def test_stamps_do_not_depend_on_where_the_checkout_stands(tmp_path):
    plans = [make_plan(make_checkout(tmp_path / name)) for name in ("here", "there")]
    assert [step.stamp for step in plans[0].steps()] == [step.stamp for step in plans[1].steps()]


def test_an_output_is_fresh_only_with_the_right_stamp(tmp_path):
    output = tmp_path / "table.parquet"
    output.write_text("rows")
    assert not is_fresh(output, "abc")
    write_stamp(output, "abc")
    assert is_fresh(output, "abc")
    assert not is_fresh(output, "abd")
    output.unlink()
    assert stamp_path(output).is_file()
    assert not is_fresh(output, "abc")


def test_code_files_are_sources_of_the_named_layers(root):
    (root / "src/tcpfair/metrics/__pycache__").mkdir()
    (root / "src/tcpfair/metrics/__pycache__/code.pyc").write_text("")
    (root / "src/tcpfair/units.py").write_text("")
    names = [path.relative_to(root / "src/tcpfair").as_posix() for path in code_files(root, "measure")]
    assert names == ["metrics/code.py", "units.py"]
