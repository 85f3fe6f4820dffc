"""Annotation formats of the field: COCO, YOLO, Pascal VOC, KITTI, Raven and Audacity.

They are read as catalogs, like official files. Each `read_*` function returns None if the folder has none of its
formats, so that it can be read another way. nuScenes results are one file of predictions instead of a data set. The
`write_*` functions export results.
"""

from __future__ import annotations

from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.data.event_labels import LabelFilter
from tallymark.formats.audacity import label_tracks, read_label_track, write_audacity
from tallymark.formats.coco import read_coco_boxes, read_coco_masks
from tallymark.formats.coco_writer import write_coco_boxes, write_coco_masks
from tallymark.formats.event_files import report_other_texts
from tallymark.formats.event_tables import catalog_of_events
from tallymark.formats.kitti import read_kitti
from tallymark.formats.nuscenes import read_nuscenes, write_nuscenes
from tallymark.formats.raven import read_selection_table, selection_tables, write_raven
from tallymark.formats.voc import read_voc
from tallymark.formats.yolo import read_yolo, read_yolo_masks
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
    """Images with bounding boxes, from COCO, YOLO or Pascal VOC files."""
    return read_coco_boxes(listed, problems) or read_yolo(listed, problems) or read_voc(listed, problems)


def read_masks(listed: Folder, shape: tuple[int, int], problems: Problems) -> Catalog | None:
    """Images of one shape (height, width) with masks, from COCO or YOLO files."""
    return read_coco_masks(listed, shape, problems) or read_yolo_masks(listed, shape, problems)


def read_cuboids(
    listed: Folder, classes: tuple[str, ...], problems: Problems, *, keep_unknown: bool = False
) -> Catalog | None:
    """Lidar sweeps with 3D boxes in the frame of the lidar, from KITTI files. keep_unknown: see `read_kitti`."""
    return read_kitti(listed, classes, problems, keep_unknown=keep_unknown)


def read_calls(listed: Folder, labels: LabelFilter, problems: Problems) -> Catalog | None:
    """Recordings with events, from Raven selection tables and Audacity label tracks."""
    selections = selection_tables(listed)
    tracks = label_tracks(listed, set(selections))
    report_other_texts(listed, {*selections, *tracks}, problems)
    read = [read_selection_table(path, labels, problems) for path in selections]
    read += [read_label_track(path, labels, problems) for path in tracks]
    tables = [table for table in read if table is not None]
    return catalog_of_events(listed, tables) if tables else None
