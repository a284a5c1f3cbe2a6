"""Record one run of the testbed as a folder that the reader ``testbed`` reads."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.sources.readers import read_any
from tcpfair.sources.testbed import checks, programs
from tcpfair.sources.testbed.setup import BURST_S, OVERHEAD_BYTES, WIRE_BYTES, Setup, has_other_k
from tcpfair.units import BITS_PER_BYTE, MS_PER_S

_STAGE = Path(__file__).with_name("stage.py")
_UNFINISHED = ".unfinished"
_SCRATCH = ("plan.json", "result.json", "poll.json", "poll.log", "relay.log", "struct_ops.log")
_KEPT = ("rtt_probe_ms", "relay", "realtime", "counters", "cpu", "own_cpu_s")  # of what the stage found
_NAME_LENGTH = 15  # of a congestion control


class RefusedError(InputError):
    """A run that is not what it was set to be; another attempt may be."""


def record(setup: Setup, folder: Path, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Record ``setup`` in a new ``folder``, which exists only when the run is complete and passes its own checks.

    Returns the content of its ``meta.json``. Raises InputError, in one line, when something is missing, fails, or is not what it
    was set to be.
    """
    prepared = prepare(setup)
    folder = folder.absolute()
    if folder.exists():
        raise InputError(f"{folder}: already exists; give a new folder with --output")
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    prefix = f"{folder.name}.{os.getpid()}."
    with tempfile.TemporaryDirectory(prefix=prefix, suffix=_UNFINISHED, dir=folder.parent) as name:
        inside = Path(name)
        say(f"recording  {folder.name}: {setup.duration_s:g} s")
        result = _run_stage(prepared, setup, inside)
        for number, _ in enumerate(setup.flows, start=1):
            _clean_report(inside / f"flow{number}.iperf.json", number)
        polls, queue, delivered_bytes = _tables(inside, setup)
        at = checks.counted(setup, result["t0"], polls, queue)
        wrong = list(checks.faults(setup, result, delivered_bytes, polls, queue, at))
        if wrong:
            more = f"; and {len(wrong) - 1} more" if wrong[1:] else ""
            raise RefusedError(f"this run is refused: {wrong[0]}{more}")
        _clean(inside, {each["name"]: each["label"] for each in prepared["struct_ops"]})
        meta = _meta(setup, prepared, result)
        if at is not None:
            meta["checked"] = {"until_s": round(at.at_s, 2), "drops": at.drops, "retransmissions": at.retransmissions}
            meta["checked"]["needless"] = at.needless
        (inside / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
        try:
            read_any(inside)
        except InputError as error:  # such as an iperf3 without a processor for a second
            said = str(error).replace(f"{inside}/", "")
            raise RefusedError(f"this run is refused: it cannot be read: {said}") from None
        inside.chmod(0o755)
        try:
            inside.rename(folder)  # complete or missing
        except OSError:
            raise InputError(f"{folder}: was created meanwhile; give a new folder with --output") from None
        inside.mkdir()  # for the end of this block
    return meta


def summary(setup: Setup, meta: Mapping[str, Any]) -> list[str]:
    """Summary of a recording, line by line."""
    probed, wanted = (f"{ms:.2f}" for ms in meta["rtt_probe_ms"]), (f"{flow.rtt_ms:g}" for flow in setup.flows)
    lines = [f"round trip {', '.join(probed)} ms, set {', '.join(wanted)}"]
    if at := meta.get("checked"):
        lines.append(f"losses     {at['drops']} dropped, {at['retransmissions']} retransmitted")
    late_ms = MS_PER_S * meta["relay"].get("latest_s", 0.0)
    if late_ms:
        lines.append(f"pauses     packets left up to {late_ms:.1f} ms late, as the machine had other work")
    return lines


def _sweep(place: Path) -> None:
    """Remove the remains of killed recordings: their names have the process id."""
    for left in place.glob(f"*.*.*{_UNFINISHED}"):
        pid = left.name.removesuffix(_UNFINISHED).split(".")[-2]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)


def prepare(setup: Setup) -> dict[str, Any]:
    """The plan of a run, its programs compiled. Raises InputError when something is missing."""
    bpf = sorted({flow.cc for flow in setup.flows if has_other_k(flow.cc)})
    programs.require(bpf=bool(bpf))
    programs.require_cc(flow.cc for flow in setup.flows)
    bottleneck, delay = _places(setup)
    # simultaneous testbeds, and remains of another, need different names
    names = {cc: f"tf{number}_{os.urandom(5).hex()}"[:_NAME_LENGTH] for number, cc in enumerate(bpf)}
    struct_ops = [
        {"loader": str(programs.loader()), "object": str(programs.bpf_object(cc)), "name": names[cc], "label": cc}
        for cc in bpf
    ]
    return {
        **setup.model_dump(include={"rate_bps", "duration_s", "interval_s", "forward_share", "ss", "pcap"}),
        "bottleneck": bottleneck,
        "delay": delay,
        "buffer_bytes": setup.limit_bytes,
        "burst_bytes": max(2 * WIRE_BYTES, round(setup.rate_bps / BITS_PER_BYTE * BURST_S)),
        "overhead_bytes": OVERHEAD_BYTES,
        "period_s": setup.poll_s,
        "slots": setup.ring_slots,
        "relay": str(programs.relay()) if delay == "relay" else "",
        "struct_ops": struct_ops,
        "flows": [
            {
                "cc": names.get(flow.cc, flow.cc),
                "rtt_ms": flow.rtt_ms,
                "start_s": flow.start_s,
                "seconds": math.ceil(setup.duration_s - flow.start_s),  # iperf3 counts full ones
            }
            for flow in setup.flows
        ],
    }


