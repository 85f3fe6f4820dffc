"""Writing KITTI: 3D boxes in the frame of a camera as `label_2/`, and the calibration of each sweep as `calib/`.

Sweeps of a KITTI data set keep their calibration. Others have no KITTI camera, and get one that stands at the lidar,
looks along its x axis, and is level: KITTI's boxes turn about the camera's vertical axis only, so that they stay exact
where a lidar is tilted, and the calibration holds the tilt. Without poses it only exchanges the axes. Such a camera has
no image: the 2D box of every label is -1. With a KITTI calibration it is that of the projected 3D box.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tallymark.core.outputs import make_folder, write_text
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.formats.export_source import ExportSource
from tallymark.formats.kitti import CALIBRATION_FOLDER, LABEL_FOLDER, calibrations_of, read_calibration
from tallymark.formats.parsing import parse_float
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import yaw_from_quaternion
from tallymark.io.archives import read_bytes
from tallymark.io.names import output_paths

AXES = np.array([[0.0, -1, 0], [0, 0, -1], [1, 0, 0]])
"""From x forward, y left, z up to x right, y down, z forward."""
RIDDEN = {"bicycle": "Cyclist"}
"""KITTI counts riders as what they ride."""
NO_BOX = "-1 -1 -1 -1"
NEAR = 0.1
"""Metres before the camera from which on a corner is projected."""
Camera = tuple[np.ndarray, str, np.ndarray | None]
"""(4, 4) from the frame of boxes to the camera, the text of a calibration, and (3, 4) from the camera to its image."""


def export_kitti(source: ExportSource[Cuboids], folder: Path) -> None:
    """Write labels with 15 values each, and with the score of predictions as the sixteenth."""
    objects = source.annotations
    names = [_class_name(name) for name in source.classes]
    camera_of = _cameras(source.catalog)
    for place in (LABEL_FOLDER, CALIBRATION_FOLDER):
        make_folder(folder / place)
    labels = output_paths(folder / LABEL_FOLDER, _file_names(source.catalog.items.ids.to_list()), ".txt")
    for item, path in enumerate(labels):
        camera = camera_of(item)
        if camera is None:
            raise ValueError("an item without a camera: leave it out by `with_camera`")
        to_camera, calibration, projection = camera
        own = np.arange(objects.offsets[item], objects.offsets[item + 1])
        rows = _rows(objects.shapes.take(own), to_camera, projection)
        scores = (
            [""] * len(own) if objects.score is None else [f" {score:.6g}" for score in objects.scores[own].tolist()]
        )
        lines = [
            f"{names[label]} -1 -1 {row}{score}\n"
            for label, row, score in zip(objects.labels[own].tolist(), rows, scores, strict=True)
        ]
        write_text(path, "".join(lines), sync=False)
        write_text(folder / CALIBRATION_FOLDER / path.name, calibration, sync=False)


def _file_names(ids: list[str]) -> list[str]:
    """The names of label files, which are all in one folder: those of the sweeps, unless several share one."""
    names = [one.rpartition("/")[2] for one in ids]
    return names if len(set(names)) == len(names) else [one.replace("/", "_") for one in ids]


def with_camera(catalog: Catalog) -> np.ndarray:
    """Which items can be written: those with a calibration or a pose, or in a data set that has neither."""
    camera_of = _cameras(catalog)
    return np.array([camera_of(item) is not None for item in range(len(catalog))], bool)


def _rows(boxes: Cuboids, to_camera: np.ndarray, projection: np.ndarray | None) -> list[str]:
    """alpha, 2D box, height, width, length, x, y, z and rotation_y of 3D boxes.

    The heading is chosen so that transformed back and projected to the ground, it has the same yaw.
    """
    rotation, translation = to_camera[:3, :3], to_camera[:3, 3]
    centre = np.stack([boxes.x, boxes.y, boxes.z], axis=1) @ rotation.T + translation
    back = rotation.T[:2][:, [0, 2]] * (1, -1)  # of cos and sin of rotation_y, to x and y before the transform
    cos, sin = np.linalg.solve(back, np.stack([np.cos(boxes.yaw), np.sin(boxes.yaw)]))
    turn = np.arctan2(sin, cos)
    x, y, z = centre.T
    alpha = np.arctan2(np.sin(turn - np.arctan2(x, z)), np.cos(turn - np.arctan2(x, z)))
    values = np.stack([boxes.height, boxes.width, boxes.length, x, y + boxes.height / 2, z, turn], axis=1)
    flat = [NO_BOX] * len(boxes) if projection is None else _image_boxes(values, projection)
    return [
        f"{angle:.6f} {box} " + " ".join(f"{value:.9g}" for value in row)
        for angle, box, row in zip(alpha.tolist(), flat, values.tolist(), strict=True)
    ]


def _image_boxes(values: np.ndarray, projection: np.ndarray) -> list[str]:
    """left, top, right and bottom in pixels of 3D boxes in an image of unknown size; -1 for those behind the camera.

    values: (n, 7) height, width, length, x, y, z of the bottom's centre, and rotation_y. projection: (3, 4).
    """
    height, width, length, x, y, z, turn = values.T[..., None]
    along, across = length / 2 * [1, 1, -1, -1, 1, 1, -1, -1], width / 2 * [1, -1, -1, 1, 1, -1, -1, 1]
    up = height * [0, 0, 0, 0, 1, 1, 1, 1]
    corners = np.stack(
        [
            x + np.cos(turn) * along + np.sin(turn) * across,
            y - up,
            z - np.sin(turn) * along + np.cos(turn) * across,
            np.ones_like(along),
        ]
    )
    column, row, depth = np.einsum("ij,jnk->ink", projection, corners)
    front = depth > NEAR
    places = np.stack([column, row]) / np.where(front, depth, 1)
    low = np.where(front, places, np.inf).min(axis=2).clip(0)
    high = np.where(front, places, -np.inf).max(axis=2)
    seen = front.any(axis=1) & (high > low).all(axis=0)
    sides = np.stack([*low, *high], axis=1).tolist()
    return [" ".join(f"{side:.2f}" for side in sides[at]) if seen[at] else NO_BOX for at in range(len(values))]


def _cameras(catalog: Catalog) -> Callable[[int], Camera | None]:
    """The camera of an item; None if it has neither a pose nor a calibration that can be read."""
    drive = catalog.drive
    own = {} if drive is not None else calibrations_of(catalog)

    def camera_of(item: int) -> Camera | None:
        if drive is not None:
            if drive.samples[item] < 0:
                return None
            pose = drive.pose(item)
            yaw = float(yaw_from_quaternion(pose.rotation)[0])
            level = AXES @ np.array([[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
            return _rigid(level, -level @ pose.translation[0]), _calibration(level @ pose.matrices()[0]), None
        if item in own:
            matrix = read_calibration(own[item], Problems())
            text = read_bytes(own[item]).decode("utf-8", "replace")
            return None if matrix is None else (matrix, text, _projection(text))
        return _rigid(AXES, np.zeros(3)), _calibration(AXES), None

    return camera_of


def _projection(calibration: str) -> np.ndarray | None:
    """The matrix (3, 4) of the left colour camera; None where a calibration has none, or no camera at all."""
    found = re.search(r"^P2:(.*)$", calibration, re.MULTILINE)
    numbers = [parse_float(word) for word in found[1].split()] if found else []
    matrix = np.array(numbers).reshape(3, 4) if len(numbers) == 12 else np.eye(3, 4)
    return matrix if np.isfinite(matrix).all() and not (matrix == np.eye(3, 4)).all() else None


def _rigid(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, translation
    return matrix


def _calibration(lidar_to_camera: np.ndarray) -> str:
    """A calibration file of a camera at the lidar, with these axes (3, 3)."""
    camera = " ".join(f"{value:g}" for value in np.eye(3, 4).ravel())
    rows = {f"P{number}": camera for number in range(4)}
    rows["R0_rect"] = " ".join(f"{value:g}" for value in np.eye(3).ravel())
    rows["Tr_velo_to_cam"] = " ".join(
        f"{value:.12g}" for value in np.column_stack([lidar_to_camera, np.zeros(3)]).ravel()
    )
    rows["Tr_imu_to_velo"] = camera
    return "".join(f"{name}: {values}\n" for name, values in rows.items())


def _class_name(name: str) -> str:
    """The name of a class as KITTI writes it: one word that begins with a capital."""
    word = "_".join(name.split()) or "Misc"
    return RIDDEN.get(word, word[:1].upper() + word[1:])
