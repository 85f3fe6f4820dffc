"""Drives of a vehicle with a lidar and cameras on a street, and the sensor data of each key frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from tallymark.core.parallel import in_threads
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Cuboids
from tallymark.geometry.poses import Poses, quaternion_from_yaw, transform_cuboids
from tallymark.synthetic.streams import make_each, stream
from tallymark.synthetic.street.bodies import CLASSES
from tallymark.synthetic.street.camera import Camera
from tallymark.synthetic.street.map import cell_center
from tallymark.synthetic.street.raycast import Lidar
from tallymark.synthetic.street.world import STEP, Street, make_street

SPREAD = 20.0
"""Metres that a drive is away from the centre of its cell, at most, along each axis."""
ALTITUDE = (-24.0, -16.0)
"""Range of z in world coordinates in which drives begin."""
FIRST_DAY = 1_546_300_800
"""The first day of 2019 in seconds since 1970."""
DAYS = 200
"""Number of days on which drives take place."""
MIN_POINTS = 4
MAX_DISTANCE = 100.0
"""Fewest lidar points, and largest distance in metres, of an annotated object."""
CHANNELS = {
    "CAM_FRONT": ("cam0", 0),
    "CAM_FRONT_LEFT": ("cam5", 56),
    "CAM_FRONT_RIGHT": ("cam1", -56),
    "CAM_BACK": ("cam3", 180),
    "CAM_BACK_LEFT": ("cam4", 124),
    "CAM_BACK_RIGHT": ("cam2", -124),
}
"""Camera channels: the name in file names, and the direction in degrees to the left."""


@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor: its channel, its name in file names, and its extrinsic pose in the vehicle frame."""

    channel: str
    name: str
    mount: Poses
    camera: Camera | None = None


@dataclass(frozen=True)
class Rig:
    """The sensors of a vehicle: a lidar, and cameras of these channels with images of `size` (width, height)."""

    lidar: Lidar
    cameras: tuple[str, ...]
    size: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Frame:
    """The truth of a key frame in world coordinates: the ego pose, and the 3D boxes with their objects and classes."""

    ego: Poses
    cuboids: Cuboids
    object_id: np.ndarray
    label: np.ndarray


@dataclass(frozen=True, eq=False)
class Drive:
    """One drive. path: its random stream. home: pose of the street in the world. start: microseconds since 1970."""

    path: tuple[int, ...]
    host: str
    start: float
    street: Street
    home: Poses
    sensors: tuple[Sensor, ...]

    def time(self, frame: int) -> float:
        """The timestamp of a key frame in microseconds since 1970."""
        return self.start + round(frame * STEP * 1e6)

    def file(self, sensor: Sensor, frame: int) -> str:
        """The file of a sensor's data, e.g. `images/host-a101_cam0_1240710385850000006.jpeg`."""
        folder, ending = ("images", "jpeg") if sensor.camera else ("lidar", "bin")
        return f"{folder}/host-{self.host}_{sensor.name}_{self.stamp(frame)}.{ending}"

    def stamp(self, frame: int) -> int:
        """The timestamp of a key frame in nanoseconds of GPS time, which began in 1980."""
        return round(self.time(frame) * 10) * 100 - 315_964_800_000_000_000


Save = Callable[[str, bytes], None]
"""Writes a file, given its name in the tables and its content; a function that can be carried to other processes."""


