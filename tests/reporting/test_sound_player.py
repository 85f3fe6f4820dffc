"""The sound player in a browser: what is heard, measured in what WebAudio renders, and its controls."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.reporting.viewer_pages import MARGIN, RATE, Opened, opened, sound_scene, upcall, wav_address

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["opened"]

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
