"""A checkout without simulations: the real configuration and data, and exhibits whose results a test makes up."""

import json
from pathlib import Path

import pandas as pd
import yaml

from tcpfair.contract.layout import PAPERS, Layout, short_id
from tcpfair.verdicts.baseline import NUMBER_IDENTITY

ROOT = Path(__file__).parents[1]
KEPT = {"ogura": ["model1"]}  # experiments; the others would only take time to plan


def make(root: Path) -> Layout:
    """Configuration of the five papers, nearly without experiments, and links to the data that is shipped."""
    (root / "config" / "papers").mkdir(parents=True)
    (root / "data").mkdir()
    for name in ("published", "claims", "reference", "equations.yaml", "tolerances.yaml"):
        (root / "data" / name).symlink_to(ROOT / "data" / name)
    for paper in PAPERS:
        config = yaml.safe_load((ROOT / "config" / "papers" / f"{paper}.yaml").read_text())
        kept = KEPT.get(paper, [])
        config["experiments"] = {name: config["experiments"][name] for name in kept}
        for exhibit in config["exhibits"]:
            exhibit["experiments"] = [name for name in exhibit.get("experiments", []) if name in kept]
        (root / "config" / "papers" / f"{paper}.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return Layout(root, "bundled")


def put_exhibit(
    layout: Layout, exhibit_id: str, numbers: list[tuple] = (), files: dict[str, str] | None = None, error: str = ""
) -> None:
    """What drawing an exhibit leaves: its files by suffix, its numbers (key, metric, value) and its record."""
    paper, name = exhibit_id.split(".")[0], short_id(exhibit_id)
    drawn = []
    for suffix, text in ({".svg": "<svg/>"} if files is None else files).items():
        path = layout.figures(paper) / f"{name}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        drawn.append(path.relative_to(layout.root).as_posix())
    rows = [(exhibit_id, *number, 0.1, 5, layout.source) for number in numbers]
    table = pd.DataFrame(rows, columns=[*NUMBER_IDENTITY, "value", "sd", "n_runs", "source"])
    record = {
        "exhibit": exhibit_id,
        "status": "failed" if error else "built",
        "files": [] if error else drawn,
        "n_runs": 5,
        "error": error,
    }
    for folder, file, text in (
        ("numbers", f"{name}.csv", table.to_csv(index=False)),
        ("exhibits", f"{name}.json", json.dumps(record)),
    ):
        path = layout.results / folder / paper / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
