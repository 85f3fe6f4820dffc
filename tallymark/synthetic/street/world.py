"""A street with what stands and moves on it, in metres of its own frame: x along the street at its start, z up.

Everything that moves goes on with its speed and rate of turn, so that a moment of the street is a formula of time.
What would run into something that was there before it is left out, by exact overlap at every key frame.
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
LANE, PARKING, MARGIN = 3.4, 2.3, 0.15
ON_THE_ROAD = (0.84, 0.045, 0.025, 0.03, 0.025, 0.02, 0.0, 0.0, 0.015)
PARKED = (0.9, 0.045, 0.005, 0.02, 0.005, 0.015, 0.0, 0.0, 0.01)
ON_FOOT = (0.0, 0.0, 0.0, 0.0, 0.17, 0.01, 0.74, 0.08, 0.0)
"""Shares of the nine classes, in the order of `CLASSES`."""
PAINTWORK = np.array(
    [(235, 235, 235), (190, 190, 190), (120, 120, 120), (45, 45, 45), (150, 70, 40), (40, 40, 170), (90, 140, 90)]
)


@dataclass(frozen=True, eq=False)
class Things:
    """Columns of n road users at time 0: `kind` numbers `CLASSES`; place and heading, speed in m/s, turn in rad/s."""

    kind: np.ndarray
    x: np.ndarray
    y: np.ndarray
    yaw: np.ndarray
    speed: np.ndarray
    turn: np.ndarray

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, y, yaw: along a circle, which for the smallest turns is as good as a line."""
        turn = np.where(np.abs(self.turn) < 1e-6, 1e-6, self.turn)
        radius, yaw = self.speed / turn, self.yaw + turn * time
        return (
            self.x + radius * (np.sin(yaw) - np.sin(self.yaw)),
            self.y - radius * (np.cos(yaw) - np.cos(self.yaw)),
            yaw,
        )

    def take(self, index: np.ndarray) -> Things:
        columns = (self.kind, self.x, self.y, self.yaw, self.speed, self.turn)
        return Things(*(column[index] for column in columns))


@dataclass(frozen=True, eq=False)
class Street:
    """A street and all that is on it. `ego` is the thing with the sensors, `size` (n, 3) length, width, height."""

    road: Road
    things: Things
    size: np.ndarray
    bodies: Bodies
    still: Solids
    ego: Things
    jolt: np.ndarray

    def volumes(self, time: float) -> Cuboids:
        x, y, yaw = self.things.at(time)
        length, width, height = self.size.T
        yaw = (yaw + np.pi) % (2 * np.pi) - np.pi
        return Cuboids(x, y, self.road.height(x, y) + height / 2, width, length, height, yaw)

    def solids(self, time: float) -> Solids:
        x, y, yaw = self.things.at(time)
        return Solids.join([self.bodies.at(x, y, self.road.height(x, y), yaw), self.still])

    def pose(self, time: float) -> Poses:
        """Of the vehicle with the sensors: on the ground, tilted with it and a little by its springs."""
        x, y, yaw = self.ego.at(time)
        forward = self.road.slope[0] * np.cos(yaw) + self.road.slope[1] * np.sin(yaw)
        left = self.road.slope[1] * np.cos(yaw) - self.road.slope[0] * np.sin(yaw)
        shake = self.jolt * np.sin(time * np.array([5.1, 3.7]) + 1)
        pitch, roll = (-forward + shake[0]) / 2, (left + shake[1]) / 2
        zero = np.zeros(1)
        turns = (
            np.stack([np.cos(roll), np.sin(roll), zero, zero], axis=1),
            np.stack([np.cos(pitch), zero, np.sin(pitch), zero], axis=1),
            quaternion_from_yaw(yaw),
        )
        tilted = Poses(turns[0], np.zeros((1, 3))).then(Poses(turns[1], np.zeros((1, 3))))
        return tilted.then(Poses(turns[2], np.stack([x, y, self.road.height(x, y)], axis=1)))


