"""The page's scripts in node: single functions, or the engine."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STATIC = ROOT / "src" / "tcpfair" / "web" / "static"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the engine of the page is tried in it")


def run(script: Path | str, *arguments: Path | str, stdin: Any = None) -> list[Any]:
    """What a script prints, one value a line, see `plain.cjs`; a script may be text, ``stdin`` may hold arrays."""
    command = [NODE, *(["-e", script, "--"] if isinstance(script, str) else [str(script)]), *map(str, arguments)]
    given = json.dumps(stdin, default=lambda array: array.tolist())
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(files: list[str], calls: list[tuple], schema: dict | None = None) -> list[Any]:
    """What functions of the page give, or the kind and text of an error. A call is a name below ``tcpfair`` and arguments."""
    return run(HERE / "call.cjs", *files, stdin={"schema": schema, "calls": calls})


def with_engine(body: str, *parts: Path) -> Any:
    """What ``body``, JavaScript after the engine is loaded as ``engine`` and the recorder as well, returns as JSON."""
    script = f"""
const tcpfair = require("./src/tcpfair/web/static/engine.js");
require("./src/tcpfair/web/static/recording.js");
const [wasm, schema] = process.argv.slice(1).map((file) => require("node:fs").readFileSync(file));
const found = tcpfair.loadEngine(wasm, JSON.parse(schema)).then(async (engine) => {{ {body} }});
found.then((answer) => console.log(JSON.stringify(answer)));
"""
    [found] = run(script, *parts)
    return found
