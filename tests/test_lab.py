"""./reproduce lab: saving a notebook without an edit changes no byte of it, whatever the front end has put in."""

import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import jupyterlab
import pytest
from jupyter_server.services.contents.filemanager import FileContentsManager
from jupyterlab_server.settings_utils import get_settings

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def checkout(tmp_path):
    """The lab's settings and the notebooks, in a folder of their own."""
    for name in ("envs/jupyter", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns(".*"))
    return tmp_path


def keep(checkout, content, path, above=".", kind="notebook", form="json"):
    """Save ``content`` as Jupyter's own keeper of files does, with the settings of ``checkout``, in its folder ``above``."""
    config = SimpleNamespace(FileContentsManager=SimpleNamespace())
    runpy.run_path(str(checkout / "envs/jupyter/jupyter_server_config.py"), init_globals={"get_config": lambda: config})
    keeper = FileContentsManager(root_dir=str(checkout / above))
    keeper.register_pre_save_hook(config.FileContentsManager.pre_save_hook)
    keeper.save({"type": kind, "format": form, "content": content}, path)


def as_in_the_lab(file):
    """The content that JupyterLab sends after all cells were run: sources in one string, and what it notes for itself."""
    notebook = json.loads(file.read_text())
    shown = {"collapsed": False, "trusted": True, "editable": True, "slideshow": {"slide_type": ""}, "scrolled": True}
    for count, cell in enumerate(notebook["cells"], 1):
        cell["source"] = "".join(cell["source"])
        cell["metadata"] |= shown | {"jupyter": {"outputs_hidden": True}, "jp-MarkdownHeadingCollapsed": True}
        if cell["cell_type"] == "code":
            cell["metadata"] |= {"execution": {"iopub.execute_input": "2024-01-01T00:00:00.000000Z"}}
            widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "1", "version_major": 2}}
            cell["execution_count"] = count
            cell["outputs"] = [
                {"output_type": "stream", "name": "stdout", "text": "shown\n"},
                {"output_type": "display_data", "data": widget, "metadata": {}},
                {"output_type": "execute_result", "execution_count": count, "data": {}, "metadata": {}},
            ]
        else:
            cell["metadata"]["tags"] = []
    notebook["metadata"] |= {
        "kernelspec": {"display_name": "Python 3.12", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "version": "3.12.1", "file_extension": ".py"},
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2, "version_minor": 0}},
        "toc-autonumbering": True,
    }
    return dict(reversed(notebook.items()))


@pytest.mark.parametrize("above", ["notebooks", "."], ids=["in the folder", "above it"])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_saving_without_an_edit_changes_no_byte(checkout, name, above):
    file = checkout / "notebooks" / name
    before = file.read_bytes()
    content = as_in_the_lab(file)
    file.unlink()
    keep(checkout, content, str(file.relative_to(checkout / above)), above)
    assert file.read_bytes() == before


def test_saving_keeps_what_was_edited(checkout):
    name = "ogura.ipynb"
    file = checkout / "notebooks" / name
    content = as_in_the_lab(file)
    text, code = (next(cell for cell in content["cells"] if cell["cell_type"] == kind) for kind in ("markdown", "code"))
    text["source"] = "# Another title\nand a line\n![](attachment:a.png)"
    text["attachments"] = {"a.png": {"image/png": "AAAA"}}
    code["metadata"]["tags"] = ["parameters", "mine"]
    keep(checkout, content, name, "notebooks")
    saved = json.loads(file.read_text())["cells"]
    kept_text, kept_code = (next(cell for cell in saved if cell["cell_type"] == kind) for kind in ("markdown", "code"))
    assert kept_text["source"] == ["# Another title\n", "and a line\n", "![](attachment:a.png)"]
    assert kept_text["attachments"] == text["attachments"]
    assert kept_code["metadata"] == {"tags": ["parameters", "mine"]}


def test_notebooks_and_files_elsewhere_are_left_alone(checkout):
    for folder in ("mine", "notebooks_of_mine"):
        (checkout / folder).mkdir()
        content = as_in_the_lab(checkout / "notebooks" / "ogura.ipynb")
        for above, path in ((".", f"{folder}/a.ipynb"), (folder, "b.ipynb")):
            keep(checkout, content, path, above)
            saved = json.loads((checkout / above / path).read_text())
            assert saved["metadata"] == content["metadata"]
            assert sum(len(cell.get("outputs", [])) for cell in saved["cells"]) > 10
    keep(checkout, "{}", "notebooks/a.txt", kind="file", form="text")
    assert (checkout / "notebooks" / "a.txt").read_text() == "{}"


def test_the_lab_does_not_ask_about_news(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(ROOT / "envs/jupyter"))
    mine, schemas = str(tmp_path), str(Path(jupyterlab.__file__).parent / "schemas")
    settings, _ = get_settings(mine, schemas, mine, "@jupyterlab/apputils-extension:notification")
    assert settings["schema"]["properties"]["fetchNews"]["default"] == "false"


def test_what_the_lab_leaves_behind_is_not_for_git(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    left = [".venv", ".venv.lock", ".venv.old/x", "notebooks/.ipynb_checkpoints/ogura-checkpoint.ipynb"]
    done = subprocess.run(["git", "check-ignore", "--no-index", *left], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == left


def send(request, server):
    """Send a request as soon as the server listens; its status."""
    while server.poll() is None:
        try:
            return urllib.request.urlopen(request, timeout=60).status
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.1)
    return None


@contextmanager
def served(checkout, *options):
    """JupyterLab's own server on the notebooks of ``checkout``, next to a user's settings that would save all outputs."""
    mine = checkout / "mine"
    mine.mkdir()
    (mine / "jupyter_server_config.py").write_text("c.FileContentsManager.pre_save_hook = lambda **_: None\n")
    folders = {"JUPYTER_CONFIG_DIR": mine, "JUPYTER_DATA_DIR": mine / "data", "JUPYTER_CONFIG_PATH": "envs/jupyter"}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--notebook-dir=notebooks", "--no-browser", "--allow-root"]
    with subprocess.Popen(
        [*command, f"--port={port}", "--IdentityProvider.token=t", *options],
        cwd=checkout,
        env=os.environ | {name: str(folder) for name, folder in folders.items()} | {"TCPFAIR_ROOT": str(checkout)},
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            yield server, f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def save(content, name, server, address):
    """Save a notebook as the front end does; the status of the answer."""
    request = urllib.request.Request(
        f"{address}/api/contents/{name}",
        json.dumps({"type": "notebook", "format": "json", "content": content}).encode(),
        {"Authorization": "token t"},
        method="PUT",
    )
    return send(request, server)


@pytest.mark.slow
def test_the_server_saves_every_notebook_as_it_was(checkout):
    before = {name: (checkout / "notebooks" / name).read_bytes() for name in NOTEBOOKS}
    with served(checkout) as (server, address):
        for name in NOTEBOOKS:
            assert save(as_in_the_lab(checkout / "notebooks" / name), name, server, address) == 200
    assert {name: (checkout / "notebooks" / name).read_bytes() for name in NOTEBOOKS} == before
