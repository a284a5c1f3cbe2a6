"""One kill in every rule: a job of it is killed while it runs, then everything; what follows ends with the same bytes.

The rules are those that stand in the workflow's files, each with the step that its command takes. Builds give them jobs: small
ones of one paper (an exhibit, a rehearsal, a study, some settings of an ensemble), a quick check against ns-2, and at last all
papers from the bundled runs and the comparison with other simulators, which take minutes. A rule takes the first that has a job
of it; one without any fails the test.
"""

from __future__ import annotations

import random
import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tcpfair.workflow.plan import WRITE_UP
from tests.workflow import killing
from tests.workflow.killing import finish, kill, outputs, said, stand_in, start, steps_below

PAPER = "ogura"
DRAWN = "kozu2014"  # of which an ensemble is made
DRAWN_EXPERIMENT = "transitions"  # of four short runs
STUDY = "config/studies/tiny.yaml"
BUILDS = {
    "exhibit": ["build", "--config", f"papers={PAPER}", f"only={PAPER}.fig6", "source=engine"],
    "rehearsal": ["build", "--configfile", "config/smoke.yaml", "--config", f"papers={PAPER}"],
    "study": ["study", STUDY, "--yes"],
    "settings": ["ensemble", DRAWN, "--settings", "3", "--yes"],
    **({"quick check": ["validate", "--run", "ns2", "--quick", "--yes"]} if shutil.which("ns") else {}),
    "all papers": ["build"],
    "comparison": ["validate"],
}
OF_CAMPAIGNS = "make_shards"  # one rule, of which each of them has jobs
TRIES = 5
SEED = 1

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not killing.FIND_PROCESSES, reason="finds processes in /proc")]


def rules() -> dict[str, str]:
    """Every rule of the workflow that has a command, with the step that it takes: ``{"measure": "measure", ...}``.

    Rules of a paper or an experiment are named without it.
    """
    found = {}
    for path in (killing.ROOT / "Snakefile", *sorted((killing.ROOT / "workflow").glob("*.smk"))):
        for block in re.split(r"^ *(?=rule\b.*:$)", path.read_text(), flags=re.M)[1:]:
            name = re.match(r"rule *(\w*):", block)[1] or re.search(r'name:\s*f"([a-z]+)_\{', block)[1]
            if name != "all":
                found[name] = re.search(r'shell:\s*"python -m tcpfair ([\w-]+)', block)[1]
                if found[name] == "notebook":
                    found[name] += f" {WRITE_UP if name == 'write_up' else PAPER}"
    return found


@dataclass
class Build:
    """A small build that was made once, and when each of its steps ran."""

    root: Path
    asked: list[str]
    began_s: dict[str, float] = field(default_factory=dict)  # of the epoch
    ended_s: dict[str, float] = field(default_factory=dict)

    def make(self) -> None:
        stand_in(self.root)
        if self.asked[0] == "ensemble":
            leave_short_runs(self.root)
        process = start(self.root, self.asked)
        while process.poll() is None:
            for step in set(steps_below(process.pid).values()):
                self.ended_s[step] = time.time()
                self.began_s.setdefault(step, self.ended_s[step])
            time.sleep(0.02)
        assert process.returncode == 0, said(self.root)
        self.expected = outputs(self.root)
        for name in ("results", "figures"):
            if (self.root / name).is_dir():
                shutil.copytree(self.root / name, self.made / name, symlinks=True)

    @property
    def made(self) -> Path:
        return self.root.with_name(f"{self.root.name} made")

    def back_to(self, step: str) -> None:
        """As it was when this step began."""
        for name in ("results", "figures"):
            shutil.rmtree(self.root / name, ignore_errors=True)
            if (self.made / name).is_dir():
                shutil.copytree(self.made / name, self.root / name, symlinks=True)
        for path in [path for name in ("results", "figures") for path in (self.root / name).rglob("*")]:
            if path.is_file() and not path.is_symlink() and path.stat().st_mtime >= self.began_s[step]:
                path.unlink()

    def killed_in(self, step: str, whom: str, chance: random.Random) -> str:
        """Start, and kill a job while it takes this step; what was said. Fails when every kill comes too late."""
        share = chance.uniform(0.1, 0.9)
        for _ in range(TRIES):
            process = start(self.root, self.asked)
            while step not in steps_below(process.pid).values():
                assert process.poll() is None, f"no job took the step {step}: {said(self.root)}"
                time.sleep(0.02)
            time.sleep(share * (self.ended_s[step] - self.began_s[step]))
            pids = [pid for pid, taken in steps_below(process.pid).items() if taken == step]
            if pids:
                kill(process, whom) if whom == "everything" else killing.end(pids[:1])
                if process.wait(300) != 0:
                    return said(self.root)
            else:
                kill(process, "everything")
                process.wait(300)
            self.back_to(step)
            share /= 2
        pytest.fail(f"{step}: no kill came in time")


def leave_short_runs(root: Path) -> None:
    """Give a folder an ensemble of its own, of one experiment alone, and of no setting that is shipped."""
    (root / "config").unlink()
    shutil.copytree(killing.ROOT / "config", root / "config")
    path = root / "config/ensemble.yaml"
    content = yaml.safe_load(path.read_text())
    drawn = content["papers"][DRAWN]
    paper = yaml.safe_load((root / f"config/papers/{DRAWN}.yaml").read_text())
    others = [name for name in paper["experiments"] if name != DRAWN_EXPERIMENT and not name.startswith("sens_")]
    drawn["left_out"] |= {name: "takes longer" for name in others}
    drawn["seed"] += 1
    path.write_text(yaml.safe_dump(content | {"papers": {DRAWN: drawn}}))


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """The small builds by name, each made when it is first looked at."""
    place = tmp_path_factory.mktemp("rules")
    found: dict[str, Build] = {}

    def of_name(name: str) -> Build:
        if name not in found:
            found[name] = Build(place / name, BUILDS[name])
            found[name].make()
        return found[name]

    return of_name


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        *((rule, list(BUILDS)) for rule in rules() if rule != OF_CAMPAIGNS),
        *((OF_CAMPAIGNS, [name]) for name in ("exhibit", "rehearsal", "study", "settings", "comparison")),
    ],
)
def test_a_kill_in_this_rule_changes_no_byte(builds, rule, names):
    build = next((found for name in names if rules()[rule] in (found := builds(name)).began_s), None)
    assert build is not None, f"rule {rule}: no build has a job of it; give it one"
    step, chance = rules()[rule], random.Random(f"{SEED} {rule}")
    build.back_to(step)
    told = build.killed_in(step, "step", chance)
    assert "Traceback" not in told, told
    build.killed_in(step, "everything", chance)
    finish(build.root, build.asked)
    assert outputs(build.root) == build.expected
