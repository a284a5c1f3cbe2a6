"""The order of the test files, and what makes them faster."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parent
# Files of more than about ten seconds of a core, the longest first: a worker that began one of them last would keep the
# other one waiting. `./reproduce test` hands out whole files in this order; it need not be exact.
LONGEST = (
    "engine/test_two_way.py",
    "workflow/test_ensemble.py",
    "validation/test_campaign.py",
    "sources/test_ns2.py",
    "workflow/test_plan.py",
    "cc/test_vectors.py",
    "test_reproduce.py",
    "sources/readers/test_damage.py",
    "verdicts/report/test_report.py",
    "exhibits/test_legible.py",
    "library/test_own.py",
    "test_notebooks.py",
    "workflow/test_study.py",
    "exhibits/test_board.py",
    "sources/test_guest.py",
    "web/test_tours.py",
    "verdicts/claims/test_quantities.py",
    "engine/test_reference.py",
    "engine/test_clock.py",
    "verdicts/test_readings.py",
    "web/test_identity.py",
    "test_processor.py",
    "validation/test_chance.py",
    "validation/test_claims.py",
)
# no deadlines: the first call may compile, and on a busy machine any call may take long
settings.register_profile("usual", deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)  # for --hypothesis-profile
settings.load_profile("usual")
# garbage is rare, and each search for it passes over the objects of all modules and tests: a tenth of the suite's time
gc.set_threshold(50_000, 20, 20)
# no power fails during a test, and each wait for the disk takes some milliseconds
os.fsync = lambda descriptor: None
ALL_SLOW = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.slow\b", re.MULTILINE)
PLACES = {TESTS / name: place for place, name in enumerate(LONGEST)}


def pytest_configure(config):
    config.option.loadscopereorder = False  # by numbers of tests, as pytest-xdist would have it


def pytest_ignore_collect(collection_path, config):
    """Without slow tests, a file that has no others is not imported."""
    is_file = config.option.markexpr == "not slow" and collection_path.suffix == ".py"
    return True if is_file and ALL_SLOW.search(collection_path.read_text()) else None


def pytest_collection_finish():
    gc.freeze()


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))
