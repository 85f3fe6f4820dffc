"""The formats that predictions and truth are written in, in one table: what each is for, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tallymark.core.humanize import plural
from tallymark.core.outputs import filling, stamps
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import SHOWN, Catalog
from tallymark.data.items import Items
from tallymark.formats.audacity import write_audacity
from tallymark.formats.coco_writer import export_coco_boxes, export_coco_masks
from tallymark.formats.export_source import ExportSource, nothing_to_write, recording_names
from tallymark.formats.geojson import FEATURES, export_geojson, georeferenced
from tallymark.formats.kitti_writer import export_kitti, with_camera
from tallymark.formats.nuscenes import write_nuscenes
from tallymark.formats.photos import export_photos, with_position
from tallymark.formats.raven import write_raven, write_raven_combined
from tallymark.formats.voc_writer import export_voc
from tallymark.formats.yolo_writer import export_yolo_boxes, export_yolo_masks
from tallymark.geometry import Boxes, Cuboids, Events, Geometry, Masks
from tallymark.io.audio import read_header
from tallymark.io.media import BadMedia

Writer = Callable[[ExportSource[Any], Path], None]
TABLES = (".txt", ".tsv")
"""Endings of one table of all recordings, in place of a folder of them."""
LOOKED_AT = 256
"""Items that are looked at together until one is found that has what a format needs."""


@dataclass(frozen=True)
class ExportFormat:
    """A format to write.

    writers: for each geometry that it can hold, the function that writes it.
    folder: whether a folder is written; `table_endings`: of paths that name a file all the same.
    needs_media, needs_size: whether it holds the names of the media files, and the sizes of images.
    located: which items have the position or the calibration that it needs. usable: which items a file or folder can
        hold. unusable: why not the others, what is expected, and what to do.
    requires: a package that it needs, by its name and that of the extra that installs it.
    """

    name: str
    writers: Mapping[type[Geometry], Writer]
    folder: bool = False
    table_endings: tuple[str, ...] = ()
    needs_media: bool = False
    needs_size: bool = False
    located: Callable[[Catalog], np.ndarray] | None = None
    usable: Callable[[ExportSource[Any], Path], np.ndarray] | None = None
    unusable: tuple[str, str, str] = ("", "", "")
    requires: tuple[str, str] | None = None

    def fits(self, geometry: type[Any]) -> bool:
        """Whether objects of a geometry can be written."""
        return geometry in self.writers

    def writes_folder(self, path: Path) -> bool:
        """Whether a path is that of a folder to write, not of a file."""
        return self.folder and not path.name.lower().endswith(self.table_endings or ("\0",))

    def refuse_unlocated(self, catalog: Catalog) -> None:
        """Raise `BadInput` if no item has the position or the calibration that it needs."""
        if self.located is None:
            return
        parts = np.array_split(np.arange(len(catalog)), max(1, len(catalog) // LOOKED_AT))
        if not any(self.located(catalog.select(part)).any() for part in parts):
            raise BadInput(nothing_to_write(catalog, *self.unusable))

    def write(self, source: ExportSource[Any], path: Path) -> ExportSource[Any]:
        """Write what can be written, and return what that was; its notes say what was left out."""
        if self.located is not None:
            source = source.keep(self.located(source.catalog), *self.unusable)
        if self.usable is not None:
            source = source.keep(self.usable(source, path), *self.unusable)
        if self.needs_size:
            source = source.keep(np.isfinite(source.size).all(axis=1), "could not be read")
        writer = self.writers[type(source.annotations.shapes)]
        if not self.writes_folder(path):
            writer(source, path)
            return source
        before = stamps(path)
        with filling(path) as unfinished:
            writer(source, unfinished)
        return replace(source, notes=(*source.notes, *_left_note(path, before)))


def _left_note(folder: Path, before: dict[str, tuple[int, ...]]) -> list[str]:
    """That files which were in a folder before are no part of what was written now; none of an empty folder."""
    now = stamps(folder)
    left = [name for name, stamp in before.items() if now.get(name) == stamp]
    if not left:
        return []
    listed = ", ".join(left[:SHOWN]) + (", …" if len(left) > SHOWN else "")
    return [f"{plural(len(left), 'file')} in {folder} of before, no part of this export: {listed}"]


def _nuscenes(source: ExportSource[Cuboids], path: Path) -> None:
    write_nuscenes(source.annotations, path)


def _raven(source: ExportSource[Events], path: Path) -> None:
    calls = _calls(source)
    if path.name.lower().endswith(TABLES):
        write_raven_combined(calls, path, source.band, _seconds(source), default_length=source.event_seconds)
    else:
        write_raven(calls, path, source.band, default_length=source.event_seconds)


def _audacity(source: ExportSource[Events], path: Path) -> None:
    write_audacity(_calls(source), path, default_length=source.event_seconds)


def _calls(source: ExportSource[Events]) -> Annotations[Events]:
    return replace(source.annotations, items=Items.of(recording_names(source.catalog)))


def _of_known_length(source: ExportSource[Events], path: Path) -> np.ndarray:
    """Which recordings can be in a table: in one of all, those of known length, as times go on from one to the next."""
    combined = path.name.lower().endswith(TABLES)
    return np.isfinite(_seconds(source)) if combined else np.ones(len(source.catalog), bool)


def _seconds(source: ExportSource[Events]) -> np.ndarray:
    """The length of each recording in seconds, from its header where it is not known; nan where there is none."""
    seconds = source.size[:, 0].copy()
    for item in np.flatnonzero(np.isnan(seconds)).tolist():
        path = source.catalog.path(item)
        try:
            seconds[item] = np.nan if path is None else read_header(path).seconds
        except BadMedia as bad:
            if bad.transient:
                raise BadInput(source.catalog.unread(item, bad)) from None
            source.problems.add(source.catalog.unread(item, bad))
    return seconds


FORMATS: tuple[ExportFormat, ...] = (
    ExportFormat("coco", {Boxes: export_coco_boxes, Masks: export_coco_masks}, needs_media=True, needs_size=True),
    ExportFormat(
        "yolo", {Boxes: export_yolo_boxes, Masks: export_yolo_masks}, folder=True, needs_media=True, needs_size=True
    ),
    ExportFormat("voc", {Boxes: export_voc}, folder=True, needs_media=True, needs_size=True),
    ExportFormat(
        "kitti",
        {Cuboids: export_kitti},
        folder=True,
        needs_media=True,
        located=with_camera,
        unusable=("have no sweep, pose or calibration", "sweeps with a calibration", "name the folder that has them"),
    ),
    ExportFormat("nuscenes", {Cuboids: _nuscenes}),
    ExportFormat(
        "raven",
        {Events: _raven},
        folder=True,
        table_endings=TABLES,
        usable=_of_known_length,
        unusable=(
            "have no recording, whose length one table of all needs",
            "recordings, since times go on from one to the next",
            "give them by --media FOLDER, or name a folder for a table of each",
        ),
    ),
    ExportFormat("audacity", {Events: _audacity}, folder=True),
    ExportFormat(
        "geojson",
        dict.fromkeys(FEATURES, export_geojson),
        needs_media=True,
        needs_size=True,
        located=georeferenced,
        unusable=(
            "have no georeference",
            "GeoTIFF images, or images with a world file and a .prj file",
            "georeference them; for photographs with a GPS position, write photos",
        ),
        requires=("rasterio", "geo"),
    ),
    ExportFormat(
        "photos",
        {Boxes: export_photos, Masks: export_photos},
        needs_media=True,
        needs_size=True,
        located=with_position,
        unusable=(
            "have no GPS position",
            "photographs with a GPS position in their EXIF metadata",
            "write geojson for georeferenced images, or use the photographs as the camera wrote them",
        ),
    ),
)
"""All formats but tables of measurements, which are no annotations."""
