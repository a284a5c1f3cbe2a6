"""Kernels of notebooks are spoken to through files; nothing is left of them."""

import ast
import tempfile
from pathlib import Path

import nbformat
import papermill

from tcpfair.workflow import kernel

HOW = """
from ipykernel.kernelapp import IPKernelApp
app = IPKernelApp.instance()
app.transport, app.ip
"""


def test_a_kernel_is_spoken_to_through_files_and_leaves_none(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(HOW)])
    nbformat.write(notebook, tmp_path / "asked.ipynb")
    with kernel.sockets() as settings:
        papermill.execute_notebook(
            tmp_path / "asked.ipynb", tmp_path / "done.ipynb", kernel_name="python3", progress_bar=False, **settings
        )
    (cell,) = nbformat.read(tmp_path / "done.ipynb", as_version=4).cells
    transport, place = ast.literal_eval(cell.outputs[0].data["text/plain"])
    assert transport == "ipc"
    assert Path(place).is_absolute() and not Path(place).parent.exists()


def test_two_kernels_at_once_have_places_of_their_own():
    with kernel.sockets() as first, kernel.sockets() as second:
        assert first["config"].KernelManager.ip != second["config"].KernelManager.ip


def test_where_temporary_folders_lie_too_deep_kernels_are_as_jupyter_has_them(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with kernel.sockets() as settings:
        assert settings == {}
    assert list(deep.iterdir()) == []