def make_street(draw: np.random.Generator, frames: int, traffic: float = 1.0) -> Street:
    """A street for so many key frames. `traffic` multiplies how many vehicles and people there are."""
    lanes = int(draw.choice([1, 1, 2]))
    traffic *= float(draw.choice([0.08, draw.uniform(0.4, 1.2)], p=[0.1, 0.9]))  # some streets are all but empty
    slope = float(draw.uniform(-0.025, 0.025)), float(draw.uniform(-0.012, 0.012))
    speed = 0.0 if draw.random() < 0.15 else float(draw.uniform(3, 13))
    duration = STEP * frames
    reach = (-110.0, speed * duration + 110.0)
    # However long the drive, the street does not bend back on itself.
    bend = float(draw.choice([-1, 1]) / max(draw.uniform(150, 3000), (reach[1] - reach[0]) / 1.5))
    half, crossing = lanes * LANE + PARKING, float(draw.uniform(reach[0] + 40, reach[1] - 40))
    road = Road(bend, half, crossing, LANE + PARKING * int(draw.integers(2)), slope, 0.14)
    own_lane = LANE * (lanes - 0.5)
    x, y, yaw = road.place(np.zeros(1), np.full(1, -own_lane))
    ego = Things(np.zeros(1, int), x, y, yaw, np.full(1, speed), np.full(1, speed / (1 / bend + own_lane)))
    rows = [*_lanes(draw, road, lanes, reach, speed, duration, traffic), *_crossing(draw, road, duration, traffic)]
    rows += [*_parked(draw, road, reach, traffic), *_on_foot(draw, road, reach, traffic)]
    columns = np.array(rows).reshape(-1, 6).T
    things = Things(columns[0].astype(int), *columns[1:])
    designs = [DESIGNS[CLASSES[kind]][draw.integers(len(DESIGNS[CLASSES[kind]]))] for kind in things.kind]
    sizes = np.array([design.size for design in designs]).reshape(-1, 3)
    spread = np.array([design.spread for design in designs])[:, None]
    size = sizes * np.clip(1 + spread * draw.standard_normal(sizes.shape), 0.7, 1.3)
    still, footprint = scenery(draw, road, reach)
    keep = _without_collisions(ego, things, size, footprint, frames)
    colour = PAINTWORK[draw.integers(len(PAINTWORK), size=len(designs))] + draw.normal(0, 12, (len(designs), 3))
    bodies = Bodies.of([designs[at] for at in keep], size[keep], np.clip(colour[keep], 0, 255))
    return Street(road, things.take(keep), size[keep], bodies, still, ego, draw.normal(0, 0.004, 2))


Row = tuple[int, float, float, float, float, float]


def _row(kind: int, place: Place, speed: float, turn: float, around: float) -> Row:
    x, y, yaw = (float(value) for value in place)
    return kind, x, y, yaw + around, speed, turn


def _spots(draw: np.random.Generator, reach: tuple[float, float], gap: float, least: float) -> np.ndarray:
    """Places from one end to the other, at least so far apart and on average `gap` more."""
    count = int((reach[1] - reach[0]) / least) + 1
    places = reach[0] + np.cumsum(least + draw.exponential(gap, count))
    return places[places < reach[1]]


def _kinds(draw: np.random.Generator, shares: tuple[float, ...], count: int) -> np.ndarray:
    return draw.choice(len(shares), size=count, p=np.array(shares) / sum(shares))


def _lanes(
    draw: np.random.Generator,
    road: Road,
    lanes: int,
    reach: tuple[float, float],
    own: float,
    duration: float,
    traffic: float,
) -> list[Row]:
    """Vehicles in the lanes. All of a lane have one speed, so that none runs into the next."""
    rows = []
    for lane in range(-lanes, lanes):
        middle, onward = LANE * (lane + 0.5), lane < 0
        speed = own if lane == -lanes else draw.choice([0.0, draw.uniform(3, 14)], p=[0.2, 0.8])
        coming = speed * duration  # from so far away they come into view
        ends = (reach[0] - coming, reach[1]) if onward else (reach[0], reach[1] + coming)
        for along in _spots(draw, ends, 26 / traffic, 8 if speed else 7):
            left = middle + draw.normal(0, 0.2)
            turn = speed / (1 / road.bend - left) * (1 if onward else -1)
            kind = int(_kinds(draw, ON_THE_ROAD, 1)[0])
            rows.append(_row(kind, road.place(along, left), speed, turn, 0 if onward else np.pi))
    return rows


