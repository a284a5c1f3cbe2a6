"""scripts/linux_2_6_22: the script for the program in the guest, the plan, and the shipped comparison."""

from __future__ import annotations

import re
import shutil
import subprocess

import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.papers.scenario import make_scenario
from tcpfair.validation import agreement, scenarios
from tests.scripts import SCRIPTS, script

compare = script("linux_2_6_22/compare")
FLOW = {"protocol": "x", "cc": "reno", "rtt_s": 0.05, "iw_pkts": 2, "ack_every": 2, "stack": "linux_2_6_22"}
SCENARIO = {
    **{"capacity_bps": 10e6, "wire_bytes": 1514, "payload_bytes": 1448, "buffer_pkts": 39, "duration_s": 30},
    **{"jitter_s": 0.0012, "sample_s": 0.25, "loss_rate": 0.01},
}


def lines_for(*flows: dict) -> list[str]:
    scenario = make_scenario({**SCENARIO, "flows": [{**FLOW, **flow} for flow in flows]}, "test")
    return compare.script(scenario, seed=7).splitlines()


def test_the_script_states_link_flows_and_run():
    lines = lines_for({"start_s": 0.5}, {"ack_every": 1, "stop_s": 20})
    # 40 packets with the one in service; sockets of 8 times (62,500 bytes of path and 59,046 of queue)
    assert "write /proc/sys/net/ipv4/tcp_rmem 4096 972368 972368" in lines
    assert lines[-4:] == [
        "link 10000000 40 14 0.0012 0.01 1500 7",
        "flow 0.05 reno 1448 1460 0.5 1000000000.0 1448000000000 0",
        "flow 0.05 reno 1448 1460 0.0 20.0 1448000000000 1",
        "run 30.0 0.25 50",
    ]


def test_ccid2_has_its_own_headers_and_a_longer_packet():
    lines = lines_for({"cc": "ccid2", "ack_every": 1})
    assert lines[-3:-1] == [
        "link 10000000 40 14 0.0012 0.01 1540 7",
        "flow 0.05 ccid2 1464 1476 0.0 1000000000.0 1464000000000 0",
    ]


def test_what_the_guest_cannot_do_is_refused():
    with pytest.raises(InputError, match="flows\\[0\\].recovery: the guest has sack only"):
        lines_for({"recovery": "newreno"})


def test_a_failed_run_is_said_in_one_line_and_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(compare.image, "tool", lambda name: "false")
    kernel = tmp_path / "bzImage"
    kernel.write_bytes(b"none")
    scenario = make_scenario({**SCENARIO, "flows": [FLOW]}, "test")
    with pytest.raises(InputError, match="the run failed"):
        compare.run(kernel, b"agent", scenario, 1)
    assert not list(tmp_path.glob("kept/*"))
    with pytest.raises(InputError, match="is no file; give the kernel's bzImage"):
        compare.main(tmp_path / "missing", [])


def test_plan_has_the_protocols_of_the_guest():
    plan = yaml.safe_load((SCRIPTS / "linux_2_6_22" / "plan.yaml").read_text())
    config = scenarios.load(Layout(SCRIPTS.parent).guest_config)
    assert set(plan["protocols"]) == set(config.protocols)
    assert set(compare.EXPERIMENTS) <= set(compare.plan().experiments)


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="musl-gcc is not installed")
def test_the_program_compiles_without_warnings(tmp_path):
    command = [
        "musl-gcc",
        "-O2",
        "-Wall",
        "-Wno-return-type",
        "-Werror",
        *compare.HEADERS,
        "-o",
        str(tmp_path / "agent"),
    ]
    subprocess.run([*command, str(SCRIPTS / "linux_2_6_22" / "tun.c"), "-lm"], check=True)


def test_shipped_comparison_is_complete_and_documented():
    config = compare.plan()
    table = pd.read_csv(SCRIPTS.parent / "data" / "reference" / "linux_2_6_22.csv")
    found = set(zip(table["experiment"], table["algorithm"], table["metric"], strict=True))
    assert found == {
        (name, label, metric)
        for name in compare.EXPERIMENTS
        for label in config.experiments[name].grid["protocol"].value
        for metric in config.experiments[name].measures
    }
    judged = table[table["verdict"].isin([agreement.WITHIN, agreement.BEYOND, agreement.UNDECIDED])]
    counts = judged["verdict"].value_counts()
    said = re.search(
        r"Of (\d+) rows with a threshold, (\d+) are within it", (SCRIPTS.parent / "docs/validation.md").read_text()
    )
    assert said and [int(x) for x in said.groups()] == [len(judged), counts[agreement.WITHIN]]
