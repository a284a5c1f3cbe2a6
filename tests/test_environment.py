"""What is installed: pyproject.toml names what is used, envs/ is what scripts/generate_envs.py makes of it, and the lock
satisfies it on every platform.
"""

import importlib.util
import re
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_layers import MODULES, third_party

ROOT = Path(__file__).resolve().parent.parent


def load_generator():
    spec = importlib.util.spec_from_file_location("generate_envs", ROOT / "scripts" / "generate_envs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
PROJECT = GENERATOR.read_project(ROOT)
LOCK = (ROOT / "envs" / "requirements.txt").read_text()
DECLARED = PROJECT["project"]["dependencies"]
DEVELOPMENT = PROJECT["dependency-groups"]["dev"]
PROGRAMS = {"ipykernel", "jupyterlab", "snakemake", "ruff", "snakefmt"}  # run, not imported
ELSEWHERE = {"cppyy"}  # imported by the program that ns-3's own Python runs
ENTRIES = [Requirement(entry.split(" \\")[0].strip()) for entry in re.split(r"\n(?=\S)", LOCK) if entry.strip()]


def locked(name):
    """The versions that the lock has of a package: more than one where platforms or Pythons differ."""
    entries = [entry for entry in ENTRIES if canonicalize_name(entry.name) == canonicalize_name(name)]
    return [next(iter(entry.specifier)).version for entry in entries]


@pytest.mark.parametrize("text", GENERATOR.requirements(PROJECT))
def test_the_lock_satisfies_every_requirement(text):
    requirement = Requirement(text)
    assert locked(requirement.name), f"{requirement.name} is not in envs/requirements.txt; run scripts/generate_envs.py"
    assert all(requirement.specifier.contains(number) for number in locked(requirement.name))


def test_the_lock_pins_one_version_and_hashes_of_every_package():
    assert all([spec.operator for spec in entry.specifier] == ["=="] for entry in ENTRIES)
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=\S)", LOCK) if entry.strip())


def test_no_file_of_envs_names_a_registry():
    for path in (path for path in (ROOT / "envs").rglob("*") if path.is_file()):
        assert not re.search(r"https?://|--(extra-)?index-url|--find-links", path.read_text()), path.name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("environment.yaml", GENERATOR.conda_environment(PROJECT)),
        ("Dockerfile", GENERATOR.container_recipe(PROJECT)),
    ],
)
def test_generated_files_have_not_drifted(name, content):
    assert (ROOT / "envs" / name).read_text() == content, "run scripts/generate_envs.py"


@pytest.mark.parametrize("text", GENERATOR.requirements(PROJECT))
def test_this_environment_runs_the_locked_versions(text):
    name = Requirement(text).name
    assert version(name) in locked(name), "run ./reproduce, which brings .venv in line"


def names(requirements):
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def imported(modules):
    """The distributions that modules import."""
    owners = packages_distributions()
    found = set().union(*(third_party(module) for module in modules)) - ELSEWHERE - {"tests"}
    return {canonicalize_name(owners[name][0]) if name in owners else name for name in found}


def test_the_package_imports_what_is_declared_and_all_of_it():
    used = imported(MODULES)
    assert used - names(DECLARED) == set(), "imported, but not in pyproject.toml"
    assert names(DECLARED) - used - PROGRAMS == set(), "declared, but nothing imports it"
    assert used & PROGRAMS == set(), "imported: no mere program"


def test_the_tests_import_what_is_declared_and_all_of_it():
    used = imported([*(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").glob("*.py")])
    assert used - names(DECLARED) - names(DEVELOPMENT) == set(), "imported, but not in pyproject.toml"
    assert names(DEVELOPMENT) - used - PROGRAMS == set(), "declared, but no test imports it"


def test_every_dependency_has_its_reason_beside_it():
    lines = re.findall(r'^  "(.*?)",(.*)$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert [text for text, _ in lines] == [*DECLARED, *DEVELOPMENT]
    assert [text for text, reason in lines if not re.match(r" +# \S+", reason)] == []


def test_one_version_everywhere():
    newest = re.search(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    assert PROJECT["project"]["version"] == cited == newest
