"""Drive: where each sample's sensors were, and what they saw."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import Poses, transform_cuboids, yaw_of
from tallymark.io.lidar import read_sweep
from tallymark.io.media import BadMedia
from tallymark.io.nuscenes_tables import Tables

Frame = Literal["sensor", "ego", "world"]
TOP = "LIDAR_TOP"


@dataclass(frozen=True, eq=False)
class Drive:
    """The frames of all sensors, a row each, ordered by scene, channel and time.

    shots: columns scene, channel, modality, timestamp (microseconds), file (path or null), sample_token, and key:
    whether it was taken at the moment of the sample, not on the way to the next.
    sensor, vehicle: the pose of each shot's sensor on the vehicle, and of the vehicle in the world.
    samples: for each item of the catalog its row in `shots` that was taken by the main lidar, or -1.
    intrinsic: the camera matrix of each shot, zero for a lidar.
    maps: the picture of the map of each scene, by its token, where it is there.
    """

    shots: pl.DataFrame
    sensor: Poses
    vehicle: Poses
    intrinsic: np.ndarray
    samples: np.ndarray
    tokens: pl.Series
    maps: dict[str, Path] = field(default_factory=dict)
    columns: int = 5

    def select(self, items: np.ndarray) -> Drive:
        return replace(self, samples=self.samples[items], tokens=self.tokens[items])

    def pose(self, item: int, frame: Frame = "world") -> Poses:
        """From the frame of an item's lidar to the vehicle or the world."""
        row = np.array([self._row(item)])
        own = self.sensor.take(row)
        return own if frame == "ego" else own.then(self.vehicle.take(row))

    def stand(self, item: int) -> Poses:
        """From the vehicle to the world, at the moment of an item's sweep."""
        return self.vehicle.take(np.array([self._row(item)]))

    def points(self, item: int, sweeps: int = 1, frame: Frame = "sensor") -> np.ndarray:
        """Points of a sample and of sweeps before it: x, y, z, intensity, and seconds before the sample.

        Earlier sweeps of the same scene and lidar are carried through the world into the frame of the sample.
        Points that are not finite are left out.
        """
        row = self._row(item)
        if self.shots["file"][row] is None:
            raise BadMedia("missing_media", f"no file {self.shots['filename'][row]}")
        stacked = []
        for at in self.trail(item, sweeps):
            points = read_sweep(Path(self.shots["file"][at]), self.columns)
            if not np.isfinite(points).all():
                points = points[np.isfinite(points[:, :3]).all(axis=1)]
            own = np.empty((5, len(points)), np.float32).T  # column by column, as they are used
            own[:, :3] = self._carry(points[:, :3], at, row, frame)
            own[:, 3] = points[:, 3]
            own[:, 4] = (self.shots["timestamp"][row] - self.shots["timestamp"][at]) / 1e6
            stacked.append(own)
        return stacked[0] if len(stacked) == 1 else np.concatenate(stacked)

    def trail(self, item: int, sweeps: int = 1) -> list[int]:
        """The shots that an item's points are of: its own, and up to sweeps - 1 before it whose files are there."""
        row = self._row(item)
        first = self.shots.row(row, named=True)
        found, at = [row], row - 1
        while len(found) < sweeps and at >= 0:
            shot = self.shots.row(at, named=True)
            if (shot["scene"], shot["channel"]) != (first["scene"], first["channel"]):
                break
            if shot["file"] is not None:
                found.append(at)
            at -= 1
        return found

    def volumes(self, item: int, cuboids: Cuboids, frame: Frame = "sensor") -> Cuboids:
        """Volumes in the world, as truth has them, seen from the frame of an item's lidar."""
        if frame == "world":
            return cuboids
        row = np.array([self._row(item)])
        to_ego = self.vehicle.take(row).inverse()
        back = to_ego if frame == "ego" else to_ego.then(self.sensor.take(row).inverse())
        return transform_cuboids(cuboids, back)

    def cameras(self, item: int) -> np.ndarray:
        """The rows of the pictures that were taken with a sample, not between two."""
        shots = self.shots
        own = (shots["sample_token"] == self.tokens[item]) & (shots["modality"] == "camera") & shots["key"]
        return np.flatnonzero(own.to_numpy())

    def map_of(self, item: int) -> Path | None:
        """The map of the area that an item was taken in."""
        row = int(self.samples[item])
        return None if row < 0 else self.maps.get(self.shots["scene"][row])

    def _row(self, item: int) -> int:
        """The shot of an item's main lidar."""
        row = int(self.samples[item])
        if row < 0:
            raise BadMedia("missing_media", f"no shot of a lidar for sample {self.tokens[item]}")
        return row

    def _carry(self, points: np.ndarray, source: int, target: int, frame: Frame) -> np.ndarray:
        start, end = np.array([source]), np.array([target])
        if frame == "sensor" and source == target:
            return points
        pose = self.sensor.take(start)
        if frame == "ego" and source == target:
            return pose.apply(points)
        pose = pose.then(self.vehicle.take(start))
        if frame != "world":
            pose = pose.then(self.vehicle.take(end).inverse())
        if frame == "sensor":
            pose = pose.then(self.sensor.take(end).inverse())
        return pose.apply(points)


