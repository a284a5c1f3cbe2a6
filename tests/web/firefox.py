"""A headless Firefox, driven over Marionette, the protocol of its own that geckodriver would translate to.

A message is its length in bytes, a colon and JSON: ``[0, number, command, values]`` there, ``[1, number, error, value]`` back.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.web.browser import Window, until

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
MISSING = None if FIREFOX else "firefox is not installed"
_STARTS_WITHIN_S = 60.0
_ANSWERS_WITHIN_S = 300.0
# what a new profile would ask the network for, and any port that is free
_SETTINGS = {
    "marionette.port": 0,
    "network.connectivity-service.enabled": False,
    "network.captive-portal-service.enabled": False,
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "services.settings.server": "data:,",
}


class Firefox(Window):
    """A session of one window."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_ANSWERS_WITHIN_S)
        self._stream = self._socket.makefile("rb")
        self._read()  # who it is
        self._number = 0
        self.ask("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})
        self.ask("WebDriver:SetTimeouts", {"script": int(1000 * _ANSWERS_WITHIN_S)})

    def _read(self) -> Any:
        length = b""
        while (byte := self._stream.read(1)) != b":":
            assert byte, "firefox has closed the connection"
            length += byte
        return json.loads(self._stream.read(int(length)))

    def ask(self, command: str, values: dict) -> Any:
        """What Marionette answers; AssertionError with its complaint."""
        self._number += 1
        message = json.dumps([0, self._number, command, values]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, value = self._read()
        assert number == self._number
        if error:
            raise AssertionError(f"{command}: {error['error']}: {error['message'].splitlines()[0]}")
        return value

    def open(self, page: Path) -> None:
        self.ask("WebDriver:Navigate", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that ``script`` returns, when it is there."""
        values = {"script": script, "args": list(arguments), "sandbox": None}
        return self.ask("WebDriver:ExecuteScript", values)["value"]

    def act(self, source: dict) -> None:
        """The actions of one input source."""
        self.ask("WebDriver:PerformActions", {"actions": [source]})

    def close(self) -> None:
        self.ask("Marionette:Quit", {"flags": ["eForceQuit"]})
        self._socket.close()


@contextmanager
def driven(profile: Path) -> Iterator[Firefox]:
    """A browser with ``profile``, a new folder, for its own; gone afterwards."""
    profile.mkdir(parents=True)
    settings = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in _SETTINGS.items()]
    (profile / "user.js").write_text("".join(settings))
    assert FIREFOX
    command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            browser = Firefox(_port(profile, process))
            yield browser
            browser.close()
            process.wait(timeout=_STARTS_WITHIN_S)
        finally:
            process.kill()


def _port(profile: Path, process: subprocess.Popen) -> int:
    """Where it listens: it writes the number down as soon as it does."""
    found = profile / "MarionetteActivePort"

    def written() -> str:
        assert process.poll() is None, "firefox has ended"
        return found.read_text().strip() if found.is_file() else ""

    return int(until(written, _STARTS_WITHIN_S, "firefox does not listen"))
