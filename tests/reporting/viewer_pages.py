"""Pages with the sound player and the 3D view alone, on synthetic scenes: an upcall in noise, a street with boxes."""

from __future__ import annotations

import base64
import io
import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import tallymark.reporting

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEMPLATES = Path(tallymark.reporting.__file__).parent / "templates"
RATE = 2000
MARGIN = (40, 10)
"""Pixels of the spectrogram's image left and right of its plot."""

SCRIPTS = (
    *("viewer_controls", "time_stretch", "sound_samples", "sound_transport", "playhead", "sound", "gl_shaders"),
    *("gl_scene", "orbit_camera", "camera_input", "cuboids", "point_cloud", "points_look", "points"),
)

Scene = dict[str, Any]
Opened = Callable[..., "Page"]

CSP = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


@pytest.fixture
def opened(browser: Callable[..., Page], tmp_path: Path) -> Opened:
    """Opens a page with the viewers of these scenes."""

    def open_page(sound: Scene | None = None, points: Scene | None = None, **options: Any) -> Page:
        file = tmp_path / "viewers.html"
        file.write_text(viewer_page(sound=sound, points=points), encoding="utf-8")
        return browser(file, size=(640, 640), **options)

    return open_page


def viewer_page(*, sound: Scene | None = None, points: Scene | None = None) -> str:
    """A page that mounts the two views, as `sound` and `points` of the window, and records what is selected."""
    scripts = "\n".join((TEMPLATES / "report" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    style = (TEMPLATES / "style.css").read_text() + (TEMPLATES / "report" / "viewers.css").read_text()
    data = json.dumps({"sound": sound, "points": points}).replace("<", "\\u003c")
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{CSP}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>viewers</title>
<style>{style} .picture{{display:block;width:100%;border-radius:10px 10px 0 0}}</style></head><body><main>
<section id="heard"><div><img class="picture" alt="spectrogram"></div></section><section id="seen"></section></main>
<script type="application/json" id="data">{data}</script>
<script>{scripts}</script><script>
const scenes = JSON.parse(document.getElementById('data').textContent);
window.chosen = [];
if (scenes.sound) {{
  const image = document.querySelector('.picture');
  image.src = scenes.sound.image;
  window.sound = mountSound(document.getElementById('heard'), scenes.sound, {{ image, selected: 0 }});
}} else document.getElementById('heard').remove();
if (scenes.points) {{
  const options = {{ onSelect: index => window.chosen.push(index) }};
  window.points = mountPoints(document.getElementById('seen'), scenes.points, scenes.points.objects, options);
}}
</script></body></html>"""


def wav_address(samples: NDArray[np.float64], rate: int) -> str:
    """A 16-bit WAV file as a `data:` address; samples in -1..1."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return "data:audio/wav;base64," + base64.b64encode(file.getvalue()).decode()


def upcall(seconds: float = 6.0, at: float = 3.0, low: float = 80.0, high: float = 200.0) -> NDArray[np.float64]:
    """A quiet sweep of one second in noise, with the offset that hydrophones have."""
    rng = np.random.default_rng(4)
    time = np.arange(round(seconds * RATE)) / RATE
    inside = (time >= at) & (time < at + 1)
    sweep = np.where(inside, time - at, 0.0)
    tone = np.sin(2 * np.pi * (low * sweep + (high - low) / 2 * sweep**2)) * np.sin(np.pi * sweep) * inside
    return np.asarray(0.02 * tone + 0.001 * rng.normal(size=time.size) + 0.05)


def sound_scene(samples: NDArray[np.float64], start: float = 40.0, events: tuple[float, ...] = (43.5,)) -> Scene:
    """A window of a recording that begins at `start` seconds, with its spectrogram and events."""
    image = _spectrogram(samples)
    height, width = image.shape[:2]
    seconds = samples.size / RATE
    plot = width - sum(MARGIN)
    objects = [
        {
            "role": "prediction",
            "number": i,
            "outcome": "hit",
            "score": 0.9,
            "shape": [time],
            "path": "",
            "partner": None,
        }
        for i, time in enumerate(events)
    ]
    return {
        "window": [start, start + seconds],
        "image": _png(image),
        "width": width,
        "height": height,
        "toItem": [seconds / plot, 0, 0, -RATE / 2 / height, start - MARGIN[0] * seconds / plot, RATE / 2],
        "objects": objects,
        "sound": {"wav": wav_address(samples, RATE), "rate": RATE},
    }


def points_scene(
    xyz: NDArray[np.float64], objects: list[dict[str, Any]], origin: tuple[float, float, float] = (0, 0, 0)
) -> Scene:
    """A sweep of points (n, 3) in metres, quantised to centimetres from `origin`."""
    units = np.round((xyz - origin) / 0.01).astype("<i2")
    view = np.zeros((200, 200, 3), np.uint8)
    cells = np.clip(np.round(xyz[:, :2] * 2 + 100), 0, 199).astype(int)
    view[199 - cells[:, 1], cells[:, 0]] = (120, 180, 220)
    return {
        "window": None,
        "image": _png(view),
        "width": 200,
        "height": 200,
        "objects": objects,
        "points": {"xyz": base64.b64encode(units.tobytes()).decode(), "step": 0.01, "origin": list(origin)},
    }


def street(points: int = 60000) -> tuple[NDArray[np.float64], list[dict[str, Any]]]:
    """Ground, two walls and cars, with an object of every outcome."""
    rng = np.random.default_rng(7)
    shares = [round(points * share) for share in (0.6, 0.15)]
    reach = 60 * np.sqrt(rng.uniform(0.003, 1, shares[0]))
    angle = rng.uniform(0, 2 * np.pi, shares[0])
    ground = np.stack([reach * np.cos(angle), reach * np.sin(angle), rng.normal(-1.8, 0.03, shares[0])], 1)
    ground = ground[np.abs(ground[:, 1]) < 20]
    walls = np.stack(
        [rng.uniform(-55, 55, shares[1]), np.sign(rng.normal(size=shares[1])) * 20, rng.uniform(-1.8, 6, shares[1])], 1
    )
    cuboids = np.array(
        [
            [8, 3, -1, 4.5, 1.9, 1.6, 0.05],
            [15, -4, -1, 4.2, 1.8, 1.5, np.pi],
            [24, 5, -0.9, 4.8, 2.0, 1.8, 0.5],
            [-10, 6, -0.4, 8.5, 2.5, 2.8, 0.0],
            [30, -9, -1, 4.4, 1.8, 1.6, -1.2],
            [-18, -6, -1, 4.4, 1.8, 1.6, 2.9],
            [12, 12, -0.95, 0.7, 0.7, 1.75, 0.0],
        ]
    )
    filled = [_surface(rng, box, (points - sum(shares)) // len(cuboids)) for box in cuboids]
    outcomes = ["hit", "missed", "background", "localisation", "class", "duplicate", "unknown"]
    objects = [_lidar_object(outcome, box, i) for i, (outcome, box) in enumerate(zip(outcomes, cuboids, strict=True))]
    truth = _lidar_object("found", cuboids[0] + [0.15, -0.1, 0, 0.2, 0.1, 0.05, 0.04], 7)
    return np.concatenate([ground, walls, *filled]), [*objects, truth]


def _lidar_object(outcome: str, box: NDArray[np.float64], number: int) -> dict[str, Any]:
    role = "truth" if outcome in ("found", "missed") else "prediction"
    score = None if role == "truth" else 0.9 - 0.1 * number
    return {"role": role, "number": number, "outcome": outcome, "score": score, "cuboid": [round(v, 3) for v in box]}


def _surface(rng: np.random.Generator, box: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Points on the sides and the top of a box."""
    unit = rng.uniform(-0.5, 0.5, (count, 3))
    side = rng.integers(0, 3, count)
    unit[np.arange(count), side] = np.where(side == 2, 0.5, np.sign(unit[np.arange(count), side]) * 0.5)
    local = unit * box[3:6]
    sine, cosine = np.sin(box[6]), np.cos(box[6])
    turned = [local[:, 0] * cosine - local[:, 1] * sine, local[:, 0] * sine + local[:, 1] * cosine, local[:, 2]]
    return np.asarray(np.stack(turned, 1) + box[:3])


def _spectrogram(samples: NDArray[np.float64]) -> NDArray[np.uint8]:
    size, hop = 256, 16
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop] * np.hanning(size)
    level = np.log10(np.abs(np.fft.rfft(frames)).T[::-1] + 1e-4)
    level = np.clip((level - np.quantile(level, 0.3)) / 2, 0, 1)
    plot = np.stack([level * 255, level**2 * 240, 40 + level * 120], 2).astype(np.uint8)
    frame = np.full((plot.shape[0], plot.shape[1] + sum(MARGIN), 3), 24, np.uint8)
    frame[:, MARGIN[0] : -MARGIN[1]] = plot
    return frame


def _png(image: NDArray[np.uint8]) -> str:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
