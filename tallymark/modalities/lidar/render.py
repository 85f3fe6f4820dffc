"""Rendering of lidar data sets: sweeps in bird's-eye view, cuboids in camera images, and charts around the vehicle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tallymark.core.humanize import number
from tallymark.core.recipe import Recipe
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.axes import Axis
from tallymark.drawing.bev import SIDE, BEVView, draw_bev
from tallymark.drawing.boxes_and_masks import resize_to_fit
from tallymark.drawing.charts import Chart, heat_map, histogram, small_multiples
from tallymark.drawing.colors import TRUTH, Color, class_color
from tallymark.drawing.text import draw_legend, placeholder
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import transform_cuboids
from tallymark.io.media import BadMedia
from tallymark.modalities.gallery import (
    GalleryItem,
    annotations_of,
    argmax_where,
    extremes_of,
    select_item,
    typical_items,
)
from tallymark.modalities.lidar.cameras import camera_views
from tallymark.modalities.lidar.scene import (
    NO_CUBOIDS,
    cuboid_rows,
    read_points,
    surface_of,
    sweep_paths,
    sweep_scene,
)
from tallymark.modalities.render import CameraImage
from tallymark.modalities.scene import SCENE_SIDE, Scene, Window
from tallymark.modalities.survey import Survey
from tallymark.modalities.whole_items import WholeItemRenderer

MAP_RANGE = 80.0
"""Metres to each side of the vehicle on the map of cuboids."""
MAP_CELLS = 32
CAMERA_IMAGES = 2
"""Samples that are also shown in the images of cameras."""
CAMERAS_EACH = 3
"""Cameras of each of them: those that have most of the cuboids in view."""
DRAWING_SIDE = 960
"""Side of a drawing of a sweep in pixels."""


class LidarRenderer(WholeItemRenderer):
    """Sweeps with cuboids, in the frame of the vehicle."""

    def media_charts(self, survey: Survey) -> list[Chart | None]:
        points = survey.extent[np.isfinite(survey.extent).all(axis=1), 0]
        return [histogram(points, "Points in a sweep", "points")]

    def object_charts(self, catalog: Catalog, survey: Survey) -> list[Chart | None]:
        truth = catalog.truth
        if truth is None or not len(truth):
            return []
        return [*_size_charts(truth), *_position_charts(catalog, truth)]

    def gallery_note(self, catalog: Catalog) -> str:
        return (
            "Bird's-eye view with range rings every 20 m. Higher points are brighter; the line inside a cuboid is its "
            "heading. Where there is a map, roads are blue-grey and sidewalks are green."
        )

    def draw(self, catalog: Catalog, item: GalleryItem) -> np.ndarray:
        return draw_sweep(catalog, item.item, annotations_of(catalog, item.item))

    def scene(
        self,
        catalog: Catalog,
        item: int,
        window: Window | None = None,
        *,
        around: Annotations[Cuboids] | None = None,
        recipe: Recipe | None = None,
        side: int = SCENE_SIDE,
    ) -> Scene:
        return sweep_scene(catalog, item, around, side)

    def paths(self, scene: Scene, annotations: Annotations[Cuboids]) -> list[str]:
        return sweep_paths(scene, annotations)

    def cuboids(self, scene: Scene, annotations: Annotations[Cuboids]) -> np.ndarray:
        return cuboid_rows(scene, annotations)

    def drawings(
        self, catalog: Catalog, predictions: Annotations[Cuboids], item: int, recipe: Recipe | None = None
    ) -> dict[str, np.ndarray]:
        """The sweep in bird's-eye view, and the image of each camera by its channel."""
        predicted = select_item(predictions, item)
        truth = annotations_of(catalog, item)
        shown = np.unique(predicted.labels).tolist()
        legend = [(predicted.classes[label], class_color(label)) for label in shown] if predicted.classes else []
        if truth is not None:
            legend.append(("truth", TRUTH))
        drawn = {"": draw_legend(draw_sweep(catalog, item, predicted, truth, side=DRAWING_SIDE), legend)}
        for view in camera_views(catalog, item):
            drawn[view.channel] = view.draw(predicted, truth)
        return drawn

    def legend(self, catalog: Catalog) -> list[tuple[str, Color]]:
        truth = catalog.truth
        if truth is None or not truth.classes:
            return []
        return [(truth.classes[label], class_color(label)) for label in np.unique(truth.labels).tolist()]

    def camera_images(self, catalog: Catalog, survey: Survey, seed: int) -> list[CameraImage]:
        if catalog.drive is None:
            return []
        images = []
        for typical in typical_items(catalog, survey, catalog.group.to_numpy(), CAMERA_IMAGES, seed):
            shown = annotations_of(catalog, typical.item)
            try:
                views = sorted(camera_views(catalog, typical.item), key=lambda view: -view.visible(shown))
            except BadMedia:  # a page of examples does without
                continue
            for view in views[:CAMERAS_EACH]:
                image, scale = resize_to_fit(view.image)
                drawn = replace(view, image=image, matrix=np.diag([scale, scale, 1]) @ view.matrix).draw(shown)
                images.append(CameraImage(drawn, typical.item, view.channel))
        return images

    def object_extremes(
        self, catalog: Catalog, truth: Annotations[Cuboids], usable: np.ndarray
    ) -> Iterator[GalleryItem]:
        """The largest and the farthest of the usable cuboids."""
        cuboids = truth.shapes
        noun, _ = cuboids.noun
        largest = argmax_where(cuboids.volume, usable)
        sides = " × ".join(number(float(side[largest])) for side in (cuboids.length, cuboids.width, cuboids.height))
        yield GalleryItem(int(truth.item[largest]), f"largest {noun}: {sides} m")
        around, rows = cuboids_around_vehicle(catalog, truth)
        distance = np.full(len(truth), -1.0)
        distance[rows] = np.hypot(around.x, around.y)
        farthest = argmax_where(distance, usable)
        yield GalleryItem(int(truth.item[farthest]), f"farthest {noun}: {number(float(distance[farthest]))} m away")

    def media_extremes(self, survey: Survey, usable: np.ndarray) -> Iterator[GalleryItem]:
        yield from extremes_of(survey.extent[:, 0], usable, "most points: {}", "fewest points: {}")


