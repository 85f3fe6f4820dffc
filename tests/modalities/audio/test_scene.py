"""Scenes of recordings: the sound and the spectrogram of a window, and events where they are heard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.drawing.colors import ANNOTATION, HIGHLIGHT
from tallymark.geometry import Events
from tallymark.geometry.affine import transform_points
from tallymark.io.audio import RECORDING
from tallymark.io.media import BadMedia
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.audio.render import RENDERER
from tallymark.modalities.audio.scene import DRAWN_WINDOWS, MIN_MARK, SOUND_RATE
from tallymark.modalities.scene import SCENE_SIDE
from tests.drawing.pixels import has_color
from tests.drawing.svg import filled, lines_of
from tests.reporting.sets import catalog_of


def recording(root: Path, samples: np.ndarray, rate: int, events: Events | None = None) -> Catalog:
    """One labelled recording."""
    root.mkdir(parents=True, exist_ok=True)
    soundfile.write(str(root / "a.wav"), samples, rate, subtype="FLOAT")
    events = events or Events(np.empty(0))
    return catalog_of(root, RECORDING, ["a.wav", None], events, [0] * len(events))


def events_of(catalog: Catalog, events: Events, score: np.ndarray | None = None) -> Annotations[Events]:
    return Annotations.from_rows(catalog.items, np.zeros(len(events), np.int64), events, score=score)


def noise(seconds: float, rate: int = 2000) -> np.ndarray:
    return 0.01 * np.random.default_rng(0).standard_normal(round(seconds * rate))


def with_tone(seconds: float, rate: int, start: float, stop: float, hertz: float) -> np.ndarray:
    samples = noise(seconds, rate)
    time = np.arange(len(samples)) / rate
    return samples + (0.3 * np.sin(2 * np.pi * hertz * time)) * ((time >= start) & (time < stop))


def test_the_sound_is_that_of_the_window(tmp_path: Path) -> None:
    samples = noise(30)
    scene = RENDERER.scene(recording(tmp_path, samples, 2000), 0, (5.0, 17.0))
    assert scene.window == (5.0, 17.0)
    assert scene.sound is not None
    assert scene.sound.rate == 2000
    np.testing.assert_allclose(scene.sound.samples, samples[10_000:34_000], atol=1e-7)


@pytest.mark.parametrize(("rate", "hertz"), [(2000, 200), (4000, 90), (44_100, 310), (96_000, 200)])
def test_a_tone_is_at_its_place_whatever_the_rate(rate: int, hertz: int, tmp_path: Path) -> None:
    mono = with_tone(20, rate, 8.0, 9.5, hertz)
    catalog = recording(tmp_path, np.column_stack([2 * mono, np.zeros_like(mono)]), rate)
    scene = RENDERER.scene(catalog, 0, (3.0, 15.0))
    assert scene.sound is not None
    assert scene.sound.rate == min(rate, SOUND_RATE)
    assert scene.sound.samples.dtype == np.float32
    assert len(scene.sound.samples) == 12 * scene.sound.rate
    bright = scene.image.astype(int).sum(axis=2) > 600
    center = np.argwhere(bright).mean(axis=0)[::-1] + 0.5
    seconds, frequency = transform_points(scene.to_item, center)
    assert seconds == pytest.approx(8.75, abs=0.1)
    assert frequency == pytest.approx(hertz, abs=6)
    (path,) = RENDERER.paths(scene, events_of(catalog, Events(np.array([8.75]), np.array([1.7]))))
    assert filled(path, bright.shape)[bright].all()


def test_pixels_lead_to_seconds_and_hertz(tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(30), 2000)
    scene = RENDERER.scene(catalog, 0, (10.0, 22.0))
    assert scene.image.shape[1] == SCENE_SIDE
    (path,) = RENDERER.paths(scene, events_of(catalog, Events(np.array([16.0]), np.array([3.0]))))
    (corners,) = lines_of(path)
    (start, high), (stop, low) = transform_points(scene.to_item, corners[[0, 2]])
    assert (start, stop) == pytest.approx((14.5, 17.5), abs=0.002)
    assert low == pytest.approx(0, abs=0.2)
    assert 400 < high < 500
    back = transform_points(scene.from_item, np.array([[14.5, high]]))
    np.testing.assert_allclose(back, corners[:1], atol=0.06)


def test_events_are_marked_in_their_window_only(tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(30), 2000)
    scene = RENDERER.scene(catalog, 0, (10.0, 22.0))
    time = np.array([16.0, 16.0, 9.0, 9.8, 23.0, np.nan, 22.0])
    length = np.array([0.0, np.nan, 1.0, 1.0, 1.0, 1.0, 0.0])
    still, unknown, before, partly, after, nowhere, edge = RENDERER.paths(
        scene, events_of(catalog, Events(time, length))
    )
    assert before == after == nowhere == ""
    assert still == unknown
    assert np.ptp(lines_of(still)[0][:, 0]) == pytest.approx(MIN_MARK)
    assert lines_of(partly)[0][:, 0].min() == 40  # where the plot begins
    assert lines_of(edge)[0][:, 0].max() == SCENE_SIDE - 8
    assert RENDERER.paths(scene, events_of(catalog, Events(np.array([16.0])))) == [still]
    assert RENDERER.paths(scene, events_of(catalog, Events.somewhere(2))) == ["", ""]


def test_neighbouring_events_share_a_window(tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(120), 2000)
    first = events_of(catalog, Events(np.array([60.0, 110.0])))
    second = events_of(catalog, Events(np.array([30.0, 65.0, 119.0, 2.0, np.nan, 1e9])))
    windows = RENDERER.windows(catalog, 0, first, second)
    assert windows == [(56.5, 68.5), (108.0, 120.0), (24.0, 36.0), (0.0, 12.0)]
    assert RENDERER.windows(catalog, 0, first, second, most=2) == windows[:2]
    assert RENDERER.scene(catalog, 0, around=second).window == (24.0, 36.0)


def test_every_event_is_well_inside_a_window(tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(200), 2000)
    times = np.random.default_rng(1).uniform(0, 200, 60)
    windows = RENDERER.windows(catalog, 0, events_of(catalog, Events(times)), most=99)
    assert len(set(windows)) == len(windows) < 24
    edges = np.array([window for window in windows if window is not None])
    margin = np.minimum(times[:, None] - edges[:, 0], edges[:, 1] - times[:, None]).max(axis=1)
    assert (margin >= np.minimum(1.5, np.minimum(times, 200 - times)) - 1e-9).all()


def test_a_recording_without_events_has_a_quiet_and_a_random_window(tmp_path: Path) -> None:
    samples = noise(300)
    samples[200_000:260_000] *= 0.1
    samples[:20_000] = 0  # a gap, not a quiet place
    catalog = recording(tmp_path, samples, 2000)
    quiet, random = RENDERER.windows(catalog, 0)
    assert quiet is not None
    assert 90 < quiet[0] < quiet[1] < 135
    assert random is not None
    assert 0 <= random[0] <= 288
    assert RENDERER.windows(catalog, 0) == [quiet, random]
    assert RENDERER.windows(catalog, 0, seed=1)[1] != random
    somewhere = events_of(catalog, Events.somewhere(1))
    assert RENDERER.windows(catalog, 0, somewhere) == [quiet, random]


@pytest.mark.parametrize("frames", [1, 5, 100, 4000])
def test_short_recordings_are_shown_as_a_whole(frames: int, tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(2)[:frames], 2000)
    event = events_of(catalog, Events(np.array([frames / 4000]), np.array([0.1])))
    for shown in ([], [event]):
        assert RENDERER.windows(catalog, 0, *shown) == [(0.0, frames / 2000)]
    scene = RENDERER.scene(catalog, 0)
    assert scene.sound is not None
    assert len(scene.sound.samples) == frames
    assert RENDERER.paths(scene, event)[0]


def test_windows_are_clipped_to_the_recording(tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(300), 2000)
    assert RENDERER.scene(catalog, 0, (-5.0, 7.0)).window == (0.0, 7.0)
    assert RENDERER.scene(catalog, 0, (295.0, 307.0)).window == (295.0, 300.0)
    assert RENDERER.scene(catalog, 0, (0.0, 300.0)).window == (0.0, 120.0)
    beyond = RENDERER.scene(catalog, 0, (400.0, 412.0))
    assert beyond.window == pytest.approx((300, 300), abs=0.001)


def test_samples_that_are_not_finite_are_silent(tmp_path: Path) -> None:
    samples = with_tone(20, 8000, 8.0, 9.5, 200)
    samples[[100, 70_000]] = [np.nan, np.inf]
    samples[150_000] = 1e30
    catalog = recording(tmp_path, samples, 8000)
    scene = RENDERER.scene(catalog, 0, (3.0, 15.0))
    assert scene.sound is not None
    assert np.isfinite(scene.sound.samples).all()
    bright = np.argwhere(scene.image.astype(int).sum(axis=2) > 600)
    seconds, frequency = transform_points(scene.to_item, np.median(bright, axis=0)[::-1])
    assert seconds == pytest.approx(8.75, abs=0.3)
    assert frequency == pytest.approx(200, abs=10)


def test_the_band_is_that_of_the_model(tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(20, 48_000), 48_000)
    recipe = AudioRecipe().replace(sample_rate=16_000, window_seconds=0.016, hop_seconds=0.004, fmin=2000.0, n_bins=96)
    scene = RENDERER.scene(catalog, 0, (0.0, 12.0), recipe=recipe)
    top, bottom = transform_points(scene.to_item, np.array([[40, 20], [40, scene.image.shape[0] - 24]]))[:, 1]
    assert (bottom, top) == pytest.approx((2000, 8000))
    assert scene.sound is not None
    assert scene.sound.rate == 16_000
    low = RENDERER.scene(recording(tmp_path / "low", noise(20, 300), 300), 0, (0.0, 12.0))
    assert transform_points(low.to_item, np.array([[40, 20]]))[0, 1] == pytest.approx(150)


def test_recordings_that_cannot_be_read_are_bad_media(tmp_path: Path) -> None:
    catalog = recording(tmp_path, np.empty(0), 2000)
    for make in (RENDERER.windows, RENDERER.scene):
        with pytest.raises(BadMedia, match="no sample"):
            make(catalog, 0)
        with pytest.raises(BadMedia, match="no file"):
            make(catalog, 1)
    (tmp_path / "a.wav").write_text("no sound")
    with pytest.raises(BadMedia):
        RENDERER.scene(catalog, 0, (0.0, 12.0))


def test_drawings_have_predictions_and_truth_in_their_colours(tmp_path: Path) -> None:
    events = Events(np.array([20.0, 100.0]), np.array([1.0, 1.0]))
    catalog = recording(tmp_path, noise(150), 2000, events)
    predicted = events_of(catalog, Events(np.array([21.0, 60.0])), score=np.array([0.9, 0.4]))
    drawn = RENDERER.drawings(catalog, predicted, 0)
    assert list(drawn) == ["000014.5s", "000054.0s", "000094.0s"]
    orange = [has_color(image, ANNOTATION).any() for image in drawn.values()]
    blue = [has_color(image, HIGHLIGHT).any() for image in drawn.values()]
    assert (orange, blue) == ([True, True, False], [True, False, True])


def test_the_highest_scores_and_misses_are_drawn_in_turn(tmp_path: Path) -> None:
    missed = Events(np.arange(20.0, 600, 60))
    catalog = recording(tmp_path, noise(620, 200), 200, missed)
    time = np.arange(50.0, 600, 60)
    predicted = events_of(catalog, Events(time), score=np.linspace(0.9, 0.1, len(time)))
    starts = [float(name[:-1]) for name in RENDERER.drawings(catalog, predicted, 0)]
    assert len(starts) == DRAWN_WINDOWS
    assert starts == sorted(starts)
    assert set(starts) == {*(time[:6] - 6), *(missed.time[:6] - 6)}


def test_nothing_is_drawn_of_recordings_without_events(tmp_path: Path) -> None:
    catalog = recording(tmp_path, noise(30), 2000)
    assert RENDERER.drawings(catalog, events_of(catalog, Events(np.empty(0))), 0) == {}
