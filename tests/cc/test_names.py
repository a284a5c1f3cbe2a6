"""Names of algorithms are known without compiling them."""

from tcpfair import cc
from tcpfair.cc.registry import algorithms


def test_names_are_those_of_the_registry():
    assert cc.names() == tuple(algorithms())
