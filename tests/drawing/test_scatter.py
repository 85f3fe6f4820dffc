"""Scatter plots: a circle for each point, and a line through those that are marked."""

from __future__ import annotations

from xml.etree import ElementTree

from tallymark.drawing.scatter import HEIGHT, WIDTH, Point, scatter

POINTS = [Point("slow <b>", 1.0, 0.6, True), Point("fast", 30.0, 0.4, True), Point("beaten", 10.0, 0.3, False)]


def test_points_are_circles_with_their_names() -> None:
    chart = scatter(POINTS, "Speed", ("images per second", "score"))
    assert chart is not None
    drawn = ElementTree.fromstring(chart.svg)
    circles = drawn.findall("circle")
    assert [one.attrib["class"] for one in circles] == ["marked", "marked", "bar"]
    assert all(0 < float(one.attrib["cx"]) < WIDTH and 0 < float(one.attrib["cy"]) < HEIGHT for one in circles)
    assert circles[0].findtext("title") == "slow <b>: 0.6 score at 1 images per second"
    left, right = (float(one.attrib["cx"]) for one in circles[:2])
    assert left < right
    line = drawn.find("polyline")
    assert line is not None
    assert line.attrib["points"].split()[0].startswith(f"{left:.1f},")


def test_one_speed_alone_is_no_plot() -> None:
    assert scatter(POINTS[:1], "Speed", ("a", "b")) is None
    assert scatter([], "Speed", ("a", "b")) is None
