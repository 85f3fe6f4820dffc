"""Items as pictures with their truth drawn in, as the gallery shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import NO_GROUP, Catalog
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks, RotatedBoxes
from tallymark.io.images import image_size, read_image
from tallymark.io.lidar import read_sweep
from tallymark.io.media import BadMedia
from tallymark.reporting.bev_plots import SIDE, corners_of, draw_above, draw_in_camera, seen_by_camera
from tallymark.reporting.counts import nouns
from tallymark.reporting.drawings import (
    FOCUS,
    TRUTH,
    WIDTH,
    Colour,
    blank,
    draw_boxes,
    draw_masks,
    draw_outlines,
    draw_spectrogram,
    fit,
    write_label,
)
from tallymark.reporting.humanize import clock, plural
from tallymark.reporting.page import tile
from tallymark.reporting.picks import Pick
from tallymark.reporting.sounds import WINDOW, read_levels, read_long_levels

CROP = 96
"""Pixels that a look at one object shows at least."""
LARGEST = 4000
"""Pixels across of a picture that is enlarged to cut a piece from it."""


def make_tiles(catalog: Catalog, picks: Sequence[Pick], what: str) -> list[str]:
    """A tile for each pick; one whose file cannot be read says so."""
    return in_threads(lambda pick: make_tile(catalog, pick), picks, what)


def make_tile(catalog: Catalog, pick: Pick) -> str:
    size = (WIDTH, 240) if catalog.medium.noun == "recording" else (WIDTH, WIDTH * 3 // 4)
    try:
        picture = draw(catalog, pick)
    except BadMedia as bad:
        picture = blank(f"cannot be read: {bad.found}", size)
    one, many = nouns(catalog)
    facts = ["" if (group := catalog.group[pick.item]) == NO_GROUP else group, catalog.split[pick.item]]
    if pick.window is not None:
        facts.append(f"{clock(pick.window[0])} to {clock(pick.window[1])}")
    elif not catalog.labelled[pick.item]:
        facts.append("no truth")
    elif catalog.truth is not None and not isinstance(catalog.truth.shapes, Labels):
        facts.append(plural(int(catalog.truth.counts[pick.item]), one, many))
    return tile(picture, catalog.items.ids[pick.item], facts, pick.why)


def draw(catalog: Catalog, pick: Pick) -> np.ndarray:
    """An item with its truth; `BadMedia` where its file cannot be read."""
    if catalog.medium.noun == "recording":
        return _heard(catalog, pick)
    if catalog.medium.noun == "sweep":
        return _swept(catalog, pick.item)
    path = catalog.path(pick.item)
    assert path is not None, "only items with a file are drawn"
    image_size(path)  # refuses a picture that is too large to be decoded
    picture = read_image(path)
    if pick.focus is not None:
        return _close_up(catalog, pick, picture)
    canvas, scale = fit(picture)
    return _marked(canvas, scale, _own(catalog, pick.item))


def draw_cameras(catalog: Catalog, item: int) -> tuple[np.ndarray, str] | None:
    """The picture of the camera that sees most of a sample's volumes, with these; and the camera's name."""
    drive, truth = catalog.drive, _own(catalog, item)
    if drive is None or truth is None or drive.samples[item] < 0:
        return None
    best: tuple[int, int, np.ndarray, np.ndarray, np.ndarray] | None = None
    world = corners_of(truth.shapes)
    for row in drive.cameras(item).tolist():
        file, matrix = drive.sample_data["file"][row], drive.intrinsic[row]
        if file is None or not matrix.any():
            continue
        picture = read_image(Path(file))
        at = np.array([row])
        back = drive.vehicle.take(at).inverse().then(drive.sensor.take(at).inverse())
        corners = back.apply(world.reshape(-1, 3)).reshape(-1, 8, 3)
        place, visible = seen_by_camera(corners, matrix, (picture.shape[1], picture.shape[0]))
        if best is None or visible.sum() > best[0]:
            best = int(visible.sum()), row, picture, place[visible], truth.labels[visible]
    if best is None:
        return None
    _, row, picture, place, kind = best
    canvas, scale = fit(picture)
    return draw_in_camera(canvas, place * scale, kind), str(drive.sample_data["channel"][row])


def _own(catalog: Catalog, item: int) -> Annotations[Any] | None:
    """The truth of one item; None where it is not known."""
    truth = catalog.truth
    if truth is None or not catalog.labelled[item]:
        return None
    return truth.filter(
        (np.arange(len(truth)) >= truth.offsets[item]) & (np.arange(len(truth)) < truth.offsets[item + 1])
    )


def _marked(
    canvas: np.ndarray, scale: float, truth: Annotations[Any] | None, colour: Colour = TRUTH, thick: int = 2
) -> np.ndarray:
    if truth is None:
        return canvas
    shapes = truth.shapes
    if isinstance(shapes, Boxes):
        return draw_boxes(canvas, shapes, scale, colour, thick)
    if isinstance(shapes, Masks):
        return draw_masks(canvas, shapes, colour, thick=thick)
    if isinstance(shapes, RotatedBoxes):
        return draw_outlines(canvas, shapes.corners * scale, colour, thick=thick)
    if isinstance(shapes, Labels):
        names = [truth.classes[at] if at < len(truth.classes) else str(at) for at in shapes.label.tolist()]
        return write_label(canvas, ", ".join(names)) if names else canvas
    return canvas


def _close_up(catalog: Catalog, pick: Pick, picture: np.ndarray) -> np.ndarray:
    """The part of a picture around one object, enlarged."""
    truth = catalog.truth
    assert truth is not None
    assert pick.focus is not None
    across, down = truth.shapes.take(np.array([pick.focus])).extents
    height, width = picture.shape[:2]
    if isinstance(truth.shapes, Masks):  # masks are stretched over the picture
        stretch = width / truth.shapes.shape[1], height / truth.shapes.shape[0]
    else:
        stretch = 1.0, 1.0
    x, y = float(across.centre[0]) * stretch[0], float(down.centre[0]) * stretch[1]
    side = max(CROP, 2.5 * 2 * max(float(across.half[0]) * stretch[0], float(down.half[0]) * stretch[1]))
    side = min(side, width, height)
    scale = min(WIDTH / side, LARGEST / max(width, height))
    large = cv2.resize(
        picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
    )
    large = _marked(large, scale, _own(catalog, pick.item))
    large = _marked(large, scale, truth.filter(np.arange(len(truth)) == pick.focus), FOCUS, 3)
    left = int(np.clip(x - side / 2, 0, width - side) * scale)
    top = int(np.clip(y - side / 2, 0, height - side) * scale)
    reach = max(1, int(side * scale))
    return np.ascontiguousarray(large[top : top + reach, left : left + reach])


def _heard(catalog: Catalog, pick: Pick) -> np.ndarray:
    start, stop = pick.window or (0.0, WINDOW)
    own = _own(catalog, pick.item)
    calls = Events(np.empty(0)) if own is None else own.shapes
    if stop - start > 2 * WINDOW:
        level, top = read_long_levels(catalog, pick.item, stop)
        calls = Events(calls.time)  # a call is a dot on so long a line
    else:
        level, top = read_levels(catalog, pick.item, start, stop)
    return draw_spectrogram(level, (start, stop), top, calls)


def _swept(catalog: Catalog, item: int) -> np.ndarray:
    truth, drive = _own(catalog, item), catalog.drive
    volumes = Cuboids.of(np.empty((0, 7))) if truth is None else truth.shapes
    kind = np.empty(0, np.int64) if truth is None else truth.labels
    if drive is not None and drive.samples[item] >= 0:
        return draw_above(drive.points(item, frame="ego"), drive.to_frame(item, volumes, frame="ego"), kind)
    path = catalog.path(item)
    assert path is not None, "only items with a file are drawn"
    points = read_sweep(path)
    return draw_above(points, volumes, kind) if len(points) else blank("a sweep without points", (SIDE, SIDE))
