"""The relational tables of drives, in the nuScenes schema as used by Lyft.

Every row has a token of 64 hexadecimal digits, by which other rows refer to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tallymark.geometry.poses import Poses, quaternion_from_yaw
from tallymark.synthetic.street.bodies import CLASSES
from tallymark.synthetic.street.drive import Drive, Frame, Sensor
from tallymark.synthetic.street.map import DRIVES, draw_map

Row = dict[str, object]
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
"""Tables that are missing in a test set."""
MAP = "maps/map_raster_palo_alto{}.png"
"""The file of a map; the second has `_2` in its name."""
CITY = "Palo Alto"


@dataclass(frozen=True)
class Tables:
    """Tables by name. Tokens are hashes of the seed and of what they identify."""

    seed: int
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in TABLES})

    def token(self, *what: object) -> str:
        """The token of a row that is identified by these values."""
        return hashlib.sha256("/".join(map(str, (self.seed, *what))).encode()).hexdigest()

    def tokens(self, table: str) -> list[str]:
        """The tokens of a table's rows."""
        return [str(row["token"]) for row in self.rows[table]]

    def add(self, table: str, token: str, **columns: object) -> None:
        """Append a row to a table."""
        self.rows[table].append({"token": token, **columns})


def _sample(tables: Tables, drive: Drive, frame: int) -> str:
    """The token of a sample."""
    return tables.token("sample", *drive.path, frame)


def tables_of(seed: int, drives: Sequence[Drive], frames: Sequence[Sequence[Frame]]) -> Tables:
    """The tables of drives, each with its key frames."""
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
    logs = tables.tokens("log")
    for at in range(0, len(drives), DRIVES):
        own, name = logs[at : at + DRIVES], _map_file(at)
        tables.add("map", tables.token("map", at), log_tokens=own, category="semantic_prior", filename=name)
    return tables


def maps_of(drives: Sequence[Drive], frames: int) -> Iterator[tuple[str, bytes]]:
    """The maps of drives of this many key frames each: names as in the tables, and PNG files."""
    for at in range(0, len(drives), DRIVES):
        own = drives[at : at + DRIVES]
        yield _map_file(at), draw_map([drive.street.road for drive in own], [drive.home for drive in own], frames)


def _map_file(drive: int) -> str:
    """The file of the map of a drive, by its number."""
    return MAP.format(f"_{drive // DRIVES + 1}" if drive >= DRIVES else "")


def _neighbours(tokens: Sequence[str], at: int) -> Row:
    """The token before and the token after, empty at the ends."""
    padded = ["", *tokens, ""]
    return {"prev": padded[at], "next": padded[at + 2]}


def _pose(poses: Poses, at: int = 0) -> Row:
    """The columns of a pose."""
    return {"rotation": poses.rotation[at].tolist(), "translation": poses.translation[at].tolist()}


def _add_scene(tables: Tables, drive: Drive, frames: Sequence[Frame]) -> None:
    """The log, the scene and the samples of a drive."""
    scene = tables.token("scene", *drive.path)
    log = tables.token("log", *drive.path)
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
    """One row of sample_data for each file, with the ego pose at its time."""
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
    """The calibration of a sensor; returns its token."""
    token = tables.token("calibrated", *drive.path, sensor.channel)
    channel = tables.token("sensor", sensor.channel)
    intrinsic = sensor.camera.intrinsic.tolist() if sensor.camera else []
    tables.add("calibrated_sensor", token, sensor_token=channel, camera_intrinsic=intrinsic, **_pose(sensor.mount))
    return token


def _add_annotations(tables: Tables, drive: Drive, frames: Sequence[Frame]) -> None:
    """Each object is an instance, whose annotations are a linked list through the frames in which it is visible."""
    chains: dict[int, list[int]] = {}
    for at, frame in enumerate(frames):
        for object_id in frame.object_id.tolist():
            chains.setdefault(object_id, []).append(at)
    tokens = {
        object_id: [tables.token("annotation", *drive.path, object_id, at) for at in chain]
        for object_id, chain in chains.items()
    }
    for object_id, chain in sorted(tokens.items()):
        tables.add(
            "instance",
            tables.token("instance", *drive.path, object_id),
            category_token=tables.token("category", CLASSES[drive.street.objects.label[object_id]]),
            nbr_annotations=len(chain),
            first_annotation_token=chain[0],
            last_annotation_token=chain[-1],
        )
    for at, frame in enumerate(frames):
        cuboids = frame.cuboids
        poses = Poses.of(quaternion_from_yaw(cuboids.yaw), list(zip(cuboids.x, cuboids.y, cuboids.z, strict=True)))
        for row, object_id in enumerate(frame.object_id.tolist()):
            place = chains[object_id].index(at)
            size = [float(side[row]) for side in (cuboids.width, cuboids.length, cuboids.height)]
            tables.add(
                "sample_annotation",
                tokens[object_id][place],
                sample_token=_sample(tables, drive, at),
                instance_token=tables.token("instance", *drive.path, object_id),
                attribute_tokens=[tables.token("attribute", name) for name in _attributes(drive, object_id)],
                visibility_token="",
                size=size,
                num_lidar_pts=-1,  # not counted in the real tables either
                num_radar_pts=0,
                **_pose(poses, row),
                **_neighbours(tokens[object_id], place),
            )


def _attributes(drive: Drive, object_id: int) -> list[str]:
    """The attributes of an object."""
    objects = drive.street.objects
    walks = CLASSES[objects.label[object_id]] in ("pedestrian", "animal")
    if objects.speed[object_id] == 0:
        return ["object_action_standing" if walks else "object_action_parked", "is_stationary"]
    if walks:
        return ["object_action_walking"]
    if abs(objects.yaw_rate[object_id]) < 0.1:
        return ["object_action_driving_straight_forward"]
    return ["object_action_left_turn" if objects.yaw_rate[object_id] > 0 else "object_action_right_turn"]