def join_drive(tables: Tables, files: dict[str, Path]) -> tuple[Drive, Items]:
    """The drive of a set of tables and its samples; `files` are media by their bare names."""
    sensors = tables["calibrated_sensor"].join(tables["sensor"], left_on="sensor_token", right_on="token")
    samples = tables["sample"].join(tables["scene"], left_on="scene_token", right_on="token", how="left")
    samples = samples.join(tables["log"], left_on="log_token", right_on="token", how="left")
    shots = (
        tables["sample_data"]
        .join(sensors.rename({"rotation": "sensor_turn", "translation": "sensor_shift"}),
              left_on="calibrated_sensor_token", right_on="token")
        .join(tables["ego_pose"], left_on="ego_pose_token", right_on="token")
        .join(samples.select("token", "scene_token"), left_on="sample_token", right_on="token")
        .sort("scene_token", "channel", "timestamp", maintain_order=True)
    )  # fmt: skip
    bare = shots["filename"].str.split("/").list.last()
    paths = pl.Series([str(files[name]) if name in files else None for name in bare], dtype=pl.String)
    table = shots.select(
        "sample_token", "channel", "modality", "timestamp", "filename",
        scene="scene_token", key=pl.col("is_key_frame").fill_null(True),
    )  # fmt: skip
    drive = Drive(
        shots=table.with_columns(file=paths),
        sensor=Poses.of(_array(shots["sensor_turn"], 4), _array(shots["sensor_shift"], 3)),
        vehicle=Poses.of(_array(shots["rotation"], 4), _array(shots["translation"], 3)),
        intrinsic=_intrinsics(shots["camera_intrinsic"]),
        samples=_main_lidar(table, samples["token"]),
        tokens=samples["token"],
        maps=_maps(tables, files),
    )
    logs = samples.select(
        pl.when(pl.col("logfile").fill_null("") != "")
        .then(pl.col("logfile"))
        .otherwise(pl.concat_str("vehicle", "date_captured", pl.col("log_token").str.head(8), separator="_"))
        .fill_null("(none)")
    )
    return drive, Items(samples["token"], logs.to_series())


def annotations_of(tables: Tables, items: Items, classes: tuple[str, ...]) -> Annotations[Cuboids]:
    """The annotations of the tables as volumes in the world."""
    kinds = tables["instance"].join(tables["category"], left_on="category_token", right_on="token")
    rows = tables["sample_annotation"].join(
        kinds.select("token", "name"), left_on="instance_token", right_on="token", maintain_order="left"
    )
    label = rows["name"].cast(pl.Enum(classes), strict=False).to_physical()
    item = items.find(rows["sample_token"])
    known = pl.Series(item >= 0) & label.is_not_null()
    rows, label, item = rows.filter(known), label.filter(known), item[known.to_numpy()]
    place = _array(rows["translation"], 3)
    values = np.column_stack([place, _array(rows["size"], 3), yaw_of(_array(rows["rotation"], 4))])
    return Annotations.from_rows(
        items, item, Cuboids.of(values), label=label.to_numpy().astype(np.int64), classes=classes
    )


def strange_classes(tables: Tables, classes: tuple[str, ...]) -> list[str]:
    """Categories that instances have but the challenge does not know; `annotations_of` leaves them out."""
    used = tables["category"].join(tables["instance"], left_on="token", right_on="category_token", how="semi")
    return sorted(set(used["name"]) - set(classes))


def _main_lidar(shots: pl.DataFrame, tokens: pl.Series) -> np.ndarray:
    """For each sample its shot by the lidar on the roof, or by whichever lidar there is; -1 without one."""
    lidar = shots.with_row_index("row").filter(pl.col("modality") == "lidar")
    ranked = lidar.sort(~pl.col("key"), pl.col("channel") != TOP, maintain_order=True)
    first = ranked.unique("sample_token", keep="first", maintain_order=True)
    found = tokens.to_frame("sample_token").join(first, "sample_token", "left", maintain_order="left")
    return found["row"].cast(pl.Int64).fill_null(-1).to_numpy()


def _maps(tables: Tables, files: dict[str, Path]) -> dict[str, Path]:
    """The map of each scene whose log has one."""
    logs = tables["map"].select("filename", log_token="log_tokens").explode("log_token")
    scenes = tables["scene"].select("log_token", scene="token").join(logs, "log_token")
    named = ((scene, str(filename).split("/")[-1]) for scene, filename in scenes.select("scene", "filename").rows())
    return {scene: files[name] for scene, name in named if name in files}


def _array(lists: pl.Series, width: int) -> np.ndarray:
    return lists.explode().to_numpy().astype(float).reshape(-1, width) if len(lists) else np.empty((0, width))


def _intrinsics(lists: pl.Series) -> np.ndarray:
    """Camera matrices (n, 3, 3), zero where there is none."""
    filled = (lists.list.len() == 3).fill_null(False)
    matrices = np.zeros((len(lists), 3, 3))
    if filled.any():
        matrices[filled.to_numpy()] = lists.filter(filled).explode().explode().to_numpy().reshape(-1, 3, 3)
    return matrices
