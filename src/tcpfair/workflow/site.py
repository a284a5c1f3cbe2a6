"""The site: how-tos, executed notebooks, report and packet lab as one folder that opens from disk or from any web server.

Sphinx converts the Markdown of the repository and the executed notebooks to pages. The pages of the report, the packet lab and
all files that they link to are copied, with their links adapted to the site.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from tcpfair.errors import InputError
from tcpfair.files.files import whole_folder, write_whole
from tcpfair.files.layout import PAPERS, WRITE_UP, Layout
from tcpfair.papers.papers import load_paper
from tcpfair.verdicts.cell_links import anchor, label, notebook_cells
from tcpfair.workflow.plan import Plan

SITE = "site"  # the folder below results/<source>
# Markdown of the repository outside docs/, and its page; files of docs/ keep their names
_PAGES = {
    "config/README.md": "configuration.md",
    "data/README.md": "data.md",
    "data/raw/README.md": "recordings.md",
    "workflow/profiles/slurm/README.md": "slurm.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
# the pages below each page, in their order
_BELOW = {
    "index": ("results", "commands", "library", "teaching", "reviewing", "contributing"),
    "results": (*(f"notebooks/{name}" for name in (WRITE_UP, *PAPERS, "raw")), "ledger"),
    "commands": ("configuration", "recordings", "data", "validation", "slurm"),
    "teaching": ("teaching_solutions",),
    "library": ("api",),
    "contributing": ("changelog",),
}
_HIDDEN = {"injected-parameters", "hide-input"}  # tags of cells whose code is not shown
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")
_PICTURE = re.compile(r"(!\[[^\]]*\])\((?!\w+:)([^)\s]+)\)")
_ADDRESS = re.compile(r'\b(href|src)="([^"]*)"')
_LOADED_BY_CSS = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")
_HOME = '<p style="margin: 0; padding: .3rem 1.5rem; font: 14px sans-serif"><a href="{}">tcpfair: all pages</a></p>'


def build(plan: Plan, packages: Path) -> Path:
    """Build the site of the run that the plan describes, replacing an earlier one; returns its first page.

    ``packages`` is the folder with Sphinx. Raises InputError when the run is not finished, when Sphinx warns, and for a broken
    link or an address on another host.
    """
    layout = plan.layout
    plan.refuse_unfinished("site", "run ./reproduce first")
    site = _Site(layout)
    with whole_folder(layout.results / SITE) as folder:
        sources = folder / ".sources"
        site.write_sources(sources)
        _sphinx(layout, sources, folder, packages)
        shutil.rmtree(sources)
        site.carry(folder)
        if faults := list(check(folder)):
            more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
            raise InputError(f"site: {'; '.join(faults[:5])}{more}")
    return layout.results / SITE / "index.html"


def _sphinx(layout: Layout, sources: Path, folder: Path, packages: Path) -> None:
    """Run Sphinx, whose warnings are errors, with its packages in addition to those of the environment."""
    settings = layout.root / "docs"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-j", "auto", "-c", settings]
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    doctrees = sources / ".doctrees"
    done = subprocess.run(
        [*command, "-d", doctrees, sources, folder], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InputError(f"site: {(done.stderr or done.stdout).replace(f'{sources}/', '').strip()}")
    for pattern in (".buildinfo", "objects.inv", "_static/webpack-macros.html", "_static/**/*.map"):
        for rest in folder.glob(pattern):
            rest.unlink()  # only needed to build the theme


class _Site:
    """Where the files of a checkout are in its site."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @cached_property
    def markdown(self) -> dict[Path, Path]:
        """Markdown files and their places among the sources."""
        root = self.layout.root
        found = {path: Path(path.name) for path in sorted((root / "docs").glob("*.md"))}
        return found | {root / name: Path(page) for name, page in _PAGES.items() if (root / name).is_file()}

    @cached_property
    def notebooks(self) -> dict[Path, Path]:
        """Executed notebooks and their places among the sources."""
        folders = [self.layout.results / "notebooks", self.layout.root / "results/raw/notebooks"]
        return {path: Path("notebooks", path.name) for folder in folders for path in sorted(folder.glob("*.ipynb"))}

    def place(self, path: Path) -> Path:
        """Path of a file of the checkout in the site."""
        layout = self.layout
        page = self.markdown.get(path) or self.notebooks.get(path.with_suffix(".ipynb"))
        if page:
            return page.with_suffix(".html")
        for folder, name in ((layout.results, ""), (layout.validation, "validation"), (layout.figures(""), "figures")):
            if path.is_relative_to(folder):
                return Path(name, path.relative_to(folder))
        return Path("files", path.relative_to(layout.root))

    # --- Sources of Sphinx ----------------------------------------------------------------------------------------

    def write_sources(self, folder: Path) -> None:
        """Write the Markdown and the notebooks that Sphinx converts."""
        folder.mkdir(parents=True)
        self._linked: set[Path] = set()
        made = {page.with_suffix("").as_posix() for page in (*self.markdown.values(), *self.notebooks.values())}
        made.add("results")
        for path, page in self.markdown.items():
            text = self._with_links(path, path.read_text(encoding="utf-8"), page)
            for picture in {path.parent / place for _, place in _PICTURE.findall(text)}:
                if picture.is_file():  # else Sphinx reports it
                    shutil.copyfile(picture, folder / picture.name)
            text = _PICTURE.sub(lambda found: f"{found[1]}({Path(found[2]).name})", text)
            write_whole(folder / page, text + _contents(page.stem, made))
        for path, page in self.notebooks.items():
            write_whole(folder / page, self._notebook(path, page))
        front = self.layout.results / "report.html"
        cards = re.search(r'<section id="conclusions".*?</section>', front.read_text(encoding="utf-8"), re.DOTALL)
        write_whole(folder / "conclusions.html", self._moved(front, cards[0], Path("index.html")))
        write_whole(folder / "results.md", self._results() + _contents("results", made))

    def _with_links(self, path: Path, text: str, page: Path) -> str:
        """Markdown with its links to files of the repository adapted to the site."""
        executed = {self.layout.root / "notebooks" / page.name: page for page in self.notebooks.values()}
        pages = self.markdown | self.notebooks | executed

        def link(found: re.Match[str]) -> str:
            text, address, part = found[1], found[2], found[3] or ""
            if not address:
                return found[0]
            target = Path(os.path.normpath(path.parent / address))
            if to := pages.get(target):
                return f"[{text}]({os.path.relpath(to, page.parent)}{part})"
            if not target.is_file():
                return text
            self._linked.add(target)
            return f'<a href="{os.path.relpath(self.place(target), page.parent)}{part}">{text}</a>'

        return _LINK.sub(link, text)

    def _notebook(self, path: Path, page: Path) -> str:
        """An executed notebook, with a link to the report before each cell that shows an exhibit."""
        notebook = json.loads(path.read_text(encoding="utf-8"))
        shown = {}  # exhibits by the id of their cell
        if path.stem in PAPERS:
            paper = load_paper(self.layout.paper_config(path.stem))
            exhibits = notebook_cells(self.layout.root / "notebooks" / path.name, paper)
            shown = {cell: exhibit for exhibit, cell in exhibits.items()}
        found = []
        for cell in notebook["cells"]:
            if _HIDDEN & set(cell["metadata"].get("tags", [])):
                cell["metadata"]["tags"] = ["remove-input"]
            if cell["cell_type"] == "markdown":
                cell["source"] = self._with_links(path, "".join(cell["source"]), page)
            if exhibit := shown.get(cell["id"]):
                href = f"../report/{path.stem}.html#{anchor(exhibit)}"
                link = f'<a href="{href}">{label(exhibit)} in the report, with its claims</a>'
                text = f'<span id="cell-id={cell["id"]}"></span>{link}'
                found.append({"cell_type": "markdown", "id": f"to-{cell['id']}", "metadata": {}, "source": text})
            found.append(cell)
        return json.dumps({**notebook, "cells": found})

    @property
    def _carried(self) -> list[Path]:
        """Pages that the site contains unchanged except for their links."""
        reports = [f"report/{name}.html" for name in (*PAPERS, "claims", "agreement", "run")]
        pages = [self.layout.results / name for name in ("report.html", *reports, "costs.html")]
        return [page for page in (*pages, self.layout.lab, self.layout.validation / "report.html") if page.is_file()]

    def _results(self) -> str:
        """The page that lists the carried pages."""
        lines = []
        for path in self._carried:
            title = re.search(r"<title>tcpfair:? ?(.*?)</title>", path.read_text(encoding="utf-8"))[1]
            lines.append(f'* <a href="{self.place(path).as_posix()}">{title[:1].upper()}{title[1:]}</a>')
        text = "Pages with the results of this run. They open from disk, as this site does.\n\n"
        return f"# Results\n\n{text}" + "\n".join(lines) + "\n"

    # --- Copied files ---------------------------------------------------------------------------------------------

    def carry(self, folder: Path) -> None:
        """Copy the pages of the results to the site, and all files that they and the Markdown link to."""
        left, done = [*self._carried, *self._linked], set()
        while left:
            path = left.pop()
            page = self.place(path)
            if path in done or (folder / page).exists() or not path.is_file():
                continue
            done.add(path)
            (folder / page).parent.mkdir(parents=True, exist_ok=True)
            if path.suffix != ".html" or path.is_relative_to(self.layout.figures("")):
                shutil.copyfile(path, folder / page)
                continue
            text = path.read_text(encoding="utf-8")
            home = _HOME.format(os.path.relpath("index.html", page.parent))
            text = self._moved(path, text, page)
            write_whole(folder / page, re.sub(r"<body[^>]*>", lambda found, home=home: found[0] + home, text, count=1))
            left += self._linked

    def _moved(self, path: Path, text: str, page: Path) -> str:
        """The text of a page with its links adapted to the site."""

        def address(found: re.Match[str]) -> str:
            place, mark, part = found[2].partition("#")
            place, asked, query = place.partition("?")
            if not place or re.match(r"\w+:", place):
                return found[0]
            target = Path(os.path.normpath(path.parent / place))
            self._linked.add(target)
            to = os.path.relpath(self.place(target), page.parent)
            return f'{found[1]}="{to}{asked}{query}{mark}{part}"'

        # scripts may contain text that looks like an address
        parts = re.split(r"(<script.*?</script>)", text, flags=re.DOTALL)
        return "".join(part if part.startswith("<script") else _ADDRESS.sub(address, part) for part in parts)


