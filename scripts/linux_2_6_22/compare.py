"""Compares the engine's ``stack: linux_2_6_22`` with a Linux 2.6.22.19 kernel in QEMU; docs/validation.md tells how to build it.

    PYTHONPATH=src .venv/bin/python scripts/linux_2_6_22/compare.py BZIMAGE [EXPERIMENT/ALGORITHM...]

The scenarios are those of ``config/guest.yaml`` with what ``plan.yaml`` here replaces.
The table goes to ``data/reference/linux_2_6_22.csv`` and is printed; given experiments replace only their rows. Outputs of the
kernel are kept in ``results/linux_2_6_22``, so an interrupted comparison resumes. Requires QEMU and musl-gcc (packages
qemu-system-x86 and musl-tools of Debian).
"""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import pandas as pd
import yaml

from tcpfair import machine
from tcpfair.engine.result import Result
from tcpfair.errors import InputError
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.scenario import Scenario
from tcpfair.sources import guest, simulator, tables
from tcpfair.sources.guest import image
from tcpfair.validation import agreement, measures, scenarios

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / "results" / "linux_2_6_22"
TABLE = ROOT / "data" / "reference" / "linux_2_6_22.csv"
ROW = ["experiment", "algorithm", "metric"]
TOOL = "linux_2_6_22"
EXPERIMENTS = (
    "start",
    "alone",
    "small_windows",
    "loss_1_percent",
    "against_reno",
    "against_ccid2",
    "two_rtts",
    "fourteen",
)
TX_QUEUE_PKTS = 64  # of a DCCP socket; the default of 5 is too few for a program that is not always awake
OLD_MACHINE = ("-machine", "pc,accel=tcg")  # the last option counts
COMMAND_LINE = "console=ttyS0 quiet panic=-1 rdinit=/init"
HEADERS = ("-I", str(Path(guest.__file__).parent))
HEADERS += ("-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu")


def script(scenario: Scenario, seed: int) -> str:
    """The scenario as lines for ``tun.c``."""
    guest.check(scenario)
    size_bytes = guest._socket_bytes(scenario)
    values = {
        **{f"ipv4/tcp_{name}mem": f"4096 {size_bytes} {size_bytes}" for name in "rw"},
        **{f"core/{name}": size_bytes for name in ("rmem_max", "wmem_max", "rmem_default", "wmem_default")},
        **{"ipv4/tcp_no_metrics_save": 1, "ipv4/tcp_slow_start_after_idle": 0, "core/netdev_max_backlog": 10_000},
        **{f"dccp/default/{name}": 2 for name in ("tx_ccid", "rx_ccid")},
        "dccp/default/tx_qlen": TX_QUEUE_PKTS,
    }
    lines = [f"write /proc/sys/net/{name} {value}" for name, value in values.items()]
    mtu = round(scenario.wire_bytes) - guest.ETHERNET_BYTES
    mtu += guest._DCCP_OPTIONS_BYTES if any(flow.cc == "ccid2" for flow in scenario.flows) else 0
    limit = max(round(scenario.buffer_pkts), 1) + 1  # with the packet in service
    about = (limit, guest.ETHERNET_BYTES, scenario.jitter_s, scenario.loss_rate, mtu, seed)
    lines += [f"link {scenario.capacity_bps:.0f} {' '.join(map(str, about))}"]
    for flow in scenario.flows:
        payload_bytes = guest._payload_bytes(scenario, flow)
        segment = f"{payload_bytes} {payload_bytes + guest._TIMESTAMPS_BYTES}"
        times = f"{flow.start_s} {min(flow.stop_s, guest._NEVER)} {guest._NEVER * payload_bytes:.0f}"
        is_quick = flow.cc != "ccid2" and flow.ack_every == 1
        lines += [f"flow {flow.rtt_s} {_kernel_name(flow.cc)} {segment} {times} {is_quick:d}"]
    ticks = math.ceil(scenario.sample_s / guest._POLL_S)
    return "\n".join([*lines, f"run {scenario.duration_s} {scenario.sample_s} {ticks}"]) + "\n"


def _kernel_name(cc: str) -> str:
    return guest._KERNEL_CC[cc].split()[0]


def of_engine(scenario: Scenario) -> Scenario:
    """With the receiver window to which that of the kernel grows: three quarters of the buffer (tcp_win_from_space)."""
    rwnd_pkts = 0.75 * guest._socket_bytes(scenario) / scenario.payload_bytes
    flows = [
        each if each.cc == "ccid2" else each.model_copy(update={"rwnd_pkts": rwnd_pkts}) for each in scenario.flows
    ]
    return scenario.model_copy(update={"flows": tuple(flows)})


