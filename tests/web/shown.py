"""What the page shows, as tests in a browser ask for it."""

from __future__ import annotations

import json

from tcpfair.library.digest import digest
from tcpfair.papers.scenario import make_scenario
from tcpfair.workflow.bench import load_tasks
from tests.web.node import ROOT

READY = "return document.body.dataset.ready === 'true' && document.body.dataset.digestA"
SHOWN = "return document.body.dataset.digestA"
CHANGED = "const now = document.body.dataset.digestA; return now && now !== arguments[0] && now"
_AT_REST = "return !tcpfair.lab.busy() && document.body.dataset.digestA"


def at_rest(browser, before: str) -> str:
    """The digest that the page comes to rest at after another one: of several quick changes that of the last."""
    browser.wait(CHANGED, before)
    return browser.wait(_AT_REST)


def after(browser, script: str, *arguments) -> str:
    """The digest that the page comes to rest at after a script that starts another run."""
    before = browser.run(SHOWN)
    browser.run(script, *arguments)
    return at_rest(browser, before)


def of_benchmark(browser) -> dict[str, tuple[str, str]]:
    """The digests of the benchmark's scenarios, by their names: from the page, and from the native engine."""
    found = {}
    for task in load_tasks(ROOT / "config/bench.yaml"):
        scenario = task.scenario.model_copy(update={"duration_s": 30.0})
        values = json.loads(scenario.model_dump_json(exclude_defaults=True))
        script = "return tcpfair.run(arguments[0], 1, {}).then((result) => result.digest)"
        found[task.name] = (browser.run(script, values), digest(scenario, 1))
    return found


def natively(browser) -> str:
    """The digest of what the page is set to, from the native engine."""
    values, seed = browser.run("return [tcpfair.scenarios.compact(tcpfair.lab.scenario()), tcpfair.lab.seed()]")
    return digest(make_scenario(values), int(seed))