def _crossing(draw: np.random.Generator, road: Road, duration: float, traffic: float) -> list[Row]:
    """Vehicles on the crossing street: passing, waiting at the corner, or turning into this street."""
    rows = []
    for side in (-1, 1):
        speed = draw.choice([0.0, draw.uniform(3, 10)])
        coming = speed * duration
        ends = (-70 - coming, 70.0) if side > 0 else (-70.0, 70 + coming)
        for along in _spots(draw, ends, 24 / traffic, 8):
            kind = int(_kinds(draw, ON_THE_ROAD, 1)[0])
            waits = speed == 0 and abs(along) < road.half + 4
            if not waits:
                around = 0.0 if side > 0 else np.pi
                turn = draw.choice([0.0, draw.uniform(-0.3, 0.3)], p=[0.7, 0.3]) if speed else 0.0
                rows.append(_row(kind, road.place_across(along, -side * LANE / 2), speed, turn, around))
    return rows


def _parked(draw: np.random.Generator, road: Road, reach: tuple[float, float], traffic: float) -> list[Row]:
    """Vehicles along the curbs, most of them the right way round, and some in the yards at any angle."""
    rows = []
    for side in (-1, 1):
        for along in _spots(draw, reach, draw.uniform(2, 24) / traffic, 5.9):
            left = side * (road.half - PARKING / 2 + draw.normal(0, 0.12))
            around = draw.normal(0, 0.03) + (np.pi if (side > 0) != (draw.random() < 0.06) else 0)
            kind = int(_kinds(draw, PARKED, 1)[0])
            if abs(along - road.crossing) > road.crossing_half + 4:
                rows.append(_row(kind, road.place(along, left), 0.0, 0.0, around))
        for along in _spots(draw, reach, 30 / traffic, 8):
            left, around = side * (road.half + draw.uniform(6, 14)), draw.uniform(-np.pi, np.pi)
            kind = int(_kinds(draw, PARKED, 1)[0])
            rows.append(_row(kind, road.place(along, left), 0.0, 0.0, around))
    return rows


def _on_foot(draw: np.random.Generator, road: Road, reach: tuple[float, float], traffic: float) -> list[Row]:
    """People, animals and bicycles on the pavements, alone or in groups; a few cross the street."""
    rows = []
    for side in (-1, 1):
        for along in _spots(draw, reach, 40 / traffic, 1):
            group = min(int(draw.geometric(0.6)), 4)
            onward, speed = float(draw.choice([0, np.pi])), draw.choice([0.0, draw.uniform(0.8, 1.7)], p=[0.35, 0.65])
            crosses = draw.random() < 0.08
            for kind in _kinds(draw, ON_FOOT, group):
                quick = speed * (3 if kind == CLASSES.index("bicycle") else 1)
                place = road.place(along + draw.normal(0, 1), side * (road.half + draw.uniform(0.5, 3.2)))
                around = -side * np.pi / 2 if crosses else onward + draw.normal(0, 0.15)
                if speed == 0:
                    around = draw.uniform(-np.pi, np.pi)
                rows.append(_row(int(kind), place, quick, draw.normal(0, 0.02) if quick else 0.0, around))
    return rows


def _without_collisions(
    ego: Things, things: Things, size: np.ndarray, footprint: RotatedBoxes, frames: int
) -> np.ndarray:
    """Which things overlap, in all the frames, neither the scenery nor a thing that comes before them."""
    count = 1 + len(things.x)
    length, width = np.append(5.0, size[:, 0]), np.append(2.2, size[:, 1])
    tracks = []
    for time in np.arange(frames) * STEP:
        x, y, yaw = (np.append(*pair) for pair in zip(ego.at(time), things.at(time), strict=True))
        tracks.append(np.stack([x, y, length + MARGIN, width + MARGIN, yaw], axis=1))
    boxes = RotatedBoxes.of(np.concatenate(tracks))
    frame, number = np.repeat(np.arange(frames), count), np.tile(np.arange(count), frames)
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
