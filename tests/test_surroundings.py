"""Where ./reproduce has to work: other paths, users, variables, Pythons; without git, network, compilers or a home.

Each of them draws one figure, with its notebook, ledger and report, and holds it against a plain run byte for byte. All but the
other Pythons share one installation: a tarball of what is tracked, unpacked below an awkward path, installed with few programs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import pytest

from tests.exhibits.test_gallery import whoever_made_the_runs
from tests.test_reproduce import READ_ONLY, may_unshare, needs_mounts, put, put_program

ROOT = Path(__file__).resolve().parent.parent
ASKED = ["--config", "papers=ogura", "only=ogura.fig6"]
FIGURE = Path("figures/bundled/ogura/fig06.svg")
SHIPPED = ROOT / "data" / "expected" / "gallery" / "ogura_fig06.svg"
AWKWARD = "a tarball, ü 測 'it''s' $HOME & %20"
STRANGER = 54321  # a user whom no file of accounts knows, as in containers
# what ./reproduce may take for granted beside Python: a POSIX shell's company, and the bash of Snakemake's rules
PROGRAMS = (
    "bash cat chmod cksum cp cut date dirname env git head id ln ls mkdir mv readlink rm sed sh sleep sort tail tee touch tr"
    " true uname wc"
)

pytestmark = pytest.mark.slow
needs_network_spaces = pytest.mark.skipif(not may_unshare("--net"), reason="no network of our own here (unshare --net)")
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can be another user (setpriv)"
)


def unpack(target: Path) -> Path:
    """What is tracked as a tarball, unpacked: no .git, and nothing that merely lies around here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and (ROOT / ".git").exists():
        archive = target.parent / "source.tar"
        target.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive, "w") as tar:
            for name in filter(None, listed.stdout.split("\0")):
                if os.path.lexists(ROOT / name):
                    tar.add(ROOT / name, f"tcpfair/{name}")
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
        archive.unlink()
        return target / "tcpfair"
    left_out = shutil.ignore_patterns(".venv*", "results", ".snakemake", "__pycache__", ".*_cache")
    return Path(shutil.copytree(ROOT, target / "tcpfair", ignore=left_out))


def few_programs(folder: Path, python: str) -> str:
    """A PATH with Python and a handful of programs: no uv, no compiler, no simulators."""
    folder.mkdir()
    for name in PROGRAMS.split():
        found = shutil.which(name)
        assert found, f"{name} is not installed here"
        (folder / name).symlink_to(Path(found).resolve() if name != "sh" else found)
    put_program(folder / "python3", f'#!/bin/sh\nexec "{python}" "$@"\n')
    return str(folder)


def run(root: Path, *asked: str, before: tuple[str | Path, ...] = (), status: int = 0, **variables: str) -> str:
    """What ./reproduce says; ``before`` stands in front of it."""
    command = [*before, *([] if "sh" in before else [root / "reproduce"]), *(asked or ASKED)]
    done = subprocess.run(
        command,
        cwd=root.parent,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    assert "Traceback" not in said, said
    return said


def pythons() -> list[str]:
    """The Pythons of pyproject.toml, the newest last; they may or may not be here."""
    return re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())


