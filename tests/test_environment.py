"""What is installed: pyproject.toml names what is used, envs/ is what scripts/generate_envs.py makes of it, and the lock
satisfies it on every platform.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions, packages_distributions, version
from pathlib import Path

import pytest
import snakemake
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.commands import succeed
from tests.scripts import script
from tests.test_layers import MODULES, third_party

ROOT = Path(__file__).resolve().parent.parent


GENERATOR = script("generate_envs")
PROJECT = GENERATOR.read_project(ROOT)
LOCK = (ROOT / "envs" / "requirements.txt").read_text()
INSTALLER = (ROOT / "envs" / "installer.txt").read_text()
SITE = (ROOT / "envs" / "site.txt").read_text()
DECLARED = GENERATOR.declared(PROJECT)
EXTRAS = PROJECT["project"]["optional-dependencies"]
DEVELOPMENT = PROJECT["dependency-groups"]["dev"]
PROGRAMS = {
    "ipykernel",
    "jupyterlab",
    "snakemake",
    "ruff",
    "snakefmt",
    "hatchling",
    "pytest-xdist",
}  # run, not imported
ELSEWHERE = {"cppyy"}  # imported by the program that ns-3's own Python runs


def pins(lock):
    """The requirements of a lock, each of one version and with hashes."""
    entries = [entry for entry in re.split(r"\n(?=\S)", lock) if entry.strip()]
    found = [Requirement(entry.split(" \\")[0].strip()) for entry in entries]
    assert all([each.operator for each in pin.specifier] == ["=="] for pin in found)
    assert all("--hash=sha256:" in entry for entry in entries)
    return found


ENTRIES = pins(LOCK)
LOCKED = GENERATOR.locked_versions(LOCK)


def unmet(requirements, lock):
    """The requirements that a lock does not satisfy."""
    pinned, wanted = GENERATOR.locked_versions(lock), map(Requirement, requirements)
    found = [(each, pinned.get(canonicalize_name(each.name))) for each in wanted]
    return [str(each) for each, versions in found if not versions or not all(map(each.specifier.contains, versions))]


def test_the_lock_satisfies_every_requirement():
    assert unmet(GENERATOR.requirements(PROJECT), LOCK) == [], "run scripts/generate_envs.py"


def test_nothing_is_installed_that_no_lock_pins():
    """What ./reproduce installs: wheels of locks by hash, and the checkout with the build tool of the second one."""
    commands = (ROOT / "reproduce").read_text().replace("\\\n", "")
    installs = [line.removesuffix(" ||") for line in re.findall(r"\bpip (?:install|sync) .*", commands)]
    locks = ["envs/installer.txt", "envs/requirements.txt", '"$checkout/envs/site.txt"']
    *from_locks, own = sorted(installs, key=lambda line: line.endswith(" ."))
    assert sorted(line.split()[-1] for line in from_locks) == sorted(locks)
    assert all("--require-hashes" in line and "--only-binary :all:" in line for line in from_locks)
    assert "--no-build-isolation" in own and "--no-deps" in own
    assert [pin.name for pin in pins(INSTALLER)] == ["uv"]
    (built_by,) = PROJECT["build-system"]["requires"]
    assert Requirement(built_by).name == "hatchling" and built_by in DEVELOPMENT


def test_the_extra_for_clusters_has_versions_and_hashes_and_needs_nothing_that_the_lock_lacks():
    lock, wanted = (ROOT / "envs" / "slurm.txt").read_text(), GENERATOR.slurm_requirements(PROJECT)
    assert unmet(wanted, lock) == []
    assert sorted(pin.name for pin in pins(lock)) == sorted(names(wanted))
    assert "snakemake-executor-plugin-slurm" not in LOCK
    interfaces = ("snakemake-interface-common", "snakemake-interface-executor-plugins", "throttler")
    assert {*interfaces, "pandas", "pyyaml"} <= LOCKED.keys(), "the plugin needs them, and the lock no longer has them"


def test_what_the_site_needs_has_versions_and_hashes_and_is_not_in_the_lock_of_all():
    """It is installed next to the packages of the first lock, when ./reproduce site is first used."""
    assert unmet(PROJECT["dependency-groups"]["site"], SITE) == []
    assert not {canonicalize_name(pin.name) for pin in pins(SITE)} & LOCKED.keys()
    assert GENERATOR.lacking(LOCK, SITE) == SITE
    assert GENERATOR.lacking(LOCK, LOCK) == ""


def test_no_file_of_envs_names_a_registry():
    for path in (path for path in (ROOT / "envs").rglob("*") if path.is_file()):
        assert not re.search(r"https?://|--(extra-)?index-url|--find-links", path.read_text()), path.name


GENERATED = GENERATOR.generated(PROJECT, LOCK)


@pytest.mark.parametrize("name", GENERATED)
def test_generated_files_have_not_drifted(name):
    assert (ROOT / "envs" / name).read_text() == GENERATED[name], "run scripts/generate_envs.py"


HOSTED = GENERATOR.hosted()


@pytest.mark.parametrize("name", HOSTED)
def test_what_hosts_read_has_not_drifted(name):
    assert (ROOT / name).read_text() == HOSTED[name], "run scripts/generate_envs.py"
    assert bool((ROOT / name).stat().st_mode & 0o100) == name.endswith("postBuild")


def test_hosts_install_the_lock_and_nothing_beside_it():
    """In the image of the container recipe."""
    container = json.loads(HOSTED[".devcontainer/devcontainer.json"])
    assert f"FROM {container['image']}\n" in GENERATED["Dockerfile"]
    assert container["onCreateCommand"].endswith("&& ./reproduce install")
    assert "\n./reproduce install\n" in HOSTED[".binder/postBuild"]
    assert f"python:{HOSTED['.binder/runtime.txt'].strip().removeprefix('python-')}-slim@" in container["image"]
    assert {path.name for path in (ROOT / ".binder").iterdir()} == {
        Path(name).name for name in HOSTED if "binder" in name
    }


def test_nothing_in_envs_is_kept_by_hand():
    known = {*GENERATED, *GENERATOR.LOCKS, GENERATOR.SLURM_LOCK, GENERATOR.SITE_LOCK, "jupyter"}  # the last one by hand
    assert {path.name for path in (ROOT / "envs").iterdir()} == known


@pytest.mark.parametrize(
    ("version", "bound"), [("2.3.1", "3"), ("0.66.0", "0.67"), ("26.10", "27"), ("2.9.0.post0", "3")]
)
def test_an_upper_bound_is_the_next_release_that_may_break(version, bound):
    assert GENERATOR.below(version) == bound


def test_the_conda_environment_admits_the_locked_versions_and_nothing_unbounded():
    *wanted, own = yaml.safe_load(GENERATED["environment.yaml"])["dependencies"]
    assert own == {"pip": ['--editable "${TCPFAIR_ROOT}"']}
    bounds = {requirement.name: requirement.specifier for requirement in map(Requirement, wanted)}
    assert bounds.keys() - {"python", "pip"} == {Requirement(text).name for text in [*DECLARED, *DEVELOPMENT]}
    for name, specifier in bounds.items():
        if name != "pip":
            assert {each.operator for each in specifier} & {"<", "=="}, name
        assert all(map(specifier.contains, LOCKED.get(canonicalize_name(name), []))), name


PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))


def test_the_same_pythons_are_named_everywhere():
    bounds = Requirement(f"python{PROJECT['project']['requires-python']}").specifier
    assert [f"3.{minor}" for minor in range(8, 30) if bounds.contains(f"3.{minor}.1")] == PYTHONS
    text = (ROOT / "reproduce").read_text()
    oldest, newest = (version.replace(".", ", ") for version in (PYTHONS[0], PYTHONS[-1]))
    for named in (
        f"not ({oldest}) <= sys.version_info[:2] <= ({newest})",
        f"else set -- {' '.join(f'python{each}' for each in reversed(PYTHONS))} python3; fi",
        f"uv python install --quiet --no-bin {PYTHONS[-1]} ",
        f"uv python find --managed-python {PYTHONS[-1]})",
        f"CPython {', '.join(PYTHONS[:-1])} or {PYTHONS[-1]} with",
        f"({PYTHONS[0]} to {PYTHONS[-1]}; the first time only)",
    ):
        assert named in text


# Machines that README names, with the oldest C library that wheels were made for.
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_locked_package_has_a_wheel_for_every_machine(python, platform):
    uv = Path(sys.executable).with_name("uv")
    options = f"--quiet --no-deps --only-binary :all: --python-version {python} --python-platform {platform}"
    for lock in ("requirements.txt", "installer.txt", "site.txt"):
        command = [uv, "pip", "compile", *options.split(), ROOT / "envs" / lock]
        done = subprocess.run(command, cwd=ROOT / "envs", capture_output=True, text=True, check=False)
        if re.search("error sending request|dns error|Failed to fetch", done.stderr):
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr


def test_the_lowest_scipy_has_the_arguments_that_are_used():
    """Its samplers take `rng` since 1.15."""
    users = [path for path in MODULES if re.search(r"qmc\.\w+\(.*\brng=", path.read_text())]
    (declared,) = (Requirement(text) for text in DECLARED if text.startswith("scipy"))
    assert users and not declared.specifier.contains("1.14.1") and declared.specifier.contains("1.15.0")


def test_what_the_lock_leaves_out_is_imported_by_nothing_that_is_installed():
    left_out = {Requirement(text).name.replace("-", "_") for text in PROJECT["tool"]["uv"]["override-dependencies"]}
    optional = {"rfc3987_syntax"}  # of jsonschema, which suppresses the ImportError
    assert left_out == {"connection_pool"} | optional
    assert not {"connection-pool", "rfc3987-syntax"} & LOCKED.keys()
    imports = re.compile(rf"^\s*(?:from|import) +(?:{'|'.join(left_out - optional)})\b", re.M)
    place = Path(snakemake.__file__).parent.parent
    read = [path for part in ("snakemake", "snakemake_*") for path in place.glob(f"{part}/**/*.py")]
    assert len(read) > 100
    assert [path for path in read if imports.search(path.read_text(encoding="utf-8"))] == []


def test_nothing_is_installed_but_what_is_locked():
    """Not even the pip and setuptools that came with Python; an extra that was asked for may be there too."""
    here = {canonicalize_name(each.metadata["Name"]) for each in distributions()}
    extra = names(GENERATOR.slurm_requirements(PROJECT))
    needed = [pin for pin in (*ENTRIES, *pins(INSTALLER)) if pin.marker is None or pin.marker.evaluate()]
    assert here - extra == {canonicalize_name(pin.name) for pin in needed} | {"tcpfair"}, (
        "run ./reproduce, which brings .venv in line"
    )


def test_the_checkout_is_named_so_that_pip_finds_it_wherever_the_file_is_copied(tmp_path):
    """Snakemake copies environment.yaml; conda hands its pip section to pip as a file of requirements."""
    checkout = tmp_path / "a path with späces"
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text('[project]\nname = "here"\nversion = "1"\n')
    section = yaml.safe_load(GENERATED["environment.yaml"])["dependencies"][-1]["pip"]
    (tmp_path / "pip.txt").write_text("\n".join(section))
    code = (
        "from pip._internal.req.req_file import parse_requirements\n"
        "from pip._internal.network.session import PipSession\n"
        f"print(*(each.requirement for each in parse_requirements({str(tmp_path / 'pip.txt')!r}, PipSession())))"
    )
    # .venv has no pip
    done = succeed(sys._base_executable, "-c", code, TCPFAIR_ROOT=str(checkout), PYTHONUTF8="1")
    assert done.stdout == f"{checkout}\n"


def test_the_container_starts_from_a_digest_and_keeps_all_that_is_made_in_one_volume():
    recipe = GENERATED["Dockerfile"]
    assert re.search(r"^FROM python:3\.11-slim@sha256:[0-9a-f]{64}$", recipe, re.M)
    assert "VOLUME /out" in recipe and "TCPFAIR_OUTPUT=/out" in recipe
    assert re.search(r"^RUN \./reproduce install", recipe, re.M)


def test_the_container_is_given_all_that_is_shipped_and_no_more():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    top = {name.split("/")[0] for name in succeed("git", "ls-files").stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} == set(GENERATOR.SHIPPED)
    ignored = GENERATED["Dockerfile.dockerignore"].splitlines()
    assert ignored[1] == "*"


def test_this_environment_runs_the_locked_versions():
    others = [name for name in names(GENERATOR.requirements(PROJECT)) if version(name) not in LOCKED[name]]
    assert others == [], "run ./reproduce, which brings .venv in line"


def names(requirements):
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def imported(modules):
    """The distributions that modules import."""
    owners = packages_distributions()
    found = set().union(*(third_party(module) for module in modules)) - ELSEWHERE - {"tests"}
    return {canonicalize_name(owners[name][0]) if name in owners else name for name in found}


@pytest.mark.parametrize(
    ("modules", "needed", "more"),
    [
        (MODULES, DECLARED, EXTRAS["tables"]),
        ([*(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").glob("*.py")], DEVELOPMENT, DECLARED),
    ],
    ids=["package", "tests"],
)
def test_what_is_imported_is_declared_and_all_of_it(modules, needed, more):
    used = imported(modules)
    assert used - names([*needed, *more]) == set(), "imported, but not in pyproject.toml"
    assert names(needed) - used - PROGRAMS == set(), "declared, but nothing imports it"
    assert used & PROGRAMS == set() or more, "imported: no mere program"


def test_the_artifact_brings_what_the_library_may_use_of_it():
    """One list of versions: a requirement that two of them have is written alike."""
    assert {*EXTRAS["plot"]} <= {*EXTRAS["reproduce"]}
    assert [text for text in EXTRAS["tables"] if not text.startswith("xarray")] == [
        text for text in EXTRAS["reproduce"] if text.startswith("pandas")
    ]


def test_every_dependency_has_its_reason_beside_it():
    lines = re.findall(r'^  "([\w-]+[<>=]=.*?)",(.*)$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert [text for text, _ in lines] == [
        *PROJECT["project"]["dependencies"],
        *EXTRAS["plot"],
        *EXTRAS["tables"],
        *EXTRAS["reproduce"],
        *GENERATOR.slurm_requirements(PROJECT),
        *DEVELOPMENT,
        *PROJECT["dependency-groups"]["installer"],
        *PROJECT["dependency-groups"]["site"],
    ]
    assert [text for text, reason in lines if not re.match(r" +# \S+", reason)] == []
