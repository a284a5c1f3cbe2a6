"""Calls an algorithm's rule by its number.

The rules are compiled into a flat ``if``/``elif`` chain, which LLVM turns into a jump table: a call costs about 3 ns. A tuple of
first-class functions costs 10 ns a call and a load from the cache per function at start-up. The chain is generated from
the registry, so adding an algorithm changes no other file.
"""

from __future__ import annotations

from tcpfair.cc.registry import algorithms
from tcpfair.jit import jit, jit_inline


def _chain(rule: str, *, inline: bool = False):
    """A compiled ``call(number, f, p)`` that runs ``rule`` of algorithm ``number``; inlined together with all the rules."""
    lines = ["def call(number, f, p):"]
    namespace = {}
    for name, algorithm in algorithms().items():
        function = getattr(algorithm, rule)
        if function is None:
            continue
        lines += [f"    {'elif' if namespace else 'if'} number == {algorithm.number}:", f"        {name}(f, p)"]
        namespace[name] = jit_inline(function.py_func) if inline else function
    if not namespace:
        lines += ["    pass"]
    exec(compile("\n".join(lines), f"<dispatch of {rule}>", "exec"), namespace)
    return (jit_inline if inline else jit)(namespace["call"])


call_on_ack = _chain("on_ack")
call_on_loss = _chain("on_loss")
call_on_timeout = _chain("on_timeout")
call_on_round = _chain("on_round")
call_on_every_ack = _chain("on_every_ack")
call_on_ack_inlined = _chain("on_ack", inline=True)
