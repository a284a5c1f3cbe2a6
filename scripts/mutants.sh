#!/bin/sh
# Which mutations of a package its nearest tests notice:
#
#     scripts/mutants.sh metrics        (or measures, models, ...; in one process)
#
# MUTMUT names the command: mutmut, a development tool, wants an environment of its own that also sees .venv's packages.
# The work is done on a copy of what is committed, in a new folder that is named at the end; there `mutmut results` lists
# what survived and `mutmut show NAME` shows it. mutmut leaves decorated functions alone, so that properties are written
# without their decorator there. Tests that simulate for seconds are left out.
set -eu
package=$1
root=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)/tcpfair
git clone --quiet "$root" "$copy"
cd "$copy"
python3 - src/tcpfair/"$package"/*.py <<'PYTHON'
import ast
import sys
from pathlib import Path

for path in map(Path, sys.argv[1:]):
    lines = path.read_text().splitlines()
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    for node in sorted(functions, key=lambda node: -node.lineno):
        kinds = [ast.unparse(decorator) for decorator in node.decorator_list]
        if kinds in (["property"], ["cached_property"]):
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
also_copy=
    src
    config
    data/raw
    Snakefile
track_dependencies=false
use_git_change_detection=false
CONFIG
${MUTMUT:-mutmut} run --max-children 1
echo "$copy"
