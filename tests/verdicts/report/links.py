"""The report as a graph: what each id contains, which links lead on from there, and how many clicks it takes."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
START = "report.html"  # the first page; of every page, the body has the page's name as its id


@dataclass
class Place:
    """What one id contains: its element, the links in it, its words."""

    tag: str
    links: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


class Page(HTMLParser):
    """What a page contains: elements, ids, links, the text of all but style and scripts, and `Place` by id."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.places: dict[str, Place] = {}
        self._whole = Place("page")
        self._open = [("page", [self._whole])]
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.elements[tag] += 1
        inside = list(self._open[-1][1])
        if "id" in given:
            self.ids.append(given["id"])
            inside.append(self.places.setdefault(given["id"], Place(tag)))
        links = [given[name] for name in ("href", "src") if name in given]
        self.links += links
        if tag == "a":
            for place in inside:
                place.links += links
        if tag not in VOID:
            self._open.append((tag, inside))

    def handle_endtag(self, tag):
        while tag not in VOID and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, inside = self._open[-1]
        for place in inside if tag not in ("style", "script") else ():
            place.words.append(data)

    @property
    def text(self) -> str:
        return self._whole.text

    def clicks(self) -> dict[str, int]:
        """Clicks from the front page to each address that can be reached, ids as ``#id``."""
        found = {f"#{START}": 0}
        front = [f"#{START}"]
        while front:
            reached = []
            for address in front:
                for link in self.places[address[1:]].links if address.startswith("#") else ():
                    if link not in found and (not link.startswith("#") or link[1:] in self.places):
                        found[link] = found[address] + 1
                        reached.append(link)
            front = reached
        return found


def texts_of(front: Path) -> dict[str, str]:
    """The pages of a report by their names from the folder of the first one."""
    pages = [front, *sorted((front.parent / "report").glob("*.html"))]
    return {path.relative_to(front.parent).as_posix(): path.read_text(encoding="utf-8") for path in pages}


def as_one(texts: dict[str, str]) -> Page:
    """The pages of a report as one page: links between them become ids, and files are addressed from the first one."""

    def whole(name: str, text: str) -> str:
        def address(found: re.Match[str]) -> str:
            path, mark, part = found[2].partition("#")
            if not path or path.startswith("data:"):
                return found[0]
            path = os.path.normpath(Path(name).parent / path.partition("?")[0])
            return f'{found[1]}="#{part or path}"' if path in texts else f'{found[1]}="{path}{mark}{part}"'

        return re.sub(r'\b(href|src)="([^"]*)"', address, text).replace("<body>", f'<body id="{name}">')

    return Page("".join(whole(*each) for each in texts.items()))


def broken(page: Page, folder: Path) -> list[str]:
    """Links that lead nowhere: to an id that the page lacks, or to a missing file."""
    lost = []
    for link in dict.fromkeys(page.links):
        if link.startswith("data:"):
            continue
        file, _, part = link.partition("#")
        if (not file and part not in page.places) or (file and not (folder / file).is_file()):
            lost.append(link)
    return lost


def one_way(page: Page) -> list[str]:
    """Links between claims, exhibits, equations, sections and experiments that do not lead back."""
    kinds = {id_: kind for id_ in page.places if (kind := kind_of(id_))}
    chained = {id_: {link[1:] for link in page.places[id_].links if link[1:] in kinds} for id_ in kinds}
    lost = []
    for id_, others in chained.items():
        for other in others - {id_}:
            # an exhibit may name another one whose printed numbers it draws
            if kinds[id_] != kinds[other] and id_ not in chained[other]:
                lost.append(f"{id_} -> {other}")
    return lost


def kind_of(id_: str) -> str:
    """What an id is of; empty for all that is no member of the chain."""
    patterns = {
        "claim": r"\w+-c\d\d",
        "exhibit": r"\w+?-(fig|table)\d+",
        "equation": r"\w+-eq(?!uations$)\w+",
        "section": r"\w+-s-[\w-]+",
        "experiment": r"\w+-x-(?!all$)[\w-]+",
    }
    return next((kind for kind, pattern in patterns.items() if re.fullmatch(pattern, id_)), "")


def gaps(page: Page, claims: list[str], exhibits: list[str], clicks: int = 3) -> list[str]:
    """What cannot be had of some claims and exhibits (anchors) within a number of clicks from the front page."""
    far = page.clicks()
    found = []
    for name in [*claims, *exhibits]:
        if far.get(f"#{name}", clicks) >= clicks:
            found.append(
                f"{name}: {far.get(f'#{name}', 'never')} clicks away, so that nothing of it is within {clicks}"
            )
            continue
        place = page.places[name]
        here = far[f"#{name}"]
        if not re.search(r"\./reproduce (figure|--config) \S", place.text):
            found.append(f"{name}: no command")
        if not any("notebooks/" in link and min(far[link], here + 1) <= clicks for link in place.links):
            found.append(f"{name}: no notebook")
    for name in claims:
        if "Evidence" not in page.places[name].text:
            found.append(f"{name}: no evidence")
    return found


def members(page: Page, kind: str) -> list[str]:
    """The ids of a kind."""
    return [name for name in page.places if kind_of(name) == kind]


def faults(page: Page, folder: Path) -> list[str]:
    """All that is missing in a report."""
    return [*broken(page, folder), *one_way(page), *gaps(page, members(page, "claim"), members(page, "exhibit"))]
