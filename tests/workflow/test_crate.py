"""A finished run as an RO-Crate: what the profile asks for is there, all that it names stands beside it, as it was."""

import hashlib
import json
import os
import shutil
import subprocess

import pytest

from tcpfair.errors import InputError
from tcpfair.runs import outputs
from tcpfair.workflow import crate
from tcpfair.workflow.plan import Plan
from tcpfair.workflow.run import last_plan
from tests.small_checkout import make_compared as make
from tests.small_checkout import put, put_exhibit

BESIDE = ("Snakefile", "CITATION.cff", "README.md", "pyproject.toml", "envs", "workflow")


def finished(folder):
    """The plan of a checkout in which two exhibits are drawn."""
    layout = make(folder / "a checkout ü")
    put(layout.root, {}, copied=BESIDE)
    put_exhibit(layout, "ogura.fig8", files={".svg": "<svg/>", ".csv": "a\n"})
    put_exhibit(layout, "ogura.table1", files={".html": "<p>"})
    (layout.results / "config.json").write_text('{"source": "bundled"}')
    plan = last_plan(layout.root, "bundled")
    for step, name, text in (("report", "report.html", "<p>"), ("ledger", "ledger/claims.csv", "id\n")):
        with outputs.making(layout, plan.of_kind(step)[0].folder) as scratch:
            put(scratch, {name: text})
    os.utime(layout.results / "report.html", (2_000_000_000, 2_000_000_000))
    return plan


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Such a plan, taken for finished."""
    monkeypatch.setattr(Plan, "is_up_to_date", lambda self: True)
    return finished(tmp_path)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Such a plan and the crate of its run, which tests only read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "is_up_to_date", lambda self: True)
        plan = finished(tmp_path_factory.mktemp("crate"))
        return plan, crate.write(plan)


def entities(folder):
    graph = json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]
    return {each["@id"]: each for each in graph}


def ids(value):
    return [each["@id"] for each in (value if isinstance(value, list) else [value])]


def test_the_profile_is_kept(written):
    found = entities(written[1])
    root, workflow, action = found["./"], found["Snakefile"], found["#run"]
    assert "https://w3id.org/ro/wfrun/workflow/0.5" in ids(root["conformsTo"])
    assert ids(root["mainEntity"]) == ["Snakefile"] and "ComputationalWorkflow" in workflow["@type"]
    assert ids(root["mentions"]) == ["#run"] and action["@type"] == "CreateAction"
    assert ids(action["instrument"]) == ["Snakefile"]
    assert ids(root["license"]) == ["https://spdx.org/licenses/MIT"]
    for name in (*ids(workflow["input"]), *ids(workflow["output"])):
        assert found[name]["@type"] == "FormalParameter" and found[name]["additionalType"] == "File"
        for example in ids(found[name]["workExample"]):
            assert ids(found[example]["exampleOfWork"]) == [name]
    assert {"#configuration", "#print"} <= set(ids(workflow["input"]))
    assert ids(workflow["output"]) == ["#figures", "#ledger", "#pages"]


def test_the_action_has_what_was_read_and_made_and_when(written):
    found = entities(written[1])["#run"]
    assert "config/papers/ogura.yaml" in ids(found["object"])
    made = {"figures/bundled/ogura/fig08.svg", "figures/bundled/ogura/tab01.html", "results/bundled/report.html"}
    assert made <= set(ids(found["result"]))
    assert found["endTime"] == "2033-05-18T03:33:20+00:00"  # of the last output
    assert found["startTime"] < found["endTime"]


def test_every_file_that_is_named_is_there_as_it_was(written):
    plan, folder = written
    files = {name: each for name, each in entities(folder).items() if "File" in each["@type"] and "sha256" in each}
    assert len(files) > 20
    for name, each in files.items():
        content = (folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == each["sha256"], name
        assert content == (plan.root / name).read_bytes(), name
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there - {"ro-crate-metadata.json"} == files.keys()


def test_a_figure_says_what_it_shows(written):
    found = entities(written[1])
    about = found["figures/bundled/ogura/fig08.svg"]["about"]["@id"]
    assert found[about]["name"]


def test_made_again_it_is_the_same_and_takes_the_place_of_the_first(plan):
    first = (crate.write(plan) / "ro-crate-metadata.json").read_bytes()
    (plan.layout.results / "crate" / "stray").touch()
    folder = crate.write(plan)
    assert (folder / "ro-crate-metadata.json").read_bytes() == first
    assert not (folder / "stray").exists()


def test_nothing_of_the_machine_stands_in_it(written):
    plan, folder = written
    text = (folder / "ro-crate-metadata.json").read_text()
    assert str(plan.root) not in text and plan.root.name not in text


def test_an_unfinished_run_is_refused(plan, monkeypatch):
    monkeypatch.setattr(Plan, "is_up_to_date", lambda self: False)
    with pytest.raises(InputError, match="not finished, or something has changed since .*; ./reproduce first"):
        crate.write(plan)
    assert not (plan.layout.results / "crate").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no results yet; run ./reproduce first"), ("{", "not JSON"), ("[]", "not a configuration")],
)
def test_without_a_run_it_is_refused_in_one_line(plan, content, message):
    path = plan.layout.results / "config.json"
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        last_plan(plan.root, "bundled")


def test_a_citation_that_is_none_is_refused(plan):
    (plan.root / "CITATION.cff").write_text("title: only\n")
    with pytest.raises(InputError, match=r"CITATION.cff: .* abstract, version and authors"):
        crate.write(plan)


@pytest.mark.slow
def test_the_validator_of_the_profile_finds_nothing(written):
    """With PyPI's roc-validator, which is in no lock: ROCRATE_VALIDATOR names it. It fetches contexts from w3id.org."""
    validator = shutil.which(os.environ.get("ROCRATE_VALIDATOR", "rocrate-validator"))
    if validator is None:
        pytest.skip("rocrate-validator is not installed (pip install roc-validator, elsewhere)")
    command = [validator, "-y", "validate", "--no-paging", "-p", "workflow-run-crate-0.5", "-l", "required"]
    done = subprocess.run([*command, written[1]], capture_output=True, text=True, check=False)
    if "Name or service not known" in done.stdout + done.stderr or "resolve" in done.stdout:
        pytest.skip("w3id.org cannot be reached from here")
    assert done.returncode == 0, done.stdout
