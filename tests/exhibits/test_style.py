"""Style: every protocol has its look, files do not change from run to run."""

import pytest

from tcpfair.contract.papers import load_paper
from tcpfair.errors import InputError
from tcpfair.exhibits import style
from tests.exhibits.standin import ROOT


@pytest.mark.parametrize("paper", ["ogura", "bhatti2008", "bhatti2009", "ha2006"])
def test_protocols_of_a_paper_have_looks_that_differ(paper):
    config = load_paper(ROOT / "config" / "papers" / f"{paper}.yaml")
    # the 14 variants of ns-2 stand in tables only
    in_ns2 = {flow["protocol"].value for flow in config.experiments["ns2_14"].flows} if "bhatti" in paper else set()
    labels = {label.split(" (")[0] for label in set(config.protocols) - in_ns2}
    labels -= {"Web"}  # short flows are never drawn as a protocol
    looks = [style.look(label) for label in labels]
    assert len({look.color for look in looks}) == len(labels)
    assert len({look.marker for look in looks}) == len(labels)


def test_unknown_protocol_names_the_place_to_add_it():
    with pytest.raises(InputError, match=r"protocol 'Vegas': .*exhibits/style.py"):
        style.look("Vegas")


def test_shades_are_distinct():
    assert len(set(style.shades(4))) == 4
    assert len(style.shades(1)) == 1


def drawn():
    with style.applied():
        figure, [[ax]] = style.new_figure()
        style.draw_printed(ax, [1, 2], [3, 4], style.look("CUBIC"), label="printed")
        ax.legend()
        style.corner_note(figure, "source: engine, 5 runs")
        return style.as_svg(figure), style.as_png(figure)


def test_the_same_figure_gives_the_same_bytes():
    assert drawn() == drawn()


def test_svg_holds_no_date_and_png_is_150_dpi():
    svg, png = drawn()
    assert b"<dc:date>" not in svg
    width_px = int.from_bytes(png[16:20], "big")
    assert width_px == round(style.COLUMN_IN * 150)


def test_printed_values_are_hollow():
    with style.applied():
        _, [[ax]] = style.new_figure()
        style.draw_printed(ax, [1], [2], style.look("BIC"))
    (line,) = ax.lines
    assert line.get_markerfacecolor() == "white"
    assert line.get_markeredgecolor() == style.look("BIC").color