def _contents(page: str, made: set[str]) -> str:
    """The existing pages below a page, for Sphinx's navigation."""
    below = [name for name in _BELOW.get(page, ()) if name in made]
    return "\n".join(["", "```{toctree}", ":hidden:", "", *below, "```", ""]) if below else ""


# --- Links --------------------------------------------------------------------------------------------------------


class _Addresses(HTMLParser):
    """The ids of a page and its addresses: those that a browser loads automatically, and those that a reader follows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.followed: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: Iterable[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        self.loaded += [given[name] or "" for name in ("src", "srcset", "data") if name in given and tag != "button"]
        if "href" in given:
            (self.followed if tag == "a" else self.loaded).append(given["href"] or "")


def _pages(folder: Path) -> list[Path]:
    """The pages of a site; those of `figures` are only shown within others."""
    return [path for path in sorted(folder.rglob("*.html")) if "figures" not in path.relative_to(folder).parts]


def check(folder: Path) -> Iterator[str]:
    """Broken links of a site, and addresses on other hosts that its pages load."""
    pages = {path: _Addresses(path.read_text(encoding="utf-8")) for path in _pages(folder)}
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        for address in dict.fromkeys([*page.loaded, *page.followed]):
            if address in page.loaded and re.match(r"(\w+:)?//", address):
                yield f"{name}: loads {address} from another host"
            if re.match(r"\w+:|//", address):
                continue
            place, _, part = address.partition("#")
            target = Path(os.path.normpath(path.parent / unquote(place.partition("?")[0]))) if place else path
            if not target.is_file():
                yield f"{name}: no file {address}"
            elif part and target in pages and target.name != "lab.html" and unquote(part) not in pages[target].ids:
                yield f"{name}: no part {address}"
    for path in sorted(folder.rglob("*.css")):
        for address in _LOADED_BY_CSS.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(folder).as_posix()}: loads {address} from another host"


def summary(folder: Path) -> str:
    """``41 pages, 23.4 MB``."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{len(_pages(folder))} pages, {size / 1e6:.1f} MB"
