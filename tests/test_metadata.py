"""What others read of the project: citation, CodeMeta, Zenodo, workflows of GitHub, the workflow catalog; one version in all."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.scripts import script

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")


GENERATOR = script("generate_metadata")
PROJECT, CITED = GENERATOR.read(ROOT)
GENERATED = GENERATOR.generated(ROOT)
HELP = (ROOT / "reproduce").read_text()


def test_one_version_everywhere():
    newest = re.search(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    others = [GENERATOR.codemeta(PROJECT, CITED)["version"], GENERATOR.zenodo(PROJECT, CITED)["version"]]
    assert {PROJECT["version"]} == {CITED["version"], newest, *others}


@pytest.mark.parametrize("name", GENERATED)
def test_generated_files_have_not_drifted(name):
    assert (ROOT / name).read_text(encoding="utf-8") == GENERATED[name], "run scripts/generate_metadata.py"


def test_the_citation_has_what_others_look_for_and_no_person_who_wrote_nothing_here():
    assert {"abstract", "keywords", "date-released", "license", "title", "message"} <= CITED.keys()
    assert CITED["authors"] == [{"name": "the tcpfair authors"}]
    assert len(CITED["references"]) == 5


def test_the_licences_are_named_alike():
    assert CITED["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert "MIT License" in (ROOT / "data" / "LICENSE").read_text()
    assert GENERATED["codemeta.json"].count("spdx.org/licenses/MIT") == 1


def test_the_workflow_asks_for_the_snakemake_that_is_declared():
    requirements = map(Requirement, PROJECT["optional-dependencies"]["reproduce"])
    (declared,) = (each.specifier for each in requirements if each.name == "snakemake")
    asked = re.search(r'^min_version\("(.*)"\)$', (ROOT / "Snakefile").read_text(), re.M)[1]
    assert str(declared) == f">={asked}"


def steps(path):
    """Every step of every job of a GitHub workflow."""
    jobs = yaml.safe_load(path.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def unknown_commands(text):
    """What ``text`` calls ./reproduce with, and that it does not have."""
    called = re.findall(r"\./reproduce ([a-z][a-z-]*)", text)
    known = " ".join(re.findall(r'^commands="(.*)"$', HELP, re.M)).split()
    return [name for name in called if name not in known]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_commands_and_files_that_are_there(path):
    commands = "\n".join(step.get("run", "") for step in steps(path))
    assert unknown_commands(commands) == []
    named = re.findall(r"(?:tests|scripts|config|\.ci)/[\w./-]+", commands)
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert "./reproduce" in commands or ".ci/run" in commands


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_write_nothing_but_the_pages_and_ends(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 120 for job in workflow["jobs"].values())
    allowed = {"publish": {"pages": "write", "id-token": "write"}} if path.stem == "pages" else {}
    assert {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job} == allowed
    assert all("uses" in step or "run" in step for step in steps(path))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_action_is_named_by_its_commit_with_the_version_beside_it(path):
    """A tag can be moved to other code, a commit cannot."""
    used = re.findall(r"uses: (.*)", path.read_text())
    assert (
        used and [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    )
    assert len({each.partition("@")[0] for each in used}) == len(set(used)), "one commit of each action"


def test_every_slow_test_is_in_one_shard_of_a_workflow():
    job = yaml.safe_load((ROOT / ".github/workflows/weekly.yml").read_text())["jobs"]["slow"]
    assert "./reproduce test --slow -m slow ${{ matrix.tests }}" in job["steps"][-1]["run"]
    shards = []
    for shard in job["strategy"]["matrix"]["include"]:
        named = {False: set(), True: set()}  # chosen and ignored
        for word in shard["tests"].split():
            path = ROOT / word.removeprefix("--ignore=")
            assert path.exists(), word
            named[word.startswith("--ignore=")] |= {path, *path.rglob("*.py")}
        shards.append(named[False] - named[True])
    slow = {path for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.slow" in path.read_text()}
    slow -= {ROOT / "tests/test_metadata.py"}
    assert {path.name: sum(path in shard for shard in shards) for path in slow} == {path.name: 1 for path in slow}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_uses_the_python_that_it_sets_up(path):
    assert yaml.safe_load(path.read_text())["env"]["PYTHON"] == "python3"
    assert any("setup-python" in step.get("uses", "") for step in steps(path))


def test_the_lowest_and_the_newest_python_are_tried():
    versions = sorted(
        (name.rpartition(" ")[2] for name in PROJECT["classifiers"]), key=lambda text: int(text.partition(".")[2])
    )
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["pythons"]["strategy"]["matrix"]
    assert matrix["python"] == [versions[0], versions[-1]]


def test_machines_on_which_nothing_has_run_are_named_so():
    text = (ROOT / ".github/workflows/weekly.yml").read_text()
    assert "arm" in text and "macos" in text
    assert "no run of this project has ever been made there" in text


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_can_be_given(path):
    form = yaml.safe_load(path.read_text())
    assert form["name"] and form["description"]
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in fields}) == len(fields)
    assert unknown_commands(path.read_text()) == []


def test_pre_commit_runs_what_is_installed_and_tested():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (repository,) = config["repos"]
    assert repository["repo"] == "local"  # the lock's versions, no second ones
    for hook in repository["hooks"]:
        program, *arguments = hook["entry"].split()
        assert program.startswith(".venv/bin/")
        assert all((ROOT / name).is_file() for name in arguments if name.startswith("tests/"))


def test_the_catalog_file_is_what_the_catalog_reads():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert usage["mandatory-flags"]["desc"]
