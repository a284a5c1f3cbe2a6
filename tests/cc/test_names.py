"""Names of algorithms are known without compiling them."""

from pathlib import Path

import pytest

from tcpfair import cc
from tcpfair.cc.registry import algorithms
from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.papers import load_paper
from tcpfair.workflow.plan import check_algorithms


def test_names_are_those_of_the_registry():
    assert cc.names() == tuple(algorithms())


def test_an_unknown_algorithm_is_one_line_that_names_file_and_field():
    paper = load_paper(Layout(repository_root()).paper_config("ogura"))
    check_algorithms(paper, Path("ogura.yaml"))
    paper.protocols["Reno"].cc.value = "renoo"
    with pytest.raises(
        InputError,
        match=r"^ogura\.yaml: protocols\.Reno\.cc: protocol 'renoo' is unknown; did you mean 'reno'\? known are alpha, bic",
    ):
        check_algorithms(paper, Path("ogura.yaml"))
