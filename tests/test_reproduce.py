"""./reproduce: an environment that is whole or made anew, whatever ended the run before, and no settings but its own.

Most tests run it in a small checkout with a stand-in for python, pip and uv. Its packages are folders with one file, put
there in two steps; like the real ones it takes a folder that is there for a whole package.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import cycle
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
STAND_IN = """#!/bin/sh
step() {
    echo "$1" >>"$BASE/steps"
    [ $(($(wc -l <"$BASE/steps"))) = "${STOP_AT-}" ] || return 0
    [ "$STOP" = fail ] && exit 1
    kill -s "$STOP" 0
}
[ "${0##*/}" = rm ] || echo "$1 $2" >>"$BASE/calls"
case "${0##*/} $*" in
*" -V") cat "$BASE/version" ;;
*"ensurepip, sys, venv"*) case "${VERSION-3.11.7}" in 3.11.* | 3.12.* | 3.13.*) ;; *) exit 1 ;; esac ;;
*_base_executable*) echo "${WHO-}" >>"$BASE/chosen" && echo "$BASE/python3" ;;
*libc_ver*) [ -z "${ELSEWHERE-}" ] || exec "$REAL" "$ELSEWHERE" "$2" ;;
*flock* | *sched_getaffinity*) exec "$REAL" "$@" ;;
*"-m pytest"*) printf '%s\n' "$PYTEST_XDIST_AUTO_NUM_WORKERS" "$@" >"$BASE/pytest" ;;
*" venv --clear .venv") step "venv" && mkdir -p .venv/bin && step "half a venv" && ln -sf "$BASE/python3" .venv/bin/python ;;
*" pip install"*--require-hashes*installer.txt) step "pip" && { [ -e .venv/bin/uv ] || ln -s "$BASE/python3" .venv/bin/uv; } ;;
"uv python install"*) step "python from ${UV_PYTHON_INSTALL_MIRROR-its own place}" && [ -z "${OFFLINE-}" ] ;;
"uv python find"*) echo "$BASE/python3" ;;
uv*uninstall*) step "no seeds" ;;
uv*sync*)
    if [ -p "$BASE/gate" ]; then
        [ -z "${ALONE-}" ] || kill -s KILL "$PPID"
        cat "$BASE/gate"
    fi
    for package in numpy numba; do
        [ -d ".venv/$package" ] && continue
        mkdir -p ".venv/lib/python3.11/site-packages/$package-2.0.dist-info"
        mkdir ".venv/$package" && step "half of $package" && echo >".venv/$package/whole" && step "$package"
    done ;;