def record_drives(
    path: tuple[int, ...], samples: int, length: int, traffic: float, rig: Rig, save: Save, what: str
) -> tuple[list[Drive], list[list[Frame]]]:
    """Drives with `samples` key frames in total, `length` in each (the last may be shorter), and their frames.

    path: prefix of the random streams (seed, …). what: title of the progress bars.
    """
    numbers = range(-(-samples // length))
    drives = in_threads(lambda k: make_drive((*path, k), length, traffic, rig), numbers, f"{what} streets")
    frames = make_each(samples, partial(_record_sample, drives, length, rig.lidar, save), f"{what} samples")
    return drives, [frames[at : at + length] for at in range(0, samples, length)]


def make_drive(path: tuple[int, ...], frames: int, traffic: float, rig: Rig) -> Drive:
    """The drive of a random stream (seed, …)."""
    rng = stream(*path, 0)
    street = make_street(rng, frames, traffic)
    place = [*rng.uniform(-SPREAD, SPREAD, 2), rng.uniform(*ALTITUDE)]
    turn = Poses(quaternion_from_yaw(rng.uniform(-np.pi, np.pi, 1)), np.zeros((1, 3)))
    middle = turn.apply(street.pose(frames * STEP / 2).translation) * [1, 1, 0]
    home = Poses(turn.rotation, np.array([[*cell_center(path[-1], frames), 0.0]]) + place - middle)
    # The lidar faces backwards and is not quite level, as on the real vehicles.
    about_z = np.pi + rng.normal(0, 0.01)
    tilt = rng.normal(0, 0.008, 2)
    level = Poses.of([1, *tilt / 2, 0], [0, 0, 0])
    roof = [1.2 + rng.normal(0, 0.01), rng.normal(0, 0.01), 1.83 + rng.normal(0, 0.02)]
    sensors = [
        Sensor("LIDAR_TOP", "lidar1", level.then(Poses(quaternion_from_yaw(np.array([about_z])), np.array([roof]))))
    ]
    ahead = Poses.of([0.5, -0.5, 0.5, -0.5], [0, 0, 0])
    for channel in rig.cameras:
        name, degrees = CHANNELS[channel]
        angle = np.radians(degrees) + rng.normal(0, 0.01)
        place = [[1.2 + 0.35 * np.cos(angle), 0.35 * np.sin(angle), 1.66]]
        mount = ahead.then(Poses(quaternion_from_yaw(np.array([angle])), np.array(place)))
        sensors.append(Sensor(channel, name, mount, Camera(*rig.size)))
    day = rng.integers(DAYS)
    second = rng.uniform(8, 18) * 3600
    start = round((FIRST_DAY + 86400.0 * day + second) * 1e6, 1)
    return Drive(path, f"a{rng.integers(4, 120):03d}", start, street, home, tuple(sensors))


def _record_sample(drives: Sequence[Drive], length: int, lidar: Lidar, save: Save, number: int) -> Frame:
    return record(drives[number // length], number % length, lidar, save)


def record(drive: Drive, frame: int, lidar: Lidar, save: Save) -> Frame:
    """Save the sensor data of a key frame, and return its truth."""
    time = frame * STEP
    street = drive.street
    rng = stream(*drive.path, 1, frame)
    solids = street.solids(time)
    ego = street.pose(time)
    cuboids = street.cuboids(time)
    returns = np.zeros(len(cuboids), int)
    for sensor in drive.sensors:
        pose = sensor.mount.then(ego)
        if sensor.camera:
            image = sensor.camera.render(solids, street.road, pose, rng)
            data = cv2.imencode(".jpeg", image, [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes()
        else:
            points, owner = lidar.sweep(solids, street.road.intersect, pose, rng)
            returns = np.bincount(owner[owner >= 0], minlength=len(cuboids))
            data = points.astype("<f4").tobytes()
        save(drive.file(sensor, frame), data)
    away = np.hypot(cuboids.x - ego.translation[0, 0], cuboids.y - ego.translation[0, 1])
    object_id = np.flatnonzero((returns >= MIN_POINTS) & (away < MAX_DISTANCE))
    return Frame(
        ego.then(drive.home),
        transform_cuboids(cuboids.take(object_id), drive.home),
        object_id,
        street.objects.label[object_id],
    )


def truth_of(ids: list[str], frames: list[Frame]) -> Annotations[Cuboids]:
    """The truth of key frames with these ids."""
    cuboids = Cuboids(*np.concatenate([np.stack(frame.cuboids.columns) for frame in frames], axis=1))
    label = np.concatenate([frame.label for frame in frames])
    item = np.repeat(np.arange(len(ids)), [len(frame.label) for frame in frames])
    return Annotations.from_rows(Items.of(ids), item, cuboids, label=label, classes=CLASSES)
