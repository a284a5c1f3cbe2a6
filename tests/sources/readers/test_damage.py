"""Damaged copies of recordings: each is refused in one line, or read as something sound.

Next to each sample is what may be lost or gained silently. JSON of iperf3 has every number twice, text may lose a line at an
end, and a rate of one Mbit/s is 31,250 bytes in 0.25 s and 25,000 bytes in 0.2 s.
"""

import importlib

import pytest

from tcpfair.sources.readers import FILES
from tests.sources.readers import test_tcp_probe, test_tshark
from tests.sources.readers.captures import bulk, pcap, pcapng
from tests.sources.readers.edits import SAMPLES, sample_text, written
from tests.sources.readers.mutations import FEW, MANY, attack

JSON_3 = ["p2.json", "bidir.json", "stream.jsonl", "server_log.json.gz", "v3_1.json", "udp.json"]
TEXT_3 = ["p2_text.json", "omit_text.json", "client.txt", "server.txt", "verbose.txt"]
EXACT = {"bytes_per_number": 0, "s_per_number": 0}


def captures():
    """One flow more, of which sequence numbers wrap, in two byte orders and two formats."""
    other = bulk(150, source=("10.0.0.3", 40_002), isn=2**32 - 5000, rtt_s=0.02)
    pair = sorted([*bulk(150), *other], key=lambda one: one.t_s)
    return [pcap(pair), pcap(pair, order=">"), pcapng(pair)]


def tables():
    pair = sorted([*bulk(100), *bulk(100, source=("10.0.0.3", 40_002), rtt_s=0.02)], key=lambda one: one.t_s)
    return [sample_text("tshark/two_flows_4s.tsv.gz"), test_tshark.table(pair)]


def probes():
    """A snd_una that is wrong but rises cannot be told from a right one."""
    lines = sample_text("tcp_probe/perf_script.txt.xz").splitlines(keepends=True)
    module = test_tcp_probe.module
    made = [*test_tcp_probe.losing(module), *(module(8 + i / 50, 10**6 + i * 14_480) for i in range(100)), ""]
    return [
        "".join(line for line in lines if ":40001 " in line and float(line.split()[2][:-1]) < 0.3),
        "\n".join(made),
    ]


def few_events():
    return ["\n".join(sample_text("mahimahi/uplink.log.gz").split("\n")[:400]) + "\n"]


def few_polls():
    """Their first 3 s."""
    logs = [sample_text(f"ss/{name}.log.gz") for name in ("sender", "multi_line")]
    return ["".join(log.splitlines(keepends=True)[:110]) for log in logs]


# reader, samples and made recordings, what is allowed, how many copies a short attack reads, and which outcomes it has
DAMAGED = {
    "plain, wide": ("plain", ["plain/wide.csv"], {"bytes_per_number": 31_250.0}, FEW, "read refused"),
    "plain, long": ("plain", ["plain/long.csv.gz"], {}, FEW, "read refused"),
    "plain, Parquet": ("plain", ["plain/long.parquet"], {}, FEW, "read refused"),
    "ss": ("ss", [few_polls], {}, FEW, "read refused"),
    "tcp_info": ("tcp_info", ["tcp_info/*"], {}, FEW, "read refused"),
    "iperf3, JSON": (
        "iperf3", [f"iperf3_recorded/{name}" for name in JSON_3], {"share": 0.03, **EXACT}, FEW, "read refused",
    ),
    "iperf3, text": (
        "iperf3", ["iperf3/*", *(f"iperf3_recorded/{name}" for name in TEXT_3)], EXACT, FEW, "read refused",
    ),
    # three digits; a last interval is what the total leaves
    "lines": ("patterns", ["iperf2/*", "netperf/*", "nuttcp/*"], {"share": 0.35}, 12 * FEW, "refused"),
    "records": ("patterns", ["ndt7/*", "qlog/*"], {"share": 0.35, "s_per_number": 0.1}, 4 * FEW, ""),
    "flent": ("flent", ["flent/*"], {"bytes_per_number": 2e5}, FEW, "read refused"),
    "pcap": ("pcap", ["pcap/*", captures], {}, FEW, "read refused"),
    "tshark": ("tshark", [tables], {"bytes_per_number": 0}, FEW, "read refused"),
    "ns2_trace": (
        "ns2_trace", ["ns2/small.tr.gz", "ns2/two_flows.cwnd.gz"], {"bytes_per_number": 2000.0}, FEW, "read refused",
    ),
    "mahimahi": ("mahimahi", [few_events], {}, FEW, "refused"),
    "tcp_probe": ("tcp_probe", [probes], {"bytes_per_number": 0, "share": 0.6}, 5 * FEW, "read refused"),
    "flowmonitor": ("flowmonitor", ["flowmonitor/*"], {}, FEW, "read refused"),
}  # fmt: skip


def test_every_reader_is_attacked():
    assert {reader.__name__.rpartition(".")[2] for reader in FILES} == {reader for reader, *_ in DAMAGED.values()}


@pytest.mark.parametrize("what", DAMAGED)
@pytest.mark.parametrize("is_long", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_damaged_copies_are_refused_or_sound(tmp_path, what, is_long):
    name, samples, allowed, count, outcomes = DAMAGED[what]
    paths = []
    for sample in samples:
        if isinstance(sample, str):
            paths += sorted(SAMPLES.glob(sample))
            continue
        for content in sample():
            paths.append(written(tmp_path, content, f"{name}{len(paths)}"))
    reader = importlib.import_module(f"tcpfair.sources.readers.{name}")
    count, first_seed, least = (MANY, 1000, 100) if is_long else (count, 0, 1)
    found = attack(reader, paths, count, tmp_path, first_seed=first_seed, **allowed)
    assert all(found[outcome] >= least for outcome in outcomes.split())
