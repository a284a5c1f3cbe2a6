"""How far a run is: counts of runs, time left, and no control characters where there is no terminal."""

import io

import pytest

from tcpfair.workflow import state


class Terminal(io.StringIO):
    def isatty(self):
        return True


TWO = {"ogura": state.Group(60.0, 2), "ha2006": state.Group(20.0)}
SAID = {  # groups, cores, lines that are printed: the state
    "the jobs of a group": (
        *({"ogura": state.Group(100.0, 2, 1200)}, 1),
        ["steps 3 9", "measured ogura", "progress ogura 1-of-2 1 2", "progress ogura 2-of-2 0 2"],
        "step 3 of 9; ogura 1 of 1,200 runs; about 75 s of simulation left",
    ),
    "without an expected time": (
        *({"engine/two": state.Group()}, 1, ["steps 1 3", "progress engine/two whole 3 6"]),
        "step 1 of 3; engine/two 3 of 6 runs",
    ),
    "lines that were written into each other": (
        *({"engine/two": state.Group()}, 1),
        ["progress engine/two whole 3 6progress engine/one whole 0 6\n", "progress engine/two whole\n"],
        "",
    ),
    "nothing is done": (TWO, 2, [], "about 40 s of simulation left"),
    "a job is done": (TWO, 2, ["progress ogura 1-of-2 2 2"], "about 25 s of simulation left"),
}


@pytest.mark.parametrize(("groups", "cores", "lines", "text"), SAID.values(), ids=SAID)
def test_the_state_adds_up_what_jobs_say(groups, cores, lines, text):
    shown = state.State(groups, cores, io.StringIO())
    assert [shown.takes(line) for line in lines] == [not line.startswith("measured") for line in lines]
    assert shown.text() == text


def test_a_file_gets_no_empty_line_when_all_that_was_known_is_done():
    file = io.StringIO()
    shown = state.State({"engine/two": state.Group()}, stream=file)
    shown.last_s -= 2 * state._EVERY_S
    shown.takes("progress engine/two whole 6 6")
    assert file.getvalue() == ""


def test_a_terminal_gets_one_line_that_is_overwritten_and_a_file_gets_lines():
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        shown = state.State(stream=stream)
        shown.is_live = stream is terminal
        shown.last_s -= 2 * state._EVERY_S
        shown.takes("steps 1 9")
        shown.print("measured  ogura/self")
        shown.close()
    assert "\r" in terminal.getvalue() and "measured  ogura/self\n" in terminal.getvalue()
    assert "\r" not in file.getvalue() and "\033" not in file.getvalue()
    assert "step 1 of 9" in file.getvalue()


@pytest.mark.parametrize(
    ("tty", "environment", "painted"),
    [
        (True, {"TERM": "xterm"}, True),
        (False, {"TERM": "xterm"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_that_have_them(monkeypatch, tty, environment, painted):
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Terminal() if tty else io.StringIO())
    assert (state.paint("failed", "red") != "failed") == painted
