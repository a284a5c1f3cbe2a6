"""Running the page's engine in node."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tcpfair.files.layout import Layout
from tcpfair.web import schema

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STATIC = ROOT / "src" / "tcpfair" / "web" / "static"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the engine of the page is tried in it")


def without_presets() -> dict[str, Any]:
    """The schema, but for what it says of papers."""
    return schema.schema(Layout(ROOT), papers=())


def run(script: Path | str, *arguments: Path | str, stdin: Any = None) -> list[Any]:
    """What a script prints, one JSON a line; a script may be text. ``stdin`` is passed to it as JSON."""
    command = [NODE, *(["-e", script, "--"] if isinstance(script, str) else [str(script)]), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(stdin), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def plain(node: Any) -> Any:
    """Plain data without infinities, which JSON has no word for."""
    if isinstance(node, dict):
        return {name: plain(value) for name, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    return "Infinity" if isinstance(node, float) and math.isinf(node) else node


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
