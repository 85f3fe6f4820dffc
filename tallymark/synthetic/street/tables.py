"""The linked tables of recorded drives, in the schema that Lyft took over from nuScenes.

Every row has a token of 64 hexadecimal digits, and rows name one another by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tallymark.geometry.poses import Poses, quaternion_from_yaw
from tallymark.synthetic.street.bodies import CLASSES
from tallymark.synthetic.street.drive import Drive, Frame, Sensor

Row = dict[str, Any]
ACTIONS = (
    "object_action_driving_straight_forward",
    "object_action_left_turn",
    "object_action_right_turn",
    "object_action_parked",
    "object_action_walking",
    "object_action_standing",
    "is_stationary",
)
VISIBILITY = {"1": "0 and 40%", "2": "40 and 60%", "3": "60 and 80%", "4": "80 and 100%"}
TABLES = (
    "attribute",
    "calibrated_sensor",
    "category",
    "ego_pose",
    "instance",
    "log",
    "map",
    "sample",
    "sample_annotation",
    "sample_data",
    "scene",
    "sensor",
    "visibility",
)
ANSWERS = ("instance", "sample_annotation")
"""Tables that a test set lacks."""
MAP = "maps/map_raster_palo_alto.png"
CITY = "Palo Alto"


@dataclass(frozen=True)
class Tables:
    """Tables in the making. Tokens depend on the seed and on what they stand for, and on nothing else."""

    seed: int
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in TABLES})

    def token(self, *what: object) -> str:
        return hashlib.sha256("/".join(map(str, (self.seed, *what))).encode()).hexdigest()

    def add(self, table: str, token: str, **columns: object) -> None:
        self.rows[table].append({"token": token, **columns})


def _sample(tables: Tables, drive: Drive, frame: int) -> str:
    return tables.token("sample", *drive.path, frame)


def tables_of(seed: int, drives: Sequence[Drive], frames: Sequence[Sequence[Frame]]) -> Tables:
    """All tables of some drives, each with its key frames from the first on."""
    tables = Tables(seed)
    for name in CLASSES:
        tables.add("category", tables.token("category", name), name=name, description="")
    for name in ACTIONS:
        tables.add("attribute", tables.token("attribute", name), name=name, description="")
    for level, share in VISIBILITY.items():
        low, high = share.removesuffix("%").split(" and ")
        text = f"visibility of whole object is between {share}"
        tables.add("visibility", level, level=f"v{low}-{high}", description=text)
    for sensor in drives[0].sensors if drives else ():
        modality = "camera" if sensor.camera else "lidar"
        tables.add("sensor", tables.token("sensor", sensor.channel), channel=sensor.channel, modality=modality)
    for drive, of_drive in zip(drives, frames, strict=True):
        _add_scene(tables, drive, of_drive)
        _add_recordings(tables, drive, of_drive)
        _add_annotations(tables, drive, of_drive)
    logs = [row["token"] for row in tables.rows["log"]]
    tables.add("map", tables.token("map"), log_tokens=logs, category="semantic_prior", filename=MAP)
    return tables


def _neighbours(tokens: Sequence[str], at: int) -> Row:
    """The token before and the token after, empty at the ends."""
    padded = ["", *tokens, ""]
    return {"prev": padded[at], "next": padded[at + 2]}


def _pose(poses: Poses, at: int = 0) -> Row:
    return {"rotation": poses.rotation[at].tolist(), "translation": poses.translation[at].tolist()}


def _add_scene(tables: Tables, drive: Drive, frames: Sequence[Frame]) -> None:
    scene, log = tables.token("scene", *drive.path), tables.token("log", *drive.path)
    day = datetime.fromtimestamp(drive.start / 1e6, UTC).date().isoformat()
    tables.add("log", log, date_captured=day, location=CITY, vehicle=drive.host, logfile="")
    samples = [_sample(tables, drive, frame) for frame in range(len(frames))]
    tables.add(
        "scene",
        scene,
        name=f"host-{drive.host}-lidar0-{drive.stamp(0)}-{drive.stamp(len(frames) - 1)}",
        description="",
        log_token=log,
        nbr_samples=len(samples),
        first_sample_token=samples[0],
        last_sample_token=samples[-1],
    )
    for frame, sample in enumerate(samples):
        around = _neighbours(samples, frame)
        tables.add("sample", sample, scene_token=scene, timestamp=drive.time(frame), **around)


def _add_recordings(tables: Tables, drive: Drive, frames: Sequence[Frame]) -> None:
    """One row for each file, with the pose of the vehicle at its time."""
    for sensor in drive.sensors:
        calibrated = _add_sensor(tables, drive, sensor)
        tokens = [tables.token("data", *drive.path, sensor.channel, frame) for frame in range(len(frames))]
        for at, (token, frame) in enumerate(zip(tokens, frames, strict=True)):
            ego = tables.token("ego", *drive.path, sensor.channel, at)
            tables.add("ego_pose", ego, timestamp=drive.time(at), **_pose(frame.ego))
            size = {"width": sensor.camera.width, "height": sensor.camera.height} if sensor.camera else {}
            tables.add(
                "sample_data",
                token,
                sample_token=_sample(tables, drive, at),
                ego_pose_token=ego,
                calibrated_sensor_token=calibrated,
                timestamp=drive.time(at),
                filename=drive.file(sensor, at),
                fileformat="jpeg" if sensor.camera else "bin",
                is_key_frame=True,
                **size,
                **_neighbours(tokens, at),
            )


def _add_sensor(tables: Tables, drive: Drive, sensor: Sensor) -> str:
    token = tables.token("calibrated", *drive.path, sensor.channel)
    channel = tables.token("sensor", sensor.channel)
    intrinsic = sensor.camera.intrinsic.tolist() if sensor.camera else []
    tables.add("calibrated_sensor", token, sensor_token=channel, camera_intrinsic=intrinsic, **_pose(sensor.mount))
    return token


def _add_annotations(tables: Tables, drive: Drive, frames: Sequence[Frame]) -> None:
    """Each thing is an instance, and its annotations are a chain through the frames in which it was seen."""
    chains: dict[int, list[int]] = {}
    for at, frame in enumerate(frames):
        for thing in frame.thing.tolist():
            chains.setdefault(thing, []).append(at)
    tokens = {
        thing: [tables.token("annotation", *drive.path, thing, at) for at in chain] for thing, chain in chains.items()
    }
    for thing, chain in sorted(tokens.items()):
        tables.add(
            "instance",
            tables.token("instance", *drive.path, thing),
            category_token=tables.token("category", CLASSES[drive.street.things.kind[thing]]),
            nbr_annotations=len(chain),
            first_annotation_token=chain[0],
            last_annotation_token=chain[-1],
        )
    for at, frame in enumerate(frames):
        volumes = frame.volumes
        poses = Poses.of(quaternion_from_yaw(volumes.yaw), list(zip(volumes.x, volumes.y, volumes.z, strict=True)))
        for row, thing in enumerate(frame.thing.tolist()):
            place = chains[thing].index(at)
            size = [float(side[row]) for side in (volumes.width, volumes.length, volumes.height)]
            tables.add(
                "sample_annotation",
                tokens[thing][place],
                sample_token=_sample(tables, drive, at),
                instance_token=tables.token("instance", *drive.path, thing),
                attribute_tokens=[tables.token("attribute", name) for name in _actions(drive, thing)],
                visibility_token="",
                size=size,
                num_lidar_pts=-1,  # not counted in the real tables either
                num_radar_pts=0,
                **_pose(poses, row),
                **_neighbours(tokens[thing], place),
            )


def _actions(drive: Drive, thing: int) -> list[str]:
    """What a thing does, in the words of the attribute table."""
    things = drive.street.things
    walks = CLASSES[things.kind[thing]] in ("pedestrian", "animal")
    if things.speed[thing] == 0:
        return ["object_action_standing" if walks else "object_action_parked", "is_stationary"]
    if walks:
        return ["object_action_walking"]
    if abs(things.turn[thing]) < 0.1:
        return ["object_action_driving_straight_forward"]
    return ["object_action_left_turn" if things.turn[thing] > 0 else "object_action_right_turn"]