uv*) step "the checkout" ;;
*"-m tcpfair"* | *"-m jupyterlab"*)
    venv=${0%/bin/*}
    [ -e "$venv/numpy/whole" ] && [ -e "$venv/numba/whole" ] && exec "$PROGRAM" ;;
rm*)
    step "rm"
    find "$@" -name whole -exec /bin/rm {} + 2>/dev/null
    step "half removed"
    exec /bin/rm "$@" ;;
esac
"""


READ = (
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "Snakefile"),
    *("config", "data", "docs", "notebooks", "src", "workflow"),
)


def may_unshare(*what: str) -> bool:
    """Whether this machine lets us have namespaces of our own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", *what, "true"], capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not may_unshare("--mount"), reason="no mounts of our own on this machine (unshare)")
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" "$1" && cd "$1" && shift && exec sh reproduce "$@"'


def put(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def put_program(path: Path, text: str) -> str:
    put(path, text)
    path.chmod(0o755)
    return str(path)


class Checkout:
    """A checkout with what ./reproduce reads, and the stand-in beside it, as python and in place of rm."""

    def __init__(self, folder: Path):
        self.folder, self.root, self.base = folder, folder / "checkout", folder / "base"
        for name in ("reproduce", "envs/installer.txt", "envs/requirements.txt", "pyproject.toml"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.put_python(self.base)
        (folder / "bin").mkdir()
        (folder / "bin" / "rm").symlink_to(self.base / "python3")

    def put_python(self, base: Path) -> None:
        self.base = base
        put(base / "version", "Python 3.11.7\n")
        put_program(base / "python3", STAND_IN)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        own = {"BASE": str(self.base), "PYTHON": str(self.base / "python3")}
        return {"PATH": path, "REAL": sys.executable, "PROGRAM": "true", **own}

    def add_what_is_read(self) -> None:
        """What a stand-in for the checkout links to."""
        for name in READ:
            (self.root / name).touch()

    def seen(self, *arguments: str, read_only: bool = False, **environment: str) -> dict[str, str]:
        """Variables that the command of a run sees, its folder as PWD; ``failed`` with what was said when it ends badly."""
        program = put_program(self.folder / "program", f"#!/bin/sh\ncd -P . && env >'{self.folder}/seen'\n")
        process = self.start(*arguments, read_only=read_only, PROGRAM=program, **environment)
        _, said = process.communicate(timeout=60)
        if process.returncode:
            return {"failed": said}
        return dict(line.split("=", 1) for line in (self.folder / "seen").read_text().splitlines() if "=" in line)

    def start(self, *arguments: str, read_only: bool = False, **environment: str) -> subprocess.Popen:
        for name in ("steps", "calls"):
            (self.base / name).write_text("")
        alone = (
            ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(self.root)] if read_only else ["sh", "reproduce"]
        )
        return subprocess.Popen(
            [*alone, *arguments],
            cwd=self.root,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, **environment: str) -> int:
        """Exit status; the command itself ends with an error unless every package is whole."""
        process = self.start(*arguments, **environment)
        process.communicate(timeout=60)
        return process.returncode

    def finish(self, *arguments: str, **environment: str) -> list[str]:
        """The steps of a run to a good end."""
        assert self.run(*arguments, **environment) == 0
        return self.steps()

    def steps(self) -> list[str]:
        return (self.base / "steps").read_text().splitlines()

    def edit_lock(self) -> None:
        with (self.root / "envs" / "requirements.txt").open("a") as lock:
            lock.write("# another\n")


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


# --- the environment -------------------------------------------------------------------------------------------------


def test_an_environment_that_is_right_is_left_alone(checkout):
    assert "venv" in checkout.finish()
    assert checkout.finish() == []
    calls = (checkout.base / "calls").read_text().splitlines()
    assert calls == ["-V ", "-m tcpfair"], "no Python is started to find out"


STOPS = ("KILL", "TERM", "fail")


@pytest.mark.parametrize("stops", [STOPS, *(pytest.param([stop], marks=pytest.mark.slow) for stop in STOPS)])
def test_a_first_run_that_ends_at_any_step_is_made_good(checkout, stops):
    assert checkout.run() == 0
    all_steps = checkout.steps()
    assert len(all_steps) >= 10
    for at, (step, stop) in enumerate(zip(all_steps, cycle(stops)), 1):
        shutil.rmtree(checkout.root / ".venv")
        assert checkout.run(STOP_AT=str(at), STOP=stop) != 0, step
        assert not (checkout.root / ".venv" / ".stamp").exists(), step
        assert checkout.run() == 0, step


@pytest.mark.parametrize(("first", "every"), [(2, 4), pytest.param(1, 1, marks=pytest.mark.slow)])
def test_an_end_while_the_old_environment_is_removed_does_not_leave_half_of_it(checkout, first, every):
    lock = (checkout.root / "envs" / "requirements.txt").read_text()
    assert checkout.run() == 0
    steps = len(checkout.steps())
    for at in range(first, steps + 1, every):  # the second step is half of the removal
        checkout.edit_lock()
        assert checkout.run(STOP_AT=str(at), STOP="KILL") != 0, at
        (checkout.root / "envs" / "requirements.txt").write_text(lock)
        assert checkout.run() == 0, at


def test_another_lock_another_version_or_another_place_make_it_anew(checkout):
    assert checkout.run() == 0
    checkout.edit_lock()
    assert "venv" in checkout.finish()
    (checkout.base / "version").write_text("Python 3.12.1\n")
    assert "venv" in checkout.finish()
    checkout.root = checkout.root.rename(checkout.folder / "moved")
    assert "venv" in checkout.finish()
    assert checkout.finish() == []


@pytest.mark.parametrize("swap", ["older", "gone", "no list"])
def test_a_package_in_another_version_than_the_locked_one_makes_it_anew(checkout, swap):
    assert checkout.run() == 0
    packages = checkout.root / ".venv/lib/python3.11/site-packages"
    if swap == "older":
        (packages / "numpy-2.0.dist-info").rename(packages / "numpy-1.9.dist-info")
    elif swap == "gone":
        (packages / "numpy-2.0.dist-info").rmdir()
    else:  # as an interrupted or an older ./reproduce leaves it
        (checkout.root / ".venv" / ".packages").unlink()
    process = checkout.start()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "venv" in checkout.steps()
    named = "environment: .venv no longer has numpy-2.0, as installed from envs/requirements.txt\n"
    assert said.count(named) == (swap != "no list")
    assert checkout.finish() == []


def test_a_package_that_was_added_leaves_the_environment_alone(checkout):
    """As the plugin for a cluster is (workflow/profiles/slurm/README.md)."""
    assert checkout.run() == 0
    (checkout.root / ".venv/lib/python3.11/site-packages/snakemake_executor_plugin_slurm-2.8.dist-info").mkdir()
    assert checkout.finish() == []


def test_a_python_that_is_gone_makes_it_anew(checkout):
    assert checkout.run() == 0
    old = checkout.base
    checkout.put_python(checkout.folder / "upgraded")
    (old / "python3").unlink()
    (checkout.folder / "bin" / "rm").unlink()
    assert "venv" in checkout.finish()
    assert (checkout.root / ".venv" / "bin" / "python").resolve() == checkout.base / "python3"


def test_an_activated_environment_can_be_made_anew(checkout):
    assert checkout.run() == 0
    checkout.edit_lock()
    path = f"{checkout.root / '.venv' / 'bin'}:{checkout.environment['PATH']}"
    assert "venv" in checkout.finish(PYTHON="python", PATH=path)


@pytest.mark.parametrize("left_alone", [False, True], ids=["both live", "the first is killed, but not its uv"])
def test_two_first_runs_at_once_do_not_meet(checkout, left_alone):
    gate = checkout.base / "gate"
    os.mkfifo(gate)
    first = checkout.start(**({"ALONE": "1"} if left_alone else {}))
    with gate.open("w"):  # opens when the stand-in for uv waits there
        gate.unlink()
        if left_alone:
            first.wait(60)
        second = checkout.start()
        said = second.stderr.readline()
    second.communicate(timeout=60)
    first.communicate(timeout=60)
    assert said == "environment: waiting for another ./reproduce, which is making .venv\n"
    assert second.returncode == 0
    assert (first.returncode == 0, "venv" in checkout.steps()) == (not left_alone, left_alone)


def test_the_first_command_for_a_cluster_makes_the_environment(checkout):
    """The second one needs its uv."""
    text = (ROOT / "workflow" / "profiles" / "slurm" / "README.md").read_text()
    first, second = re.findall(r"```sh\n(\S+ \S+).*\n(\S+)", text)[0]
    assert second == ".venv/bin/uv"
    assert checkout.run(*first.split()[1:]) == 0
    assert (checkout.root / second).exists()


# --- the tests -------------------------------------------------------------------------------------------------------

ON_ALL_CORES = ["-n", "auto", "--dist", "loadfile", "-m", "not slow"]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ([], ON_ALL_CORES),
        (["tests/test_jit.py", "-k", "a or b"], [*ON_ALL_CORES, "tests/test_jit.py", "-k", "a or b"]),
        (["-n", "0"], [*ON_ALL_CORES, "-n", "0"]),
        (["--slow"], []),
        (["--slow", "tests/test_jit.py"], ["tests/test_jit.py"]),
    ],
    ids=" ".join,
)
def test_the_tests_run_on_the_cores_that_may_be_used_and_take_what_is_asked(checkout, asked, given):
    alone = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]  # a machine with one core that we may use
    program = ["sh", "reproduce", "test", *asked]
    subprocess.run([*alone, *program], cwd=checkout.root, env=checkout.environment, check=True)
    workers, *arguments = (checkout.base / "pytest").read_text().splitlines()
    assert arguments == ["-m", "pytest", *given]
    assert workers == ("" if "--slow" in asked else "2"), "one more than cores"
    more = {"PYTEST_XDIST_AUTO_NUM_WORKERS": "7"}
    subprocess.run(program, cwd=checkout.root, env=checkout.environment | more, check=True)
    assert (checkout.base / "pytest").read_text().splitlines()[0] == "7", "what the user has set decides"


# --- which Python ----------------------------------------------------------------------------------------------------

FEW = "bash cat cksum cp dirname env find grep head id ln mkdir mv readlink rm sed sh tr true uname wc"  # and no Python


def with_pythons(checkout: Checkout, **versions: str) -> dict[str, str]:
    """A PATH with these Pythons (`python3_14="3.14.1"`) and no others, and no PYTHON."""
    folder = checkout.folder / "only"
    folder.mkdir()
    for name in FEW.split():
        (folder / name).symlink_to(shutil.which(name, path="/usr/bin:/bin"))
    for name, version in versions.items():
        name = name.replace("_", ".")
        text = f'#!/bin/sh\nVERSION="{version}" WHO={name} exec "$BASE/python3" "$@"\n'
        if version == "broken":  # as pyenv leaves them
            text = "#!/bin/sh\necho no such version >&2\nexit 127\n"
        put_program(folder / name, text)
    return {"PYTHON": "", "PATH": str(folder)}


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ({"python3": "3.11.7"}, "python3"),
        ({"python3": "3.14.1", "python3_12": "3.12.9"}, "python3.12"),
        ({"python3": "3.11.7", "python3_12": "3.12.9", "python3_13": "3.13.1"}, "python3.13"),
        ({"python3": "3.12.1", "python3_13": "broken"}, "python3"),
    ],
    ids=["python3", "the default is too new", "the newest of three", "a name without a Python"],
)
def test_the_first_supported_python_is_taken(checkout, versions, chosen):
    assert checkout.run(**with_pythons(checkout, **versions)) == 0
    assert (checkout.base / "chosen").read_text().split() == [chosen]
    assert not any(step.startswith("python from") for step in checkout.steps())


@pytest.mark.parametrize("version", ["3.14.1", "3.9.18"])
def test_where_no_python_is_supported_the_pinned_uv_provides_one(checkout, version):
    given = with_pythons(checkout, python3=version)
    assert checkout.run(**given, UV_PYTHON_INSTALL_MIRROR="file:///mirror") == 0
    steps = checkout.steps()
    assert steps.index("pip") < steps.index("python from file:///mirror") < steps.index("half of numpy")
    assert steps.count("venv") == 2, "the second one is made from the Python that was downloaded"


def test_a_python_that_cannot_be_downloaded_is_told_in_one_line(checkout):
    given = with_pythons(checkout, python3="3.14.1")
    said = checkout.seen(**given, OFFLINE="1")["failed"]
    *_, last = said.splitlines()
    assert last == (
        "error: no Python 3.13 could be downloaded; install one, or name a mirror in UV_PYTHON_INSTALL_MIRROR"
    )
    assert not (checkout.root / ".venv" / ".stamp").exists()


def test_where_there_is_no_python_one_line_says_what_to_install(checkout):
    said = checkout.seen(**with_pythons(checkout))["failed"]
    assert said == (
        "error: CPython 3.11, 3.12 or 3.13 with its venv module is needed;"
        " on Debian and Ubuntu: apt install python3 python3-venv\n"
    )
    assert checkout.steps() == []


@pytest.mark.parametrize("version", ["3.14.1", "3.10.13"])
def test_a_chosen_python_that_is_not_supported_is_refused_in_one_line(checkout, version):
    given = with_pythons(checkout, python3_14=version, python3="3.12.1") | {"PYTHON": "python3.14"}
    (checkout.base / "version").write_text(f"Python {version}\n")
    said = checkout.seen(**given)["failed"]
    assert said == (
        f"error: PYTHON: python3.14 is Python {version}; CPython 3.11, 3.12 or 3.13 with its venv module is needed\n"
    )
    said = checkout.seen(**given | {"PYTHON": "/no such/python"})["failed"]
    assert said.startswith("error: PYTHON: /no such/python does not start; ") and said.count("\n") == 1
    assert checkout.steps() == []


def test_a_python_may_be_in_a_folder_with_a_space(checkout):
    place = checkout.folder / "a folder"
    place.mkdir()
    (place / "python").symlink_to(checkout.base / "python3")
    assert checkout.run(PYTHON=str(place / "python")) == 0


@pytest.mark.parametrize(
    ("system", "machine", "libc", "said"),
    [
        ("linux", "x86_64", ("glibc", "2.28"), ""),
        ("linux", "aarch64", ("glibc", "2.41"), ""),
        ("darwin", "arm64", ("", ""), ""),
        ("linux", "x86_64", ("glibc", "2.17"), "Linux x86_64 glibc 2.17;"),
        ("linux", "x86_64", ("", ""), "Linux x86_64;"),
        ("linux", "x86_64", ("musl", "1.2.5"), "Linux x86_64 musl 1.2.5;"),
        ("linux", "riscv64", ("glibc", "2.41"), "Linux riscv64 glibc 2.41;"),
        ("darwin", "x86_64", ("", ""), "Darwin x86_64;"),
    ],
)
def test_a_machine_without_wheels_is_told_in_one_line(checkout, system, machine, libc, said):
    """The Python that asks is told that it runs elsewhere."""
    module = f"machine = lambda: {machine!r}\nlibc_ver = lambda: {libc!r}\nsystem = lambda: {system.capitalize()!r}\n"
    put(checkout.folder / "modules" / "platform.py", module)
    where = f"import sys; sys.path.insert(0, {str(checkout.folder / 'modules')!r}); sys.platform = {system!r}\n"
    elsewhere = put(checkout.folder / "elsewhere.py", where + "exec(sys.argv[1])\n")
    told = checkout.seen(ELSEWHERE=elsewhere).get("failed", "")
    if said:
        assert told.startswith(f"error: the locked packages have no wheels for {said} ") and told.count("\n") == 1
        assert checkout.steps() == []
    else:
        assert told == "" and "venv" in checkout.steps()


@pytest.mark.parametrize(
    "moment", [".venv.lock", ".venv/pyvenv.cfg", pytest.param(".venv/bin/pip", marks=pytest.mark.slow)]
)
def test_an_interrupted_installation_shows_no_traceback(checkout, moment):
    """With the real Python; Ctrl-C when a file is there: before venv, while it puts pip into .venv, while pip starts."""
    process = subprocess.Popen(
        ["sh", "reproduce", "install"],
        cwd=checkout.root,
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys._base_executable},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 60
    while not (checkout.root / moment).exists() and time.monotonic() < until:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in said and said.endswith("interrupted; the next run makes .venv from scratch\n"), said
    assert not (checkout.root / ".venv" / ".stamp").exists()


COMPLETE = """
import sys
from importlib.metadata import distributions
gone = [str(file) for dist in distributions() for file in dist.files if not file.locate().is_file()]
sys.exit(f"{len(gone)} files are missing: {gone[:3]}" if gone else 0)
"""


@pytest.mark.slow
def test_a_killed_installation_is_made_good(tmp_path):
    """With the real pip and uv; killed at four moments, evenly spread over the time that a whole one takes."""
    for name in ("reproduce", "envs", "pyproject.toml", "README.md", "LICENSE", "src"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    command, python = [tmp_path / "reproduce", "bench", "--help"], tmp_path / ".venv" / "bin" / "python"

    def complete() -> str:
        return subprocess.run([python, "-c", COMPLETE], capture_output=True, text=True, check=False).stderr

    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - started
    for part in range(1, 5):
        shutil.rmtree(tmp_path / ".venv")
        # where the tests run in the background, Ctrl-C would be ignored
        allow = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(command, start_new_session=True, preexec_fn=allow)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(whole_s * part / 5)
        os.killpg(process.pid, signal.SIGKILL if part % 2 else signal.SIGINT)
        process.wait()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert complete() == "", f"killed after {part}/5 of the time"


# --- elsewhere -------------------------------------------------------------------------------------------------------


def test_what_is_made_may_stand_elsewhere_behind_links(checkout):
    checkout.add_what_is_read()
    out = checkout.folder / "made häre, not there"
    seen = checkout.seen(TCPFAIR_OUTPUT=str(out))
    assert seen["TCPFAIR_ROOT"] == seen["PWD"] == str(out)
    links = {path.name for path in out.iterdir() if path.is_symlink()}
    assert links == {*READ, "envs", "pyproject.toml"}
    assert all((out / name).resolve() == checkout.root / name for name in links)
    assert (checkout.root / ".venv").is_dir() and not (out / ".venv").exists()
    assert checkout.seen(TCPFAIR_OUTPUT=str(out))["PWD"] == str(out)  # again, and nothing is made anew
    assert checkout.steps() == []


def test_every_link_leads_to_something_that_is_shipped():
    listed = re.search(r"for name in (.*); do\n +if \[ -e", (ROOT / "reproduce").read_text())[1].split()
    assert sorted(listed) == sorted([*READ, "envs", "pyproject.toml"])
    assert [name for name in listed if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", ["{x}", "a:b"])
def test_a_path_that_no_tool_below_can_take_is_refused_in_one_line(checkout, name):
    checkout.add_what_is_read()
    checkout.root = checkout.root.rename(checkout.folder / name)
    said = checkout.seen()["failed"]
    assert said.startswith(f"error: {checkout.root}: ") and said.count("\n") == 1 and "colon or a brace" in said
    assert checkout.steps() == []
    checkout.root = checkout.root.rename(checkout.folder / "plain")
    said = checkout.seen(TCPFAIR_OUTPUT=str(checkout.folder / name))["failed"]
    assert said.startswith(f"error: {checkout.folder / name}: ") and said.count("\n") == 1


def test_a_user_without_a_name_is_given_one(checkout):
    put_program(checkout.folder / "bin" / "id", '#!/bin/sh\n[ "$1" = -u ] && echo 4321\n')
    assert checkout.seen()["LOGNAME"] == "uid-4321"
    assert "LOGNAME" not in checkout.seen(USER="me")


def test_a_relative_place_counts_from_where_one_stands(checkout):
    checkout.add_what_is_read()
    process = subprocess.run(
        ["sh", "checkout/reproduce"],
        cwd=checkout.folder,
        env=checkout.environment | {"TCPFAIR_OUTPUT": "out"},
        capture_output=True,
        check=False,
    )
    assert process.returncode == 0
    assert (checkout.folder / "out" / "config").is_symlink()


def test_a_moved_checkout_is_linked_anew(checkout):
    checkout.add_what_is_read()
    out = checkout.folder / "out"
    checkout.seen(TCPFAIR_OUTPUT=str(out))
    checkout.root = checkout.root.rename(checkout.folder / "moved")
    assert "failed" not in checkout.seen(TCPFAIR_OUTPUT=str(out))
    assert (out / "config").resolve() == checkout.root / "config"


def test_a_place_with_a_checkout_of_its_own_or_inside_this_one_is_refused(checkout):
    checkout.add_what_is_read()
    other = checkout.folder / "other"
    (other / "config").mkdir(parents=True)
    said = checkout.seen(TCPFAIR_OUTPUT=str(other))["failed"]
    assert said == f"error: TCPFAIR_OUTPUT: {other} already has a config; choose an empty folder\n"
    said = checkout.seen(TCPFAIR_OUTPUT=str(checkout.root / "results"))["failed"]
    assert said == "error: TCPFAIR_OUTPUT: choose a folder outside the checkout\n"
    (checkout.folder / "file").touch()
    said = checkout.seen(TCPFAIR_OUTPUT=str(checkout.folder / "file"))["failed"]
    assert said == f"error: TCPFAIR_OUTPUT: {checkout.folder}/file cannot be made\n"
    assert checkout.seen(TCPFAIR_OUTPUT=str(checkout.root))["PWD"] == str(checkout.root)


@needs_mounts
def test_a_read_only_checkout_is_told_in_one_line_and_works_with_another_place(checkout):
    checkout.add_what_is_read()
    out = checkout.folder / "out"
    said = checkout.seen(read_only=True)["failed"]
    assert said == f"error: {checkout.root} cannot be written; TCPFAIR_OUTPUT=FOLDER ./reproduce writes outputs there\n"
    seen = checkout.seen(read_only=True, TCPFAIR_OUTPUT=str(out))
    assert seen["PWD"] == str(out) and (out / ".venv").is_dir() and not (checkout.root / ".venv").exists()


@needs_mounts
def test_a_read_only_environment_that_is_right_is_used_and_settings_go_elsewhere(checkout):
    checkout.add_what_is_read()
    assert checkout.run() == 0
    out = checkout.folder / "out"
    seen = checkout.seen(read_only=True, TCPFAIR_OUTPUT=str(out))
    assert checkout.steps() == [] and not (out / ".venv").exists()
    for name in ("IPYTHONDIR", "MPLCONFIGDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        assert seen[name].startswith(f"{out}/.venv.own/")


@pytest.mark.parametrize("home", ["/nonexistent", "/dev/null", ""])
def test_a_home_that_cannot_be_written_is_replaced(checkout, home):
    seen = checkout.seen(HOME=home, XDG_CACHE_HOME="/nonexistent/cache")
    assert seen["HOME"] == f"{checkout.root}/.venv.own" and Path(seen["HOME"]).is_dir()
    assert "XDG_CACHE_HOME" not in seen


def test_a_home_that_can_be_written_is_left_alone(checkout):
    home = checkout.folder / "home"
    home.mkdir()
    assert checkout.seen(HOME=str(home))["HOME"] == str(home)
    assert list(home.iterdir()) == [] and not (checkout.root / ".venv.own").exists()


@pytest.mark.parametrize("language", ["C", "POSIX", "de_DE.ISO-8859-1", "nonsense"])
def test_no_language_decides_how_names_of_files_are_read(checkout, language):
    seen = checkout.seen(LANG=language, LC_ALL=language)
    assert seen["LC_ALL"] in ("C.UTF-8", "en_US.UTF-8") and seen["PYTHONUTF8"] == "1"


def test_no_variable_chooses_the_instructions_of_numpy_or_its_blas(checkout):
    seen = checkout.seen(
        NPY_DISABLE_CPU_FEATURES="X86_V3", NPY_ENABLE_CPU_FEATURES="X86_V3", OPENBLAS_CORETYPE="Prescott"
    )
    assert not [name for name in seen if name.startswith("NPY_")]
    assert "OPENBLAS_CORETYPE" not in seen and seen["OPENBLAS_NUM_THREADS"] == "1"


# --- the settings ----------------------------------------------------------------------------------------------------

PROBE = """
import builtins, json, os, subprocess
import matplotlib
print(json.dumps({
    "line width": matplotlib.rcParams["lines.linewidth"],
    "font size": matplotlib.rcParams["font.size"],
    "backend": os.environ.get("MPLBACKEND"),
    "started before": sorted(name for name in ("stray", "other_stray") if name in globals()) + [
        name for name in ("stray",) if hasattr(builtins, name)],
    "numba": os.environ.get("NUMBA_DISABLE_JIT"),
    "snakemake": os.environ.get("SNAKEMAKE_PROFILE"),
    "bash": subprocess.run(["bash", "-c", "echo $stray"], capture_output=True, text=True).stdout,
}))
"""


RUN_NOTEBOOK = """
import sys
import papermill
folder = sys.argv[1]
papermill.execute_notebook(f"{folder}/probe.ipynb", f"{folder}/done.ipynb", kernel_name="python3", progress_bar=False)
"""


def test_the_settings_of_the_user_do_not_reach_a_notebook(checkout, tmp_path):
    """A notebook that the workflow runs, with settings in the user's home and in variables that all would be seen in it."""
    home, other = tmp_path / "home", tmp_path / "other"
    no_kernel = json.dumps({"argv": ["false"], "display_name": "none", "language": "python"})
    for folder in (home / ".config" / "matplotlib", other / "matplotlib"):
        put(folder / "matplotlibrc", "lines.linewidth: 40\n")
    for folder in (home / ".ipython", other / "ipython"):
        put(folder / "profile_default" / "startup" / "00.py", "stray = 1\n")
    for folder in (home / ".local" / "share" / "jupyter", other / "jupyter"):
        put(folder / "kernels" / "python3" / "kernel.json", no_kernel)
    hostile = {
        "HOME": str(home),
        "MATPLOTLIBRC": put(other / "matplotlibrc", "font.size: 40\n"),
        "MPLCONFIGDIR": str(other / "matplotlib"),
        "MPLBACKEND": "svg",
        "IPYTHONDIR": str(other / "ipython"),
        "JUPYTER_PATH": str(other / "jupyter"),
        "JUPYTER_DATA_DIR": str(other / "jupyter"),
        "PYTHONSTARTUP": put(other / "startup.py", "other_stray = 1\n"),
        "PYTHONPATH": str(
            Path(put(other / "path" / "sitecustomize.py", "import builtins; builtins.stray = 1\n")).parent
        ),
        "NUMBA_DISABLE_JIT": "1",
        "SNAKEMAKE_PROFILE": "nosuch",
        "BASH_ENV": put(other / "bash", "stray=1\n"),
    }
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROBE, id="probe")]), tmp_path / "probe.ipynb"
    )
    program = put_program(
        tmp_path / "program",
        f"""#!/bin/sh
exec '{sys.executable}' '{put(tmp_path / "program.py", RUN_NOTEBOOK)}' '{tmp_path}'
""",
    )
    assert checkout.run(PROGRAM=program, **hostile) == 0
    (cell,) = (cell for cell in nbformat.read(tmp_path / "done.ipynb", as_version=4).cells if cell.id == "probe")
    assert json.loads(cell.outputs[0].text) == {
        "line width": 1.5,
        "font size": 10.0,
        "backend": "Agg",
        "started before": [],
        "numba": None,
        "snakemake": None,
        "bash": "\n",
    }
    assert not (home / ".ipython" / "profile_default" / "history.sqlite").exists()


def test_the_lab_keeps_the_users_jupyter_and_adds_its_own_settings_in_front(checkout):
    given = {"JUPYTER_CONFIG_DIR": "/mine", "JUPYTER_CONFIG_PATH": "/other", "JUPYTER_PATH": "/kernels"}
    variables = checkout.seen("lab", JUPYTER_NO_CONFIG="1", MPLBACKEND="svg", **given)
    assert variables["JUPYTER_CONFIG_DIR"] == "/mine"
    assert variables["JUPYTER_CONFIG_PATH"] == f"{checkout.root}/envs/jupyter:/other"
    assert not {"JUPYTER_PATH", "JUPYTER_NO_CONFIG", "MPLBACKEND"} & variables.keys()
    assert variables["IPYTHONDIR"] == f"{checkout.root}/.venv/ipython"
