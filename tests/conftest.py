"""The order of the test files."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parent
# Files of more than about ten seconds of a core, the longest first: a worker that began one of them last would keep the
# other one waiting. `./reproduce test` hands out whole files in this order; it need not be exact.
LONGEST = (
    "verdicts/claims/test_quantities.py",
    "test_reproduce.py",
    "verdicts/test_numbers.py",
    "cc/test_vectors.py",
    "workflow/test_plan.py",
    "validation/test_rules.py",
    "web/test_identity.py",
    "engine/test_two_way.py",
    "verdicts/report/test_report.py",
    "exhibits/test_legible.py",
    "exhibits/recordings/test_drawings.py",
    "workflow/test_study.py",
    "sources/readers/test_damage.py",
    "workflow/test_ensemble.py",
    "validation/test_campaign.py",
    "sources/test_ns2.py",
    "verdicts/claims/test_claims.py",
    "verdicts/claims/test_mutations.py",
    "runs/test_code.py",
    "reference/test_dumbbell.py",
    "library/test_own.py",
    "web/test_tours.py",
    "verdicts/test_readings.py",
    "engine/test_reference.py",
    "engine/test_clock.py",
)
# no deadlines: the first call may compile, and on a busy machine any call may take long
settings.register_profile("usual", deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)  # for --hypothesis-profile
settings.load_profile("usual")
PLACES = {TESTS / name: place for place, name in enumerate(LONGEST)}


def pytest_configure(config):
    config.option.loadscopereorder = False  # by numbers of tests, as pytest-xdist would have it


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))
