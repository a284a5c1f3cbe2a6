"""Damaged copies of the samples of polls and intervals: each is refused in one line, or read as something sound.

What may be lost or gained in silence is written beside each sample. Of JSON of iperf3 every number is in the file twice; of
text a line may be lost at an end; a rate of one Mbit/s is 31,250 bytes in 0.25 s and 25,000 bytes in 0.2 s.
"""

import gzip
from pathlib import Path

import pytest

from tcpfair.sources.readers import flent, iperf3, patterns, plain, ss, tcp_info
from tests.sources.readers.mutations import FEW, MANY, attack

SAMPLES = Path(__file__).parents[2] / "samples"
JSON_3 = ["p2.json", "bidir.json", "stream.jsonl", "server_log.json.gz", "v3_1.json", "udp.json"]
TEXT_3 = ["p2_text.json", "omit_text.json", "client.txt", "server.txt", "verbose.txt"]
LINES = ["iperf2/*", "netperf/*", "nuttcp/*"]
EXACT = {"bytes_per_number": 0, "s_per_number": 0}

# reader, samples, what is allowed; in a short attack at least one copy is to have each outcome
DAMAGED = {
    "plain, wide": (plain, ["plain/wide.csv"], {"bytes_per_number": 31_250.0}, "read refused"),
    "plain, long": (plain, ["plain/long.csv.gz"], {}, "read refused"),
    "plain, Parquet": (plain, ["plain/long.parquet"], {}, "read refused"),
    "ss": (ss, ["ss/sender.log.gz", "ss/multi_line.log.gz"], {}, "read refused"),
    "tcp_info": (tcp_info, ["tcp_info/*"], {}, "read refused"),
    "iperf3, JSON": (iperf3, [f"iperf3_recorded/{name}" for name in JSON_3], {"share": 0.03, **EXACT}, "read refused"),
    "iperf3, text": (iperf3, ["iperf3/*", *(f"iperf3_recorded/{name}" for name in TEXT_3)], EXACT, "read refused"),
    # three digits; a last interval is what the total leaves
    "lines": (patterns, LINES, {"share": 0.35}, "refused"),
    "records": (patterns, ["ndt7/*", "qlog/*"], {"share": 0.35, "s_per_number": 0.1}, ""),
    "flent": (flent, ["flent/*"], {"bytes_per_number": 2e5}, "read refused"),
}


@pytest.mark.parametrize("what", DAMAGED)
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_damaged_copies_are_refused_or_sound(tmp_path, what, count):
    reader, names, allowed, outcomes = DAMAGED[what]
    samples = [path for name in names for path in sorted(SAMPLES.glob(name))]
    if reader is ss and count == FEW:  # their first 3 s
        samples = [_shortened(path, tmp_path) for path in samples]
    if reader is patterns and count == FEW:  # a sample of each tool
        count *= len(samples)
    found = attack(reader, samples, count, tmp_path, first_seed=0 if count < MANY else 1000, **allowed)
    least = 1 if count < MANY else 100
    assert all(found[outcome] >= least for outcome in outcomes.split())


def _shortened(path, folder):
    short = folder / path.stem
    short.write_bytes(b"".join(gzip.decompress(path.read_bytes()).splitlines(keepends=True)[:110]))
    return short