def find_python(version: str) -> str | None:
    """An interpreter of this version: on the PATH, or where pyenv keeps it."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    for found in [*map(str, kept), shutil.which(f"python{version}")]:
        if found and subprocess.run([found, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def made(place: Path) -> dict[str, bytes]:
    """What a run leaves that has to be the same everywhere."""
    wanted = [*(place / "figures" / "bundled").rglob("*.*"), *(place / "results/bundled/ledger").glob("*.csv")]
    wanted += (place / "results/bundled/notebooks").glob("*.html")
    return {str(path.relative_to(place)): path.read_bytes() for path in wanted if path.is_file()}


# Settings that lead pip and uv astray while .venv is made.
ASTRAY_INSTALLING = {
    "PIP_USER": "1",
    "PIP_TARGET": "/nonexistent",
    "PIP_PREFIX": "/nonexistent",
    "PIP_CONSTRAINT": "/nonexistent",
    "PIP_NO_BINARY": ":all:",
    "UV_TARGET": "/nonexistent",
    "UV_CONSTRAINT": "/nonexistent",
    "UV_EXCLUDE_NEWER": "2001-01-01",
    "UV_NO_BINARY": "1",
    "UV_SYSTEM_PYTHON": "1",
    "UV_NO_BUILD": "1",
    "VIRTUAL_ENV": "/nonexistent",
    "CONDA_PREFIX": "/nonexistent",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Iterator[Path]:
    """A tarball of this checkout, installed, and one plain run in it."""
    base = tmp_path_factory.mktemp("surroundings")
    root = unpack(base / AWKWARD)
    for path in root.rglob("*"):
        os.utime(path, (2e9, 2e9))  # as after a clock that was wrong
    path = few_programs(base / "bin", sys._base_executable)
    run(root, "install", PATH=path, **ASTRAY_INSTALLING)
    said = run(root, PATH=path)
    assert "1 exhibit" in said
    yield root
    shutil.rmtree(root / ".venv", ignore_errors=True)  # large


def drawn_as_shipped(place: Path) -> bool:
    return whoever_made_the_runs(place / FIGURE) == whoever_made_the_runs(SHIPPED)


def check_the_same(root: Path, place: Path) -> None:
    here, there = made(place), made(root)
    assert str(FIGURE) in here and len(here) > 20 and here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def test_a_tarball_below_an_awkward_path_and_few_programs_give_the_shipped_figure(installed):
    """No git, no uv, no compiler; spaces, quotes, other scripts and files from the future."""
    assert not (installed / ".git").exists()
    assert drawn_as_shipped(installed)
    assert "nothing: everything was up to date" in run(installed)


@needs_mounts
def test_a_read_only_checkout_with_the_output_elsewhere(installed, tmp_path):
    before = ("unshare", "--mount", "sh", "-c", READ_ONLY, "sh", installed)
    run(installed, before=before, TCPFAIR_OUTPUT=str(tmp_path / "öut put"))
    check_the_same(installed, tmp_path / "öut put")
    said = run(installed, before=before, status=1)
    assert said.startswith("error: ") and said.count("\n") == 1 and "TCPFAIR_OUTPUT=FOLDER" in said


@needs_network_spaces
def test_without_a_network_after_the_installation(installed, tmp_path):
    reached = ["unshare", "--net", "sh", "-c", "cat /proc/net/route"]
    assert len(subprocess.run(reached, capture_output=True, text=True, check=True).stdout.splitlines()) <= 1
    run(installed, before=("unshare", "--net"), TCPFAIR_OUTPUT=str(tmp_path))
    check_the_same(installed, tmp_path)


def hostile(folder: Path) -> dict[str, str]:
    """Variables that were set for other work, and what they lead to: each would end a run, or change what it draws."""
    stop = "raise SystemExit('a setting of other work was read')\n"
    for name in ("sitecustomize.py", "numpy.py", "startup.py", "jupyter_config.py", "jupyter_nbconvert_config.py"):
        put(folder / name, stop)
    for place in (folder, folder / "config" / "matplotlib", folder / "matplotlib"):
        put(place / "matplotlibrc", "font.size: 40\n")
    for place in (folder / "ipython", folder / "data"):
        put(place / "profile_default" / "startup" / "00.py", stop)
    no_kernel = json.dumps({"argv": ["false"], "display_name": "none", "language": "python"})
    for place in (folder, folder / "data" / "jupyter"):
        put(place / "kernels" / "python3" / "kernel.json", no_kernel)
    put(folder / "bash", "exit 1\n")
    put(folder / "cd" / "results" / "other", "")
    python = ("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONPLATLIBDIR")
    jupyter = ("JUPYTER_PATH", "JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH", "JUPYTER_DATA_DIR")
    return {
        **dict.fromkeys((*python, *jupyter, "MATPLOTLIBRC"), str(folder)),
        "PYTHONSTARTUP": str(folder / "startup.py"),
        "PYTHONOPTIMIZE": "2",
        "PYTHONWARNINGS": "error",
        "PYTHONHASHSEED": "7",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "latin-1",
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "MPLBACKEND": "nonsense",
        "IPYTHONDIR": str(folder / "ipython"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_RUNTIME_DIR": "/nonexistent",
        "SNAKEMAKE_PROFILE": "nosuch",
        "SNAKEMAKE_OUTPUT_CACHE": "/nonexistent",
        "NUMBA_DISABLE_JIT": "1",
        "NUMBA_CACHE_DIR": "/nonexistent",
        "NPY_DISABLE_CPU_FEATURES": "nonsense",
        "OPENBLAS_CORETYPE": "Prescott",
        "OMP_NUM_THREADS": "64",
        "BASH_ENV": str(folder / "bash"),
        "ENV": str(folder / "bash"),
        "CDPATH": str(folder / "cd"),
        "POSIXLY_CORRECT": "1",
        "COLUMNS": "20",
        "FORCE_COLOR": "1",
        "SOURCE_DATE_EPOCH": "1",
    }


LANGUAGES_AND_TIMES = [("C", "Pacific/Chatham"), ("tr_TR.ISO-8859-9", "<-2359>23:59:59"), ("", ":nowhere")]


@pytest.mark.parametrize(("language", "zone"), LANGUAGES_AND_TIMES)
def test_variables_that_were_set_for_other_work(installed, tmp_path, language, zone):
    spoken = dict.fromkeys(("LANG", "LC_ALL", "LC_NUMERIC", "LANGUAGE"), language)
    run(installed, TCPFAIR_OUTPUT=str(tmp_path / "out"), TZ=zone, **spoken, **hostile(tmp_path / "other"))
    check_the_same(installed, tmp_path / "out")


@needs_root
def test_a_user_without_name_home_or_leave_to_write_the_checkout():
    """Installs and draws as a user who is in no file of accounts, from a checkout of root's, into a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="surroundings") as name:
        base = Path(name)
        base.chmod(0o755)
        root = unpack(base / "checkout")
        (base / "out").mkdir()
        os.chown(base / "out", STRANGER, STRANGER)
        before = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")
        python = next((found for found in ("/usr/bin/python3", *pythons_for_all()) if is_for_all(found, before)), None)
        if python is None:
            pytest.skip("no Python here that another user may start and that has venv")
        given = {"HOME": "/nonexistent", "PYTHON": python, "PATH": "/usr/bin:/bin", "LOGNAME": "", "USER": ""}
        run(root, before=before, TCPFAIR_OUTPUT=str(base / "out"), **given)
        assert drawn_as_shipped(base / "out")
        assert (base / "out" / FIGURE).stat().st_uid == STRANGER
        assert not (root / ".venv").exists() and not (root / "results").exists()


