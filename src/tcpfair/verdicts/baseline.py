"""The committed baseline in ``data/expected``: the numbers that the exhibits draw from the bundled data, the verdicts."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tcpfair.contract.layout import Layout
from tcpfair.errors import InputError

RELATIVE = 1e-9  # numbers that differ by no more are the same
NUMBER_IDENTITY = ["exhibit", "key", "metric"]
CHANGES = ("flipped", "moved", "gone", "new")
CHANGE_COLUMNS = ["what", "id", "key", "metric", "expected", "today", "relative", "change"]


def is_built(layout: Layout, record: dict) -> bool:
    """True when drawing an exhibit succeeded and every file that its record names is there."""
    drawn = record["status"] == "built" and record["files"]
    return bool(drawn) and all((layout.root / name).is_file() for name in record["files"])


def built_numbers(layout: Layout) -> list[Path]:
    """``results/<source>/numbers/<paper>/<short id>.csv`` of every exhibit that is built, sorted."""
    files = []
    for record in sorted((layout.results / "exhibits").glob("*/*.json")):
        numbers = layout.results / "numbers" / record.parent.name / f"{record.stem}.csv"
        if is_built(layout, json.loads(record.read_text())) and numbers.is_file():
            files.append(numbers)
    return files


def read_numbers(path: Path) -> pd.DataFrame:
    """The numbers of one exhibit: exhibit, key, metric, value (text; NaN where there is none), sd, n_runs, source.

    Raises InputError when the file is missing or is no such table.
    """
    text = dict.fromkeys([*NUMBER_IDENTITY, "value", "source"], str)
    try:
        table = pd.read_csv(path, dtype=text)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise InputError(f"{path}: cannot be read as a table of numbers ({str(error).splitlines()[0]})") from None
    missing = [name for name in [*NUMBER_IDENTITY, "value", "sd", "n_runs", "source"] if name not in table]
    if missing:
        raise InputError(f"{path}: column {missing[0]} is missing")
    return table


def compare(layout: Layout, claims: pd.DataFrame) -> pd.DataFrame:
    """What moved since the baseline, one row per number or verdict; empty when nothing did.

    Looks at the exhibits that are built today and at ``claims`` (columns id, verdict). Columns: what (``number`` or
    ``verdict``), id (exhibit or claim), key, metric, expected, today, relative (change over the expected value),
    change: one of `CHANGES`, in their order; a number has ``moved`` when it differs by more than a share of 1e-9.
    """
    rows = list(_changed_verdicts(claims, _verdicts(layout)))
    rows += [row for path in built_numbers(layout) for row in _changed_numbers(path, _expected(layout, path))]
    return pd.DataFrame(sorted(rows, key=lambda row: CHANGES.index(row["change"])), columns=CHANGE_COLUMNS)


def accept(layout: Layout) -> list[str]:
    """Make today's numbers and verdicts the baseline; returns the papers whose numbers were written.

    The baseline of an exhibit that is not built today stays. Raises InputError when nothing is built or there is no
    ledger to take the verdicts from.
    """
    numbers, ledger = built_numbers(layout), layout.ledger / "claims.csv"
    if not numbers or not ledger.is_file():
        missing = ledger if numbers else layout.results / "numbers"
        raise InputError(f"{missing.relative_to(layout.root)}: nothing to accept; run ./reproduce first")
    for path in numbers:
        expected = _expected(layout, path)
        expected.parent.mkdir(parents=True, exist_ok=True)
        _replace(expected, path)
    verdicts = _verdicts(layout)
    scratch = verdicts.with_name(f".{verdicts.name}.new")
    pd.read_csv(ledger, dtype=str)[["id", "verdict"]].to_csv(scratch, index=False, lineterminator="\n")
    os.replace(scratch, verdicts)
    return sorted({path.parent.name for path in numbers})


def _expected(layout: Layout, numbers: Path) -> Path:
    """The baseline of a file of numbers."""
    return layout.expected(numbers.parent.name) / numbers.name


def _verdicts(layout: Layout) -> Path:
    return layout.data / "expected" / "verdicts.csv"


def _replace(target: Path, source: Path) -> None:
    """Copy so that ``target`` is the old file or the new one, never a part."""
    scratch = target.with_name(f".{target.name}.new")
    shutil.copyfile(source, scratch)
    os.replace(scratch, target)


def _changed_numbers(today: Path, expected: Path) -> Iterator[dict]:
    now = read_numbers(today)
    before = read_numbers(expected) if expected.is_file() else now.iloc[:0]
    both = before.merge(now, on=NUMBER_IDENTITY, how="outer", suffixes=("_expected", "_today"), indicator=True)
    for number in both.to_dict("records"):
        relative = _relative(number["value_expected"], number["value_today"])
        change = {"left_only": "gone", "right_only": "new", "both": "moved"}[number["_merge"]]
        if change != "moved" or abs(relative) > RELATIVE:
            yield {
                "what": "number",
                "id": number["exhibit"],
                "key": number["key"],
                "metric": number["metric"],
                "expected": number["value_expected"],
                "today": number["value_today"],
                "relative": relative if change == "moved" and math.isfinite(relative) else None,
                "change": change,
            }


def _relative(expected: str | float, today: str | float) -> float:
    """Change as a share of the expected value; infinite when there is no such share (letters, dashes, from zero)."""
    if pd.isna(expected) or pd.isna(today):
        return 0.0 if pd.isna(expected) and pd.isna(today) else math.inf
    try:
        before, now = float(expected), float(today)
    except ValueError:  # a letter, or the dash of a number that does not exist
        return 0.0 if expected == today else math.inf
    if before == now:
        return 0.0
    return (now - before) / abs(before) if before != 0 else math.inf


def _changed_verdicts(claims: pd.DataFrame, baseline: Path) -> Iterator[dict]:
    now = claims[["id", "verdict"]]
    before = pd.read_csv(baseline, dtype=str) if baseline.is_file() else now.iloc[:0]
    both = before.merge(now, on="id", how="outer", suffixes=("_expected", "_today"), indicator=True)
    for claim in both.to_dict("records"):
        if claim["verdict_expected"] != claim["verdict_today"]:
            yield {
                "what": "verdict",
                "id": claim["id"],
                "expected": claim["verdict_expected"],
                "today": claim["verdict_today"],
                "change": {"left_only": "gone", "right_only": "new", "both": "flipped"}[claim["_merge"]],
            }
