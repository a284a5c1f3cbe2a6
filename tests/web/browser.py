"""A headless Chromium, driven by its own chromedriver over WebDriver's HTTP."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

CHROMEDRIVER = shutil.which("chromedriver")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING = None if CHROMEDRIVER and CHROMIUM else "chromium and chromedriver are not installed"
needs_chromium = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name for a reference to an element
_ANSWERS_WITHIN_S = 300.0
_LOOKS_EVERY_S = 0.05


ARROW_RIGHT, ARROW_LEFT, ENTER, TAB = "\ue014", "\ue012", "\ue007", "\ue004"
ESCAPE, SHIFT, HOME, END, SPACE = "\ue00c", "\ue008", "\ue011", "\ue010", " "


def until(there: Callable[[], Any], within_s: float, complaint: str) -> Any:
    """What ``there`` returns as soon as that is true; AssertionError with ``complaint`` when it takes longer."""
    ends_s = time.monotonic() + within_s
    while not (value := there()):
        assert time.monotonic() < ends_s, complaint
        time.sleep(_LOOKS_EVERY_S)
    return value


class Window:
    """What all browsers do alike; ``run`` and ``act`` are their own."""

    def wait(self, script: str, *arguments: Any, within_s: float = 60.0) -> Any:
        """What ``script`` returns as soon as that is true."""
        return until(lambda: self.run(script, *arguments), within_s, f"not true within {within_s:g} s: {script}")

    def press(self, *keys: str, held: str = "") -> None:
        """Keys one after the other, wherever the focus is, while ``held`` is down."""
        events = [{"type": "keyDown", "value": held}] if held else []
        events += [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        events += [{"type": "keyUp", "value": held}] if held else []
        self.act({"type": "key", "id": "keyboard", "actions": events})


class Browser(Window):
    """A session of one window."""

    def __init__(self, port: int, width_px: int, height_px: int) -> None:
        self._port = port
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width_px},{height_px}"]
        flags += ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
        asked = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": asked}})
        self._session = f"/session/{answer['sessionId']}"
        self.ask("/timeouts", {"script": int(1000 * _ANSWERS_WITHIN_S)})

    def _send(self, method: str, path: str, values: dict | None = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=_ANSWERS_WITHIN_S)
        connection.request(method, path, None if values is None else json.dumps(values))
        with connection.getresponse() as answer:
            found = json.load(answer)["value"]
        assert answer.status == HTTPStatus.OK, f"{path}: {found['error']}: {found['message'].splitlines()[0]}"
        return found

    def ask(self, path: str, values: dict | None = None) -> Any:
        """What WebDriver answers; with ``values`` a POST, else a GET."""
        return self._send("GET" if values is None else "POST", f"{self._session}{path}", values)

    def open(self, page: Path, more: str = "") -> None:
        """``more`` is the end of the address, such as ``#tour=cubic/2``."""
        self.ask("/url", {"url": page.resolve().as_uri() + more})

    def _find(self, css: str) -> str:
        """The address of the first element that fits; AssertionError when there is none."""
        return f"/element/{self.ask('/element', {'using': 'css selector', 'value': css})[_ELEMENT]}"

    def click(self, css: str) -> None:
        self.ask(f"{self._find(css)}/click", {})

    def type(self, css: str, keys: str) -> None:
        """Keys as a person presses them; arrows are ``ARROW_RIGHT`` and its like."""
        self.ask(f"{self._find(css)}/value", {"text": keys})

    def text(self, css: str) -> str:
        return self.ask(f"{self._find(css)}/text")

    def focused_name(self) -> str:
        """What the element with the focus is called by programs that read a page aloud."""
        return self.ask(f"/element/{self.ask('/element/active')[_ELEMENT]}/computedlabel")

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that ``script`` returns."""
        return self.ask("/execute/sync", {"script": script, "args": list(arguments)})

    def act(self, source: dict) -> None:
        """The actions of one input source."""
        self.ask("/actions", {"actions": [source]})

    def _devtools(self, command: str, **parameters: Any) -> None:
        self.ask("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def before_pages(self, script: str) -> None:
        """Run ``script`` in every page that is opened from now on, before its own."""
        self._devtools("Page.addScriptToEvaluateOnNewDocument", source=script)

    def scheme(self, name: str) -> None:
        """As if the reader had asked for ``light`` or ``dark`` pages."""
        self._devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def print_media(self) -> None:
        """As if the page were printed, in the width of the window."""
        self._devtools("Emulation.setEmulatedMedia", media="print")

    def resize(self, width_px: int, height_px: int) -> None:
        """The size of the page itself, which a window may not go down to."""
        size = {"width": width_px, "height": height_px, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", **size)

    def log(self, kind: str) -> list[dict]:
        """Entries since the last call: ``browser`` (the console) or ``performance`` (what Chromium's network did)."""
        return self.ask("/se/log", {"type": kind})

    def requested(self) -> list[str]:
        """Addresses that were asked for since the last call, but for data and blobs of the page's own."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        sent = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        return [address for address in sent if not address.startswith(("data:", "blob:"))]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console since the last call."""
        return [entry["message"] for entry in self.log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("/screenshot")))

    def close(self) -> None:
        self._send("DELETE", self._session)


@contextmanager
def driven(width_px: int = 1440, height_px: int = 1000, *, is_quiet: bool = True) -> Iterator[Browser]:
    """A browser with a driver of its own, both gone afterwards. A quiet page complains of nothing in the meantime."""
    assert CHROMEDRIVER
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([CHROMEDRIVER, "--port=0"], **pipes, text=True) as driver:
        try:
            lines = (re.search(r"started successfully on port (\d+)", line) for line in driver.stdout)
            browser = Browser(int(next(filter(None, lines))[1]), width_px, height_px)
            try:
                yield browser
                complaints = browser.complaints() if is_quiet else []
                assert not complaints, complaints
            finally:
                browser.close()
        finally:
            driver.terminate()
