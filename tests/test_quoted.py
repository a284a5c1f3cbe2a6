"""Numbers that documents quote are those of the baseline, of the bundled runs and of the shipped comparison with the kernel."""

import re
from pathlib import Path
from statistics import mean, median

import pandas as pd
import pytest

from tcpfair.verdicts.certainty import verdict_text
from tests.verdicts import bundled

ROOT = Path(__file__).resolve().parent.parent
LONG_OVER_SHORT = re.compile(r"\d\.\d\d")


def words(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def expected(exhibit, key, metric):
    table = pd.read_csv(ROOT / f"data/expected/ogura/{exhibit}.csv").set_index(["key", "metric"])
    return table.loc[(key, metric), "value"]


def ratios(protocol, loss_rate):
    """The ratio of each run of figure 8 at one loss rate, in the order of the replicates."""
    found = bundled.metrics("ogura", "loss_sweep").query(
        "metric == 'ratio' and protocol == @protocol and loss_rate == @loss_rate"
    )
    return found.sort_values("replicate", kind="stable")["value"].tolist()


def test_readme_quotes_the_baseline():
    libra, reno = (expected("fig08", f"loss_rate=0.01;protocol={name}", "ratio") for name in ("Libra", "Reno"))
    assert f"Libra's long flow gets {libra:.0%}".replace("%", " %") in words("README.md")
    assert f"Reno's gets {reno:.0%}".replace("%", " %") in words("README.md")
    simulated = expected("fig04", "item=80 ms over 40 ms;protocol=Reno", "t1_ratio")
    assert f"The simulation gives {simulated:.2f}." in words("README.md")
    verdicts = pd.read_csv(ROOT / "data/expected/verdicts.csv").set_index("id")
    assert f"The verdict is *{verdict_text(verdicts.loc['ogura.c16'])}*" in words("README.md")


@pytest.mark.parametrize(
    ("sentence", "protocol", "loss_rate"),
    [
        ("the packet lab shows {0:.2f} for replicate 0", "Reno", 0.01),
        ("The ratio rises to {0:.2f},", "Reno", 1e-6),
        ("In replicate 0 the ratio is {0:.3f}; the median of the 20 runs of figure 8 is {median:.2f}.", "Libra", 0.01),
        ("the ratio ranges from {least:.2f} to {most:.2f}. The mean is {mean:.2f},", "Reno", 1e-6),
        ("their mean is {all_mean:.2f}, from {all_least:.2f} to {all_most:.2f}.", "Reno", 1e-6),
    ],
)
def test_the_solutions_quote_the_bundled_runs(sentence, protocol, loss_rate):
    found = ratios(protocol, loss_rate)
    ten = found[:10]
    of_all = {"all_least": min(found), "all_most": max(found), "all_mean": mean(found), "median": median(found)}
    quoted = sentence.format(found[0], least=min(ten), most=max(ten), mean=mean(ten), **of_all)
    assert LONG_OVER_SHORT.search(quoted)
    assert quoted in words("docs/teaching_solutions.md")


def test_the_documents_quote_the_clauses_that_the_guest_decides():
    table = pd.read_csv(ROOT / "data/reference/guest.csv")
    said = table["in_print"].map({True: "holds", False: "does not hold"})
    sources = [*(table[f"{name}_outcome"] for name in ("full", "scaled", "as_kernel")), said]
    quoted = words("docs/validation.md")
    for paper, of_guest in table["guest_outcome"].groupby(table["paper"]):
        counts = []
        for outcome in sources:
            both = pd.DataFrame({"guest": of_guest, "other": outcome[of_guest.index]})
            both = both[both.isin(["holds", "does not hold"]).all(axis=1)]
            counts.append(f"{(both['guest'] == both['other']).sum()} of {len(both)}" if len(both) else "–")
        row = re.escape(f" | {' | '.join(counts)} |")
        assert re.search(rf"\| {paper}[^|]*{row}", quoted), paper
    by = table["differs"].value_counts()
    assert (
        f"{by['size']} clauses differ by the size, {by['kernel']} by the kernel and {by['chance']} by chance" in quoted
    )
    assert "implementation" not in by
