"""A recording: what is taken out of it, what a failed one leaves, and, where root and the tools are, a real one."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import read_any
from tcpfair.sources.testbed import programs, record
from tcpfair.sources.testbed.setup import PAYLOAD_BYTES, WIRE_BYTES, make_setup

CAN = programs.missing()
CAN_BPF = programs.missing(bpf=True)
here = pytest.mark.skipif(bool(CAN), reason=CAN)
bpf_here = pytest.mark.skipif(bool(CAN_BPF), reason=CAN_BPF)


def setup(*flows: dict, seconds: float = 3, **settings):
    return make_setup({"rate_bps": 100e6, "duration_s": seconds, "flows": list(flows), **settings}, "x")


def recorded(wanted, folder: Path) -> dict:
    """A recording, with another attempt where the machine paused."""
    for _ in range(3):
        try:
            return record.record(wanted, folder)
        except record.RefusedError as error:
            why = str(error)
    pytest.skip(f"this machine has too much else to do: {why}")


# ---------------------------------------------------------------- without root


def test_reports_lose_what_identifies_and_keep_what_counts(tmp_path):
    part = {
        "start": {"cookie": "abc", "system_info": "Linux host 6.1.0-x86 #1"},
        "end": {"sender_tcp_congestion": "tf0_12"},
    }
    report = tmp_path / "flow1.iperf.json"
    report.write_text(json.dumps({**part, "server_output_json": part}))
    (tmp_path / "relay.log").write_text("of this machine")
    record._clean_report(report, 1)
    record._clean(tmp_path, {"tf0_12": "cubic_k_rtt"})
    assert [path.name for path in tmp_path.iterdir()] == ["flow1.iperf.json.gz"]
    made = json.loads(gzip.decompress((tmp_path / "flow1.iperf.json.gz").read_bytes()))
    for each in (made, made["server_output_json"]):
        assert "cookie" not in each["start"]
        assert "host" not in each["start"]["system_info"]
        assert each["end"]["sender_tcp_congestion"] == "cubic_k_rtt"


def test_remains_of_killed_recordings_go_and_those_of_living_ones_stay(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead, alive = tmp_path / f"run.{ended.pid}.x1.unfinished", tmp_path / f"run.{os.getpid()}.x2.unfinished"
    other = tmp_path / "notes.unfinished"
    for folder in (dead, alive, other):
        folder.mkdir()
    record._sweep(tmp_path)
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()


@pytest.fixture
def prepared(monkeypatch):
    monkeypatch.setattr(record, "prepare", lambda setup: {"struct_ops": []})


@pytest.mark.parametrize("says", ["sh: no", ""])
def test_a_stage_that_fails_leaves_one_line_and_no_folder(monkeypatch, prepared, tmp_path, says):
    words = [sys.executable, "-c", f"import sys; print({says!r}, file=sys.stderr); sys.exit(1)"]
    monkeypatch.setattr(record, "command", lambda plan: words)
    with pytest.raises(InputError, match="the testbed failed: (sh: no|status 1)"):
        record.record(setup({"cc": "reno", "rtt_ms": 50}), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_older_recording_is_never_written_over(prepared, tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match="run: already exists"):
        record.record(setup({"cc": "reno", "rtt_ms": 50}), tmp_path / "run")


def test_the_plan_has_names_of_its_own_for_congestion_controls_of_bpf(monkeypatch):
    for name in ("relay", "loader"):
        monkeypatch.setattr(programs, name, lambda: Path("/cache/x"))
    monkeypatch.setattr(programs, "bpf_object", lambda cc: Path("/cache", cc))
    monkeypatch.setattr(programs, "require", lambda bpf: None)
    monkeypatch.setattr(programs, "require_cc", lambda names: None)
    monkeypatch.setattr(programs, "has_netem", lambda: False)
    flow = {"cc": "cubic_k_rtt", "rtt_ms": 64}
    plans = [record.prepare(setup(flow, {"cc": "reno", "rtt_ms": 2, "start_s": 1.5})) for _ in range(2)]
    names = [plan["struct_ops"][0]["name"] for plan in plans]
    assert names[0] != names[1]  # two at once
    assert all(len(name) <= 15 for name in names)
    assert [each["cc"] for each in plans[0]["flows"]] == [names[0], "reno"]
    assert [each["seconds"] for each in plans[0]["flows"]] == [3, 2]  # whole ones, up to the end at least


@pytest.mark.parametrize(
    ("netem", "settings", "places"),
    [
        (True, {}, ("tbf", "netem")),
        (False, {}, ("relay", "relay")),
        (True, {"pcap": True}, ("relay", "relay")),
        (True, {"bottleneck": "relay"}, ("relay", "relay")),
        (False, {"bottleneck": "tbf"}, ("tbf", "relay")),
        (True, {"bottleneck": "tbf", "delay": "relay"}, ("tbf", "relay")),
    ],
)
def test_bottleneck_and_delays_are_in_the_kernel_where_it_can(monkeypatch, netem, settings, places):
    monkeypatch.setattr(programs, "has_netem", lambda: netem)
    assert record._places(setup({"cc": "reno", "rtt_ms": 50}, **settings)) == places


def test_netem_on_a_kernel_without_it_is_refused(monkeypatch):
    monkeypatch.setattr(programs, "has_netem", lambda: False)
    with pytest.raises(InputError, match="this kernel has no netem"):
        record._places(setup({"cc": "reno", "rtt_ms": 50}, delay="netem"))


# ---------------------------------------------------------------- with root and the tools


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """CUBIC alone for some seconds."""
    if CAN:
        pytest.skip(CAN)
    folder = tmp_path_factory.mktemp("testbed") / "run"
    wanted = setup({"cc": "cubic", "rtt_ms": 20}, seconds=5, interval_s=0.5)
    return wanted, recorded(wanted, folder), folder


@here
def test_drops_are_retransmissions_and_the_round_trip_is_as_set(run):
    wanted, meta, _ = run
    assert meta["checked"]["drops"] == meta["checked"]["retransmissions"] - meta["checked"]["needless"] > 0
    assert meta["rtt_probe_ms"][0] == pytest.approx(wanted.flows[0].rtt_ms, abs=1)


@here
def test_goodput_is_what_headers_leave(run):
    wanted, _, folder = run
    trace = read_any(folder)
    settled = trace.samples[(trace.samples["t_s"] > 2) & (trace.samples["t_s"] <= 5)]
    goodput_bps = 8 * settled["delivered_bytes"].sum() / 3
    # at least 99 % where the machine has nothing else to do: tests/validation/test_kernel.py, from the shipped recordings
    assert 0.75 < goodput_bps / (wanted.rate_bps * PAYLOAD_BYTES / WIRE_BYTES) < 1.01


@here
def test_the_folder_tells_nothing_of_the_machine(run):
    _, _, folder = run
    texts = [
        subprocess.run(["zcat", "-f", str(file)], capture_output=True, check=True).stdout for file in folder.iterdir()
    ]
    for secret in (os.uname().nodename, os.uname().release, os.uname().version):
        if secret not in ("", record.release()):
            assert all(secret.encode() not in text for text in texts)


@here
@pytest.mark.parametrize(
    "how",
    [signal.SIGKILL, *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGTERM, signal.SIGINT))],
)
def test_nothing_is_left_of_a_recording_that_is_ended_in_the_middle(tmp_path, how):
    """Processes, namespaces and links go with the leader, whatever ends it; the next recording removes its folder."""
    script = (
        "from pathlib import Path; from tcpfair.sources.testbed import record, setup\n"
        "record.record(setup.make_setup({'rate_bps': 1e8, 'duration_s': 60, 'flows': [{'cc': 'reno', 'rtt_ms': 20}]}, 'x'),"
        f" Path({str(tmp_path / 'run')!r}))"
    )
    programs.relay()
    interfaces = interface_names()
    leader = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    assert wait_for(lambda: list(tmp_path.glob("*/s1.tcp.csv"))), "the recording does not start"
    assert family_of(tmp_path)
    inside = {space for process in family(tmp_path) if (space := space_of(process))}
    assert inside
    leader.send_signal(how)
    leader.wait(90)
    assert wait_for(lambda: not family_of(tmp_path)), family_of(tmp_path)
    # its network namespaces had names in a /run of their own, and no process is left that could hold one
    assert wait_for(lambda: not in_spaces(inside)), in_spaces(inside)
    assert interface_names() == interfaces
    record._sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def wait_for(condition, seconds: float = 90.0) -> bool:
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s:
        if condition():
            return True
        time.sleep(0.1)
    return False


def interface_names() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def processes() -> list[Path]:
    return [path for path in Path("/proc").iterdir() if path.name.isdigit()]


def command_of(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def space_of(process: Path) -> str:
    """The network namespace that a process is in."""
    try:
        return str((process / "ns" / "net").readlink())
    except OSError:
        return ""


def family(place: Path) -> list[Path]:
    """Processes whose command names a folder below ``place``, but for the leader."""
    return [
        each for each in processes() if str(place) in command_of(each) and "tcpfair.sources" not in command_of(each)
    ]


def family_of(place: Path) -> list[str]:
    return [command_of(each) for each in family(place)]


def in_spaces(spaces: set[str]) -> list[str]:
    """Processes in some network namespaces other than this one's."""
    away = spaces - {space_of(Path("/proc/self"))}
    return [command_of(each) for each in processes() if space_of(each) in away]


def registered() -> set[str]:
    return set(programs.AVAILABLE.read_text().split())


@bpf_here
def test_another_k_is_registered_for_as_long_as_it_is_used(monkeypatch, tmp_path):
    flows = [{"cc": "cubic_k_1000ms", "rtt_ms": 20}, {"cc": "cubic_k_rtt", "rtt_ms": 5}]
    names: list[str] = []
    plan = record.prepare

    def noted(wanted):
        made = plan(wanted)
        names.extend(each["name"] for each in made["struct_ops"])
        return made

    monkeypatch.setattr(record, "prepare", noted)
    meta = recorded(setup(*flows), tmp_path / "run")
    assert len(names) >= 2
    assert meta["cc"] == ["cubic_k_1000ms", "cubic_k_rtt"]
    polls = pd.read_csv(tmp_path / "run" / "s1.tcp.csv.gz")
    assert polls.loc[polls["bytes_acked"].idxmax(), "cc"] == "cubic_k_1000ms"
    # what it was registered as is gone; another run on this machine may have some of its own
    assert wait_for(lambda: set(names) - registered() == set(names))
    assert read_any(tmp_path / "run").flows["cc"].tolist() == meta["cc"]
