"""The engine of the page gives every bit that the native engine gives."""

from __future__ import annotations

import hashlib
import struct
from functools import cache
from zlib import crc32

import numpy as np
import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.files.layout import Layout
from tcpfair.library import digest
from tcpfair.web import wasm
from tests.web import node
from tests.web.node import needs_node
from tests.web.scenarios import Case, every, of_algorithms, of_papers

EVERY = 40  # one of so many in the ordinary test, chosen by its name, besides one of each algorithm


def natively(case: Case) -> dict[str, str]:
    """Hash of every array and of the flows' records at the end."""
    result = run(case.scenario, case.seed, log_events=True)
    found = dict(line.split() for line in digest.lines(result))
    return found | {"ends": hashlib.sha256(result.ends.tobytes()).hexdigest()}


# name and SHA-256 of each array that a scenario leaves, or the error
HASHES = """
  const sha256 = (bytes) => require("node:crypto").createHash("sha256").update(bytes).digest("hex");
  const hashesOf = async ({ seed, scenario }) => {
    const whole = tcpfair.check(scenario);
    await engine.open(whole, seed);
    engine.advance(whole.duration_s);
    const { flows, ends_at } = engine.places();
    const ends = new Uint8Array(engine.memory.buffer, engine.base + ends_at, flows * engine.records.endpoint.bytes);
    return Object.fromEntries([...engine.arrays(), ["ends", ends]].map(([array, bytes]) => [array, sha256(bytes)]));
  };
  const found = [];
  for (const each of given) found.push(await hashesOf(each).catch(({ message }) => message));
  return found;"""


def differing(parts, cases: list[Case]) -> list[str]:
    """Name of each case with the arrays in which page and native engine differ."""
    asked = [{"seed": str(seed), "scenario": each.model_dump(mode="json")} for _, seed, each in cases]
    found = []
    for case, there in zip(cases, node.with_engine(HASHES, *parts, given=asked), strict=True):
        here = natively(case)
        if there != here:
            arrays = (
                there if isinstance(there, str) else ", ".join(name for name in here if here[name] != there.get(name))
            )
            found.append(f"{case.name}: {arrays}")
    return found


@needs_node
def test_every_bit_of_some_scenarios_of_each_kind(parts):
    cases = [case for case in every(Layout(node.ROOT)) if crc32(case.name.encode()) % EVERY == 0]
    of_each = {case.scenario.flows[0].cc: case for case in of_algorithms()}
    assert differing(parts, [*cases, *of_each.values()]) == []


@needs_node
@pytest.mark.slow
def test_every_bit_of_all_scenarios(parts):
    cases = every(Layout(node.ROOT))
    assert len(cases) >= 1500
    assert differing(parts, cases) == []


@needs_node
def test_one_rounding_more_or_less_is_noticed(parts, tmp_path):
    """The last bit of 0.8, which Veno keeps of its window at a random loss: ssthresh is rounded otherwise."""
    module = parts[0].read_bytes()
    constant, other = (struct.pack("<d", value) for value in (0.8, np.nextafter(0.8, 1.0)))
    assert constant in module
    (tmp_path / "engine.wasm").write_bytes(module.replace(constant, other))
    cases = [case for case in of_algorithms() if case.name in ("veno sack immediate", "reno sack immediate")]
    found = differing((tmp_path / "engine.wasm", parts[1]), cases)
    assert [line.partition(" ")[0] for line in found] == ["veno"]
    assert "ssthresh_pkts" in found[0]


@needs_node
def test_where_it_stops_changes_nothing(parts):
    """A run in slices, as in a worker, and looked at packet by packet on its way."""
    script = """
  const { digest, packets, events } = await tcpfair.run(given, 5);
  const session = await tcpfair.openRaw(given, 5, engine);
  const seen = tcpfair.record(session, given.flows.length, { until_s: 1 }).packets.length;
  await engine.open(tcpfair.check(given), 5);
  for (let t = 0; t < 2; t += 0.0037) engine.advance(t);
  engine.advance(Infinity);
  const sliced = engine.result();
  return { digest, packets, seen, sliced: sliced.packets, events: sliced.events.length, logged: events.length };"""
    found = node.with_engine(script, *parts, given=every_kind().model_dump(mode="json"))
    assert found["digest"] == digest.digest(every_kind(), 5)
    assert found["packets"] == found["sliced"] == run(every_kind(), 5).received_total_pkts
    assert found["seen"] > 1000
    assert found["events"] == found["logged"] > 0


@cache
def every_kind():
    """Both directions, short flows, own links, losses: a run of ha2006."""
    cases = of_papers(Layout(node.ROOT), ["ha2006"])
    return next(case.scenario for case in cases if case.name.startswith("ha2006/util_type2"))


def test_a_build_has_another_digest_when_its_sources_change(monkeypatch):
    before = wasm.digest()
    monkeypatch.setattr(wasm, "_BUILT_BY", ("entry.py", "link.py"))
    assert wasm.digest() != before


@pytest.mark.slow
def test_two_builds_are_the_same_bytes():
    assert wasm.build() == wasm.build()
