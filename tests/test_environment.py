"""envs/ is what scripts/generate_envs.py makes of pyproject.toml, and the lock satisfies it on every platform."""

import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def load_generator():
    spec = importlib.util.spec_from_file_location("generate_envs", ROOT / "scripts" / "generate_envs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()
PROJECT = GENERATOR.read_project(ROOT)
LOCK = (ROOT / "envs" / "requirements.txt").read_text()
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
    for path in (ROOT / "envs").iterdir():
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
