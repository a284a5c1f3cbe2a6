"""The conclusion of an abstract follows from the claims that it rests on."""

import shutil

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, repository_root
from tcpfair.papers.papers import load_models
from tcpfair.verdicts.certainty import verdict_text
from tcpfair.verdicts.claims import headlines
from tcpfair.verdicts.claims.headlines import HEADLINES, Headline, headline_table, verdict

ROOT = repository_root()
FOLDER = ROOT / "data" / "claims"
VERDICTS = pd.read_csv(ROOT / "data" / "expected" / "verdicts.csv")


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (["reproduced", "by construction"], "reproduced"),
        (["not reproduced", "contradicted in print"], "not reproduced"),
        (["reproduced", "not reproduced"], "partly"),
        (["partly", "open", "undecidable"], "partly"),
        (["reproduced", "undecidable", "open"], "undecidable"),
        (["reproduced", "open"], "open"),
        (["not reproduced", "undecidable"], "undecidable"),
        (["reproduced", "not run"], "not run"),
    ],
)
def test_a_conclusion_is_as_good_as_its_claims(of, expected):
    assert verdict(of) == expected


def test_every_paper_has_one_and_readme_says_what_became_of_it():
    assert set(load_models(FOLDER / HEADLINES, Headline)) == set(PAPERS)
    table = headline_table(FOLDER, PAPERS, VERDICTS)
    readme = " ".join((ROOT / "README.md").read_text().split())
    for row in table.to_dict("records"):
        assert f"| `{row['paper']}` | {row['says']} | {verdict_text(row)} |" in readme


def test_the_least_certain_claim_counts():
    claims = VERDICTS.assign(certainty=1.0, settings_share=0.5)
    claims.loc[claims["id"] == "kozu2014.c02", ["certainty", "settings_share"]] = [0.7, 0.1]
    row = headline_table(FOLDER, ["kozu2014"], claims).iloc[0]
    assert (row["certainty"], row["settings_share"]) == (0.7, 0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ogura: {says: a, claims: [ogura.c99]}", r"headlines.yaml: ogura: claims: claim.*'ogura.c99'"),
        ("ogura: {says: a}", r"headlines.yaml: ogura: claims"),
    ],
)
def test_a_slip_is_told_in_one_line(tmp_path, text, message):
    shutil.copy(FOLDER / headlines.HEADLINES, tmp_path)
    (tmp_path / headlines.HEADLINES).write_text(text)
    with pytest.raises(InputError, match=message):
        headline_table(tmp_path, PAPERS, VERDICTS)
