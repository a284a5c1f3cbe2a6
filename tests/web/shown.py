"""What the page shows, as tests in a browser ask for it."""

from __future__ import annotations

from tcpfair.library.digest import digest
from tcpfair.papers.scenario import make_scenario

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


def natively(browser) -> str:
    """The digest of what the page is set to, from the native engine."""
    scenario = browser.run("return tcpfair.check(tcpfair.lab.scenario())")
    # JSON has no word for what is infinite; it is the default wherever it is allowed
    values = {name: value for name, value in scenario.items() if value is not None}
    values["flows"] = [{name: value for name, value in flow.items() if value is not None} for flow in values["flows"]]
    return digest(make_scenario(values), int(browser.run("return String(tcpfair.lab.seed())")))
