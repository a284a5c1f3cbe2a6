"""The order of the test files."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
# Files of more than about ten seconds of a core, the longest first: a worker that began one of them last would keep the
# other one waiting. `./reproduce test` hands out whole files in this order; it need not be exact.
LONGEST = (
    "reference/test_dumbbell.py",
    "exhibits/recordings/test_drawings.py",
    "test_reproduce.py",
    "validation/test_campaign.py",
    "engine/test_two_way.py",
    "cc/test_vectors.py",
    "engine/test_reference.py",
    "workflow/test_study.py",
    "sources/readers/test_refused.py",
    "papers/test_every_value.py",
    "exhibits/test_board.py",
    "exhibits/recordings/test_board.py",
    "runs/test_store.py",
    "sources/readers/test_pcap.py",
    "test_notebooks.py",
    "engine/test_clock.py",
)
PLACES = {TESTS / name: place for place, name in enumerate(LONGEST)}


def pytest_configure(config):
    config.option.loadscopereorder = False  # by numbers of tests, as pytest-xdist would have it


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))
