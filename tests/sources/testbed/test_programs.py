"""What is missing is said in one line; what is compiled is compiled once."""

import shutil
from pathlib import Path

import pytest

from tcpfair.errors import InputError
from tcpfair.sources.testbed import programs, record
from tcpfair.sources.testbed.setup import make_setup

RUN = make_setup({"rate_bps": 100e6, "duration_s": 5, "flows": [{"cc": "reno", "rtt_ms": 50}]}, "x")


@pytest.fixture
def all_there(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "_which", lambda tool: f"/bin/{tool}")
    monkeypatch.setattr(programs, "compiler", lambda: "/bin/cc")
    monkeypatch.setattr(programs.os, "geteuid", lambda: 0)
    (tmp_path / "btf").write_bytes(b"types")
    monkeypatch.setattr(programs, "BTF", tmp_path / "btf")


def test_nothing_is_missing_where_all_is_there(all_there):
    assert programs.missing(bpf=True) == ""


def test_who_is_not_root_reads_one_line(all_there, monkeypatch, tmp_path):
    monkeypatch.setattr(programs.os, "geteuid", lambda: 1000)
    with pytest.raises(InputError, match="must run as root"):
        record.record(RUN, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_missing_tools_are_named_with_their_packages(all_there, monkeypatch):
    monkeypatch.setattr(programs, "_which", lambda tool: None if tool in ("iperf3", "tc", "clang") else f"/bin/{tool}")
    assert programs.missing() == "the testbed needs iperf3, tc: apt install iperf3 iproute2"
    assert "clang" in programs.missing(bpf=True)
    monkeypatch.setattr(programs, "compiler", lambda: None)
    assert "cc: apt install iperf3 iproute2 gcc" in programs.missing()


def test_another_k_wants_the_kernels_types(all_there, monkeypatch):
    monkeypatch.setattr(programs, "BTF", Path("/no/such/file"))
    assert programs.missing() == ""
    assert "BTF" in programs.missing(bpf=True)


def test_a_congestion_control_that_the_kernel_lacks_is_refused_with_those_it_has(monkeypatch, tmp_path):
    (tmp_path / "available").write_text("reno cubic tf0_12ab34cd56\n")
    monkeypatch.setattr(programs, "AVAILABLE", tmp_path / "available")
    programs.require_cc(["reno", "cubic_k_rtt"])
    with pytest.raises(InputError, match="it has reno, cubic; try: modprobe tcp_bbr"):
        programs.require_cc(["bbr"])  # what another run registered is nobody's


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_program_is_compiled_once_and_again_when_its_source_changes(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "_folder", lambda: tmp_path / "cache")
    source = tmp_path / "a.c"
    source.write_text("int main(void) { return 0; }\n")

    def compiled() -> Path:
        return programs._compiled("a", [source], ["gcc", "-o"], [source])

    first = compiled()
    made_ns = first.stat().st_mtime_ns
    assert compiled() == first
    assert first.stat().st_mtime_ns == made_ns
    source.write_text("int main(void) { return 1; }\n")
    assert compiled() != first
    source.write_text("int main(void) { return }\n")
    with pytest.raises(InputError, match="a does not compile: .*error"):
        compiled()
    assert len(list((tmp_path / "cache").iterdir())) == 2  # nothing half-made
