"""Digests of code: what acts counts, how it is written does not; and which code acts in which run."""

import shutil
from functools import cache

import pytest

from tcpfair import cc
from tcpfair.files.remembered import Remembered
from tcpfair.runs import code

SOURCE = '''"""A module."""

from tcpfair.engine.rng import uniform

BETA = 0.7


def grow(f, p: float) -> float:
    """Grow."""
    # by one
    return f.cwnd + 1
'''


def digest_of(folder, text):
    path = folder / "a.py"
    path.write_text(text)
    return code.digest_of([path])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another text."""'),
        ('"""A module."""\n', ""),
        ('    """Grow."""\n', ""),
        ("# by one", "# by a packet"),
        ("p: float) -> float", "p)"),
        ("return f.cwnd + 1", "return (f.cwnd\n            + 1)"),
        ("tcpfair.engine.rng", "tcpfair.sources.rng"),
    ],
)
def test_what_does_not_act_does_not_count(tmp_path, old, new):
    assert old in SOURCE
    assert digest_of(tmp_path, SOURCE.replace(old, new)) == digest_of(tmp_path, SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BETA = 0.7", "BETA = 0.8"),
        ("f.cwnd + 1", "f.cwnd + 2"),
        ("f.cwnd + 1", "f.cwnd - 1"),
        ("import uniform", "import normal as uniform"),
        ("rng import", "other import"),
        ("def grow(f, p: float)", "def grow(p: float, f)"),
    ],
)
def test_what_acts_counts(tmp_path, old, new):
    assert old in SOURCE
    assert digest_of(tmp_path, SOURCE.replace(old, new)) != digest_of(tmp_path, SOURCE)


def test_a_renamed_file_counts_and_another_folder_does_not(tmp_path):
    first = digest_of(tmp_path, SOURCE)
    (tmp_path / "b.py").write_text(SOURCE)
    assert code.digest_of([tmp_path / "b.py"]) != first
    (tmp_path / "below").mkdir()
    assert digest_of(tmp_path / "below", SOURCE) == first


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    root = tmp_path_factory.mktemp("package") / "tcpfair"
    shutil.copytree(code.PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture
def package(copied, monkeypatch):
    """A copy of this package to edit, in its place."""
    monkeypatch.setattr(code, "PACKAGE", copied)
    remembered = Remembered(copied / "cache.json")
    monkeypatch.setattr(code, "kept", lambda: remembered)
    monkeypatch.setattr("tcpfair.files.remembered._SETTLED_S", -1e9)
    # an edit of one file has the digests of all files looked up again: parse each content once
    monkeypatch.setattr(code.ast, "parse", cache(code.ast.parse))
    monkeypatch.setattr(code, "acting", cache(code.acting))
    yield copied
    forget()


def forget():
    for looked_up in (code.facts, code._of_algorithm, code._simulator_sources, code.names):
        looked_up.cache_clear()


def digests(algorithms):
    forget()
    return code.of_algorithms(algorithms)


def changed_by_editing(package, names, algorithms):
    """By file, which of these algorithms (or ``simulator``) have another digest after a line of code was added."""
    before, found = digests(algorithms), {}
    for name in names:
        path = package / name
        text = path.read_text()
        path.write_text(text + "\nADDED = 1\n")
        after = digests(algorithms)
        path.write_text(text)
        found[name] = {algorithm for algorithm in before if before[algorithm] != after[algorithm]}
    return found


REACHED = {
    "cc/vegas.py": {"vegas", "veno"},  # veno estimates the backlog as vegas does
    "cc/bic.py": {"bic"},
    **{name: {code.SIMULATOR} for name in ("engine/endpoint.py", "engine/rng.py", "sources/tables.py", "units.py")},
    **{name: set() for name in ("verdicts/ledger.py", "papers/expand.py", "sources/ns2.py")},
}


def test_an_edit_reaches_the_runs_in_which_the_code_acts(package):
    assert changed_by_editing(package, REACHED, cc.names()) == REACHED


def test_every_file_of_the_engine_and_of_the_algorithms_counts(package):
    """No source that is compiled into a run is forgotten."""
    of_one = {f"cc/{name}.py": {name} for name in cc.names()}
    for path, name in of_one.items():
        assert changed_by_editing(package, [path], name)[path] >= name  # Reno's acts in the simulator, too
    files = {
        path.relative_to(package).as_posix() for room in ("engine", "cc") for path in (package / room).glob("*.py")
    }
    of_all = files - {*of_one, "engine/__init__.py"}  # a docstring alone
    assert changed_by_editing(package, of_all, []) == {path: {code.SIMULATOR} for path in of_all}


def test_an_edited_default_of_a_scenario_is_other_code(monkeypatch):
    from tcpfair.papers import scenario

    before = code.of_algorithms(["reno"])
    monkeypatch.setattr(scenario.Flow.model_fields["iw_pkts"], "default", 3)
    after = code.of_algorithms(["reno"])
    assert {name for name in before if before[name] != after[name]} == {code.SIMULATOR}
