"""Drives: a vehicle with a lidar and cameras on a street, and what its sensors record at each key frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from tallymark.geometry import Cuboids
from tallymark.geometry.poses import Poses, quaternion_from_yaw, transform_cuboids
from tallymark.synthetic.streams import make_each, stream
from tallymark.synthetic.street.camera import Camera
from tallymark.synthetic.street.raycast import Lidar
from tallymark.synthetic.street.world import STEP, Street, make_street

AREA = ((1000.0, 2500.0), (600.0, 2800.0))
"""World coordinates, x and y, between which drives begin; metres."""
FIRST_DAY, DAYS = 1_546_300_800, 200
"""Seconds since 1970 of the first day of 2019, and how many days later the last drive may be."""
LEAST_POINTS, FARTHEST = 4, 100.0
"""A thing is annotated from so many returns on, up to so many metres away."""
VIEWS = {
    "CAM_FRONT": ("cam0", 0),
    "CAM_FRONT_LEFT": ("cam5", 56),
    "CAM_FRONT_RIGHT": ("cam1", -56),
    "CAM_BACK": ("cam3", 180),
    "CAM_BACK_LEFT": ("cam4", 124),
    "CAM_BACK_RIGHT": ("cam2", -124),
}
"""Cameras: the name in file names, and the direction in degrees to the left."""


@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor on the vehicle: its channel, its name in file names, and its pose in the vehicle's frame."""

    channel: str
    name: str
    mount: Poses
    camera: Camera | None = None


@dataclass(frozen=True)
class Rig:
    """What a vehicle carries: a lidar, and cameras with these `views` that take pictures of `size` (width, height)."""

    lidar: Lidar
    views: tuple[str, ...]
    size: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Frame:
    """What is known of a key frame, in the world: the vehicle's pose, the volumes, of which `thing` and `kind` each."""

    ego: Poses
    volumes: Cuboids
    thing: np.ndarray
    kind: np.ndarray


@dataclass(frozen=True, eq=False)
class Drive:
    """One drive. `home` is the pose of the street in the world, `start` is in microseconds since 1970."""

    path: tuple[int, ...]
    host: str
    start: float
    street: Street
    home: Poses
    sensors: tuple[Sensor, ...]

    def time(self, frame: int) -> float:
        return self.start + round(frame * STEP * 1e6)

    def file(self, sensor: Sensor, frame: int) -> str:
        """`images/host-a101_cam0_1240710385850000006.jpeg`: nanoseconds of GPS time, which began in 1980."""
        folder, ending = ("images", "jpeg") if sensor.camera else ("lidar", "bin")
        return f"{folder}/host-{self.host}_{sensor.name}_{self.stamp(frame)}.{ending}"

    def stamp(self, frame: int) -> int:
        return round(self.time(frame) * 10) * 100 - 315_964_800_000_000_000


Save = Callable[[str, bytes], None]
"""Keeps a file, given by its name in the tables and its content."""


def record_drives(
    path: tuple[int, ...], samples: int, length: int, traffic: float, rig: Rig, save: Save, what: str
) -> tuple[list[Drive], list[list[Frame]]]:
    """So many key frames, in drives of `length` (the last may be shorter), from the random streams (seed, …)."""
    drives = make_each(-(-samples // length), lambda k: make_drive((*path, k), length, traffic, rig), f"{what} streets")
    frames = make_each(samples, lambda k: record(drives[k // length], k % length, rig.lidar, save), f"{what} samples")
    return drives, [frames[at : at + length] for at in range(0, samples, length)]


def make_drive(path: tuple[int, ...], frames: int, traffic: float, rig: Rig) -> Drive:
    """The drive at a place of the random streams (seed, …)."""
    draw = stream(*path, 0)
    street = make_street(draw, frames, traffic)
    corner = [*(draw.uniform(*side) for side in AREA), draw.uniform(-24, -16)]
    home = Poses(quaternion_from_yaw(draw.uniform(-np.pi, np.pi, 1)), np.array([corner]))
    # The lidar is mounted nearly backwards and not quite level, as on the real vehicles.
    about_z, tilt = np.pi + draw.normal(0, 0.01), draw.normal(0, 0.008, 2)
    level = Poses.of([1, *tilt / 2, 0], [0, 0, 0])
    roof = [1.2 + draw.normal(0, 0.01), draw.normal(0, 0.01), 1.83 + draw.normal(0, 0.02)]
    sensors = [
        Sensor("LIDAR_TOP", "lidar1", level.then(Poses(quaternion_from_yaw(np.array([about_z])), np.array([roof]))))
    ]
    ahead = Poses.of([0.5, -0.5, 0.5, -0.5], [0, 0, 0])
    for channel in rig.views:
        name, degrees = VIEWS[channel]
        angle = np.radians(degrees) + draw.normal(0, 0.01)
        place = [[1.2 + 0.35 * np.cos(angle), 0.35 * np.sin(angle), 1.66]]
        mount = ahead.then(Poses(quaternion_from_yaw(np.array([angle])), np.array(place)))
        sensors.append(Sensor(channel, name, mount, Camera(*rig.size)))
    day, second = draw.integers(DAYS), draw.uniform(8, 18) * 3600
    start = round((FIRST_DAY + 86400.0 * day + second) * 1e6, 1)
    return Drive(path, f"a{draw.integers(4, 120):03d}", start, street, home, tuple(sensors))


def record(drive: Drive, frame: int, lidar: Lidar, save: Save) -> Frame:
    """Save the files of a key frame, and return what is known of it."""
    time, street = frame * STEP, drive.street
    draw = stream(*drive.path, 1, frame)
    solids, ego, volumes = street.solids(time), street.pose(time), street.volumes(time)
    returns = np.zeros(len(volumes), int)
    for sensor in drive.sensors:
        pose = sensor.mount.then(ego)
        if sensor.camera:
            picture = sensor.camera.picture(solids, street.road, pose, draw)
            data = cv2.imencode(".jpeg", picture, [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes()
        else:
            points, owner = lidar.sweep(solids, street.road.meet, pose, draw)
            returns = np.bincount(owner[owner >= 0], minlength=len(volumes))
            data = points.astype("<f4").tobytes()
        save(drive.file(sensor, frame), data)
    away = np.hypot(volumes.x - ego.translation[0, 0], volumes.y - ego.translation[0, 1])
    thing = np.flatnonzero((returns >= LEAST_POINTS) & (away < FARTHEST))
    return Frame(
        ego.then(drive.home), transform_cuboids(volumes.take(thing), drive.home), thing, street.things.kind[thing]
    )


def map_of(drives: list[Drive]) -> bytes:
    """The streets of all drives from above as PNG: a pixel is a metre, north is up, with 300 m around the area."""
    (left, right), (bottom, top) = ((low - 300, high + 300) for low, high in AREA)
    picture = np.full((int(top - bottom), int(right - left), 3), 230, np.uint8)
    for drive in drives:
        road, along = drive.street.road, np.linspace(-110, 250, 91)
        for place, half in ((road.place, road.half), (road.place_across, road.crossing_half)):
            x, y, _ = place(along, np.zeros(91))
            east, north, _ = drive.home.apply(np.stack([x, y, np.zeros(91)], axis=1)).T
            line = np.stack([east - left, top - north], axis=1).round().astype(np.int32)
            cv2.polylines(picture, [line], False, (90, 90, 90), round(2 * half))
    return cv2.imencode(".png", picture)[1].tobytes()
