"""docs/library.md: its example runs and gives what its comment states."""

from __future__ import annotations

import re

import numpy as np

import tcpfair
from tcpfair.files.layout import repository_root

TEXT = (repository_root() / "docs" / "library.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_example_runs_and_its_numbers_are_right():
    lines = [line for line in EXAMPLE.splitlines() if line.strip()]
    assert len(lines) <= 8
    names: dict = {}
    for line in lines:
        code = re.sub(r"r\.to_xarray\(\), ", "", line)  # xarray is not in the lock
        exec(code, names)
    stated = re.search(r"r\.goodput_mbps +# (.*)", EXAMPLE)[1]
    r = names["r"]
    for shown, value, decimals in zip(
        eval(stated), (r.jfi, r.nru_db, r.harm, r.goodput_mbps), (2, 1, 2, 1), strict=True
    ):
        assert np.array_equal(np.round(value, decimals), shown)


def test_every_public_name_is_in_the_table():
    assert {name for name in re.findall(r"^\| `(\w+)", TEXT, re.MULTILINE) if name != "r"} == set(tcpfair.__all__)
