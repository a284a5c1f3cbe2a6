"""The compiled engine, made once for all tests of this folder."""

from __future__ import annotations

import json

import pytest

from tcpfair.web import wasm
from tests.web.node import without_presets


@pytest.fixture(scope="session")
def parts(tmp_path_factory):
    """Files with module and schema."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "engine.wasm").write_bytes(wasm.module())
    (folder / "schema.json").write_text(json.dumps(without_presets(), allow_nan=False))
    return folder / "engine.wasm", folder / "schema.json"
