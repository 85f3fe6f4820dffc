"""A street with road users, in metres in its own frame: x along the street at its start, z up.

Road users move with constant speed and yaw rate, so that the state of the street is a closed-form function of time.
Those that would collide with an earlier one, by exact overlap at every key frame, are excluded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallymark.geometry import Cuboids, RotatedBoxes
from tallymark.geometry.poses import Poses, quaternion_from_yaw
from tallymark.synthetic.street.bodies import CLASSES, DESIGNS, Bodies
from tallymark.synthetic.street.raycast import Solids
from tallymark.synthetic.street.road import Place, Road
from tallymark.synthetic.street.scenery import scenery

STEP = 0.2
"""Seconds between key frames."""
LANE = 3.4
PARKING = 2.3
"""Widths of a lane and of a parking space in metres."""
MARGIN = 0.15
"""Smallest distance of road users in metres."""
ON_THE_ROAD = (0.84, 0.045, 0.025, 0.03, 0.025, 0.02, 0.0, 0.0, 0.015)
PARKED = (0.9, 0.045, 0.005, 0.02, 0.005, 0.015, 0.0, 0.0, 0.01)
ON_FOOT = (0.0, 0.0, 0.0, 0.0, 0.17, 0.01, 0.74, 0.08, 0.0)
"""Class frequencies, in the order of `CLASSES`."""
PAINTWORK = np.array(
    [(235, 235, 235), (190, 190, 190), (120, 120, 120), (45, 45, 45), (150, 70, 40), (40, 40, 170), (90, 140, 90)]
)


@dataclass(frozen=True, eq=False)
class RoadUsers:
    """Columns of n road users at time 0: class number, position and heading, speed in m/s, yaw rate in rad/s."""

    label: np.ndarray
    x: np.ndarray
    y: np.ndarray
    yaw: np.ndarray
    speed: np.ndarray
    yaw_rate: np.ndarray

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, y and yaw at a time in seconds: motion along a circle, which is nearly a line for small yaw rates."""
        yaw_rate = np.where(np.abs(self.yaw_rate) < 1e-6, 1e-6, self.yaw_rate)
        radius = self.speed / yaw_rate
        yaw = self.yaw + yaw_rate * time
        return (
            self.x + radius * (np.sin(yaw) - np.sin(self.yaw)),
            self.y - radius * (np.cos(yaw) - np.cos(self.yaw)),
            yaw,
        )

    def take(self, index: np.ndarray) -> RoadUsers:
        """The road users at these positions."""
        columns = (self.label, self.x, self.y, self.yaw, self.speed, self.yaw_rate)
        return RoadUsers(*(column[index] for column in columns))


@dataclass(frozen=True, eq=False)
class Street:
    """A street with its road users and background.

    size (n, 3): length, width, height of the road users. ego: the vehicle with the sensors.
    background: solids. jolt: amplitude of the ego vehicle's pitch and roll in radians.
    """

    road: Road
    objects: RoadUsers
    size: np.ndarray
    bodies: Bodies
    background: Solids
    ego: RoadUsers
    jolt: np.ndarray

    def cuboids(self, time: float) -> Cuboids:
        """The 3D boxes of all road users at a time in seconds."""
        x, y, yaw = self.objects.at(time)
        length, width, height = self.size.T
        yaw = (yaw + np.pi) % (2 * np.pi) - np.pi
        return Cuboids(x, y, self.road.height(x, y) + height / 2, width, length, height, yaw)

    def solids(self, time: float) -> Solids:
        """All solids at a time in seconds."""
        x, y, yaw = self.objects.at(time)
        return Solids.join([self.bodies.at(x, y, self.road.height(x, y), yaw), self.background])

    def pose(self, time: float) -> Poses:
        """The pose of the ego vehicle at a time in seconds, with the slope of the ground and suspension motion."""
        x, y, yaw = self.ego.at(time)
        forward = self.road.slope[0] * np.cos(yaw) + self.road.slope[1] * np.sin(yaw)
        left = self.road.slope[1] * np.cos(yaw) - self.road.slope[0] * np.sin(yaw)
        shake = self.jolt * np.sin(time * np.array([5.1, 3.7]) + 1)
        pitch = (-forward + shake[0]) / 2
        roll = (left + shake[1]) / 2
        zero = np.zeros(1)
        rotations = (
            np.stack([np.cos(roll), np.sin(roll), zero, zero], axis=1),
            np.stack([np.cos(pitch), zero, np.sin(pitch), zero], axis=1),
            quaternion_from_yaw(yaw),
        )
        tilted = Poses(rotations[0], np.zeros((1, 3))).then(Poses(rotations[1], np.zeros((1, 3))))
        return tilted.then(Poses(rotations[2], np.stack([x, y, self.road.height(x, y)], axis=1)))