RENDERER = LidarRenderer()


def draw_sweep(
    catalog: Catalog,
    item: int,
    shown: Annotations[Cuboids] | None,
    truth: Annotations[Cuboids] | None = None,
    side: int = SIDE,
) -> np.ndarray:
    """The sweep of an item with its map and cuboids in bird's-eye view, and with the truth behind predictions."""
    points, pose = read_points(catalog, item)
    if not len(points):
        return placeholder("no points", (side, side))
    cuboids = NO_CUBOIDS if shown is None else shown.shapes
    behind = None if truth is None else truth.shapes
    if pose is not None:
        cuboids = transform_cuboids(cuboids, pose.inverse())
        behind = None if behind is None else transform_cuboids(behind, pose.inverse())
    labels = np.empty(0, np.int64) if shown is None else shown.labels
    view = _view(points, cuboids, behind, side)
    return draw_bev(points, cuboids, labels, view, surface=surface_of(catalog, item), truth=behind)


def _view(points: np.ndarray, cuboids: Cuboids, truth: Cuboids | None, side: int) -> BEVView:
    """The square around points, predictions and truth."""
    return BEVView.around(points, cuboids if truth is None else cuboids.concat(truth), side)


def cuboids_around_vehicle(catalog: Catalog, truth: Annotations[Cuboids]) -> tuple[Cuboids, np.ndarray]:
    """Cuboids in the frame of the vehicle, and their rows in the truth; unchanged where there is no drive."""
    drive = catalog.drive
    if drive is None:
        return truth.shapes, np.arange(len(truth))
    rows = np.flatnonzero(drive.samples[truth.item] >= 0)
    cuboids = truth.shapes.take(rows)
    if not len(rows):
        return cuboids, rows
    shots = drive.samples[truth.item[rows]]
    return transform_cuboids(cuboids, drive.vehicle.take(shots).inverse()), rows


def _size_charts(truth: Annotations[Cuboids]) -> list[Chart | None]:
    """Length, width and height of the cuboids of each class, the most frequent first."""
    cuboids = truth.shapes
    labels = truth.labels
    names = truth.classes or ("all",)
    frequent = [at for at in np.argsort(-np.bincount(labels, minlength=len(names))).tolist() if (labels == at).any()]
    sides = {"Length": cuboids.length, "Width": cuboids.width, "Height": cuboids.height}
    return [
        small_multiples({names[at]: values[labels == at] for at in frequent}, f"{side} by class", "metres")
        for side, values in sides.items()
    ]


def _position_charts(catalog: Catalog, truth: Annotations[Cuboids]) -> list[Chart | None]:
    """Position, distance and heading of cuboids relative to the vehicle."""
    cuboids, rows = cuboids_around_vehicle(catalog, truth)
    distance = np.hypot(cuboids.x, cuboids.y)
    grid, _, _ = np.histogram2d(-cuboids.x, -cuboids.y, bins=MAP_CELLS, range=[[-MAP_RANGE, MAP_RANGE]] * 2)
    note = f"{MAP_RANGE:g} m to each side; shades by square root"
    labels = truth.labels[rows]
    by_class = {truth.classes[at]: distance[labels == at] for at in np.unique(labels).tolist()} if truth.classes else {}
    heading = np.degrees(cuboids.yaw) % 360
    return [
        heat_map(grid, "Cuboids around the vehicle", note, ("ahead (x)", "", "behind", ""), power=0.5),
        histogram(distance, "Distance from the vehicle", "metres"),
        histogram(heading, "Heading", "degrees, 0 is ahead", Axis(np.arange(0.0, 361, 15))),
        small_multiples(by_class, "Distance by class", "metres") if len(by_class) > 1 else None,
    ]
