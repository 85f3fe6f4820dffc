"""Rendering of sweeps: the map around the vehicle, the legend and the extremes of a gallery."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.drawing.colors import class_color
from tallymark.geometry import Cuboids
from tallymark.modalities.gallery import GalleryItem
from tallymark.modalities.lidar.render import RENDERER
from tallymark.modalities.render import renderer_of
from tallymark.modalities.survey import survey
from tests.drawing.pixels import has_color
from tests.reporting.sets import lidar


def test_sweeps_have_the_lidar_renderer(tmp_path: Path) -> None:
    assert renderer_of(lidar(tmp_path)) is RENDERER


def test_the_map_around_the_vehicle_counts_cuboids(tmp_path: Path) -> None:
    twice = Cuboids.of(np.array([[10, 5, 0, 2, 4, 1.5, 0.3]] * 2))
    catalog = lidar(tmp_path)
    assert catalog.truth is not None
    truth = replace(catalog.truth, shapes=twice)
    charts = RENDERER.object_charts(replace(catalog, truth=truth), survey(catalog, RENDERER.measure))
    (chart,) = (chart for chart in charts if chart is not None and "around the vehicle" in chart.title)
    assert "<title>2</title>" in chart.svg


def test_cuboids_are_drawn_in_the_colours_of_the_legend(tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    assert RENDERER.legend(catalog) == [("car", class_color(0)), ("pedestrian", class_color(1))]
    assert has_color(RENDERER.draw(catalog, GalleryItem(0)), class_color(0)).any()
    assert has_color(RENDERER.draw(catalog, GalleryItem(1)), class_color(1)).any()


def test_extremes_are_the_largest_and_the_farthest_cuboid(tmp_path: Path) -> None:
    catalog = lidar(tmp_path)
    extremes = RENDERER.gallery(catalog, survey(catalog, RENDERER.measure), 24, 0)["Extremes"]
    reasons = {chosen.item: chosen.reason for chosen in extremes}
    assert "largest cuboid: 4 × 2 × 1.5 m" in reasons[0]
    assert "farthest cuboid: 20 m away" in reasons[1]