def make_street(rng: np.random.Generator, frames: int, traffic: float = 1.0) -> Street:
    """A random street for this many key frames. `traffic` scales the number of vehicles and people."""
    lanes = int(rng.choice([1, 1, 2]))
    traffic *= float(rng.choice([0.08, rng.uniform(0.4, 1.2)], p=[0.1, 0.9]))  # some streets are nearly empty
    slope = float(rng.uniform(-0.025, 0.025)), float(rng.uniform(-0.012, 0.012))
    speed = 0.0 if rng.random() < 0.15 else float(rng.uniform(3, 13))
    duration = STEP * frames
    reach = (-110.0, speed * duration + 110.0)
    # The radius grows with the length of the drive, so that the street does not intersect itself.
    bend = float(rng.choice([-1, 1]) / max(rng.uniform(150, 3000), (reach[1] - reach[0]) / 1.5))
    half = lanes * LANE + PARKING
    crossing = float(rng.uniform(reach[0] + 40, reach[1] - 40))
    road = Road(bend, half, crossing, LANE + PARKING * int(rng.integers(2)), slope, 0.14)
    own_lane = LANE * (lanes - 0.5)
    x, y, yaw = road.place(np.zeros(1), np.full(1, -own_lane))
    ego = RoadUsers(np.zeros(1, int), x, y, yaw, np.full(1, speed), np.full(1, speed / (1 / bend + own_lane)))
    rows = [*_lanes(rng, road, lanes, reach, speed, duration, traffic), *_crossing(rng, road, duration, traffic)]
    rows += [*_parked(rng, road, reach, traffic), *_on_foot(rng, road, reach, traffic)]
    columns = np.array(rows).reshape(-1, 6).T
    objects = RoadUsers(columns[0].astype(int), *columns[1:])
    designs = [DESIGNS[CLASSES[label]][rng.integers(len(DESIGNS[CLASSES[label]]))] for label in objects.label]
    sizes = np.array([design.size for design in designs]).reshape(-1, 3)
    spread = np.array([design.spread for design in designs])[:, None]
    size = sizes * np.clip(1 + spread * rng.standard_normal(sizes.shape), 0.7, 1.3)
    background, footprint = scenery(rng, road, reach)
    keep = _without_collisions(ego, objects, size, footprint, frames)
    color = PAINTWORK[rng.integers(len(PAINTWORK), size=len(designs))] + rng.normal(0, 12, (len(designs), 3))
    bodies = Bodies.of([designs[at] for at in keep], size[keep], np.clip(color[keep], 0, 255))
    return Street(road, objects.take(keep), size[keep], bodies, background, ego, rng.normal(0, 0.004, 2))


Row = tuple[int, float, float, float, float, float]
"""Class number, x, y, yaw, speed and yaw rate of a road user."""


def _row(label: int, place: Place, speed: float, yaw_rate: float, around: float) -> Row:
    """A row of `RoadUsers`; `around` is the heading relative to the street."""
    x, y, yaw = (float(value) for value in place)
    return label, x, y, yaw + around, speed, yaw_rate


def _spots(rng: np.random.Generator, reach: tuple[float, float], gap: float, least: float) -> np.ndarray:
    """Random positions from one end to the other, at least `least` metres apart and `gap` more on average."""
    count = int((reach[1] - reach[0]) / least) + 1
    places = reach[0] + np.cumsum(least + rng.exponential(gap, count))
    return places[places < reach[1]]


def _classes(rng: np.random.Generator, shares: tuple[float, ...], count: int) -> np.ndarray:
    """Random class numbers with these frequencies."""
    return rng.choice(len(shares), size=count, p=np.array(shares) / sum(shares))


def _lanes(
    rng: np.random.Generator,
    road: Road,
    lanes: int,
    reach: tuple[float, float],
    own: float,
    duration: float,
    traffic: float,
) -> list[Row]:
    """Vehicles in the lanes. All vehicles of a lane have the same speed, so that they do not collide."""
    rows = []
    for lane in range(-lanes, lanes):
        middle = LANE * (lane + 0.5)
        onward = lane < 0
        speed = own if lane == -lanes else rng.choice([0.0, rng.uniform(3, 14)], p=[0.2, 0.8])
        coming = speed * duration  # from this distance they come into range
        ends = (reach[0] - coming, reach[1]) if onward else (reach[0], reach[1] + coming)
        for along in _spots(rng, ends, 26 / traffic, 8 if speed else 7):
            left = middle + rng.normal(0, 0.2)
            yaw_rate = speed / (1 / road.bend - left) * (1 if onward else -1)
            label = int(_classes(rng, ON_THE_ROAD, 1)[0])
            rows.append(_row(label, road.place(along, left), speed, yaw_rate, 0 if onward else np.pi))
    return rows


