"""Objects become modules that stand by themselves, or are refused."""

from __future__ import annotations

import pytest

from tcpfair.web import wasm
from tcpfair.web.link import _Reader, leb128, link
from tests.web import node
from tests.web.node import needs_node

IR = """
target datalayout = ""
target triple = ""
"""
SUM = IR + "define i32 @run(ptr %heap, i32 %bytes, double %until_s) {\n ret i32 %bytes\n}\n"
REMAINDER = """
define i32 @run(ptr %at, i32 %n, double %unused) {
  %y_at = getelementptr double, ptr %at, i32 1
  %x = load double, ptr %at
  %y = load double, ptr %y_at
  %r = frem double %x, %y
  store double %r, ptr %at
  ret i32 0
}
"""
PAIRS = [(7.5, 2.0), (-7.5, 2.0), (1e300, 3.1), (0.3, 0.1), (5e-324, 1.0), (2.0, 5e-324), (1.0, -0.3), (4.0, 4.0)]


@pytest.mark.parametrize(
    ("value", "unsigned", "signed"),
    [(0, b"\0", b"\0"), (63, b"\x3f", b"\x3f"), (64, b"\x40", b"\xc0\0"), (300, b"\xac\2", b"\xac\2")],
)
def test_signed_numbers_have_their_sign_in_the_last_byte(value, unsigned, signed):
    assert (leb128(value), leb128(value, below=64)) == (unsigned, signed)
    assert _Reader(unsigned).number() == value


def test_what_needs_something_from_outside_is_refused():
    outside = SUM.replace("ret i32 %bytes", "%x = call i32 @elsewhere()\n ret i32 %x") + "declare i32 @elsewhere()\n"
    with pytest.raises(
        ValueError, match=r"the page has no env\.elsewhere; algorithms compute powers by tcpfair\.cc\.exactmath"
    ):
        link(wasm._object([outside]), "run")


@needs_node
def test_the_remainder_is_exact(tmp_path):
    """libm's fmod is exact too, so that there is one right answer."""
    import math

    (tmp_path / "remainder.wasm").write_bytes(link(wasm._object([IR + REMAINDER, wasm._named_instructions()]), "run"))
    script = """
const bytes = require("node:fs").readFileSync(process.argv[1]);
WebAssembly.instantiate(bytes, {}).then(({ instance: { exports } }) => {
  const pair = new Float64Array(exports.memory.buffer, exports.heap.value, 2);
  for (const [x, y] of PAIRS) {
    pair.set([x, y]);
    exports.run(exports.heap.value, 0, 0);
    console.log(JSON.stringify(pair[0]));
  }
});""".replace("PAIRS", str([list(pair) for pair in PAIRS]))
    assert node.run(script, tmp_path / "remainder.wasm") == [math.fmod(x, y) for x, y in PAIRS]
