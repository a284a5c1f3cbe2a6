"""A verdict and how sure it is, in words."""

from __future__ import annotations

import math
import sys

import pytest

from tcpfair.verdicts.certainty import certainty_text, verdict_text
from tests.commands import succeed


@pytest.mark.parametrize(
    "confidence, settings_share, text",
    [
        (0.989, 0.774, "98 % sure; its weakest clause in 77 % of the settings"),
        (0.9949, math.nan, "99 % sure"),
        (0.995, 0.0, "over 99 % sure; its weakest clause in 0 % of the settings"),
        (math.nan, 0.5, "its weakest clause in 50 % of the settings"),
        (math.nan, math.nan, ""),
    ],
)
def test_certainty(confidence, settings_share, text):
    assert certainty_text(confidence, settings_share) == text


def test_a_verdict_with_and_without_certainty():
    row = {"verdict": "partly", "certainty": "0.98", "settings_share": ""}
    assert verdict_text(row) == "partly (98 % sure)"
    assert verdict_text(row | {"certainty": ""}) == "partly"
    assert verdict_text(row | {"verdict": "not run", "settings_share": "0.5"}) == "not run"


def test_a_start_without_work_needs_no_tables():
    code = "import sys; import tcpfair.workflow.run; print({'pandas', 'numba', 'llvmlite', 'matplotlib'} & sys.modules.keys())"
    assert succeed(sys.executable, "-c", code).stdout == "set()\n"
