"""A Linux kernel in QEMU as a source of traces. What the guest is told and how its output is read are tested everywhere, a boot
where QEMU and the kernel package are."""

import math
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.papers.scenario import Scenario, make_scenario
from tcpfair.sources import guest
from tcpfair.sources.guest import image

SAMPLE = Path(__file__).with_name("guest_sample.txt")  # what the guest printed for `scenario`, seed 1


def scenario(*flows: dict, **settings) -> Scenario:
    """By default Reno and, a second later, CCID 2 at 2 Mb/s with a queue of seven packets, for four seconds."""
    every = {"rtt_s": 0.04, "ack_every": 2}
    chosen = flows or ({"cc": "reno"}, {"cc": "ccid2", "start_s": 1.0})
    values = {
        **{"capacity_bps": 2e6, "wire_bytes": 1514, "payload_bytes": 1448, "buffer_pkts": 7, "duration_s": 4.0},
        **{"sample_s": 0.5, "jitter_s": 0.002, "record": ("samples", "cwnd", "events", "link")},
        **settings,
    }
    return make_scenario({**values, "flows": [{"protocol": flow["cc"], **every, **flow} for flow in chosen]})


@pytest.fixture(scope="module")
def recorded():
    return guest.result(scenario(), SAMPLE.read_text())


# --- the scenario as lines for the guest ------------------------------------------------------------------------------


def test_the_queue_has_room_for_the_packet_in_service_as_well():
    assert "/bin/tc -n r qdisc add dev out root netem rate 2000000bit limit 8\n" in guest.script(scenario())
    assert "limit 2\n" in guest.script(scenario(buffer_pkts=0.2))  # at least one packet waits


def test_acks_return_after_the_rtt_and_half_of_the_jitter_at_least():
    assert "dev to1 root netem limit 100000 delay 41000.000us 1000.000us rate" in guest.script(scenario())
    assert "delay 40000.000us\n" in guest.script(scenario(jitter_s=0.0))


def test_each_flow_has_its_own_path_start_and_payload():
    text = guest.script(
        scenario({"cc": "cubic_linux_6", "rtt_s": 0.1, "stop_s": 3.0}, {"cc": "ccid2", "size_pkts": 10})
    )
    assert "flow s0 10.255.0.2 cubic 1448 1460 0.0 3.0 " in text
    assert text.endswith("flow s1 10.255.0.2 ccid2 1464 1476 0.0 1000000000.0 14640\nrun 4.0 0.5 100\n")
    assert "dev to0 root netem limit 100000 delay 101000.000us" in text


def test_an_ack_for_each_packet_and_random_losses_are_asked_of_the_flow_alone():
    quick = "/bin/ip -n d route add 10.0.1.0/24 via 10.255.0.1 quickack 1\n"
    text = guest.script(scenario({"cc": "reno"}, {"cc": "reno", "ack_every": 1}, loss_rate=0.01))
    assert quick in text and text.count("quickack") == 1
    assert "-n s0 qdisc add dev up root netem limit 100000 loss 1.0%\n" in text
    assert "loss" not in guest.script(scenario())


def test_the_engines_flows_have_the_window_of_the_guests_sockets():
    given = scenario({"cc": "reno", "rtt_s": 0.4}, {"cc": "ccid2"})
    # 0.4 s at 2 Mb/s are 100,000 bytes, and seven packets 10,598: four of them, of twice the buffer
    assert "write /proc/sys/net/ipv4/tcp_rmem 4096 884784 884784\n" in guest.script(given)
    assert [flow.rwnd_pkts for flow in guest.of_engine(given).flows] == [442_392 / 1448, math.inf]
    assert guest.of_engine(given).model_copy(update={"flows": given.flows}) == given


def test_parameters_of_modules_are_written_in_their_units():
    text = guest.script(scenario({"cc": "bic", "params": {"beta": 0.2, "low_window": 20}}))
    assert "write /sys/module/tcp_bic/parameters/beta 819\n" in text
    assert "write /sys/module/tcp_bic/parameters/low_window 20\n" in text


@pytest.mark.parametrize(
    ("flow", "settings", "message"),
    [
        ({"cc": "compound"}, {}, r"flows\[0\].cc: the guest has no 'compound'; it has bic, ccid2, cubic_linux_6"),
        ({"cc": "cubic"}, {}, r"flows\[0\].cc: the guest has no 'cubic'"),
        ({"cc": "reno", "access_bps": 1e6}, {}, r"flows\[0\].access_bps: the guest does not support it"),
        ({"cc": "reno", "recovery": "reno"}, {}, r"flows\[0\].recovery: the guest has sack only"),
        ({"cc": "reno", "delack_s": 0.1}, {}, r"flows\[0\].delack_s: Linux has 0.04"),
        ({"cc": "reno", "params": {"b": 0.7}}, {}, r"flows\[0\].params.b: cannot be set in the kernel's reno"),
        ({"cc": "reno"}, {"wire_bytes": 1500}, "wire_bytes: must be whole, and payload_bytes 66 bytes"),
        ({"cc": "reno"}, {"tick_s": 0.001}, "tick_s: the guest does not support it"),
    ],
)
def test_what_the_guest_cannot_do_is_refused_in_one_line(flow, settings, message):
    with pytest.raises(InputError, match=message):
        guest.script(scenario(flow, **settings))


def test_more_flows_than_the_program_has_room_for_are_refused():
    assert f"FLOWS = {guest.MOST_FLOWS}," in Path(guest.__file__).with_name("agent.c").read_text()
    with pytest.raises(InputError, match="flows: the guest has at most 64"):
        guest.check(scenario(*[{"cc": "reno"}] * 65))