def run(kernel: Path, agent: bytes, scenario: Scenario, seed: int) -> Result:
    """One run on the kernel. Raises InputError for a failed one, which is not kept."""
    text = script(scenario, seed).encode()
    kept = KEPT / f"{hashlib.sha256(kernel.read_bytes() + agent + text).hexdigest()[:16]}.txt"
    if kept.is_file():
        return guest.result(scenario, kept.read_text(errors="replace"))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root.cpio"
        root.write_bytes(image.archive({"init": agent, "scenario": text}))
        command = [image.tool("qemu-system-x86_64"), *guest._QEMU, *OLD_MACHINE]
        command += ["-kernel", str(kernel), "-initrd", str(root), "-append", COMMAND_LINE]
        limit = partial(guest._limit_cpu, guest._estimate_run_s(scenario) * guest._PATIENCE)
        done = subprocess.run(command, capture_output=True, preexec_fn=limit, check=False)
    found = guest.result(scenario, done.stdout.decode(errors="replace"))
    write_whole(kept, done.stdout)
    return found


def plan() -> PaperConfig:
    """``config/guest.yaml`` with what ``plan.yaml`` replaces and adds."""
    shared, own = [yaml.safe_load(path.read_text()) for path in (Layout(ROOT).guest_config, HERE / "plan.yaml")]
    sections = {name: section | own[name] if name in own else section for name, section in shared.items()}
    with tempfile.TemporaryDirectory() as folder:
        merged = Path(folder) / "plan.yaml"
        merged.write_text(yaml.safe_dump(sections))
        return scenarios.load(merged)


def main(kernel: Path, patterns: list[str]) -> None:
    """Run the kernel and the engine, and compare. Raises InputError for what is missing, and for a run that fails."""
    if not kernel.is_file():
        raise InputError(f"{kernel}: is no file; give the kernel's bzImage (docs/validation.md)")
    guest._KERNEL_CC["cubic"] = "cubic of 2.6.22"  # the reader of polls knows the rule of Linux 6 for "cubic"
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "agent"
        command = ["musl-gcc", "-O2", "-static", *HEADERS, "-o", str(agent), str(HERE / "tun.c"), "-lm"]
        image.call(command, "tun.c does not compile", HERE)
        program = agent.read_bytes()
    config, found = plan(), []
    for name in EXPERIMENTS:
        chosen = scenarios.Selection({"*": int(config.experiments[name].runs.value)}).by_label(config, name)
        specs = [x for label, own in chosen.items() if _is_wanted(f"{name}/{label}", patterns) for x in own]
        if specs:
            found.append(_compared(config, name, specs, kernel, program))
            print(
                found[-1][["algorithm", "metric", "engine_mean", "tool_mean", "relative", "verdict"]].to_string(),
                flush=True,
            )
    table = agreement.rounded(pd.concat(found, ignore_index=True).drop(columns="explanation"))
    if patterns:
        before = pd.read_csv(TABLE)
        rows = pd.concat([table, before]).drop_duplicates(ROW).set_index(ROW)
        table = rows.loc[before.set_index(ROW).index].reset_index()[before.columns]
    write_whole(TABLE, table.to_csv(index=False, lineterminator="\n"))


def _is_wanted(name: str, patterns: list[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def _compared(config: PaperConfig, name: str, specs: list, kernel: Path, agent: bytes) -> pd.DataFrame:
    """The rows of an experiment."""
    (n_runs,) = config.analysis_value("guest_runs").values()
    of_kernel = [spec for spec in specs if spec.replicate < n_runs]
    with ThreadPoolExecutor(machine.free_cores()) as pool:
        made = list(pool.map(lambda spec: run(kernel, agent, spec.scenario, spec.replicate + 1), of_kernel))
    results = iter(made)
    provenance = {"backend": "guest", "code": "", "tool": TOOL}
    traces = [
        simulator("engine").simulate_runs(config, name, [replace(x, scenario=of_engine(x.scenario)) for x in specs]),
        tables.simulate_runs(config, name, of_kernel, lambda scenario, seed: next(results), provenance),
    ]
    window_s = tuple(map(float, config.experiments[name].window_s.value))
    share = config.analysis_value("whole_epochs_share")
    of = [measures.measure(trace, config.experiments[name].measures, [window_s], share) for trace in traces]
    return agreement.compare(config, name, TOOL, *of, window_s)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except InputError as error:
        sys.exit(f"error: {error}")
