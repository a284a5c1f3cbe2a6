"""What the checks say of answers."""

import numpy as np
import pytest

from tcpfair import flow, simulate
from tcpfair.errors import InputError
from tcpfair.exhibits.exercises import EXERCISES, OPEN, RIGHT, Number, check


@pytest.fixture(scope="module")
def run():
    return simulate(flow("reno", rtt_ms=20), flow("cubic", rtt_ms=60, start_s=2), rate_mbps=10, duration_s=22)


def said(capsys, *what):
    check(*what)
    return capsys.readouterr().out.strip()


# worked out by hand from the equations
BY_HAND = {
    "alpha_law": 1 / 3,
    "jfi_of_turns": 0.5,
    "u_of_swings": (-3.0103 + 1.7609) / 2,
    "share_of_jfi": 0.25,
    "victims": -4,
    "k_after_two": (90 / 0.4) ** (1 / 3),
    "k_at_rtt": 500 ** (1 / 3) / 4,
    "pareto_mean": 1.463,
    "common_law": (42 / 162) ** 2,
}


@pytest.mark.parametrize(("name", "answer"), BY_HAND.items())
def test_the_right_answer_is_right_and_others_are_not(name, answer, capsys):
    assert said(capsys, name, answer) == RIGHT
    assert said(capsys, name, np.float64(answer)) == RIGHT
    assert said(capsys, name, 1.2 * answer).startswith("Not yet. ")


def test_what_is_asked_of_a_run(run, capsys):
    late = run.t_s > run.window_s[0]
    r = run.goodput_t_mbps[:, late]
    index = (r.sum(axis=0) ** 2 / (2 * (r**2).sum(axis=0))).mean()
    usage = (10 * np.log10(r[0] / run.self_mbps[0])).mean()
    assert said(capsys, "jfi_of_run", index, run) == RIGHT
    assert said(capsys, "nru_of_run", usage, run) == RIGHT
    assert said(capsys, "jfi_of_run", 0.9 * index, run).startswith("Not yet. J of each second")


@pytest.mark.parametrize("name", [name for name, exercise in EXERCISES.items() if isinstance(exercise, Number)])
def test_usual_slips_are_known_and_not_taken_for_right(name, run, capsys):
    exercise = EXERCISES[name]
    given = (run,) if name.endswith("_of_run") else ()
    assert exercise.slips
    for text, slip in exercise.slips.items():
        if not np.isclose(slip(*given), exercise.truth(*given), rtol=exercise.within):
            assert said(capsys, name, slip(*given), *given) == f"Not yet. {text}"
        else:
            assert given  # in a run both may come out alike


def test_no_answer_yet_and_no_answer_at_all(capsys):
    assert said(capsys, "alpha_law", None) == OPEN
    assert said(capsys, "alpha_law", "a quarter") == "Not a number: 'a quarter'."
    assert said(capsys, "alpha_law", True) == "Not a number: True."
    assert said(capsys, "victim", 3) == "Not a single run of simulate(...): 3."
    with pytest.raises(InputError, match="exercise 'alpha_laws' is unknown; did you mean 'alpha_law'"):
        check("alpha_laws", None)


def test_a_fair_pair_has_far_rtts_is_fair_and_uses_the_link(capsys):
    def answer(*flows, **settings):
        return said(capsys, "fair_pair", simulate(*flows, **{"rate_mbps": 20, "duration_s": 60} | settings))

    libra = [flow("libra", rtt_ms=20), flow("libra", rtt_ms=80)]
    assert answer(*libra, loss_rate=1e-3) == RIGHT
    assert "four times" in answer(flow("reno", rtt_ms=20), flow("reno", rtt_ms=30))
    assert "J of means is" in answer(flow("reno", rtt_ms=20), flow("reno", rtt_ms=80), loss_rate=1e-3)
    assert "use at least half of it" in answer(*libra, loss_rate=1e-3, rate_mbps=500)


def test_a_victim_has_the_rtt_of_all_and_half_of_its_own(capsys):
    def answer(*flows):
        return said(capsys, "victim", simulate(*flows, rate_mbps=20, buffer_bdp=4, duration_s=60))

    assert answer(flow("vegas", rtt_ms=40), flow("cubic", rtt_ms=40)) == RIGHT
    assert "one RTT" in answer(flow("vegas", rtt_ms=40), flow("cubic", rtt_ms=60))
    assert "The lowest U_n is" in answer(flow("reno", rtt_ms=40), flow("reno", rtt_ms=40))
