"""The sound player and the 3D view in a browser: what they play and show, by mouse, touch and keys."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.reporting.viewer_pages import (
    MARGIN,
    RATE,
    TEMPLATES,
    Scene,
    points_scene,
    sound_scene,
    street,
    upcall,
    viewer_page,
    wav_address,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

Opened = Callable[..., "Page"]


# To be dropped for the common fixtures of the same names.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Opened]:
    complaints = list[str]()
    with contextlib.ExitStack() as contexts:

        def open_page(path: Path, size: tuple[int, int] = (1280, 900), **options: Any) -> Page:
            viewport: Any = {"width": size[0], "height": size[1]}
            page = contexts.enter_context(chromium.new_context(viewport=viewport, **options)).new_page()
            page.set_default_timeout(10_000)
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: complaints.append(request.url[:80]) if _leaves(request.url) else None)
            page.goto(path.as_uri())
            return page

        yield open_page
    assert not complaints, "\n".join(complaints)


def _leaves(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:"))


@pytest.fixture
def opened(browser: Opened, tmp_path: Path) -> Opened:
    """Opens a page with the viewers of these scenes."""

    def open_page(sound: Scene | None = None, points: Scene | None = None, **options: Any) -> Page:
        file = tmp_path / "viewers.html"
        file.write_text(viewer_page(sound=sound, points=points), encoding="utf-8")
        return browser(file, size=(640, 640), **options)

    return open_page


def pixels(place: Page | Locator) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(place.screenshot())).convert("RGB"))


# Sound

RENDER = """async ([speed, octaves]) => {
  const transport = sound.transport;
  transport.set({ octaves });
  const length = Math.round(48000 * transport.sound.duration / speed);
  const context = new OfflineAudioContext(1, length, 48000);
  const settings = { from: 0, begin: 0, end: transport.sound.duration, speed, loop: false, volume: 1 };
  startSound(context, transport.sound, transport.buffer(), settings);
  const rendered = await context.startRendering();
  return Array.from(rendered.getChannelData(0)).filter((_, i) => i % 8 === 0);
}"""
RENDERED_RATE = 6000


def rendered(page: Page, speed: float, octaves: int) -> NDArray[np.float64]:
    """What is heard, at 6 kHz."""
    return np.array(page.evaluate(RENDER, [speed, octaves]))


def dominant(samples: NDArray[np.float64]) -> float:
    """The strongest frequency, in Hz."""
    size = 1 << 18
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size), size))
    return float(np.argmax(spectrum) * RENDERED_RATE / size)


def tone(frequency: float, seconds: float = 4.0) -> NDArray[np.float64]:
    time = np.arange(round(seconds * RATE)) / RATE
    noise = np.random.default_rng(1).normal(size=time.size)
    return np.asarray(0.01 * np.sin(2 * np.pi * frequency * time) + 0.0005 * noise + 0.1)


def test_pitch_follows_the_speed(opened: Opened) -> None:
    page = opened(sound_scene(tone(110)))
    slow, fast = rendered(page, 1, 0), rendered(page, 4, 0)
    assert slow.size == 4 * fast.size == 4 * RENDERED_RATE
    assert dominant(slow) == pytest.approx(110, abs=0.5)
    assert dominant(fast) == pytest.approx(440, abs=1)


def test_octaves_leave_the_duration(opened: Opened) -> None:
    page = opened(sound_scene(tone(110)))
    for octaves in (1, 2):
        high = rendered(page, 1, octaves)
        assert high.size == 4 * RENDERED_RATE
        assert dominant(high) == pytest.approx(110 * 2**octaves, rel=0.02)
        # It sounds to its end, without holes between the pieces.
        loudness = np.abs(high).reshape(100, -1).max(1)
        assert loudness[1:-2].min() > 0.5 * loudness.max()


def test_sweep_stays_where_it_is_two_octaves_higher(opened: Opened) -> None:
    page = opened(sound_scene(upcall()))
    high = rendered(page, 1, 2)
    for second, frequency in ((3.25, 110), (3.5, 140), (3.75, 170)):
        middle = round(second * RENDERED_RATE)
        piece = high[middle - RENDERED_RATE // 20 : middle + RENDERED_RATE // 20]
        assert dominant(piece) == pytest.approx(4 * frequency, rel=0.1)


def test_hum_does_not_spoil_a_higher_call(opened: Opened) -> None:
    """Two tones stay two tones: pieces of the wave itself cannot be aligned to both."""
    page = opened(sound_scene(tone(60) + tone(107)))
    high = rendered(page, 1, 2)
    power = np.abs(np.fft.rfft(high * np.hanning(high.size))) ** 2
    frequency = np.fft.rfftfreq(high.size, 1 / RENDERED_RATE)
    shares = [power[np.abs(frequency - middle) < 15].sum() / power.sum() for middle in (240, 428)]
    assert min(shares) > 0.3
    assert sum(shares) > 0.96


def test_quiet_recordings_are_made_audible(opened: Opened) -> None:
    page = opened(sound_scene(tone(110)))
    heard = rendered(page, 1, 0)
    assert 0.6 < np.quantile(np.abs(heard), 0.99) < 1
    assert abs(heard[heard.size // 2 :].mean()) < 0.01


def test_plays_and_pauses_with_a_moving_playhead(opened: Opened) -> None:
    page = opened(sound_scene(upcall()))
    left = "parseFloat(document.querySelector('.playhead').style.left)"
    plot = page.locator(".picture").bounding_box()
    assert plot is not None
    width = int(page.evaluate("scenes.sound.width"))
    assert page.evaluate(left) == pytest.approx(MARGIN[0] / width * plot["width"], abs=1)
    assert page.evaluate("sharedAudio") is None
    page.get_by_role("button", name="play", exact=True).click()
    page.wait_for_function("() => sound.transport.time > 0.3")
    assert page.evaluate("sharedAudio.state") == "running"
    page.keyboard.press("Space")
    paused = page.evaluate(left)
    assert paused > MARGIN[0] / width * plot["width"] + 10
    page.wait_for_timeout(150)
    assert page.evaluate(left) == paused
    assert page.evaluate("sharedAudio.state") == "suspended"


def test_space_plays_wherever_the_focus_is_free(opened: Opened) -> None:
    page = opened(sound_scene(upcall()))
    page.locator("body").press("Space")
    page.wait_for_function("() => sound.transport.playing && sound.transport.time > 0")
    page.locator("body").press("Space")
    assert not page.evaluate("sound.transport.playing")


def test_click_on_the_image_seeks(opened: Opened) -> None:
    page = opened(sound_scene(upcall()))
    image = page.locator(".picture")
    box = image.bounding_box()
    assert box is not None
    width = int(page.evaluate("scenes.sound.width"))
    seconds = 3.0
    pixel = MARGIN[0] + seconds / 6 * (width - sum(MARGIN))
    image.click(position={"x": pixel / width * box["width"], "y": 20})
    assert page.evaluate("sound.transport.time") == pytest.approx(seconds, abs=0.02)
    assert page.locator(".sound-clock").inner_text() == "3.0 / 6.0 s"
    assert not page.evaluate("sound.transport.playing")


def test_settings_by_keyboard(opened: Opened) -> None:
    page = opened(sound_scene(upcall()))
    page.get_by_role("radio", name="speed 1 times").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("sound.transport.speed") == 2
    page.keyboard.press("ArrowRight")
    assert page.evaluate("sound.transport.speed") == 4
    page.get_by_role("radio", name="natural pitch").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("sound.transport.octaves") == 1
    page.get_by_role("button", name="loop").press("Enter")
    assert page.get_by_role("button", name="loop").get_attribute("aria-pressed") == "true"
    page.get_by_role("slider", name="position").focus()
    page.keyboard.press("End")
    assert page.evaluate("sound.transport.time") == pytest.approx(6, abs=0.02)


def test_loop_repeats_the_part_around_the_selected_event(opened: Opened) -> None:
    page = opened(sound_scene(upcall(), start=40, events=(43.0, 45.8)))
    page.evaluate("sound.update(scenes.sound.objects, 1)")
    page.get_by_role("button", name="loop").click()
    page.get_by_role("radio", name="speed 4 times").check(force=True)
    page.get_by_role("button", name="play around the selected event").click()
    assert page.evaluate("sound.transport.segment") == pytest.approx([4.3, 6.0])
    assert page.locator(".playhead-band").is_visible()
    page.wait_for_function("() => sharedAudio.currentTime - sound.transport.voice.startedAt > 0.6")
    assert 4.3 <= page.evaluate("sound.transport.time") <= 6.0
    page.evaluate("sound.transport.pause(), sound.transport.seek(1)")
    assert page.evaluate("sound.transport.segment") == [0, 6]
    page.evaluate("sound.update([scenes.sound.objects[0]])")  # the selected one is hidden
    assert page.get_by_role("button", name="play around the selected event").is_disabled()


def test_stops_at_the_end_and_starts_again(opened: Opened) -> None:
    page = opened(sound_scene(upcall(seconds=5, at=2)))
    page.get_by_role("radio", name="speed 4 times").check(force=True)
    page.evaluate("sound.transport.seek(4.5), sound.toggle()")
    page.wait_for_function("() => !sound.transport.playing")
    assert page.evaluate("sound.transport.time") == 5
    page.evaluate("sound.toggle()")
    assert page.evaluate("sound.transport.voice.from") == 0


def test_destroyed_player_leaves_nothing(opened: Opened) -> None:
    page = opened(sound_scene(upcall()))
    page.evaluate("sound.toggle(), sound.destroy()")
    assert page.locator(".sound-player, .playhead, .playhead-band").count() == 0
    assert page.evaluate("[soundInUse, sound.transport.playing]") == [None, False]


def test_reads_wav_files_of_every_kind(opened: Opened) -> None:
    page = opened(sound_scene(tone(110)))
    for rate, width, code in ((2000, 1, 1), (4000, 2, 1), (44100, 3, 1), (250000, 2, 1), (8000, 4, 3), (3000, 4, 1)):
        samples = 0.5 * np.sin(2 * np.pi * 60 * np.arange(rate // 50) / rate)
        read = page.evaluate(
            "bytes => { const { samples, rate } = readWav(Uint8Array.from(bytes)); return [[...samples], rate]; }",
            list(wav_file(samples, rate, width, code)),
        )
        assert read[1] == rate
        np.testing.assert_allclose(read[0], samples, atol=0.006 if width == 1 else 1e-4)


def wav_file(samples: NDArray[np.float64], rate: int, width: int, code: int) -> bytes:
    """A WAV file with samples of `width` bytes, and a chunk of odd length before them, as recorders write one."""
    if code == 3:
        body = samples.astype("<f4").tobytes()
    elif width == 1:
        body = np.round(samples * 128 + 128).astype(np.uint8).tobytes()
    else:
        whole = np.round(samples * 2.0 ** (8 * width - 1)).astype("<i4")
        body = np.ascontiguousarray(whole.view(np.uint8).reshape(-1, 4)[:, :width]).tobytes()
    form = struct.pack("<HHIIHH", code, 1, rate, rate * width, width, 8 * width)
    chunks = [(b"fmt ", form), (b"note", b"odd"), (b"data", body)]
    content = b"".join(name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for name, data in chunks)
    return b"RIFF" + struct.pack("<I", len(content) + 4) + b"WAVE" + content


def test_unreadable_sound_is_a_sentence(opened: Opened) -> None:
    scene = sound_scene(tone(110))
    scene["sound"]["wav"] = "data:audio/wav;base64,SUQzBAAAAAAAI1RTU0U="
    page = opened(scene)
    assert "The sound is not a WAV file." in page.locator("#heard").inner_text()


def test_sound_of_another_rate_has_its_own_pitch(opened: Opened) -> None:
    """Above the highest rate of a buffer, which is 96 kHz in every browser."""
    scene = sound_scene(tone(110))
    time = np.arange(200000) / 200000
    scene["sound"]["wav"] = wav_address(0.3 * np.sin(2 * np.pi * 500 * time), 200000)
    page = opened(scene)
    heard = rendered(page, 1, 0)
    assert heard.size == RENDERED_RATE
    assert dominant(heard) == pytest.approx(500, abs=3)


# 3D

FEW = 5000
"""Points of the scenes in tests: software draws them quickly."""


def street_page(opened: Opened, **context: Any) -> Page:
    return opened(points=points_scene(*street(FEW)), **context)


def settle(page: Page) -> None:
    """Wait until no frame is to come."""
    page.evaluate(
        """async () => {
          const frames = () => document.querySelector('.points-view').dataset.frames;
          for (let before = -1; before !== frames() || points.camera.flight;) {
            before = frames();
            for (let i = 0; i < 3; i++) await new Promise(resolve => requestAnimationFrame(resolve));
          }
        }"""
    )


def colours(page: Page) -> int:
    settle(page)
    return len(np.unique(pixels(page.locator("canvas")) @ np.array([1, 256, 65536])))


def test_view_shows_points_in_light_and_dark(opened: Opened) -> None:
    for scheme, ground in (("light", (243, 245, 247)), ("dark", (14, 18, 22))):
        page = street_page(opened, color_scheme=scheme)
        assert colours(page) > 100
        assert tuple(pixels(page.locator("canvas"))[300, 4]) == ground


def test_drag_turns_and_shift_pans(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    before, camera = pixels(page.locator("canvas")), "[points.camera.azimuth, ...points.camera.target]"
    first = page.evaluate(camera)
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(380, 230, steps=4)
    page.mouse.up()
    turned = page.evaluate(camera)
    assert turned[0] == pytest.approx(first[0] - 80 * 0.006, abs=0.03)
    assert turned[1:] == first[1:]
    settle(page)
    assert (pixels(page.locator("canvas")) != before).any(-1).mean() > 0.02
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(300, 200, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    panned = page.evaluate(camera)
    assert panned[0] == turned[0]
    assert panned[1:3] != turned[1:3]
    assert page.evaluate("chosen") == []


def test_keys_turn_move_and_zoom(opened: Opened) -> None:
    page = street_page(opened)
    canvas = page.locator("canvas")
    state = "(({ azimuth, elevation, distance, target }) => ({ azimuth, elevation, distance, target }))(points.camera)"
    before = page.evaluate(state)
    image = pixels(canvas)
    canvas.focus()
    for key, changed in (
        ("ArrowLeft", "azimuth"),
        ("ArrowUp", "elevation"),
        ("+", "distance"),
        ("-", "distance"),
        ("Shift+ArrowUp", "target"),
    ):
        page.keyboard.press(key)
        after = page.evaluate(state)
        assert [name for name in after if after[name] != before[name]] == [changed], key
        before = after
    settle(page)
    assert (pixels(canvas) != image).any(-1).mean() > 0.02
    assert "8 boxes" in str(canvas.get_attribute("aria-label"))
    page.keyboard.press("Home")
    settle(page)
    assert page.evaluate("points.camera.elevation") == pytest.approx(0.62)


def test_wheel_keeps_the_ground_below_the_pointer(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    below = """() => {
      const [eye, direction] = points.camera.ray(0.4, -0.3);
      const reach = (points.camera.target[2] - eye[2]) / direction[2];
      return [eye[0] + reach * direction[0], eye[1] + reach * direction[1]];
    }"""
    box = page.locator("canvas").bounding_box()
    assert box is not None
    distance, ground = page.evaluate("points.camera.distance"), page.evaluate(below)
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.65 * box["height"])
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"() => points.camera.distance < {0.8 * distance}")
    assert page.evaluate(below) == pytest.approx(ground, abs=0.2)


def test_buttons_fly_to_views(opened: Opened) -> None:
    page = street_page(opened, reduced_motion="reduce")
    settle(page)
    before = pixels(page.locator("canvas"))
    for name in ("view from above", "view from the side", "view from behind"):
        page.get_by_role("button", name=name).click()
        settle(page)
        assert (pixels(page.locator("canvas")) != before).any(-1).mean() > 0.02
    page.get_by_role("button", name="first view").click()
    page.mouse.move(1, 1)
    settle(page)
    assert (pixels(page.locator("canvas")) != before).any(-1).mean() < 0.01


def test_click_selects_the_box_and_flies_to_it(opened: Opened) -> None:
    page = street_page(opened)
    canvas = page.locator("canvas")
    settle(page)
    box = canvas.bounding_box()
    assert box is not None
    for number in (3, 1):
        x, y = page.evaluate(
            "number => points.camera.project(scenes.points.objects[number].cuboid.slice(0, 3))", number
        )
        canvas.click(position={"x": (x + 1) / 2 * box["width"], "y": (1 - y) / 2 * box["height"]})
        assert page.evaluate("chosen.at(-1)") == number
        settle(page)
        assert page.evaluate("points.camera.target") == pytest.approx(
            page.evaluate("number => scenes.points.objects[number].cuboid.slice(0, 3)", number)
        )
        page.get_by_role("button", name="first view").click()
        settle(page)
    canvas.click(position={"x": 5, "y": 120})
    assert page.evaluate("chosen.at(-1)") is None


def test_second_click_takes_the_box_below(opened: Opened) -> None:
    """The hit and its truth lie in one another."""
    page = street_page(opened)
    settle(page)
    canvas = page.locator("canvas")
    page.evaluate("points.update(scenes.points.objects, 0)")
    settle(page)
    box = canvas.bounding_box()
    assert box is not None
    middle = {"x": box["width"] / 2, "y": box["height"] / 2}
    page.evaluate("points.camera.fly = () => {}")
    canvas.click(position=middle)
    page.wait_for_timeout(600)
    canvas.click(position=middle)
    assert sorted(page.evaluate("chosen")) == [0, 7]


def test_update_hides_objects(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    before = pixels(page.locator("canvas"))
    page.evaluate("points.update(scenes.points.objects.filter(object => object.outcome !== 'background'))")
    settle(page)
    after = pixels(page.locator("canvas"))
    vermilion = np.array([0xCC, 0x33, 0x00])

    def count(image: NDArray[np.uint8]) -> int:
        return int((np.abs(image.astype(int) - vermilion).max(-1) < 12).sum())

    assert count(before) > 20
    assert count(after) == 0


def test_indices_are_those_of_the_scene_and_the_origin_is_subtracted(opened: Opened) -> None:
    xyz, objects = street(FEW)
    shift = (2000.0, -900.0, 30.0)
    for thing in objects:
        thing["cuboid"][:3] = [a + b for a, b in zip(thing["cuboid"][:3], shift, strict=True)]
    scene = points_scene(xyz + shift, objects, shift)
    page = opened(points=scene)
    page.evaluate("points.update([scenes.points.objects[5]], 5)")
    settle(page)
    assert page.evaluate("points.camera.target") == pytest.approx([-18, -6, -1], abs=1e-6)


def test_one_frame_for_many_changes_and_none_at_rest(opened: Opened) -> None:
    page = street_page(opened)
    settle(page)
    frames = "Number(document.querySelector('.points-view').dataset.frames)"
    before = page.evaluate(frames)
    page.evaluate("for (let i = 0; i < 50; i++) points.update(scenes.points.objects.slice(i % 3))")
    settle(page)
    assert page.evaluate(frames) == before + 1


def test_touch_turns_with_one_finger_and_zooms_with_two(opened: Opened) -> None:
    page = street_page(opened, has_touch=True)
    settle(page)
    camera = "[points.camera.azimuth, points.camera.distance]"
    first = page.evaluate(camera)
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *spots: tuple[int, int]) -> None:
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(spots)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (300, 200))
    touch("touchMove", (350, 200))
    touch("touchEnd")
    page.wait_for_function(f"() => points.camera.azimuth !== {json.dumps(first[0])}")
    turned = page.evaluate(camera)
    assert turned[1] == first[1]
    touch("touchStart", (300, 200), (340, 200))
    touch("touchMove", (260, 200), (380, 200))
    touch("touchEnd")
    page.wait_for_function(f"() => points.camera.distance < {0.6 * first[1]}")
    assert page.evaluate("points.camera.azimuth") == turned[0]


def test_high_density_screens_get_all_their_pixels(opened: Opened) -> None:
    page = street_page(opened, device_scale_factor=2)
    settle(page)
    assert page.evaluate("(c => c.width / c.clientWidth)(document.querySelector('canvas'))") == pytest.approx(2, 0.01)


def test_lost_context_shows_the_image_and_opens_again(opened: Opened) -> None:
    page = street_page(opened)
    page.evaluate(
        "document.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
    )
    page.get_by_text("The browser has closed this 3D view.").wait_for()
    assert page.get_by_alt_text("the sweep from above").is_visible()
    page.get_by_role("button", name="open the 3D view again").click()
    assert colours(page) > 100


def test_without_webgl_there_is_an_image_and_a_sentence(opened: Opened) -> None:
    page = street_page(opened)
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.reload()
    assert "This browser has no WebGL2." in page.locator(".points-view").inner_text()
    assert page.get_by_alt_text("the sweep from above").is_visible()
    page.evaluate("points.update([]), points.destroy()")
    assert page.locator(".points-view").count() == 0


def test_contexts_are_released(opened: Opened) -> None:
    """A browser closes the first of more than 16 views; those that were destroyed do not count."""
    page = street_page(opened)
    page.evaluate(
        """() => {
          for (let i = 0; i < 18; i++) mountPoints(document.body, scenes.points, []).destroy();
        }"""
    )
    assert colours(page) > 100
    assert page.get_by_text("The browser has closed this 3D view.").count() == 0


def test_empty_sweep_shows_its_boxes(opened: Opened) -> None:
    _, objects = street(FEW)
    page = opened(points=points_scene(np.zeros((0, 3)), objects))
    assert colours(page) > 10


def test_scripts_are_safe_to_include_in_a_template() -> None:
    for path in sorted((TEMPLATES / "report").glob("*.[jc]s*")):
        text = path.read_text(encoding="utf-8")
        assert not any(mark in text for mark in ("{{", "{%", "{#", "</")), path.name