def _places(setup: Setup) -> tuple[str, str]:
    """Placement of the bottleneck and the delays. Raises InputError for netem on a kernel without it."""
    if setup.delay == "netem" and not programs.has_netem():
        raise InputError("delay: this kernel has no netem; write delay: relay, or modprobe sch_netem")
    may_netem = setup.delay != "relay" and setup.bottleneck != "relay" and not setup.pcap
    delay = "netem" if may_netem and programs.has_netem() else "relay"
    if setup.bottleneck == "auto":
        return ("tbf" if delay == "netem" else "relay"), delay
    return setup.bottleneck, delay


def command(plan: Path) -> list[str]:
    """The command of a stage: its children end with it, and it ends with its parent, even if that is killed."""
    spaces = ["unshare", "--mount", "--pid", "--net", "--mount-proc", "--fork", "--kill-child=KILL"]
    return ["setpriv", "--pdeathsig", "KILL", *spaces, sys.executable, "-I", str(_STAGE), str(plan)]


def _run_stage(plan: dict[str, Any], setup: Setup, folder: Path) -> dict[str, Any]:
    """Run the stage to its end and return its result. Raises InputError with its message when it fails."""
    file = folder / "plan.json"
    file.write_text(json.dumps({**plan, "folder": str(folder)}))
    longest_s = 3 * setup.duration_s + 120
    # the stage ends when its standard input closes
    with subprocess.Popen(
        command(file), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as stage:
        try:
            stage.wait(longest_s)
        except subprocess.TimeoutExpired:
            raise InputError(f"the testbed has not ended after {longest_s:.0f} s") from None
        finally:
            stage.kill()
        said = stage.stderr.read().strip().splitlines()
    if stage.returncode or not (folder / "result.json").is_file():
        raise InputError(f"the testbed failed: {said[-1] if said else f'status {stage.returncode}'}")
    return json.loads((folder / "result.json").read_text())


# ---------------------------------------------------------------- the folder


def _clean(folder: Path, labels: Mapping[str, str]) -> None:
    """Compress the files, name congestion controls as they were requested, and remove what identifies the machine."""
    for name in _SCRATCH:
        (folder / name).unlink(missing_ok=True)
    for path in list(folder.iterdir()):
        content = path.read_bytes()
        if path.suffix != ".pcap":
            for name, label in labels.items():
                content = content.replace(name.encode(), label.encode())
        # the header has neither name nor time
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content, 6, mtime=0))
        path.unlink()


def _clean_report(path: Path, flow: int) -> None:
    """Remove the session's cookie and the machine's description from a report of iperf3. Raises InputError for a failed flow."""
    try:
        values = json.loads(path.read_text())
    except json.JSONDecodeError:
        raise InputError(f"the testbed failed: flow {flow}: iperf3 left no whole report") from None
    if "error" in values:
        raise InputError(f"the testbed failed: flow {flow}: iperf3 says {values['error']!r}")
    for part in (values, values.get("server_output_json", {})):
        start = part.get("start", {})
        start.pop("cookie", None)
        if "system_info" in start:
            start["system_info"] = f"Linux {release()}"
    path.write_text(json.dumps(values))


def release() -> str:
    """The kernel's version, without what its builder added."""
    found = re.match(r"\d+(\.\d+)*", os.uname().release)
    return found[0] if found else "unknown"


def _meta(setup: Setup, plan: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """``meta.json``: first the values for the reader, then those on the quality of the run."""
    return {
        "rate": setup.rate_bps,
        "rtt": [flow.rtt_ms for flow in setup.flows],
        "cc": [flow.cc for flow in setup.flows],
        "start": [flow.start_s for flow in setup.flows],
        "dur": setup.duration_s,
        "bottleneck": "tbf" if plan["bottleneck"] == "tbf" else "wire",  # the name in earlier recordings
        "ovh": OVERHEAD_BYTES,
        "buf_bytes": setup.limit_bytes,
        "t0": result["t0"],
        "kernel": release(),
        "delay": plan["delay"],
        "forward_share": setup.forward_share,
        **{name: result[name] for name in _KEPT},
    }


def _tables(folder: Path, setup: Setup) -> tuple[list[pd.DataFrame], pd.DataFrame, list[float]]:
    """Polls of each sender, counters of the queue, and the bytes at each flow's receiver."""
    polls, delivered_bytes = [], []
    for number, _ in enumerate(setup.flows, start=1):
        polls.append(pd.read_csv(folder / f"s{number}.tcp.csv"))
        if polls[-1].empty:
            raise InputError(f"the testbed failed: flow {number}: no poll saw its connection")
        report = json.loads((folder / f"flow{number}.iperf.json").read_text())
        spans = report.get("server_output_json", report)["intervals"]
        delivered_bytes.append(sum(each["sum"]["bytes"] for each in spans))
    return polls, pd.read_csv(folder / "queue.csv"), delivered_bytes
