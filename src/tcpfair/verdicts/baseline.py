"""The committed baseline in ``data/expected``: the numbers that the exhibits draw from the bundled data, and the verdicts.

A number has *moved* if it differs from the baseline by more than `STANDARD_ERRORS` standard errors of the difference. These
follow from the standard deviations over runs and the numbers of runs of both. A smaller difference above rounding is
*within spread*: it is counted and listed, but is not a change. The rule assumes that both are independent, which makes it
less sensitive where they have the same seeds. A median is judged by the standard error of a mean, which is a fifth too small
for it, so it is reported too early rather than too late. A number without a spread (a closed form, an extreme, a single run,
a letter, a dash) has moved if it differs at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.files import is_scratch, write_whole
from tcpfair.files.layout import Layout
from tcpfair.runs import record
from tcpfair.verdicts.columns import filled
from tcpfair.verdicts.printed import IDENTITY, NO_VALUE, as_number, key_text

RELATIVE = 1e-9  # numbers that differ by no more are equal
# the usual 95 %: one pair of equal means in twenty differs by more; a higher threshold would hide more changes at 5 runs
STANDARD_ERRORS = 2.0
NUMBER_COLUMNS = [*IDENTITY, "value", "sd", "n_runs", "source"]
VERDICT_COLUMNS = ["id", "verdict", "certainty", "settings_share"]
_NO_NUMBERS = pd.DataFrame(columns=NUMBER_COLUMNS).astype({"sd": float, "n_runs": float})
CHANGES = ("flipped", "moved", "gone", "new", "within spread")
CHANGE_COLUMNS = ["what", "id", "key", "metric", "baseline", "today", "relative", "change"]
_WHEN = ("baseline", "today")
# how far `STANDARD_ERRORS` of a number reach to either side; empty where it has no spread
REACH_COLUMNS = [f"{when}_reach" for when in _WHEN]
_TOLD = 10  # lines of single changes in the terminal
_NOT_DECIDED = ("pending", "not run", "failed")


def built_numbers(layout: Layout, exhibits: Collection[str] | None = None) -> list[Path]:
    """The existing ``results/<source>/numbers/<paper>/<short id>.csv``, optionally only those of ``exhibits``."""
    files = sorted((layout.results / "numbers").glob("*/*.csv"))
    wanted = None if exhibits is None else {record.place(layout, "numbers", name, ".csv") for name in exhibits}
    return [path for path in files if not is_scratch(path) and (wanted is None or path in wanted)]


def read_numbers(path: Path) -> pd.DataFrame:
    """The numbers of one exhibit: exhibit, key, metric, value (text; NaN without a value), sd, n_runs, source.

    Raises InputError when the file is missing or not such a table.
    """
    text = dict.fromkeys([*IDENTITY, "value", "source"], str)
    try:
        table = pd.read_csv(path, dtype=text)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise InputError(f"{path}: cannot be read as a table of numbers ({str(error).splitlines()[0]})") from None
    missing = [name for name in NUMBER_COLUMNS if name not in table]
    if missing:
        raise InputError(f"{path}: column {missing[0]} is missing")
    return table


def joined(files: list[Path]) -> pd.DataFrame:
    """The numbers of several exhibits, one file each, as `read_numbers` gives them."""
    return filled(map(read_numbers, files), _NO_NUMBERS)


# --- Differences --------------------------------------------------------------------------------------------------


def compare(layout: Layout, claims: pd.DataFrame, exhibits: Collection[str] | None = None) -> pd.DataFrame:
    """Differences from the baseline, one row per number or verdict.

    Compares built ``exhibits`` (None: all) and ``claims`` (columns id, paper, verdict) that were run. Columns: what
    (``number`` or ``verdict``), id (exhibit or claim), key, metric, baseline, today, relative (change over the baseline's
    value), change: one of `CHANGES`, in their order, and `REACH_COLUMNS`.
    """
    rows = list(_changed_verdicts(claims, _verdicts(layout)))
    files = built_numbers(layout, exhibits)
    pairs = [(path, _expected(layout, path)) for path in files]
    moved = [(now, before) for now, before in pairs if not before.is_file() or now.read_bytes() != before.read_bytes()]
    if moved:
        before = joined([path for _, path in moved if path.is_file()])
        rows += _changed_numbers(joined([path for path, _ in moved]), before)
    rows.sort(key=lambda row: CHANGES.index(row["change"]))
    return pd.DataFrame(rows, columns=[*CHANGE_COLUMNS, *REACH_COLUMNS])


def _changed_numbers(now: pd.DataFrame, before: pd.DataFrame) -> Iterator[dict]:
    both = before.merge(now, on=IDENTITY, how="outer", suffixes=("_baseline", "_today"), indicator=True)
    for number in both.to_dict("records"):
        difference = _difference(number["value_baseline"], number["value_today"])
        relative = _relative(difference, number["value_baseline"])
        reach = {f"{when}_reach": _reach(number[f"sd_{when}"], number[f"n_runs_{when}"]) for when in _WHEN}
        if math.isinf(difference):  # a letter has no spread
            reach = dict.fromkeys(reach)
        change = {"left_only": "gone", "right_only": "new"}.get(number["_merge"])
        if change:
            relative = math.inf
        elif abs(relative) > RELATIVE:
            # an unknown spread (NaN) and a spread of 0 explain no difference
            within = math.isfinite(difference) and abs(difference) <= math.hypot(*reach.values())
            change = "within spread" if within else "moved"
        if change:
            yield {
                **{"what": "number", "id": number["exhibit"], "key": number["key"], "metric": number["metric"]},
                **{when: number[f"value_{when}"] for when in _WHEN},
                "relative": relative if math.isfinite(relative) else None,
                "change": change,
                **reach,
            }


def _difference(before: str | float, today: str | float) -> float:
    """today - before; infinite if one of two different values is not a number (a letter, a dash, missing)."""
    if pd.isna(before) or pd.isna(today):
        return 0.0 if pd.isna(before) and pd.isna(today) else math.inf
    try:
        return float(today) - float(before)
    except ValueError:
        return 0.0 if before == today else math.inf


def _relative(difference: float, before: str | float) -> float:
    """A difference as a share of the value before; infinite if that is 0 or not a number."""
    if difference == 0 or math.isinf(difference):
        return difference
    return difference / abs(float(before)) if float(before) != 0 else math.copysign(math.inf, difference)


def _reach(sd: float, n_runs: float) -> float:
    """`STANDARD_ERRORS` of a mean over runs; NaN without a spread."""
    return STANDARD_ERRORS * sd / math.sqrt(n_runs) if n_runs > 1 else math.nan


def _changed_verdicts(claims: pd.DataFrame, baseline: Path) -> Iterator[dict]:
    now = claims.loc[claims["verdict"] != "not run", ["id", "verdict"]]
    before = pd.read_csv(baseline, dtype=str) if baseline.is_file() else now
    papers, not_run = set(claims["paper"]), set(claims["id"]) - set(now["id"])
    before = before[before["id"].map(_paper).isin(papers) & ~before["id"].isin(not_run)]
    both = before.merge(now, on="id", how="outer", suffixes=("_baseline", "_today"), indicator=True)
    for claim in both.to_dict("records"):
        if claim["verdict_baseline"] != claim["verdict_today"]:
            yield {
                "what": "verdict",
                "id": claim["id"],
                "baseline": claim["verdict_baseline"],
                "today": claim["verdict_today"],
                "change": {"left_only": "gone", "right_only": "new", "both": "flipped"}[claim["_merge"]],
            }


# --- For the terminal ---------------------------------------------------------------------------------------------


def terminal_lines(layout: Layout, says: Callable[[str], str]) -> list[str]:
    """What moved according to the last ledger: counts, then the first `_TOLD` verdicts and numbers, the largest moves first.

    ``says`` returns the sentence of a claim, by its id. At least half of the lines remain for numbers. Empty without a ledger.
    """
    path = layout.ledger / "changes.csv"
    if not path.is_file():
        return []
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    size = pd.to_numeric(table["relative"]).abs().fillna(math.inf)
    table = table.assign(size=size).sort_values("size", ascending=False, kind="stable")
    flipped = table[table["change"] == "flipped"].to_dict("records")
    verdicts = [f"{row['id']} {row['baseline']} -> {row['today']}: {says(row['id'])}" for row in flipped]
    listed = table[(table["what"] == "number") & table["change"].isin(["moved", "gone"])]
    numbers = [
        _number_line(row) for row in listed.sort_values("change", ascending=False, kind="stable").to_dict("records")
    ]
    first = verdicts[: max(_TOLD - len(numbers), _TOLD // 2)]
    first += numbers[: _TOLD - len(first)]
    left = len(verdicts) + len(numbers) - len(first)
    more = [f"and {left} more: {path.relative_to(layout.root)}"] if left else []
    return [f"moved      {_moved_text(table)}", *(f"           {line}" for line in first + more)]


def _moved_text(table: pd.DataFrame) -> str:
    """``2 verdicts flipped, 5 numbers moved since data/expected; 37 changed within their spread``."""
    kinds = table.value_counts(["what", "change"])
    shown = (("verdict", "flipped"), ("number", "moved"), ("number", "gone"), ("verdict", "gone"))
    parts = [f"{n} {what}{'s' if n > 1 else ''} {change}" for what, change in shown if (n := kinds.get((what, change)))]
    rest = [f"{new} new"] if (new := (table["change"] == "new").sum()) else []
    rest += [f"{n} changed within their spread"] if (n := kinds.get(("number", "within spread"))) else []
    return "; ".join([f"{', '.join(parts) or 'nothing'} since data/expected", *rest])


def _number_line(row: dict[str, str]) -> str:
    reach = [float(row[name]) for name in REACH_COLUMNS if row[name]]
    spread = f" (spread {math.hypot(*reach):.2g})" if len(reach) == len(REACH_COLUMNS) else ""
    values = " -> ".join(told_apart(row["baseline"], row["today"])) if row["change"] == "moved" else row["change"]
    return f"{row['id']} {key_text(row['key'])}, {row['metric']} {values}{spread}"


def told_apart(*values: str) -> list[str]:
    """Values with four significant digits, or more if they would look equal otherwise."""
    texts = list(values)
    for digits in range(7, 3, -1):
        shorter = [_rounded(value, digits) for value in values]
        if len(set(shorter)) < len(set(values)):
            break
        texts = shorter
    return texts


def _rounded(value: str, digits: int) -> str:
    number = as_number(value)
    return value or NO_VALUE if isinstance(number, str) else f"{number:.{digits}g}"


# --- Accepting ----------------------------------------------------------------------------------------------------


def accept(layout: Layout) -> list[Path]:
    """Make the numbers and verdicts of the last ledger the baseline; returns the files that were written.

    Only built exhibits and decided claims are taken; the rest of the baseline stays. Raises InputError, without writing, when
    the ledger is missing or has no built exhibit, or when an exhibit or a claim in it failed.
    """
    exhibits = pd.concat([_table(layout, "exhibits"), _table(layout, "supplements")])
    claims = _table(layout, "claims")
    failed = [
        *exhibits.loc[exhibits["status"] == "failed", "exhibit"],
        *claims.loc[claims["verdict"] == "failed", "id"],
    ]
    where = layout.ledger.relative_to(layout.root)
    if failed:
        raise InputError(f"{where}: {', '.join(failed)} failed; fix them before accepting")
    numbers = built_numbers(layout, set(exhibits.loc[exhibits["status"] == "built", "exhibit"]))
    if not numbers:
        raise InputError(f"{where}: no exhibit is built; run ./reproduce before accepting")
    contents = {_expected(layout, path): path.read_bytes() for path in numbers}
    contents[_verdicts(layout)] = _accepted_verdicts(claims, _verdicts(layout))
    written = [path for path, content in contents.items() if not path.is_file() or path.read_bytes() != content]
    for path in written:
        write_whole(path, contents[path])
    return written


def _accepted_verdicts(claims: pd.DataFrame, baseline: Path) -> bytes:
    """The verdicts of the baseline, updated with the current ones; new ones are last, and removed claims are dropped."""
    decided = claims.loc[~claims["verdict"].isin(_NOT_DECIDED), VERDICT_COLUMNS].set_index("id")
    before = pd.read_csv(baseline, dtype=str).set_index("id") if baseline.is_file() else decided.iloc[:0]
    gone = [name for name in before.index if _paper(name) in set(claims["paper"]) and name not in set(claims["id"])]
    kept = before.drop(gone)
    table = kept.reindex(kept.index.union(decided.index, sort=False))
    table.loc[decided.index] = decided
    return table.to_csv(lineterminator="\n").encode()


def _table(layout: Layout, name: str) -> pd.DataFrame:
    path = layout.ledger / f"{name}.csv"
    if not path.is_file():
        raise InputError(f"{path.relative_to(layout.root)}: missing; run ./reproduce before accepting")
    return pd.read_csv(path, dtype=str)


# --- Places -------------------------------------------------------------------------------------------------------


def _expected(layout: Layout, numbers: Path) -> Path:
    """The baseline of a file of numbers."""
    return layout.expected(numbers.parent.name) / numbers.name


def _verdicts(layout: Layout) -> Path:
    return layout.data / "expected" / "verdicts.csv"


def _paper(name: str) -> str:
    return name.partition(".")[0]
