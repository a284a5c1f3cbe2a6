"""What several files of tests need."""

from __future__ import annotations

import pytest

from tcpfair.files.layout import Layout
from tests.small_checkout import make_checkout


@pytest.fixture
def layout(tmp_path):
    """A checkout without recordings."""
    (tmp_path / "checkout" / "data" / "raw" / "examples").mkdir(parents=True)
    return Layout(tmp_path / "checkout")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A checkout with one small paper and nothing computed, in which commands run."""
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    return make_checkout(tmp_path)
