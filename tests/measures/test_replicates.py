"""Means over replicates, as an ensemble keeps them."""

import math

import pandas as pd

from tcpfair.measures.replicates import means
from tcpfair.papers.papers import PaperConfig


def paper(grid):
    experiment = {"what": "two", "grid": grid, "runs": {"value": 2, "source": "sec. 1"}}
    return PaperConfig.model_validate({"paper": "ogura", "cite": "a paper", "experiments": {"pair": experiment}})


def measured(values, **grid):
    n = len(values)
    columns = {name: column for name, column in grid.items()}
    about = {"run_id": range(n), "replicate": [0, 1] * (n // 2), **columns, "flow": 1, "flow_protocol": "Reno"}
    return pd.DataFrame({**about, "metric": "ratio", "value": values})


def test_a_mean_is_over_the_replicates_that_show_it_and_says_how_many():
    grid = {"root": {"value": [3, 2.5], "source": "sec. 1"}}
    table = measured([1.0, 3.0, 5.0, math.nan], root=[3.0, 3.0, 2.5, 2.5])
    found = means(table, paper(grid), "pair").set_index("point")
    assert found["value"].to_dict() == {"root=3": 2.0, "root=2.5": 5.0}
    assert found["n"].to_dict() == {"root=3": 2, "root=2.5": 1}
    assert set(found["experiment"]) == {"pair"}


def test_what_no_replicate_shows_is_nan():
    found = means(measured([math.nan, math.nan]), paper({}), "pair")
    assert (found["point"][0], found["n"][0]) == ("", 0)
    assert math.isnan(found["value"][0])
