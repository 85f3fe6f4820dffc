"""Rendering of images: overlays of each geometry, and the extremes of a gallery."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallymark.data.annotations import Annotations
from tallymark.drawing.colors import ANNOTATION, HIGHLIGHT
from tallymark.geometry import Boxes, Labels, Masks, RotatedBoxes
from tallymark.modalities.gallery import GalleryItem, typical_items
from tallymark.modalities.image.overlays import OVERLAYS
from tallymark.modalities.image.render import RENDERER
from tallymark.modalities.render import renderer_of
from tallymark.modalities.survey import survey
from tests.drawing.pixels import has_color
from tests.reporting.sets import food, ships, wheat

MASK = np.zeros((60, 80), bool)
MASK[20:40, 30:50] = True
SHAPES = [
    Boxes.of(np.array([[30, 20, 20, 20]])),
    RotatedBoxes.of(np.array([[40, 30, 20, 20, 0]])),
    Masks.of([MASK], (60, 80)),
]


def test_images_have_the_image_renderer(tmp_path: Path) -> None:
    assert renderer_of(wheat(tmp_path)) is RENDERER


@pytest.mark.parametrize("shapes", SHAPES, ids=lambda shapes: type(shapes).__name__)
def test_annotations_of_every_geometry_are_drawn_in_their_place(shapes: Any, tmp_path: Path) -> None:
    catalog = wheat(tmp_path)
    truth = Annotations.from_rows(catalog.items, np.array([0]), shapes)
    image = RENDERER.draw(replace(catalog, truth=truth), GalleryItem(0))
    rows, columns = np.nonzero(has_color(image, ANNOTATION))
    scale = image.shape[1] / 80
    extremes = np.array([rows.min(), rows.max(), columns.min(), columns.max()]) / scale
    np.testing.assert_allclose(extremes, [20, 40, 30, 50], atol=1)


def test_labels_are_written_below_the_image(tmp_path: Path) -> None:
    catalog = food(tmp_path)
    assert catalog.truth is not None
    labelled = RENDERER.draw(catalog, GalleryItem(0))
    plain = RENDERER.draw(replace(catalog, truth=None), GalleryItem(0))
    assert (labelled[:-24] == plain[:-24]).all()
    assert (labelled[-24:] != plain[-24:]).any()


def test_the_object_of_a_close_up_is_highlighted(tmp_path: Path) -> None:
    image = RENDERER.draw(wheat(tmp_path), GalleryItem(0, focus=0))
    assert has_color(image, HIGHLIGHT).any()
    assert has_color(image, ANNOTATION).any()


def test_typical_images_of_labels_are_of_different_classes(tmp_path: Path) -> None:
    catalog = food(tmp_path)
    one_group = replace(catalog, items=replace(catalog.items, group=None))
    surveyed = survey(one_group, RENDERER.measure)
    items = typical_items(one_group, surveyed, RENDERER.strata(one_group), 3, 0)
    assert one_group.truth is not None
    assert {int(one_group.truth.labels[chosen.item]) for chosen in items} == {0, 1, 2}


def test_an_extreme_image_is_shown_once_with_all_reasons(tmp_path: Path) -> None:
    catalog = ships(tmp_path)
    extremes = RENDERER.gallery(catalog, survey(catalog, RENDERER.measure), 24, 0)["Extremes"]
    assert len({chosen.item for chosen in extremes}) == len(extremes)
    assert any("; " in chosen.reason for chosen in extremes)


def test_every_geometry_of_images_has_an_overlay() -> None:
    assert set(OVERLAYS) == {Boxes, Labels, Masks, RotatedBoxes}
