"""Requirements of the testbed, and its own programs, compiled at first use."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tcpfair import jit
from tcpfair.errors import InputError
from tcpfair.files.files import whole, write_whole
from tcpfair.sources.testbed.setup import CONSTANT_K, K_OF_RTT, KERNEL_CC, has_other_k

HERE = Path(__file__).parent
BTF = Path("/sys/kernel/btf/vmlinux")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# command -> Debian package
TOOLS = {
    "iperf3": "iperf3",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "chrt": "util-linux",
    "mount": "mount",
}
BPF_TOOLS = {"clang": "clang", "bpftool": "bpftool"}
OF_A_RUN = re.compile(r"tf\d+_[0-9a-f]+")  # a congestion control that a run registered


def missing(bpf: bool = False) -> str:
    """The reason why the testbed cannot run here, in one line; empty when it can. ``bpf``: with CUBIC of another K."""
    if sys.platform != "linux":
        return f"the testbed needs Linux (this is {sys.platform})"
    lacking = {tool: package for tool, package in TOOLS.items() if _which(tool) is None}
    if compiler() is None:
        lacking["cc"] = "gcc"
    if bpf:
        lacking |= {tool: package for tool, package in BPF_TOOLS.items() if _which(tool) is None}
    why = []
    if os.geteuid() != 0:
        why.append("must run as root, as it makes network namespaces: sudo ./reproduce testbed ...")
    if lacking:
        packages = " ".join(dict.fromkeys(lacking.values()))
        why.append(f"needs {', '.join(lacking)}: apt install {packages}")
    if bpf and not BTF.is_file():
        why.append(f"needs a kernel with BTF for CUBIC of another K ({BTF} is missing)")
    return f"the testbed {'; it '.join(why)}" if why else ""


def require(bpf: bool = False) -> None:
    """Raise InputError that lists missing requirements."""
    why = missing(bpf)
    if why:
        raise InputError(why)


def require_cc(names: Iterable[str]) -> None:
    """Raise InputError for a congestion control that this kernel lacks."""
    available = [name for name in AVAILABLE.read_text().split() if not OF_A_RUN.fullmatch(name)]
    for name in names:
        if name not in available and not has_other_k(name):
            module = f"; try: modprobe tcp_{name}" if name in KERNEL_CC else ""
            raise InputError(f"cc: this kernel has no {name!r}; it has {', '.join(available)}{module}")


def _which(tool: str) -> str | None:
    # root's directories are not on every user's path
    return shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin")


def compiler() -> str | None:
    """The C compiler: $CC, cc or gcc."""
    return next((found for found in map(shutil.which, (os.environ.get("CC") or "cc", "cc", "gcc")) if found), None)


def has_netem() -> bool:
    """Whether this kernel has netem: tested on a loopback of a temporary namespace."""
    script = "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"
    tried = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, check=False)
    return tried.returncode == 0


# ---------------------------------------------------------------- compiling


def relay() -> Path:
    """The relay, compiled."""
    return _c_program("relay")


def loader() -> Path:
    """The program that registers a congestion control of BPF."""
    try:
        return _c_program("struct_ops", "-lbpf")
    except InputError as error:
        raise InputError(f"{error}; its headers and library are in apt install libbpf-dev") from None


def _c_program(name: str, *libraries: str) -> Path:
    source = HERE / f"{name}.c"
    return _compiled(name, [source], [compiler(), "-O2", "-o"], [source, *libraries])


def bpf_object(cc: str) -> Path:
    """CUBIC with another K, compiled for the running kernel. Raises InputError when clang refuses it."""
    constant = CONSTANT_K.fullmatch(cc)
    flag = "-DK_OF_RTT" if cc == K_OF_RTT else f"-DK_MS={constant[1] if constant else 0}"
    types = _vmlinux_header()
    source = HERE / "cubic_k.bpf.c"
    machine = {"x86_64": "x86", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    target = ["clang", "-O2", "-g", "-target", "bpf", f"-D__TARGET_ARCH_{machine}", flag, f"-I{types.parent}", "-c"]
    return _compiled(f"{cc}.o", [source, types], [*target, str(source), "-o"], [])


def _vmlinux_header() -> Path:
    """The types of the running kernel as a C header."""
    name = hashlib.sha256(BTF.read_bytes()).hexdigest()[:16]
    path = _folder() / f"btf-{name}" / "vmlinux.h"
    if not path.is_file():
        command = [_which("bpftool"), "btf", "dump", "file", str(BTF), "format", "c"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(f"bpftool cannot read the kernel's types: {_last_line(done.stderr)}")
        write_whole(path, done.stdout)
    return path


def _compiled(name: str, sources: list[Path], before: list[str | None], after: list[Path | str]) -> Path:
    """A program in the cache, rebuilt when its sources or its command have changed."""
    key = hashlib.sha256()
    for source in sources:
        key.update(source.read_bytes())
    key.update(repr([str(word).replace(str(HERE), "") for word in (*before, *after)]).encode())
    path = _folder() / f"{name}-{key.hexdigest()[:16]}"
    if path.is_file():
        return path
    with whole(path) as scratch:  # two processes may compile at once
        words = [*map(str, before), str(scratch), *map(str, after)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            error = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
            raise InputError(f"the testbed's {name} does not compile: {_last_line(error)}")
    return path


def _folder() -> Path:
    return jit.folder.parent / "testbed"  # next to the compiled engine


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1][-200:]
