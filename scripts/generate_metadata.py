"""Generate codemeta.json and .zenodo.json from pyproject.toml and CITATION.cff.

    .venv/bin/python scripts/generate_metadata.py

The version is in pyproject.toml; CITATION.cff and the newest section of CHANGELOG.md repeat it, which a test checks.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent


def read(root: Path = ROOT) -> tuple[dict[str, Any], dict[str, Any]]:
    """pyproject.toml and CITATION.cff as dictionaries."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project, yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))


def codemeta(project: dict[str, Any], cited: dict[str, Any]) -> dict[str, Any]:
    """The project's metadata in CodeMeta 3.0."""
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "version": project["version"],
        "description": " ".join(cited["abstract"].split()),
        "license": f"https://spdx.org/licenses/{cited['license']}",
        "author": [{"@type": "Organization", "name": author["name"]} for author in cited["authors"]],
        "dateModified": str(cited["date-released"]),
        "keywords": cited["keywords"],
        "programmingLanguage": {"@type": "ComputerLanguage", "name": "Python", "version": project["requires-python"]},
        "runtimePlatform": "CPython",
        "operatingSystem": "Linux",
        "softwareRequirements": [
            {
                "@type": "SoftwareApplication",
                "name": (requirement := Requirement(text)).name,
                "version": str(requirement.specifier),
            }
            for text in [*project["dependencies"], *project["optional-dependencies"]["reproduce"]]
        ],
        "referencePublication": [
            {
                "@type": "ScholarlyArticle",
                "name": paper["title"],
                "author": [_person(each) for each in paper["authors"]],
            }
            | ({"datePublished": str(paper["year"])} if "year" in paper else {})
            for paper in cited["references"]
        ],
    }


def _person(author: dict[str, str]) -> dict[str, str]:
    return {"@type": "Person", "givenName": author["given-names"], "familyName": author["family-names"]}


def _names(paper: dict[str, Any]) -> str:
    return ", ".join(f"{author['given-names']} {author['family-names']}" for author in paper["authors"])


def zenodo(project: dict[str, Any], cited: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a deposit on Zenodo."""
    return {
        "title": cited["title"],
        "version": project["version"],
        "description": f"<p>{' '.join(cited['abstract'].split())}</p>",
        "upload_type": "software",
        "access_right": "open",
        "license": cited["license"],
        "creators": [{"name": author["name"]} for author in cited["authors"]],
        "keywords": cited["keywords"],
        "publication_date": str(cited["date-released"]),
        "references": [
            f"{_names(paper)}: {paper['title']}" + (f" ({paper['year']})" if "year" in paper else "")
            for paper in cited["references"]
        ],
    }


def generated(root: Path = ROOT) -> dict[str, str]:
    """Content by name of the file."""
    project, cited = read(root)
    made = {"codemeta.json": codemeta(project, cited), ".zenodo.json": zenodo(project, cited)}
    return {name: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for name, content in made.items()}


def main() -> None:
    for name, content in generated().items():
        (ROOT / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