# --- what it printed --------------------------------------------------------------------------------------------------


def test_both_flows_fill_the_link_and_the_later_one_starts_when_it_is_due(recorded):
    assert recorded.t_s.tolist() == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    reno, ccid2 = recorded.delivered_pkts.T
    assert ccid2[1] == 0 < ccid2[2]
    settled_s = recorded.t_s[-1] - recorded.t_s[2]
    carried = np.diff(recorded.forwarded_pkts[[2, -1]])[0]
    assert carried * 1514 * 8 / settled_s == pytest.approx(2e6, rel=0.02)
    assert (reno + ccid2)[-1] - (reno + ccid2)[2] == pytest.approx(carried, abs=8)
    assert (np.diff(recorded.delivered_pkts, axis=0) >= 0).all()


def test_packets_are_conserved(recorded):
    """What was dropped has been sent again or is missing: delivered is at most what the link has carried."""
    assert (recorded.delivered_pkts.sum(axis=1) <= recorded.forwarded_pkts).all()
    assert recorded.dropped_pkts[-1] > 0 and recorded.queue_pkts.max() <= 8


def test_windows_are_those_of_tcp_info_and_unknown_for_ccid2(recorded):
    assert np.isfinite(recorded.cwnd_pkts[:, 0]).all() and np.isnan(recorded.cwnd_pkts[:, 1]).all()
    assert (recorded.srtt_s[:, 0] > 0.04).all()
    losses = recorded.events[recorded.events["kind"] == 0]
    assert set(recorded.events["flow"]) == {0} and len(losses) >= 1
    assert (losses["cwnd_after"] >= losses["cwnd_before"] // 2).all()
    assert math.isclose(
        losses["cwnd_after"][0], recorded.ssthresh_pkts[np.searchsorted(recorded.t_s, losses["t_s"][0]), 0]
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda text: text.replace("END", ""), "the run failed: it ended without a result"),
        (
            lambda text: "FAILED connect reno: Connection refused\n",
            "the run failed: FAILED connect reno: Connection refused",
        ),
        (lambda text: text.replace("link 4.0", "lost 4.0"), "the run failed: it has 8 of 9 samples"),
    ],
)
def test_an_incomplete_run_is_one_line(changed, message):
    with pytest.raises(InputError, match=message):
        guest.result(scenario(), changed(SAMPLE.read_text()))


# --- what boots -------------------------------------------------------------------------------------------------------


def test_the_lock_has_a_package_a_version_and_a_checksum_of_each_kernel(monkeypatch):
    for version, lock in image.kernels().items():
        assert lock["version"].startswith(f"{version}-") and len(lock["sha256"]) == 64
    monkeypatch.setenv(image.CHOICE, "2.4")
    with pytest.raises(InputError, match=r"TCPFAIR_GUEST_KERNEL: no kernel '2.4'; kernels.yaml has 6.1.192, 6.12.115"):
        image.chosen()


def test_a_missing_program_is_one_line_with_its_package(monkeypatch):
    monkeypatch.setattr(image.shutil, "which", lambda *_, **__: None)
    with pytest.raises(InputError, match="guest: tc is not installed: apt install iproute2"):
        image.tool("tc")


def test_a_guest_that_uses_too_much_cpu_is_ended_in_one_line(monkeypatch, tmp_path):
    program, root = tmp_path / "qemu", tmp_path / "root"
    program.write_text("#!/bin/sh\nwhile :; do :; done\n")
    program.chmod(0o755)
    root.write_bytes(b"")
    monkeypatch.setattr(guest.image, "image", lambda: SimpleNamespace(root=root, kernel=root))
    monkeypatch.setattr(guest.image, "tool", lambda name: str(program))
    with pytest.raises(InputError, match="^guest: no result after 1 s of CPU: QEMU hangs$"):
        guest.output("", seed=1, patience_s=1)


def test_a_damaged_package_is_not_unpacked(monkeypatch, tmp_path):
    monkeypatch.setattr(image, "folder", lambda: tmp_path)
    lock = image.kernels()["6.1.192"]
    (tmp_path / f"{lock['package']}_{lock['version']}.deb").write_bytes(b"damaged")
    with pytest.raises(InputError, match="its checksum is not that of kernels.yaml"):
        image._unpacked(lock, tmp_path)


def test_the_archive_is_one_that_cpio_reads(tmp_path):
    if not image.shutil.which("cpio"):
        pytest.skip("cpio is not installed")
    made = image.archive({"a/b": b"text", "init": b"12345"})
    subprocess.run(["cpio", "-idm", "--quiet"], cwd=tmp_path, input=made, check=True)
    assert (tmp_path / "a/b").read_bytes() == b"text" and (tmp_path / "init").read_bytes() == b"12345"
    assert made == image.archive({"init": b"12345", "a/b": b"text"})


def test_a_boot_gives_the_bytes_of_the_sample():
    """Only where everything is installed and the package is in the cache; nothing is downloaded for a test."""
    lock = image.kernels()[image.chosen()]
    if not (image.folder() / f"{lock['package']}_{lock['version']}.deb").is_file():
        pytest.skip("the guest's kernel package is not here: ./reproduce validate --run guest fetches it")
    try:
        image.image()
    except InputError as error:
        pytest.skip(str(error))
    printed = guest.output(guest.script(scenario()), 1, 600)
    assert _results(printed) == _results(SAMPLE.read_text())


def _results(printed: str) -> list[str]:
    lines = printed.replace("\r", "").splitlines()
    return lines[lines.index("RESULT") : lines.index("END")]
