"""Formats of the field: COCO, YOLO, KITTI, Raven and Audacity come in as catalogs of the same kind as official files.

Each function looks whether a folder holds one of its formats: None if not, so that it is read some other way. Results
go out in some of them; those of nuScenes, which are no data set, are read from their one file.
"""

from __future__ import annotations

from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.formats.audacity import audacity_tracks, write_audacity
from tallymark.formats.coco import read_coco_boxes, read_coco_masks
from tallymark.formats.coco_json import write_coco_boxes, write_coco_masks
from tallymark.formats.event_tables import catalog_of_calls
from tallymark.formats.kitti import read_kitti
from tallymark.formats.nuscenes import read_nuscenes, write_nuscenes
from tallymark.formats.raven import raven_tables, write_raven
from tallymark.formats.yolo import read_yolo
from tallymark.io.folders import Folder

__all__ = [
    "read_boxes",
    "read_calls",
    "read_cuboids",
    "read_masks",
    "read_nuscenes",
    "write_audacity",
    "write_coco_boxes",
    "write_coco_masks",
    "write_nuscenes",
    "write_raven",
]


def read_boxes(listed: Folder, problems: Problems) -> Catalog | None:
    """Photographs with boxes: COCO or YOLO."""
    return read_coco_boxes(listed, problems) or read_yolo(listed, problems)


def read_masks(listed: Folder, shape: tuple[int, int], problems: Problems) -> Catalog | None:
    """Pictures of one shape (height, width) with masks: COCO."""
    return read_coco_masks(listed, shape, problems)


def read_cuboids(listed: Folder, classes: tuple[str, ...], problems: Problems) -> Catalog | None:
    """Sweeps with volumes: KITTI. Volumes are in the frame of the lidar."""
    return read_kitti(listed, classes, problems)


def read_calls(listed: Folder, problems: Problems) -> Catalog | None:
    """Recordings with calls: Raven selection tables and Audacity labels."""
    tables = raven_tables(listed, problems) + audacity_tracks(listed, problems)
    return catalog_of_calls(listed, tables) if tables else None
