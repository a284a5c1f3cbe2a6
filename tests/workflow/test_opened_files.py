"""Every file that a step opens, every module that it imports and every library that it loads, compared with its digest.

A build in a copy of the checkout is watched from within: each of its processes, kernels of notebooks among them, notes what it
opens (an audit hook) and what it has loaded at its end. Each file that was read is then changed, and the digest has to change
with it. No list of inputs is kept here, only where inputs that are compared by their values have their tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tcpfair.runs import reach
from tcpfair.workflow import run
from tests.commands import succeed
from tests.workflow.test_whole_way import copy

ASKED = ["papers=ogura,bhatti2008", "only=ogura.fig6,bhatti2008.table1"]
# Runs in each process: the step is named by the command, and passed on to the processes that it starts.
WATCH = """
import atexit, json, os, sys
where, root = os.environ["WATCHED_IN"], os.environ["TCPFAIR_ROOT"]
words = sys.orig_argv
if "tcpfair" in words:
    os.environ["WATCHED_STEP"] = os.environ.get("WATCHED_AS") or words[words.index("tcpfair") + 1]
step = os.environ.get("WATCHED_STEP", "")
seen = set()
def hook(event, given):
    if event == "open" and isinstance(given[0], (str, bytes)) and not (given[2] or 0) & (os.O_WRONLY | os.O_CREAT):
        path = os.path.abspath(os.fsdecode(given[0]))
        if path.startswith(root + os.sep) and os.path.isfile(path):
            seen.add(os.path.relpath(path, root))
sys.addaudithook(hook)
def tell():
    modules = {name: getattr(each, "__file__", None) for name, each in list(sys.modules.items())}
    loaded = {name: path for name, path in modules.items() if isinstance(path, str)}
    with open(os.path.join(where, f"{os.getpid()}.json"), "w") as stream:
        json.dump({"step": step, "seen": sorted(seen), "loaded": loaded, "words": words}, stream)
if step:
    atexit.register(tell)
