"""The guest's kernel and first file system, in the cache: made of Debian's kernel package, ``ip``, ``tc`` and ``agent.c``.

Both are identified by what they are made from. A kernel package is fetched by ``apt-get download`` and unpacked, never installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tcpfair import jit
from tcpfair.errors import InputError
from tcpfair.files.files import whole, write_whole
from tcpfair.papers.papers import load_yaml

HERE = Path(__file__).parent
LOCK = HERE / "kernels.yaml"
CHOICE = "TCPFAIR_GUEST_KERNEL"
MODULES = (  # in the order in which they need each other
    *("veth", "sch_netem", "dccp", "dccp_ipv4"),
    *(f"tcp_{cc}" for cc in ("vegas", "bic", "htcp", "highspeed", "hybla", "illinois", "lp", "scalable", "veno")),
    *("tcp_westwood", "tcp_yeah"),
)
TOOLS = {  # what each is for the user to install
    "qemu-system-x86_64": "qemu-system-x86",
    "gcc": "gcc libc6-dev",
    "dpkg-deb": "dpkg",
    "ip": "iproute2",
    "tc": "iproute2",
}
_SYSTEM_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"  # root's directories are not on everybody's path
_COMPILE = ("gcc", "-O2", "-static")


class Image(NamedTuple):
    """Kernel and first file system (a cpio archive, not packed: the guest would unpack it slowly)."""

    kernel: Path
    root: Path


def kernels() -> dict[str, dict[str, str]]:
    """The lock: package, version and checksum of each kernel by its version."""
    return load_yaml(LOCK)


def chosen() -> str:
    """Version of the kernel that boots. Raises InputError for one that the lock lacks."""
    known = kernels()
    name = os.environ.get(CHOICE) or next(iter(known))
    if name not in known:
        raise InputError(f"{CHOICE}: no kernel {name!r}; {LOCK.name} has {', '.join(known)}")
    return name


def tool(name: str) -> str:
    """Path of a program. Raises InputError, with the package to install, when it is missing."""
    found = shutil.which(name) or shutil.which(name, path=_SYSTEM_PATH)
    if found is None:
        raise InputError(f"guest: {name} is not installed: apt install {TOOLS[name]} (Debian, Ubuntu)")
    return found


def folder() -> Path:
    """The folder of packages and images: next to the compiled engine, like the testbed's programs."""
    return jit.folder.parent / "guest"


@cache
def image() -> Image:
    """The kernel that is chosen and its file system, built when they are missing. Raises InputError when they cannot be."""
    for name in TOOLS:
        tool(name)
    lock = kernels()[chosen()]
    shared = [Path(tool(name)).resolve() for name in ("ip", "tc")]
    files = {**{f"bin/{path.name}": path for path in shared}, **_libraries(shared)}
    key = hashlib.sha256(repr((lock["sha256"], MODULES, _COMPILE)).encode() + (HERE / "agent.c").read_bytes())
    for name, path in sorted(files.items()):
        key.update(name.encode() + path.read_bytes())
    place = folder() / f"{lock['version']}-{key.hexdigest()[:16]}"
    made = Image(place / "vmlinuz", place / "root.cpio")
    if not made.root.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            unpacked = _unpacked(lock, Path(scratch))
            files["init"] = _agent(Path(scratch))
            for module in MODULES:
                files[f"mod/{module}.ko"] = _one(unpacked, f"{module}.ko*")
            write_whole(made.kernel, _one(unpacked, "vmlinuz-*").read_bytes())
            write_whole(made.root, archive({k: _content(p) for k, p in files.items()}))
    return made


def _unpacked(lock: Mapping[str, str], scratch: Path) -> Path:
    """The files of the kernel package, whose checksum is right."""
    package = folder() / f"{lock['package']}_{lock['version']}.deb"
    if not package.is_file():
        wanted = f"{lock['package']}={lock['version']}"
        call(["apt-get", "download", wanted], f"cannot fetch the kernel package {wanted}", scratch)
        with whole(package) as target:
            shutil.copyfile(_one(scratch, "*.deb"), target)
    if hashlib.sha256(package.read_bytes()).hexdigest() != lock["sha256"]:
        raise InputError(f"{package}: its checksum is not that of {LOCK.name}; delete it, and it is fetched again")
    call([tool("dpkg-deb"), "-x", str(package), str(scratch / "unpacked")], f"cannot unpack {package}", scratch)
    return scratch / "unpacked"


def _agent(scratch: Path) -> Path:
    made = scratch / "agent"
    call([*_COMPILE, "-o", str(made), str(HERE / "agent.c"), "-lm"], "agent.c does not compile", scratch)
    return made


def call(words: list[str], what: str, folder: Path) -> None:
    """Run a command in a folder; InputError that begins with ``what`` when it fails."""
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise InputError(f"guest: {what}: {words[0]} is not installed") from None
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "rror" in line or line.startswith("E:")), "")
        raise InputError(f"guest: {what}: {reason or done.stderr.strip()[-200:] or 'no reason given'}")


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.rglob(pattern))
    if not found:
        raise InputError(f"guest: the kernel package has no {pattern}")
    return found[0]


def _content(path: Path) -> bytes:
    """A file's bytes; a module that a package has compressed is unpacked."""
    if path.suffix == ".xz":
        import lzma

        return lzma.decompress(path.read_bytes())
    return path.read_bytes()


def _libraries(programs: list[Path]) -> dict[str, Path]:
    """The shared libraries of programs, by their path in the guest."""
    found = {}
    for program in programs:
        listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"(/\S+) \(0x", listed):
            found[path.lstrip("/")] = Path(path).resolve()
    return found


def archive(files: Mapping[str, bytes]) -> bytes:
    """Files by path as a cpio archive (newc), which the kernel unpacks; the same bytes for the same files."""
    return b"".join(_entries(files))


def _entries(files: Mapping[str, bytes]) -> Iterator[bytes]:
    folders = {str(parent) for name in files for parent in Path(name).parents} - {"."}
    entries = [(name, 0o040755, b"") for name in sorted(folders)]
    entries += [(name, 0o100755, content) for name, content in sorted(files.items())]
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        values = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % value for value in values) + name.encode() + b"\0"
        yield head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)
