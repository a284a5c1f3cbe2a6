"""The page's scripts in node: single functions, or the engine."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STATIC = ROOT / "src" / "tcpfair" / "web" / "static"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the engine of the page is tried in it")


def run(script: Path | str, *arguments: Path | str, stdin: Any = None) -> list[Any]:
    """What a script prints, one value a line, see `plain.cjs`; a script may be text, ``stdin`` may hold arrays."""
    # without the flag node 20 may never end: its end waits for the compiler's thread, which waits for a garbage collection
    command = [
        NODE,
        "--no-concurrent-recompilation",
        *(["-e", script, "--"] if isinstance(script, str) else [str(script)]),
        *map(str, arguments),
    ]
    given = json.dumps(stdin, default=lambda array: array.tolist())
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(files: list[str], calls: list[tuple], schema: dict | None = None) -> list[Any]:
    """What functions of the page give, or the kind and text of an error. A call is a name below ``tcpfair`` and arguments."""
    return run(HERE / "call.cjs", *files, stdin={"schema": schema, "calls": calls})


def with_engine(body: str, *parts: Path, given: Any = None, files: tuple[str, ...] = ()) -> Any:
    """What ``body`` returns, see `plain.cjs`: JavaScript after engine, recorder and ``files`` are loaded."""
    script = f"""
const tcpfair = require("./src/tcpfair/web/static/engine.js");
for (const name of {["recording.js", *files]}) require(`./src/tcpfair/web/static/${{name}}`);
const plain = require("./tests/web/plain.cjs");
const given = plain.given();
const [wasm, schema] = process.argv.slice(1).map((file) => require("node:fs").readFileSync(file));
tcpfair.loadEngine(wasm, JSON.parse(schema)).then(async (engine) => {{ {body} }}).then(plain.print);
"""
    [found] = run(script, *parts, stdin=given)
    return found


def recorded(scenarios: dict[str, tuple[dict, float]], *parts: Path) -> dict[str, SimpleNamespace]:
    """What the recorder of the packet view gives of each scenario up to a time, with tables of packets, ACKs and events.

    ``ends`` and ``links`` are fields of the engine's records at that time.
    """
    body = """
  const found = {};
  for (const [name, [scenario, until_s]] of Object.entries(given)) {
    const session = await tcpfair.openRaw(scenario, 1, engine);
    const fields = (kind, i, names) => Object.fromEntries(names.map((name) => [name, session.raw[kind](i, name)]));
    const recording = tcpfair.record(session, scenario.flows.length, { until_s });
    const counts = ["sent", "resent", "dropped", "head", "acks_tail", "halving_limit", "reductions"];
    const ends = scenario.flows.map((_, i) => ({ ...fields("end", i, counts), ...fields("state", i, ["cwnd"]) }));
    const links = recording.links.map((_, d) => fields("link", d, ["dropped", "service_s"]));
    found[name] = { ...recording, ends, links };
  }
  return found;"""
    found = with_engine(body, *parts, given=scenarios)
    for recording in found.values():
        recording |= {name: pd.DataFrame(recording[name]) for name in ("packets", "acks", "events")}
    return {name: SimpleNamespace(**recording) for name, recording in found.items()}
