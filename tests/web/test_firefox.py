"""The page in Firefox: another compiler of the same module gives the same bytes."""

from __future__ import annotations

import json

import pytest

from tcpfair.web.digest import digest
from tcpfair.workflow.bench import load_tasks
from tests.web.firefox import MISSING, driven
from tests.web.node import ROOT
from tests.web.shown import READY, SHOWN, natively

pytestmark = [pytest.mark.slow, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]


@pytest.fixture(scope="module")
def browser(lab, tmp_path_factory):
    with driven(tmp_path_factory.mktemp("firefox") / "profile") as browser:
        browser.open(lab)
        browser.wait(READY)
        yield browser


@pytest.mark.parametrize("task", load_tasks(ROOT / "config/bench.yaml"), ids=lambda task: task.name)
def test_scenarios_of_the_benchmark_give_the_native_digest(browser, task):
    scenario = task.scenario.model_copy(update={"duration_s": 30.0})
    values = json.loads(scenario.model_dump_json(exclude_defaults=True))
    result = browser.run("return tcpfair.run(arguments[0], 1, {}).then((result) => result.digest)", values)
    assert result == digest(scenario, 1)


def test_what_the_page_begins_with_is_drawn_and_has_the_native_digest(browser):
    shown = browser.run(SHOWN)
    assert shown == natively(browser)
    assert shown[:16] in browser.run("return document.getElementById('status').textContent")
    assert browser.run("return document.querySelectorAll('#plots canvas').length") >= 4
