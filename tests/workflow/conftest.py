"""What several files of tests need."""

from __future__ import annotations

import pytest

from tcpfair.files.layout import Layout


@pytest.fixture
def layout(tmp_path):
    """A checkout without recordings."""
    (tmp_path / "checkout" / "data" / "raw" / "examples").mkdir(parents=True)
    return Layout(tmp_path / "checkout")
