"""Kernels of notebooks listen on sockets of the file system; nothing is left of them."""

import ast
import os
import tempfile
from pathlib import Path

import nbformat
import papermill
import pytest

from tcpfair.workflow import kernel

HOW = """
from ipykernel.kernelapp import IPKernelApp
app = IPKernelApp.instance()
app.transport, app.shell_socket.LAST_ENDPOINT.decode()
"""


def test_a_kernel_is_spoken_to_through_files_and_leaves_none(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(short := Path(tempfile.mkdtemp(prefix="k"))))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(HOW)])
    nbformat.write(notebook, tmp_path / "asked.ipynb")
    with kernel.sockets() as settings:
        assert settings
        papermill.execute_notebook(
            tmp_path / "asked.ipynb", tmp_path / "done.ipynb", kernel_name="python3", progress_bar=False, **settings
        )
    monkeypatch.setattr(tempfile, "tempdir", None)
    (cell,) = nbformat.read(tmp_path / "done.ipynb", as_version=4).cells
    transport, place = ast.literal_eval(cell.outputs[0].data["text/plain"])
    assert transport == "ipc" and place.startswith(f"ipc://{short}/")
    assert list(short.iterdir()) == []
    short.rmdir()


@pytest.mark.parametrize("before", [None, "/somewhere"])
def test_where_folders_lie_too_deep_kernels_are_as_they_were(tmp_path, monkeypatch, before):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    monkeypatch.delenv("JUPYTER_RUNTIME_DIR", raising=False)
    if before:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", before)
    with kernel.sockets() as settings:
        assert settings == {}
        assert os.environ.get("JUPYTER_RUNTIME_DIR") == before
    assert list(deep.iterdir()) == []


def test_the_folder_is_known_within_the_block_alone(monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/somewhere")
    with kernel.sockets() as settings:
        assert settings["config"].KernelManager.transport == "ipc"
        folder = Path(os.environ["JUPYTER_RUNTIME_DIR"])
        assert folder.is_dir()
    assert os.environ["JUPYTER_RUNTIME_DIR"] == "/somewhere" and not folder.exists()
