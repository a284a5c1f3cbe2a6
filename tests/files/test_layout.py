"""Names of exhibits as users write them."""

from __future__ import annotations

import pytest

from tcpfair.files.layout import short_id


@pytest.mark.parametrize(
    ("given", "short"),
    [
        ("ogura.fig8", "fig08"),
        ("fig08", "fig08"),
        ("ogura.Figure13", "fig13"),
        ("bhatti2009.table10", "tab10"),
        ("tab3", "tab03"),
        ("bhatti2009.sens_ack", "sens_ack"),
    ],
)
def test_short_id_of_every_spelling(given, short):
    assert short_id(given) == short
