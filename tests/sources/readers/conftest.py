"""What the tests of the readers share."""

import importlib
from pathlib import Path

import pytest

from tcpfair.errors import InputError
from tests.sources.readers.edits import NOTHING, written


@pytest.fixture
def read(request, tmp_path):
    """Read a file, or what one would hold, with the reader that the test's module is named after."""
    reader = importlib.import_module(f"tcpfair.sources.readers.{request.module.__name__.rpartition('test_')[2]}")

    def of(content, said=NOTHING):
        return reader.read(content if isinstance(content, Path) else written(tmp_path, content), said)

    return of


@pytest.fixture
def refused(read, tmp_path):
    """The one line with which `read` refuses a content, and names the file."""

    def of(content, said=NOTHING):
        with pytest.raises(InputError) as caught:
            read(content, said)
        assert str(content if isinstance(content, Path) else tmp_path / "recording") in str(caught.value)
        return str(caught.value)

    return of