"""
KINDS = ("measure", "numbers", "judge", "notebook", "place", "compare", "ledger", "report")
# of results, a step reads what steps before it made, whose stamps are part of its own
BEFORE = {
    "measure": ("metrics/",),  # for weights
    "numbers": ("metrics/", "numbers/"),
    "judge": ("metrics/", "judged/"),
    "notebook": ("metrics/", "exhibits/", "numbers/", "notebooks/"),
    "place": ("placed/",),  # its own, which it has the system write to the disk
    "compare": ("metrics/", "exhibits/", "numbers/", "placed/", "ledger/"),
    "ledger": ("exhibits/", "numbers/", "judged/", "ledger/"),
    "report": (
        "report.html",  # its own
        "report/",
        "metrics/",
        "exhibits/",
        "numbers/",
        "judged/",
        "placed/",
        "ledger/",
        "notebooks/",
        "benchmarks/",
        "config.json",
    ),
}
# compared by values, whose tests are tests/papers/test_every_value.py and tests/workflow/test_plan.py
BY_VALUE = re.compile(r"config/papers/\w+\.yaml|notebooks/\w+\.ipynb|data/bundled/.*|data/SHA256SUMS")
# of this package: where a step starts, messages, and what acts in runs alone, which count with the runs
WITHOUT_EFFECT = re.compile(
    r"__main__\.py|papers/recordings\.py|workflow/(cli|__init__|steps/__init__|plan|state)\.py|errors\.py|(compiler|jit)\.py|(engine|cc)/.*|sources/(engine|tables)\.py"
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """The copy, and {step: (files read, modules loaded)}."""
    folder = tmp_path_factory.mktemp("opened").resolve()
    root = copy(folder / "checkout")
    (folder / "hook").mkdir()
    (folder / "told").mkdir()
    (folder / "hook/sitecustomize.py").write_text(WATCH)
    environment = {
        "TCPFAIR_ROOT": str(root),
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join([str(folder / "hook"), str(root / "src")]),
        "WATCHED_IN": str(folder / "told"),
    }

    def start(*arguments, watched_as=""):
        command = [sys.executable, "-m", "tcpfair", *arguments]
        succeed(*command, cwd=root, **environment, WATCHED_AS=watched_as)

    start("build", "--config", *ASKED)
    for told in (folder / "told").glob("*.json"):  # metrics, numbers and verdicts, which one process made
        if json.loads(told.read_text())["step"] == "measure":
            told.unlink()
    plan = run.load_plan(root, pairs=ASKED)
    for paper in plan.papers:
        how = ["measure", "--source", "bundled", "--paper", paper, "--exhibits"]
        how += [exhibit.id for config, exhibit in plan.exhibits if config.paper == paper]
        for kind, option in (("measure", "--output"), ("numbers", "--numbers"), ("judge", "--judged")):
            if targets := [str(target) for target in plan.targets(kind, paper)]:
                start(*how, option, *targets, watched_as=kind)
    found = defaultdict(lambda: (set(), {}))
    for path in (folder / "told").glob("*.json"):
        told = json.loads(path.read_text())
        if told["step"] in KINDS:
            found[told["step"]][0].update(told["seen"])
            found[told["step"]][1].update(told["loaded"])
    return root, dict(found)


# besides the simulator's and the kernel's, libraries that others load where they find them, and that compute nothing here:
# formats that jsonschema can check, encodings of web pages
IDLE = (
    *(
        "arrow",
        "cloudpickle",  # by pyarrow, for pickles
        "fqdn",
        "isoduration",
        "jsonpointer",
        "lark",
        "rfc3339_validator",
        "rfc3986_validator",
        "rfc3987_syntax",
    ),
    *("uri_template", "webcolors", "charset_normalizer"),
)
FRAME = """
import json, sys
from tcpfair.workflow import cli, steps
print(json.dumps({name: each.__file__ for name, each in list(sys.modules.items()) if getattr(each, "__file__", None)}))
"""


@pytest.fixture(scope="module")
def frame():
    """What a step loads before it begins, whichever it is, and does not use: names of modules."""
    done = subprocess.run([sys.executable, "-c", FRAME], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def stamps(root):
    """{kind: stamps of its outputs}, as files are now."""
    found = defaultdict(dict)
    for step in run.load_plan(root, pairs=ASKED).steps:
        found[step.kind][step.item] = dict(step.parts)
    found["notebook"] = {**found["notebook"], **found["draw"]}  # the notebook draws
    return found


def test_every_step_was_watched(watched):
    assert watched[1].keys() == set(KINDS)
    assert all(len(loaded) > 100 for _, loaded in watched[1].values())


@pytest.mark.parametrize("step", KINDS)
def test_every_file_that_a_step_reads_is_in_its_stamp(watched, step):
    root, found = watched
    before = stamps(root)
    not_covered = []
    for name in sorted(found[step][0]):
        if name.startswith(("src/", ".snakemake/", "figures/")) or BY_VALUE.fullmatch(name):
            continue
        if name.startswith("results/"):
            below = name.split("/", 2)[2]
            if not below.startswith((*BEFORE[step], "work/", "asked.json")):
                not_covered.append(name)
            continue
        path = root / name
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        try:
            if stamps(root)[step] == before[step]:
                not_covered.append(name)
        finally:
            path.write_bytes(content)
    assert not_covered == []


@pytest.mark.parametrize("step", KINDS)
def test_every_module_and_template_that_a_step_loads_is_in_its_stamp(watched, frame, step):
    root, found = watched
    package = root / "src/tcpfair"
    files, loaded = found[step]
    own = [Path(path) for name, path in loaded.items() if name not in frame]
    used = {path.relative_to(package).as_posix() for path in own if path.is_relative_to(package)}
    used |= {
        name.removeprefix("src/tcpfair/")
        for name in files
        if name.startswith("src/tcpfair/") and not name.endswith((".py", ".pyc")) and "__pycache__" not in name
    }
    reached = covered(root, step)
    below = reached.files
    assert sorted(name for name in used - below if not WITHOUT_EFFECT.fullmatch(name)) == []


@pytest.mark.parametrize("step", KINDS)
def test_every_library_that_a_step_loads_is_in_its_stamp(watched, frame, step):
    root, found = watched
    owners, _ = reach._installed()
    top = {
        name.partition(".")[0] for name, path in found[step][1].items() if name not in frame and "site-packages" in path
    }
    loaded = {owner for name in top for owner in owners.get(name, ())}
    apart = reach.versions({"numba", "ipykernel", *IDLE}).keys() | {"tcpfair"}
    assert sorted(loaded - reach.versions(covered(root, step).libraries).keys() - apart) == []


def covered(root, step):
    """What the stamps of a step cover."""
    imports = []
    if step == "notebook":
        for name in ("ogura", "bhatti2008"):
            cells = json.loads((root / f"notebooks/{name}.ipynb").read_text())["cells"]
            imports += [
                each
                for cell in cells
                if cell["cell_type"] == "code"
                for each in reach.cell_imports("".join(cell["source"]))
            ]
    return reach.reached([reach.module_of(step)], imports)
