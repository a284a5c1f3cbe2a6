"""``python -m tcpfair.web OUTPUT``: the page alone, for work on its files; ``--parts FOLDER`` leaves module and schema too."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.files.files import write_whole
from tcpfair.files.layout import Layout, repository_root
from tcpfair.web import page, wasm
from tcpfair.web.schema import schema


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tcpfair.web", description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--parts", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    layout = Layout(repository_root())
    try:
        write_whole(given.output, page.build(layout))
        if given.parts:
            write_whole(given.parts / "engine.wasm", wasm.module())
            write_whole(given.parts / "schema.json", json.dumps(schema(layout), allow_nan=False))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{given.output}: {given.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
