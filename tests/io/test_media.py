"""Images and recordings as devices write them: one size by every function, and no warnings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image, ImageOps

from tallymark.io.audio import inspect_recording, read_audio, read_header
from tallymark.io.images import image_size, inspect_image, read_image
from tallymark.io.media import BadMedia


def drawn(width: int = 60, height: int = 40) -> Image.Image:
    coarse = np.random.default_rng(0).integers(0, 255, (4, 6, 3)).astype(np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


@pytest.mark.parametrize("ending", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize("turn", range(1, 9))
def test_the_exif_orientation_is_applied_everywhere(ending: str, turn: int, tmp_path: Path) -> None:
    path, exif = tmp_path / f"turned.{ending}", Image.Exif()
    exif[0x0112] = turn
    drawn().save(path, exif=exif)
    pixels = read_image(path)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
    assert image_size(path) == inspect_image(path).extent == pixels.shape[1::-1] == upright.shape[1::-1]
    assert np.abs(pixels.astype(int) - upright).mean() < 2


@pytest.mark.parametrize(
    ("mode", "ending"),
    [("L", "jpg"), ("P", "png"), ("RGBA", "png"), ("LA", "png"), ("CMYK", "jpg"), ("1", "png"), ("RGBA", "webp")],
)
def test_every_mode_is_read_as_rgb(mode: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{ending}"
    drawn().convert(mode).save(path)
    assert read_image(path).shape == (40, 60, 3)
    assert image_size(path) == inspect_image(path).extent == (60, 40)


def test_large_images_and_malformed_metadata_cause_no_warning(tmp_path: Path) -> None:
    Image.new("1", (10000, 9500)).save(tmp_path / "large.png")  # Pillow warns from 89 million pixels on
    drawn().save(tmp_path / "plain.jpg")
    data = (tmp_path / "plain.jpg").read_bytes()
    Path(tmp_path / "odd.jpg").write_bytes(data[:2] + b"\xff\xe1\x00\x12Exif\0\0II*\0\xff\xff\xff\xff" + data[2:])
    code = "import sys; from pathlib import Path; from tallymark.io.images import image_size as size; "
    code += "print([size(Path(name)) for name in sys.argv[1:]])"
    names = [str(tmp_path / name) for name in ("large.png", "odd.jpg")]
    done = subprocess.run([sys.executable, "-W", "error", "-c", code, *names], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[(10000, 9500), (60, 40)]", "")


@pytest.mark.filterwarnings("error")
def test_samples_of_any_amplitude_are_inspected(tmp_path: Path) -> None:
    samples = np.sin(np.arange(8000) / 7).astype(np.float32) * np.float32(1e30)
    samples[5], samples[9] = np.inf, np.nan
    soundfile.write(tmp_path / "loud.wav", samples, 8000, subtype="FLOAT")
    inspect = inspect_recording(tmp_path / "loud.wav")
    assert inspect.extent == (1.0, 8000)
    assert [fault[0] for fault in inspect.faults] == ["not_finite"]


@pytest.mark.parametrize("ending", ["wav", "flac", "ogg"])
def test_windows_are_pieces_of_the_whole_and_resampling_keeps_time(ending: str, tmp_path: Path) -> None:
    rate, path = 8000, tmp_path / f"call.{ending}"
    time = np.arange(3 * rate) / rate
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 150 * time) * (np.abs(time - 1.4) < 0.3), rate)
    whole, window = read_audio(path), read_audio(path, 0.5, 1.75)
    assert len(whole) == read_header(path).frames
    np.testing.assert_array_equal(window, whole[4000:14000])
    slow = read_audio(path, rate=1000)
    centre = [float((sound**2 * np.arange(len(sound))).sum() / (sound**2).sum()) for sound in (whole, slow)]
    assert centre[0] / rate == pytest.approx(centre[1] / 1000, abs=1e-4)


def test_a_recording_of_unknown_length_is_refused(tmp_path: Path) -> None:
    """As FLAC has it that was written to a pipe: the last 36 bits of its first block's numbers are 0."""
    soundfile.write(tmp_path / "a.flac", np.zeros(4000), 2000)
    data = bytearray((tmp_path / "a.flac").read_bytes())
    assert int.from_bytes(data[21:26]) & 0xFFFFFFFFF == 4000
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    (tmp_path / "b.flac").write_bytes(data)
    assert read_header(tmp_path / "a.flac").seconds == 2
    with pytest.raises(BadMedia, match="without the length") as caught:
        read_header(tmp_path / "b.flac")
    assert "ffmpeg" in caught.value.remedy
