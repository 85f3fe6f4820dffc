"""Wheat plots from above: soil, leaves, stems and heads in layers, with a bounding box of each visible head."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from scipy import ndimage

from tallymark.synthetic.field.spike import PlacedHead, Spike, draw_head, place_head
from tallymark.synthetic.paint import Color, blur, fill, fill_each, finish, fractal, grain, ramp, resize

HEADS_PER_STYLE = 16
"""Number of distinct heads per style; each copy is rotated, foreshortened, scaled and tinted at random."""
MIN_VISIBLE = 0.25
"""Smallest unoccluded fraction of a head that gets a box."""
MIN_INSIDE = 0.08
"""Smallest fraction of a head inside the image that gets a box."""


@dataclass(frozen=True)
class Style:
    """The appearance of one location. Lengths are relative to the side of the image.

    heads: fewest and most per image. upright: 0 for heads in all directions, 1 for heads that point up.
    rows: how bare the soil between the rows is, 0 to 1. leaves: mean number. broad: width of leaves.
    """

    soil: tuple[Color, Color]
    leaf: tuple[Color, Color, Color]
    head: tuple[Color, Color]
    awn: Color
    heads: tuple[int, int]
    length: tuple[float, float]
    awns: float = 0.0
    upright: float = 0.0
    rows: float = 0.0
    leaves: int = 220
    broad: float = 0.018
    light: tuple[float, float] = (1.0, 1.5)
    contrast: float = 1.0
    vignette: float = 0.1
    blur: float = 0.5
    grain: float = 4.0


@dataclass(frozen=True, eq=False)
class Plot:
    """A style at one image size, with the heads and the soil that all its photographs share."""

    style: Style
    size: int
    spikes: list[Spike]
    soil: np.ndarray


def prepare(rng: np.random.Generator, style: Style, size: int) -> Plot:
    """Draw the heads and the soil of a style for photographs of `size` x `size` pixels."""
    longest = max(8.0, 1.1 * style.length[1] * size)
    green, ripe = (np.asarray(color, float) for color in style.head)
    spikes = []
    for _ in range(HEADS_PER_STYLE):
        color = green + (ripe - green) * rng.random() + rng.normal(0, 6, 3)
        awns = style.awns * rng.uniform(0.6, 1.2)
        spikes.append(draw_head(rng, longest, np.clip(color, 20, 245), np.asarray(style.awn, float), awns))
    side = size * 3 // 2
    clods = fractal(rng, side, side, size / 10, 2, 0.95)
    return Plot(style, size, spikes, finish(ramp(clods, (np.multiply(style.soil[0], 0.5), *style.soil))))


def photograph(rng: np.random.Generator, plot: Plot, *, bare: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A photograph (uint8 RGB) and its bounding boxes, (n, 4) integers x, y, width, height.

    bare: whether it is taken before heading, so that there are no heads.
    """
    style = plot.style
    size = plot.size
    x, y = rng.integers(0, size // 2, 2)
    photo = np.rot90(plot.soil[y : y + size, x : x + size], int(rng.integers(4))).copy()
    owner = np.zeros((size, size), np.int16)
    rows = _Rows(rng.uniform(0, np.pi), rng.uniform(0.22, 0.4) * size, rng.random(), style.rows)
    _stones(rng, photo, style)
    amount = rng.uniform(0.6, 1.2) * style.leaves
    _leaves(rng, photo, owner, style, rows, int(amount * 0.6), 0.45)
    photo = cv2.blur(photo, (3, 3)) if size >= 256 else photo
    _leaves(rng, photo, owner, style, rows, int(amount * 0.3), 0.8)
    count = 0 if bare else int(rng.integers(style.heads[0], style.heads[1] + 1))
    sun = rng.uniform(0, 2 * np.pi)
    lower = int(count * rng.uniform(0.2, 0.5))
    placed = _heads(rng, photo, owner, plot, rows, lower, rng.uniform(0.6, 0.85), sun, 1)
    _leaves(rng, photo, owner, style, rows, int(amount * 0.12), 0.95)
    placed += _heads(rng, photo, owner, plot, rows, count - lower, 1.0, sun, 1 + lower)
    _leaves(rng, photo, owner, style, rows, int(amount * 0.03), 1.05)
    return _develop(rng, photo, style), _boxes(owner, placed)


@dataclass(frozen=True)
class _Rows:
    """Drilled rows: plants are near parallel lines `step` pixels apart; with `strength` 0 there are no rows."""

    angle: float
    step: float
    phase: float
    strength: float

    def places(self, rng: np.random.Generator, count: int, size: int, margin: float) -> np.ndarray:
        """Random positions (count, 2), up to `margin` pixels outside the image, pulled towards the rows."""
        spots = rng.uniform(-margin, size + margin, (count, 2))
        normal = np.array([np.cos(self.angle), np.sin(self.angle)])
        off = (spots @ normal / self.step + self.phase + 0.5) % 1 - 0.5
        return spots - self.strength * 0.85 * (off * self.step)[:, None] * normal


def _leaves(
    rng: np.random.Generator,
    photo: np.ndarray,
    owner: np.ndarray,
    style: Style,
    rows: _Rows,
    count: int,
    shade: float,
) -> None:
    """Draw curved leaves in two tones, which occlude the heads below. A few are short, broad and pale, like heads."""
    size = len(photo)
    start = rows.places(rng, count, size, 0.05 * size)
    curled = rng.random(count) < 0.06
    length = size * np.where(curled, rng.uniform(0.05, 0.1, count), rng.uniform(0.12, 0.5, count))
    width = size * style.broad * rng.uniform(0.3, 1.1, count) * np.where(curled, 1.3, 1)
    direction = rng.uniform(0, 2 * np.pi, count)
    direction = np.where(rng.random(count) < style.upright * 0.7, rng.normal(-np.pi / 2, 0.4, count), direction)
    left, middle, right = _blades(start, length, width, direction, rng.normal(0, 0.7, count))
    stops = np.asarray(style.leaf, float)
    mix = np.clip(rng.normal(0.45, 0.3, count), 0, 1)[:, None] * (len(stops) - 1)
    colors = np.stack([np.interp(mix[:, 0], range(len(stops)), channel) for channel in stops.T], 1)
    colors = np.where(curled[:, None], np.asarray(style.head[1], float) * 0.9, colors)
    colors = colors * shade * rng.uniform(0.6, 1.15, count)[:, None]
    whole, lit = (np.concatenate([edge, right[:, ::-1]], 1) for edge in (left, middle))
    tones = np.stack([colors, 1.25 * colors], 1).reshape(-1, 3)
    fill_each(photo, np.stack([whole, lit], 1).reshape(-1, *whole.shape[1:]), tones)
    if owner.any():
        for outline in np.rint(whole).astype(np.int32):
            cv2.fillPoly(owner, [outline], 0)


def _blades(
    start: np.ndarray, length: np.ndarray, width: np.ndarray, direction: np.ndarray, curl: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left edge, midrib and right edge of leaves, each (n, 8, 2)."""
    steps = np.linspace(0, 1, 8)
    angle = direction[:, None] + curl[:, None] * steps
    stride = np.stack([np.cos(angle), np.sin(angle)], -1) * (length / 7)[:, None, None]
    middle = start[:, None] + np.cumsum(stride, 1) - stride[:, :1]
    half = (width[:, None] / 2 * np.sin(np.pi * (0.12 + 0.88 * steps)) ** 0.7)[..., None]
    across = np.stack([-np.sin(angle), np.cos(angle)], -1)
    return middle - half * across, middle, middle + half * across


def _stones(rng: np.random.Generator, photo: np.ndarray, style: Style) -> None:
    """Draw pale stones on the soil."""
    size = len(photo)
    angle = np.linspace(0, 2 * np.pi, 9, endpoint=False)
    for _ in range(rng.integers(0, 14)):
        pebble = np.stack([np.cos(angle), np.sin(angle)], 1) * rng.uniform(0.6, 1, (9, 1)) * rng.uniform(0.4, 1, 2)
        stone = rng.uniform(0, size, 2) + pebble * size * rng.uniform(0.006, 0.03)
        pale = np.asarray(style.soil[1], float) * rng.uniform(0.9, 1.4)
        fill(photo, stone + 0.006 * size, pale * 0.3)
        fill(photo, stone, np.minimum(pale, 240))


def _heads(
    rng: np.random.Generator,
    photo: np.ndarray,
    owner: np.ndarray,
    plot: Plot,
    rows: _Rows,
    count: int,
    shade: float,
    sun: float,
    first: int,
) -> list[PlacedHead | None]:
    """Draw heads with stem and shadow, one over the other, and number their pixels in `owner` from `first` on."""
    style = plot.style
    size = plot.size
    middles = rows.places(rng, count, size, 0.02 * size)
    loose = rng.uniform(0, 2 * np.pi, count)
    angles = np.where(rng.random(count) < style.upright, rng.normal(-np.pi / 2, 0.35, count), loose)
    lengths = rng.uniform(*style.length, count) * size * rng.normal(1, 0.08, count)
    squashes = np.clip(1 - (1 - style.upright * 0.6) * rng.beta(1, 2, count) * 0.75, 0.3, 1)
    scales = lengths / max(8.0, 1.1 * style.length[1] * size)
    direction = np.stack([np.cos(angles), np.sin(angles)], 1)
    bases = middles - direction * (lengths * squashes)[:, None] * 0.42
    thin = np.full(count, 0.006 * size)
    stems = _blades(bases, size * rng.uniform(0.1, 0.3, count), thin, angles + np.pi, rng.normal(0, 0.5, count))
    tone = np.asarray(style.leaf[1], float) * 0.5 + np.asarray(style.head[0], float) * 0.5
    depth = size * rng.uniform(0.008, 0.02)
    shift = np.rint(depth * np.array([np.cos(sun), np.sin(sun)])).astype(int)
    stalks = np.concatenate([stems[0], stems[2][:, ::-1]], 1)
    tones = tone * shade * rng.uniform(0.6, 1, (count, 1))
    placed: list[PlacedHead | None] = []
    for k in range(count):
        fill_each(photo, stalks[k : k + 1], tones[k : k + 1])
        spike = plot.spikes[rng.integers(len(plot.spikes))]
        hue = shade * rng.normal(1, 0.08) * rng.normal(1, 0.03, 3)
        head = place_head(spike, middles[k], angles[k], scales[k], squashes[k], size)
        placed.append(head)
        if head is not None:
            _paste(photo, owner, head, hue, shift, first + k)
    return placed


def _paste(
    photo: np.ndarray, owner: np.ndarray, head: PlacedHead, hue: np.ndarray, shift: np.ndarray, number: int
) -> None:
    """Draw the shadow of a head, then the head."""
    size = len(photo)
    height, width = head.cover.shape
    x = head.x + int(shift[0])
    y = head.y + int(shift[1])
    left = max(x, 0)
    top = max(y, 0)
    right = min(x + width, size)
    bottom = min(y + height, size)
    if right > left and bottom > top:
        dim = 1 - 0.55 * cv2.blur(head.cover, (5, 5))[top - y : bottom - y, left - x : right - x]
        below = photo[top:bottom, left:right]
        below[:] = below * dim[..., None]
    under = photo[head.y : head.y + height, head.x : head.x + width]
    under[:] = np.clip(under + (head.color * hue.astype(np.float32) - under) * head.cover[..., None], 0, 255)
    owner[head.y : head.y + height, head.x : head.x + width][head.body] = number


def _boxes(owner: np.ndarray, placed: list[PlacedHead | None]) -> np.ndarray:
    """Bounding boxes of the heads that are visible enough, in drawing order."""
    visible = np.bincount(owner.ravel(), minlength=len(placed) + 1)[1:]
    boxes = []
    for head, pixels, window in zip(placed, visible.tolist(), ndimage.find_objects(owner, len(placed)), strict=True):
        if head is None or window is None or pixels < 8 or head.inside < MIN_INSIDE:
            continue
        if pixels >= MIN_VISIBLE * np.count_nonzero(head.body):
            rows, columns = window
            boxes.append((columns.start, rows.start, columns.stop - columns.start, rows.stop - rows.start))
    return np.array(boxes, np.int64).reshape(-1, 4)


def _develop(rng: np.random.Generator, photo: np.ndarray, style: Style) -> np.ndarray:
    """Illumination, cloud shadows, vignetting, white balance, blur and camera noise."""
    size = len(photo)
    light = 1 + rng.uniform(0, 0.5) * (fractal(rng, 32, 32, 24, 6) - 0.5)
    steps = np.linspace(-1, 1, 32)
    light = light * (1 - style.vignette * (steps[:, None] ** 2 + steps**2))
    light = light * rng.uniform(*style.light) * style.contrast
    balance = (light[..., None] * rng.normal(1, 0.04, 3)).astype(np.float32)
    image = photo * resize(balance, size, size)
    image = image + np.float32(90 * (1 - style.contrast))
    image = blur(image, style.blur * rng.uniform(0.5, 1.5) * size / 512)
    grain(rng, image, style.grain * rng.uniform(0.5, 1.5))
    return finish(image)


STYLES = {
    "straw": Style(
        soil=((92, 70, 48), (190, 165, 130)),
        leaf=((130, 96, 52), (206, 164, 96), (240, 210, 150)),
        head=((190, 160, 106), (226, 196, 146)),
        awn=(232, 208, 156),
        heads=(25, 60),
        length=(0.06, 0.1),
        awns=0.5,
        broad=0.014,
        leaves=330,
    ),
    "green": Style(
        soil=((70, 56, 40), (164, 134, 100)),
        leaf=((44, 66, 34), (82, 112, 62), (140, 164, 116)),
        head=((126, 146, 84), (176, 186, 124)),
        awn=(140, 156, 70),
        heads=(12, 32),
        length=(0.08, 0.14),
        awns=1.0,
        light=(1.0, 1.5),
    ),
    "dusk": Style(
        soil=((20, 22, 14), (52, 48, 34)),
        leaf=((20, 44, 28), (44, 74, 44), (120, 80, 34)),
        head=((128, 140, 86), (196, 176, 122)),
        awn=(190, 166, 100),
        heads=(18, 45),
        length=(0.07, 0.12),
        awns=0.8,
        upright=0.8,
        light=(0.7, 1.4),
        grain=7,
    ),
    "dense": Style(
        soil=((22, 26, 22), (60, 64, 56)),
        leaf=((26, 44, 42), (62, 86, 80), (110, 130, 120)),
        head=((150, 156, 84), (200, 196, 136)),
        awn=(170, 176, 100),
        heads=(40, 70),
        length=(0.07, 0.12),
        awns=0.25,
        upright=0.25,
        contrast=1.1,
        grain=3,
    ),
    "large": Style(
        soil=((52, 42, 26), (104, 90, 62)),
        leaf=((50, 80, 58), (104, 136, 112), (150, 176, 150)),
        head=((140, 166, 110), (184, 198, 150)),
        awn=(166, 176, 92),
        heads=(10, 26),
        length=(0.11, 0.18),
        awns=0.7,
        broad=0.032,
        leaves=170,
        upright=0.3,
        grain=3,
    ),
    "flash": Style(
        soil=((14, 12, 8), (44, 36, 24)),
        leaf=((26, 40, 16), (66, 78, 34), (176, 132, 60)),
        head=((156, 160, 78), (190, 160, 90)),
        awn=(150, 124, 70),
        heads=(22, 60),
        length=(0.055, 0.1),
        awns=0.3,
        broad=0.026,
        leaves=170,
        light=(0.9, 1.4),
        vignette=0.28,
        blur=1.0,
        grain=6,
    ),
    "rows": Style(
        soil=((24, 22, 22), (64, 58, 56)),
        leaf=((64, 90, 62), (150, 116, 76), (200, 160, 120)),
        head=((190, 206, 160), (228, 230, 200)),
        awn=(220, 220, 190),
        heads=(12, 42),
        length=(0.06, 0.11),
        rows=1.0,
        broad=0.012,
        leaves=120,
        light=(0.7, 1.1),
        contrast=1.15,
        blur=0.4,
    ),
    "hazy": Style(
        soil=((90, 88, 70), (150, 146, 120)),
        leaf=((84, 110, 70), (126, 150, 100), (170, 184, 140)),
        head=((160, 180, 120), (196, 200, 150)),
        awn=(180, 190, 130),
        heads=(14, 40),
        length=(0.06, 0.1),
        awns=0.6,
        upright=0.5,
        contrast=0.85,
        blur=1.0,
        grain=5,
    ),
    "amber": Style(
        soil=((60, 44, 30), (120, 96, 70)),
        leaf=((90, 90, 40), (160, 130, 64), (200, 150, 90)),
        head=((170, 140, 70), (206, 160, 92)),
        awn=(150, 110, 60),
        heads=(15, 45),
        length=(0.09, 0.14),
        awns=0.9,
        upright=0.6,
        light=(0.9, 1.4),
        grain=8,
    ),
}
"""Locations, named after their appearance."""
