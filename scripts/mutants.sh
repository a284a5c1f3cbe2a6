#!/bin/sh
# Find the mutations of a package that its own tests detect:
#
#     scripts/mutants.sh metrics               (or measures, models, ...; in one process)
#     scripts/mutants.sh verdicts/claims 600   (a fixed random sample of this size)
# MUTMUT is the command: mutmut, a development tool, needs a separate environment that also sees .venv's packages. The
# script works on a clone of the last commit in a new folder, whose name it prints at the end. There `mutmut results`
# lists the survivors and `mutmut show NAME` shows one. mutmut skips decorated functions, so the clone defines
# properties, cached functions and validators without their decorator. Each mutant gets a new process, because tests
# that cache results would use those of the unmutated code. Excluded are tests that simulate for seconds, tests of the
# claims' numbers rather than of their code, and one that reads the source, which contains all mutants.
set -eu
package=$1
sample=${2:-0}
root=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)/tcpfair
git clone --quiet "$root" "$copy"
cd "$copy"
python3 - src/tcpfair/"$package"/*.py <<'PYTHON'
import ast
import sys
from pathlib import Path

BARE = ("property", "cached_property", "cache", "model_validator(mode='after')")
for path in map(Path, sys.argv[1:]):
    lines = path.read_text().splitlines()
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    for node in sorted(functions, key=lambda node: -node.lineno):
        kinds = [ast.unparse(decorator) for decorator in node.decorator_list]
        if len(kinds) == 1 and kinds[0] in BARE:
            name, indent = node.name, " " * node.col_offset
            lines.insert(node.end_lineno, f"{indent}{name} = {kinds[0]}(of_{name})")
            lines[node.lineno - 1] = lines[node.lineno - 1].replace(f"def {name}(", f"def of_{name}(", 1)
            del lines[node.lineno - 2]
    path.write_text("\n".join(lines) + "\n")
PYTHON
cat > setup.cfg <<CONFIG
[mutmut]
source_paths=src
only_mutate=src/tcpfair/$package/*
pytest_add_cli_args_test_selection=tests/$package
pytest_add_cli_args=
    -p
    no:cacheprovider
    --ignore=tests/measures/test_background_load.py
    --ignore=tests/verdicts/claims/test_mutations.py
    --deselect=tests/verdicts/claims/test_quantities.py::test_every_number_and_cell_that_a_claim_names_matters
    --deselect=tests/verdicts/claims/test_claims.py::test_bounds_stand_with_the_clause_not_in_a_function
also_copy=
    src
    config
    data
    Snakefile
track_dependencies=false
use_git_change_detection=false
process_isolation=forkserver
timeout_constant=2
CONFIG
if [ "$sample" = 0 ]; then
    ${MUTMUT:-mutmut} run --max-children 1
else
    # a name without a match: mutmut writes the mutants, records which test reaches which function, and stops
    ${MUTMUT:-mutmut} run --max-children 1 nothing > mutmut.log 2>&1 || [ -f mutants/mutmut-stats.json ]
    python3 - "$package" "$sample" > sample.txt <<'PYTHON'
import json
import random
import sys
from pathlib import Path

package, size = sys.argv[1:]
names = sorted(
    name
    for meta in Path("mutants/src/tcpfair", package).rglob("*.meta")
    for name in json.loads(meta.read_text())["exit_code_by_key"]
)
print(f"{len(names)} mutants", file=sys.stderr)
print("\n".join(random.Random(1).sample(names, min(int(size), len(names)))))
PYTHON
    xargs ${MUTMUT:-mutmut} run --max-children 1 < sample.txt
fi
python3 - "$package" <<'PYTHON'
import json
import sys
from collections import Counter
from pathlib import Path

metas = Path("mutants/src/tcpfair", sys.argv[1]).rglob("*.meta")
codes = [code for meta in metas for code in json.loads(meta.read_text())["exit_code_by_key"].values() if code is not None]
found = Counter({0: "survived", 1: "killed", 3: "killed", 33: "without a test"}.get(code, "stopped") for code in codes)
n, share, z = len(codes), found["killed"] / len(codes), 1.96
middle, half = share + z * z / (2 * n), z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
low, high = ((middle + side * half) / (1 + z * z / n) for side in (-1, 1))
print(f"{dict(found)} of {n}: {100 * share:.1f} % killed, as a sample {100 * low:.1f} to {100 * high:.1f} % (Wilson, 95 %)")
PYTHON
echo "$copy"
