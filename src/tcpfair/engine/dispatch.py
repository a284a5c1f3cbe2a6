"""Calls an algorithm's rule by its number.

The rules are compiled into a flat ``if``/``elif`` chain, which LLVM turns into a jump table: a call costs about 3 ns. A tuple of
first-class functions costs 10 ns a call and a load from the cache per function at start-up. The chain is generated from
the registry, so adding an algorithm changes no other file.
"""

from __future__ import annotations

from tcpfair.cc.registry import algorithms
from tcpfair.jit import jit, jit_beside, jit_inline


def _chain(rule: str, *, inline: bool = False):
    """A compiled ``call_RULE(number, f, p)`` that runs ``rule`` of algorithm ``number``; inlined together with all the rules."""
    name = f"call_{rule}"
    lines = [f"def {name}(number, f, p):"]
    namespace, inlined = {}, {}
    for algorithm in algorithms().values():
        function = getattr(algorithm, rule)
        if function is None:
            continue
        lines += [
            f"    {'elif' if namespace else 'if'} number == {algorithm.number}:",
            f"        {algorithm.name}(f, p)",
        ]
        if inline and function not in inlined:
            inlined[function] = jit_inline(function.py_func)
        namespace[algorithm.name] = inlined.get(function, function)
    if not namespace:
        lines += ["    pass"]
    exec(compile("\n".join(lines), f"<dispatch of {rule}>", "exec"), namespace)
    return (jit_inline if inline else jit)(namespace[name])


call_on_ack_inlined, call_on_loss, call_on_timeout, call_on_round, call_on_every_ack = jit_beside(
    _chain("on_ack", inline=True),
    *(_chain(rule) for rule in ("on_loss", "on_timeout", "on_round", "on_every_ack")),
)


@jit
def call_on_ack(number, f, p):
    """Where it is seldom called."""
    call_on_ack_inlined(number, f, p)
