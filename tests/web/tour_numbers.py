"""What the runs of the tours give, as the page works it out: numbers by step, and whether the conditions of answers hold.

``python -m tests.web.tour_numbers`` writes the numbers into ``src/tcpfair/web/shipped.json``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tcpfair.files.layout import Layout
from tcpfair.web import wasm
from tcpfair.web.schema import schema
from tcpfair.web.tours import SHIPPED, tours
from tests.web import node

LAYOUT = Layout(node.ROOT)
_DIGITS = 6


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
    numbers = {
        name: {number: float(f"{value:.{_DIGITS}g}") for number, value in step["numbers"].items()}
        for name, step in evaluated(everywhere=False).items()
    }
    SHIPPED.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
