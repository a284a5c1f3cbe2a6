"""axe-core on a page: what it holds for barriers. It is not part of this repository (MPL-2.0, half a megabyte)."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tests.web.browser import MISSING as NO_BROWSER
from tests.web.browser import Browser
from tests.web.node import NODE, ROOT

_FIND = """const { execSync } = require("node:child_process");
const global = () => execSync("npm root -g", { stdio: ["ignore", "pipe", "ignore"] }).toString().trim();
for (const paths of [() => [process.cwd(), ...require("node:module").globalPaths], () => [global()]]) {
  try { console.log(require.resolve("axe-core/axe.min.js", { paths: paths() })); break; } catch {}
}"""
_RUN = """return axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, impact, nodes }) => {
      const places = nodes.map(({ target }) => target.join(" ")).slice(0, 5).join(", ");
      return `${impact}: ${id}: ${places} (${nodes.length})`;
    }))"""


@cache
def script() -> Path | None:
    """axe-core as node finds it: in the checkout's node_modules, along NODE_PATH, or among what is installed for all."""
    if NODE is None:
        return None
    done = subprocess.run([NODE, "-e", _FIND], cwd=ROOT, capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.stdout.strip() else None


def missing() -> str | None:
    """Why there is no axe-core to be asked, in words."""
    if NO_BROWSER:
        return NO_BROWSER
    return None if script() else "axe-core is not installed: npm install --global axe-core, or NODE_PATH"


def findings(browser: Browser) -> list[str]:
    """Each rule that the page as it is breaks, with the first elements that do."""
    found = script()
    assert found
    if not browser.run("return 'axe' in globalThis"):
        browser.run(found.read_text(encoding="utf-8"))
    return browser.run(_RUN)