def _crossing(rng: np.random.Generator, road: Road, duration: float, traffic: float) -> list[Row]:
    """Vehicles on the crossing street: passing, waiting, or turning into this street."""
    rows = []
    for side in (-1, 1):
        speed = rng.choice([0.0, rng.uniform(3, 10)])
        coming = speed * duration
        ends = (-70 - coming, 70.0) if side > 0 else (-70.0, 70 + coming)
        for along in _spots(rng, ends, 24 / traffic, 8):
            label = int(_classes(rng, ON_THE_ROAD, 1)[0])
            waits = speed == 0 and abs(along) < road.half + 4
            if not waits:
                around = 0.0 if side > 0 else np.pi
                yaw_rate = rng.choice([0.0, rng.uniform(-0.3, 0.3)], p=[0.7, 0.3]) if speed else 0.0
                rows.append(_row(label, road.place_across(along, -side * LANE / 2), speed, yaw_rate, around))
    return rows


def _parked(rng: np.random.Generator, road: Road, reach: tuple[float, float], traffic: float) -> list[Row]:
    """Vehicles along the curbs, most of them in driving direction, and some in yards at any angle."""
    rows = []
    for side in (-1, 1):
        for along in _spots(rng, reach, rng.uniform(2, 24) / traffic, 5.9):
            left = side * (road.half - PARKING / 2 + rng.normal(0, 0.12))
            around = rng.normal(0, 0.03) + (np.pi if (side > 0) != (rng.random() < 0.06) else 0)
            label = int(_classes(rng, PARKED, 1)[0])
            if abs(along - road.crossing) > road.crossing_half + 4:
                rows.append(_row(label, road.place(along, left), 0.0, 0.0, around))
        for along in _spots(rng, reach, 30 / traffic, 8):
            left = side * (road.half + rng.uniform(6, 14))
            around = rng.uniform(-np.pi, np.pi)
            label = int(_classes(rng, PARKED, 1)[0])
            rows.append(_row(label, road.place(along, left), 0.0, 0.0, around))
    return rows


def _on_foot(rng: np.random.Generator, road: Road, reach: tuple[float, float], traffic: float) -> list[Row]:
    """People, animals and bicycles on the pavements, alone or in groups; a few cross the street."""
    rows = []
    for side in (-1, 1):
        for along in _spots(rng, reach, 40 / traffic, 1):
            group = min(int(rng.geometric(0.6)), 4)
            onward = float(rng.choice([0, np.pi]))
            speed = rng.choice([0.0, rng.uniform(0.8, 1.7)], p=[0.35, 0.65])
            crosses = rng.random() < 0.08
            for label in _classes(rng, ON_FOOT, group):
                quick = speed * (3 if label == CLASSES.index("bicycle") else 1)
                place = road.place(along + rng.normal(0, 1), side * (road.half + rng.uniform(0.5, 3.2)))
                around = -side * np.pi / 2 if crosses else onward + rng.normal(0, 0.15)
                if speed == 0:
                    around = rng.uniform(-np.pi, np.pi)
                rows.append(_row(int(label), place, quick, rng.normal(0, 0.02) if quick else 0.0, around))
    return rows


def _without_collisions(
    ego: RoadUsers, objects: RoadUsers, size: np.ndarray, footprint: RotatedBoxes, frames: int
) -> np.ndarray:
    """The positions of road users that overlap neither the background nor an earlier road user in any frame."""
    count = 1 + len(objects.x)
    length = np.append(5.0, size[:, 0])
    width = np.append(2.2, size[:, 1])
    tracks = []
    for time in np.arange(frames) * STEP:
        x, y, yaw = (np.append(*pair) for pair in zip(ego.at(time), objects.at(time), strict=True))
        tracks.append(np.stack([x, y, length + MARGIN, width + MARGIN, yaw], axis=1))
    boxes = RotatedBoxes.of(np.concatenate(tracks))
    frame = np.repeat(np.arange(frames), count)
    number = np.tile(np.arange(count), frames)
    kept = np.ones(count, bool)
    kept[number[boxes.pairs(footprint, np.zeros_like(frame), np.zeros(len(footprint), int)).first]] = False
    rows = np.flatnonzero(kept[number])
    boxes, frame, number = boxes.take(rows), frame[rows], number[rows]
    pairs = boxes.pairs(boxes, frame, frame)
    first, second = number[pairs.first], number[pairs.second]
    clashes = np.unique(np.stack([second, first], axis=1)[first < second], axis=0)
    for later, earlier in clashes:
        kept[later] &= not kept[earlier]
    return np.flatnonzero(kept[1:])