def pythons_for_all() -> list[str]:
    return [
        found for version in pythons() if (found := shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin"))
    ]


def is_for_all(python: str, before: tuple[str, ...]) -> bool:
    """Whether another user may start a Python that is recent enough and makes environments."""
    code = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([*before, python, "-c", code], capture_output=True, check=False).returncode == 0


@needs_mounts
@needs_network_spaces
def test_everything_at_once(installed, tmp_path):
    run(
        installed,
        before=("unshare", "--mount", "--net", "sh", "-c", READ_ONLY, "sh", installed),
        TCPFAIR_OUTPUT=str(tmp_path / "öut put"),
        HOME="/nonexistent",
        LC_ALL="C",
        TZ="Pacific/Chatham",
        **hostile(tmp_path / "other"),
    )
    check_the_same(installed, tmp_path / "öut put")


@pytest.mark.parametrize("version", pythons())
def test_every_python_gives_the_same_figure_and_the_same_run(version, tmp_path):
    python = find_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed here")
    root = unpack(tmp_path)
    run(root, "figure", "ogura.fig6", PYTHON=python)
    assert f"Python {version}." in (root / ".venv" / ".stamp").read_text()
    assert drawn_as_shipped(root)
    run(root, "whence", str(root / FIGURE), "--again")
    assert "the same bits" in run(root, "same-bits")
    shutil.rmtree(root / ".venv")


class Index:
    """A package index on loopback that holds the locked files alone; what else is asked for is in ``refused``."""

    def __init__(self) -> None:
        text = "".join((ROOT / "envs" / name).read_text() for name in ("requirements.txt", "installer.txt"))
        self.hashes = set(re.findall(r"--hash=sha256:(\w+)", text))
        self.names = {re.sub(r"[._]", "-", name.lower()) for name in re.findall(r"^([\w.-]+)==", text, re.M)}
        self.refused: list[str] = []
        self.upstream = registry()
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.strip("/")
                page = index.page(name)
                self.send_response(200 if page else 404)
                self.send_header("Content-Type", SIMPLE)
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    def page(self, name: str) -> bytes:
        """The locked files of a project, by the address at which the registry has them; nothing for any other."""
        if name not in self.names:
            self.refused.append(name)
            return b""
        found = json.loads(ask(f"{self.upstream}/{name}/"))
        found["files"] = [
            {**file, "core-metadata": False, "url": urljoin(f"{self.upstream}/{name}/", file["url"])}
            for file in found["files"]
            if file["hashes"].get("sha256") in self.hashes
        ]
        return json.dumps(found).encode()


SIMPLE = "application/vnd.pypi.simple.v1+json"


def registry() -> str:
    """The package index that this machine uses."""
    code = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    given = os.environ.get("PIP_INDEX_URL")
    own = subprocess.run([sys._base_executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return (given or own).strip().rstrip("/")


def ask(address: str) -> bytes:
    with urlopen(Request(address, headers={"Accept": SIMPLE}), timeout=60) as answer:
        return answer.read()


def test_an_index_with_the_locked_files_alone_is_enough(tmp_path):
    """With empty caches, so that nothing that was built or fetched before is used."""
    index = Index()
    try:
        ask(f"{index.upstream}/uv/")
    except OSError:
        pytest.skip("no package index can be reached")
    root = unpack(tmp_path / "checkout")
    places = {"UV_DEFAULT_INDEX": index.address, "PIP_INDEX_URL": index.address, "PIP_FIND_LINKS": ""}
    caches = {"UV_CACHE_DIR": str(tmp_path / "uv"), "PIP_CACHE_DIR": str(tmp_path / "pip")}
    try:
        run(root, "bench", "--help", PYTHON=sys._base_executable, **places, **caches)
    finally:
        index.server.shutdown()
        for folder in (tmp_path / "uv", root / ".venv"):
            shutil.rmtree(folder, ignore_errors=True)  # large
    assert index.refused == []
