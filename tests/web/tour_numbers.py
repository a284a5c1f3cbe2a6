"""What the runs of the tours give, as the page works it out: numbers by step, and whether the conditions of answers hold.

``python -m tests.web.tour_numbers`` writes the numbers into ``tours.yaml``, as ``shipped`` at the end of their lines.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from tcpfair.files.layout import Layout
from tcpfair.web import wasm
from tcpfair.web.schema import schema
from tcpfair.web.tours import FILE, tours
from tests.web import node

LAYOUT = Layout(node.ROOT)
_DIGITS = 6
_NUMBER = re.compile(r"^( +\w+: \{of: .*?)(?:, shipped: \S+)?\}$", re.MULTILINE)


def evaluated(*steps: str, everywhere: bool = True, data: dict | None = None) -> dict[str, dict[str, Any]]:
    """By step, such as ``cubic/2``: its ``numbers``; ``holds``: its conditions, ``everywhere`` at every value to be picked.

    ``data`` are other tours than those of the page.
    """
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / "engine.wasm", Path(folder) / "schema.json"]
        parts[0].write_bytes(wasm.module())
        parts[1].write_text(json.dumps(schema(LAYOUT), allow_nan=False))
        found = node.run(
            node.HERE / "tours.cjs",
            *parts,
            "everywhere" if everywhere else "here",
            *steps,
            stdin=data or tours(LAYOUT),
        )
    return {step["name"]: step for step in found}


def main() -> None:
    steps = evaluated(everywhere=False).values()
    values = (float(f"{value:.{_DIGITS}g}") for step in steps for value in step["numbers"].values())
    text = _NUMBER.sub(lambda line: f"{line[1]}, shipped: {next(values)}}}", FILE.read_text(encoding="utf-8"))
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
