"""Settings of ./reproduce lab: a notebook of this repository is saved with its cells' text alone, in the form it has in git.

Outputs, counts, the state of sliders and what the front end notes for itself stay in the browser; saving a notebook in
which no cell was edited writes the bytes that were there.
"""

import warnings
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def keep_the_text(model, path, contents_manager, **_):
    """Strip a notebook that is about to be saved; Jupyter's writer orders the keys and ends the file with a newline."""
    file = Path(contents_manager.root_dir, path).resolve()
    if model.get("type") != "notebook" or not file.is_relative_to(NOTEBOOKS):
        return
    notebook = model["content"]
    notebook["metadata"] = METADATA
    for cell in notebook["cells"]:
        cell["metadata"] = {name: value for name, value in cell["metadata"].items() if name == "tags" and value}
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)


warnings.filterwarnings("ignore", "Overriding existing pre_save_hook")  # said of a hook that takes its own place
c = get_config()  # noqa: F821  (Jupyter hands it to this file)
c.FileContentsManager.pre_save_hook = keep_the_text
