"""The page of a measurement: whole in one file, and what strangers wrote stays text in it."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from rhapsode.bench.server.load import ClosedLoad
from rhapsode.bench.server.page import HEIGHT, WIDTH, Plot, Series, page, plots, svg, ticks
from rhapsode.bench.server.report import ServerReport, Skipped
from tests.rhapsode.bench.server.measured import LOADS, report, stage

STRANGE = '503 <script>alert("x")</script>'
numbers = st.floats(0, 1e9)


def measured() -> ServerReport:
    found = report([stage(load, error=STRANGE) for load in LOADS])
    found.left_out.append(Skipped(stage="64 streams", why="the time was over"))
    return found


def test_a_page_needs_nothing_else_and_holds_all_that_was_found() -> None:
    document = html.document_fromstring(page(measured()))

    assert not [name for element in document.iter() for name in element.attrib if name in {"src", "href"}]
    assert not {"script", "link", "img", "iframe"} & {str(element.tag) for element in document.iter()}
    assert len(document.findall(".//figure")) == 5
    (by_load, _) = document.findall(".//tbody")
    assert len(by_load.findall("tr")) == len(LOADS)
    text = "".join(map(str, document.itertext()))
    for said in (STRANGE, "<b>ryan</b>", "64 streams was left out: the time was over", "some CPU", "0123456789ab"):
        assert said in text


def test_a_run_that_was_broken_off_says_so_and_one_that_measured_nothing_has_a_page() -> None:
    interrupted = measured().model_copy(update={"ended": "interrupted"})

    assert "The run was interrupted after 80 s" in page(interrupted)
    assert "Measured with" in page(report([]))


def test_every_plot_is_of_what_there_is() -> None:
    assert [plot.title for plot in plots(measured())] == [
        "First sound by rate",
        "Speech by streams",
        "First sound by streams",
        "First sound of how many requests",
        "All of it of how many requests",
    ]
    assert next(plots(report([stage(LOADS[2])]))).title == "First sound by rate"
    assert list(plots(report([stage(LOADS[0], requests=0)]))) == []


def test_a_ramp_that_went_up_and_down_is_told_from_few_to_many() -> None:
    found = report([stage(load) for load in (LOADS[2], ClosedLoad(8), ClosedLoad(4), ClosedLoad(6))])

    assert [each.load.name for each in found.by_load] == ["4 streams", "6 streams", "8 streams", "2 a second"]
    for plot in plots(found):
        assert all(list(series.points) == sorted(series.points) for series in plot.series)


def test_a_distribution_has_few_points_and_never_gets_to_those_that_failed() -> None:
    (whole,) = [plot for plot in plots(report([stage(LOADS[0], requests=5_000, error="no")])) if "All" in plot.title]

    (series,) = whole.series
    assert len(series.points) < 500
    assert series.points == sorted(series.points)
    assert series.points[-1][1] == 90.0


@settings(deadline=None, derandomize=True)
@given(most=st.floats(1e-6, 1e12))
def test_ticks_begin_at_nothing_reach_the_most_and_are_few(most: float) -> None:
    found = ticks(most)

    assert found[0] == 0
    assert found[-1] >= most * (1 - 1e-9)
    assert found == sorted(found)
    assert 3 <= len(found) <= 7


@pytest.mark.parametrize("most", [0.0, -1.0, math.inf, math.nan])
def test_of_nothing_there_are_ticks_too(most: float) -> None:
    assert ticks(most) == [0.0, 1.0]


@settings(deadline=None, derandomize=True)
@given(points=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30), name=st.text("ab<&\"'", max_size=8))
def test_a_plot_is_well_formed_and_within_its_frame(points: list[tuple[float, float]], name: str) -> None:
    drawn = ElementTree.fromstring(svg(Plot(name, name, name, [Series(name, points)])))

    for mark in drawn.iter("circle"):
        assert 0 <= float(mark.attrib["cx"]) <= WIDTH
        assert 0 <= float(mark.attrib["cy"]) <= HEIGHT
    assert len(list(drawn.iter("circle"))) == len(points)


def test_a_plot_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a plot of nothing"):
        svg(Plot("", "", "", [Series("", [])]))
