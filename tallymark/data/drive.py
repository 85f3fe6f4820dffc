"""Drive: the sensor data of samples in the nuScenes tables, with the poses of sensors and vehicle."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.data.road_map import read_road_map
from tallymark.geometry import Cuboids
from tallymark.geometry.affine import transform_points
from tallymark.geometry.poses import Poses, transform_cuboids, yaw_from_quaternion
from tallymark.io.lidar import read_sweep
from tallymark.io.media import BadMedia
from tallymark.io.nuscenes_tables import Tables

CoordinateFrame = Literal["sensor", "ego", "world"]
MAIN_LIDAR = "LIDAR_TOP"


@dataclass(frozen=True, eq=False)
class Drive:
    """The images and sweeps of all sensors, ordered by scene, channel and time.

    sample_data: a row each, with columns scene, channel, modality, timestamp (microseconds), file (path or null),
        sample_token, and key: whether it belongs to a sample and was not taken between two.
    sensor, vehicle: for each row the pose of the sensor on the vehicle, and of the vehicle in the world.
    intrinsic: the camera matrix of each row, zero for a lidar.
    samples: for each item of the catalog the row of its main lidar's sweep, or -1.
    maps: the map image of each scene that has one, by the scene's token.
    columns: values per point in the files of sweeps.
    """

    sample_data: pl.DataFrame
    sensor: Poses
    vehicle: Poses
    intrinsic: np.ndarray
    samples: np.ndarray
    tokens: pl.Series
    maps: dict[str, Path] = field(default_factory=dict)
    columns: int = 5

    def select(self, items: np.ndarray) -> Drive:
        """The samples with these numbers, and the sensor data of their scenes: a shard should not carry all of it."""
        samples, tokens = self.samples[items], self.tokens[items]
        scene = self.sample_data["scene"]
        wanted = scene[samples[samples >= 0]].unique()
        kept = np.flatnonzero(scene.is_in(wanted.implode()) | self.sample_data["sample_token"].is_in(tokens.implode()))
        if len(kept) == len(scene):
            return replace(self, samples=samples, tokens=tokens)
        row = np.full(len(scene) + 1, -1)  # the last one is that of samples without a sweep
        row[kept] = np.arange(len(kept))
        return replace(
            self,
            sample_data=self.sample_data[kept],
            sensor=self.sensor.take(kept),
            vehicle=self.vehicle.take(kept),
            intrinsic=self.intrinsic[kept],
            samples=row[samples],
            tokens=tokens,
        )

    def pose(self, item: int, frame: CoordinateFrame = "world") -> Poses:
        """The pose of an item's lidar on the vehicle (`ego`) or in the world."""
        row = np.array([self._row(item)])
        own = self.sensor.take(row)
        return own if frame == "ego" else own.then(self.vehicle.take(row))

    def ego_pose(self, item: int) -> Poses:
        """The pose of the vehicle in the world at the time of an item's sweep."""
        return self.vehicle.take(np.array([self._row(item)]))

    def points(self, item: int, sweeps: int = 1, frame: CoordinateFrame = "sensor") -> np.ndarray:
        """Points (n, 5) of a sample and of sweeps before it: x, y, z, intensity, and seconds before the sample.

        Earlier sweeps of the same scene and lidar are transformed to the coordinate frame of the sample; one that is
        damaged is left out, as one without a file is. Points that are not finite are dropped.
        """
        row = self._row(item)
        if self.sample_data["file"][row] is None:
            raise BadMedia("missing_media", f"no file {self.sample_data['filename'][row]}")
        stacked = []
        for source in self.sweep_rows(item, sweeps):
            try:
                points = read_sweep(Path(self.sample_data["file"][source]), self.columns)
            except BadMedia as bad:
                if source == row or bad.transient:
                    raise
                continue
            if not np.isfinite(points).all():
                points = points[np.isfinite(points[:, :3]).all(axis=1)]
            # Column by column, as they are used. World coordinates may be those of a country: 4,400,000 m to the north.
            own = np.empty((5, len(points)), float if frame == "world" else np.float32).T
            own[:, :4] = points[:, :4]
            own[:, :3] = self._transform(own[:, :3], source, row, frame)
            own[:, 4] = (self.sample_data["timestamp"][row] - self.sample_data["timestamp"][source]) / 1e6
            stacked.append(own)
        return stacked[0] if len(stacked) == 1 else np.concatenate(stacked)

    def sweep_rows(self, item: int, sweeps: int = 1) -> list[int]:
        """The rows of an item's sweep and of up to `sweeps` - 1 before it whose files exist."""
        row = self._row(item)
        scene, channel, file = (self.sample_data[column] for column in ("scene", "channel", "file"))
        rows = [row]
        earlier = row - 1
        while len(rows) < sweeps and earlier >= 0:
            if (scene[earlier], channel[earlier]) != (scene[row], channel[row]):
                break
            if file[earlier] is not None:
                rows.append(earlier)
            earlier -= 1
        return rows

    def to_frame(self, item: int, cuboids: Cuboids, frame: CoordinateFrame = "sensor") -> Cuboids:
        """Cuboids of the world, as truth has them, in the coordinate frame of an item's lidar or of the vehicle."""
        if frame == "world":
            return cuboids
        row = np.array([self._row(item)])
        to_ego = self.vehicle.take(row).inverse()
        inverse = to_ego if frame == "ego" else to_ego.then(self.sensor.take(row).inverse())
        return transform_cuboids(cuboids, inverse)

    def cameras(self, item: int) -> np.ndarray:
        """The rows of the camera images of a sample, without those between two samples."""
        return np.array(self._camera_rows.get(self.tokens[item], ()), np.int64)

    @cached_property
    def _camera_rows(self) -> dict[str, list[int]]:
        """The same, by the tokens of samples."""
        images = self.sample_data.with_row_index("row").filter((pl.col("modality") == "camera") & pl.col("key"))
        return dict(images.group_by("sample_token").agg(pl.col("row").sort()).rows())

    def map_of(self, item: int) -> Path | None:
        """The map image of an item's scene."""
        row = int(self.samples[item])
        return None if row < 0 else self.maps.get(self.sample_data["scene"][row])

    def surface(self, item: int, ground: np.ndarray) -> np.ndarray | None:
        """What the map has at places (n, 2) in the frame of the vehicle: `NO_ROAD`, `SIDEWALK` or `ROAD`.

        None without a map; a `BadMedia` if it cannot be read.
        """
        path = self.map_of(item)
        if path is None:
            return None
        x, y = transform_points(self.ego_pose(item).ground_matrix, ground).T
        return read_road_map(path).at(x, y)

    def to_camera(self, shot: int, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) of the world in the frame of the camera that took the image at row `shot`."""
        row = np.array([shot])
        return self.vehicle.take(row).inverse().then(self.sensor.take(row).inverse()).apply(points)

    def _row(self, item: int) -> int:
        """The row of an item's sweep."""
        row = int(self.samples[item])
        if row < 0:
            raise BadMedia("missing_media", f"no lidar sweep of sample {self.tokens[item]}")
        return row

    def _transform(self, points: np.ndarray, source: int, target: int, frame: CoordinateFrame) -> np.ndarray:
        """Points of the sweep at row `source`, in a coordinate frame of the sweep at row `target`."""
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
    """The drive of a set of tables, and its samples; `files` are media by their names without folders."""
    sensors = tables["calibrated_sensor"].join(tables["sensor"], left_on="sensor_token", right_on="token")
    samples = tables["sample"].join(tables["scene"], left_on="scene_token", right_on="token", how="left")
    samples = samples.join(tables["log"], left_on="log_token", right_on="token", how="left")
    joined = (
        tables["sample_data"]
        .join(sensors.rename({"rotation": "sensor_rotation", "translation": "sensor_translation"}),
              left_on="calibrated_sensor_token", right_on="token")
        .join(tables["ego_pose"], left_on="ego_pose_token", right_on="token")
        .join(samples.select("token", "scene_token"), left_on="sample_token", right_on="token")
        .sort("scene_token", "channel", "timestamp", maintain_order=True)
    )  # fmt: skip
    names = joined["filename"].str.split("/").list.last()
    paths = pl.Series([str(files[name]) if name in files else None for name in names], dtype=pl.String)
    sample_data = joined.select(
        "sample_token", "channel", "modality", "timestamp", "filename",
        scene="scene_token", key=pl.col("is_key_frame").fill_null(True),
    )  # fmt: skip
    drive = Drive(
        sample_data=sample_data.with_columns(file=paths),
        sensor=Poses.of(_array(joined["sensor_rotation"], 4), _array(joined["sensor_translation"], 3)),
        vehicle=Poses.of(_array(joined["rotation"], 4), _array(joined["translation"], 3)),
        intrinsic=_intrinsics(joined["camera_intrinsic"]),
        samples=_main_lidar_rows(sample_data, samples["token"]),
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
    """The annotations of the tables as cuboids in the world; those of other classes are dropped."""
    instances = tables["instance"].join(tables["category"], left_on="category_token", right_on="token")
    rows = tables["sample_annotation"].join(
        instances.select("token", "name"), left_on="instance_token", right_on="token", maintain_order="left"
    )
    label = rows["name"].cast(pl.Enum(classes), strict=False).to_physical()
    item = items.find(rows["sample_token"])
    known = pl.Series(item >= 0) & label.is_not_null()
    rows, label, item = rows.filter(known), label.filter(known), item[known.to_numpy()]
    centre = _array(rows["translation"], 3)
    values = np.column_stack([centre, _array(rows["size"], 3), yaw_from_quaternion(_array(rows["rotation"], 4))])
    return Annotations.from_rows(
        items, item, Cuboids.of(values), label=label.to_numpy().astype(np.int64), classes=classes
    )


def unknown_categories(tables: Tables, classes: tuple[str, ...]) -> list[str]:
    """Categories of instances that are no class of the challenge; `annotations_of` drops their annotations."""
    used = tables["category"].join(tables["instance"], left_on="token", right_on="category_token", how="semi")
    return sorted(set(used["name"]) - set(classes))


def _main_lidar_rows(sample_data: pl.DataFrame, tokens: pl.Series) -> np.ndarray:
    """For each sample the row of its sweep by the lidar on the roof, or by any other lidar; -1 without one."""
    lidar = sample_data.with_row_index("row").filter(pl.col("modality") == "lidar")
    ranked = lidar.sort(~pl.col("key"), pl.col("channel") != MAIN_LIDAR, maintain_order=True)
    first = ranked.unique("sample_token", keep="first", maintain_order=True)
    rows = tokens.to_frame("sample_token").join(first, "sample_token", "left", maintain_order="left")
    return rows["row"].cast(pl.Int64).fill_null(-1).to_numpy()


def _maps(tables: Tables, files: dict[str, Path]) -> dict[str, Path]:
    """The map image of each scene whose log has one."""
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
