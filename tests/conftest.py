"""The order of the test files."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
# Files of more than about ten seconds of a core, the longest first: a worker that began one of them last would keep the
# other one waiting. `./reproduce test` hands out whole files in this order; it need not be exact.
LONGEST = (
    "validation/test_rules.py",
    "exhibits/recordings/test_drawings.py",
    "verdicts/claims/test_quantities.py",
    "validation/test_campaign.py",
    "engine/test_two_way.py",
    "verdicts/claims/test_claims.py",
    "test_reproduce.py",
    "cc/test_vectors.py",
    "engine/test_reference.py",
    "reference/test_dumbbell.py",
    "sources/readers/test_refused.py",
    "verdicts/claims/test_mutations.py",
    "exhibits/test_legible.py",
    "exhibits/test_board.py",
    "engine/test_clock.py",
    "exhibits/recordings/test_board.py",
    "runs/test_store.py",
    "papers/test_every_value.py",
    "sources/readers/test_pcap.py",
    "test_notebooks.py",
    "validation/test_chance.py",
    "test_processor.py",
)
PLACES = {TESTS / name: place for place, name in enumerate(LONGEST)}


def pytest_configure(config):
    config.option.loadscopereorder = False  # by numbers of tests, as pytest-xdist would have it


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))
