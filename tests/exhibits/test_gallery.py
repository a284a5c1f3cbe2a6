"""The figures that README.md and the lesson show are what the bundled data draws today."""

from __future__ import annotations

import re
import shutil

import pytest

from tcpfair.exhibits import open_paper
from tcpfair.files.layout import repository_root
from tcpfair.runs import origin

ROOT = repository_root()
GALLERY = sorted((ROOT / "data" / "expected" / "gallery").glob("*.svg"))
LINKED = ("Snakefile", "config", "data", "notebooks")


def test_readme_and_the_lesson_show_the_gallery():
    pages = "".join((ROOT / name).read_text() for name in ("README.md", "docs/teaching.md"))
    shown = re.findall(r"\((?:\.\./)?data/expected/gallery/(\S+\.svg)\)", pages)
    assert sorted(set(shown)) == [path.name for path in GALLERY]


def whoever_made_the_runs(path):
    """A figure's bytes but for the digests of the code of its runs: an edit of the engine that keeps every bit changes them."""
    assert origin.read(path).code
    return re.sub(rb'"code":\{[^}]*\}', b"", path.read_bytes())


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_is_redrawn_byte_for_byte(path, tmp_path, monkeypatch):
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    paper, exhibit = path.stem.split("_", 1)
    open_paper(paper, source="bundled", keep=True).show(exhibit)
    drawn = list((tmp_path / "figures" / "bundled" / paper).glob("*.svg"))
    assert len(drawn) == 1
    if whoever_made_the_runs(drawn[0]) != whoever_made_the_runs(path):
        shutil.copy(drawn[0], path.with_suffix(".new"))
        pytest.fail(f"{path.relative_to(ROOT)} differs from what the bundled data draws; see {path.stem}.new beside it")
