"""Synthetic calls in real recordings: unchanged noise, and calls at the stated times and levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

import tallymark
from tallymark.challenges.upcalls.synth import SceneOptions, write
from tallymark.core.problems import BadInput
from tallymark.synthetic.ocean.backgrounds import add_upcalls
from tallymark.synthetic.ocean.calls import upcalls
from tallymark.synthetic.streams import stream


def noise(seconds: float, rate: int) -> np.ndarray:
    return np.float32(0.02) * np.random.default_rng(0).standard_normal(round(seconds * rate), np.float32)


@pytest.mark.parametrize("rate", [1000, 2000, 8000])
def test_calls_are_added_and_nothing_else_changes(rate: int) -> None:
    recording = noise(120, rate)
    samples, span = add_upcalls(stream(0), recording, rate, 400, 1.0)
    calls = upcalls(stream(0), 120, 400, 1.0)
    assert span.tolist() == [[call.start, call.end] for call in calls]
    added = samples / 32768 - recording
    quiet = np.ones(len(added), bool)
    compared = 0
    in_band = 0.02 * np.sqrt(300 / (rate / 2))
    for call in calls:
        first = round(call.start * rate)
        last = round((call.start + len(call.sound.wave) / 2000) * rate)
        quiet[max(first - 2, 0) : last + 2] = False
        alone = all(other is call or abs(other.start - call.start) > 3 for other in calls)
        if alone:
            level = added[first:last].std() / (in_band * call.sound.wave.std())
            assert 20 * np.log10(level) == pytest.approx(call.sound.strength, abs=1.5)
            compared += 1
    assert compared
    assert np.abs(added[quiet]).max() < 1 / 32768


def test_calls_in_silence_are_audible() -> None:
    samples, span = add_upcalls(stream(1), np.zeros(60 * 2000, np.float32), 2000, 400, 1.0)
    assert len(span)
    assert samples.any()


def test_invalid_samples_are_read_as_silence() -> None:
    recording = (0.1 * stream(2).standard_normal(60 * 2000)).astype(np.float32)
    broken = recording.copy()
    silent = recording.copy()
    broken[1000:1003] = (np.nan, np.inf, -np.inf)
    silent[1000:1003] = 0
    result, expected = (add_upcalls(stream(3), one, 2000, 400, 1.0)[0] for one in (broken, silent))
    assert np.array_equal(result, expected)


def test_a_set_is_generated_from_clips_of_real_recordings(tmp_path: Path) -> None:
    for name, seconds, rate in (("a.wav", 40, 4000), ("deep/b.flac", 8, 2000)):
        path = tmp_path / "sea" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, noise(seconds, rate), rate)
    scenes = SceneOptions(seconds=20, test_rate=2000, calls=300, quiet=0, background=str(tmp_path / "sea"))
    write(tmp_path / "first", 10, 0, scenes)
    write(tmp_path / "again", 10, 0, scenes)
    catalog = tallymark.read("upcalls", tmp_path / "first")
    assert len(catalog.in_split("train")) == 8
    lengths = {soundfile.info(path).duration for path in (tmp_path / "first").rglob("*.wav")}
    assert lengths <= {20.0, 8.0}
    assert 20.0 in lengths
    for path in (tmp_path / "first").rglob("*.wav"):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(tmp_path / "first")).read_bytes()


def test_unusable_backgrounds_are_rejected(tmp_path: Path) -> None:
    for name in ("none", "empty", "broken", "silent"):
        (tmp_path / name).mkdir()
    (tmp_path / "broken" / "a.wav").write_bytes(b"RIFF")
    soundfile.write(tmp_path / "silent" / "a.wav", np.empty(0, np.float32), 2000)
    (tmp_path / "none").rmdir()
    for name, found in (
        ("none", "nothing"), ("empty", "files ending in"), ("broken", "a.wav"), ("silent", "without a sample")
    ):  # fmt: skip
        with pytest.raises(BadInput, match=found):
            write(tmp_path / "first", 2, 0, SceneOptions(background=str(tmp_path / name)))
    assert not (tmp_path / "first").exists()
