"""Recordings: what their headers say, windows of samples at any rate, and a look at a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.io.folders import AUDIO_SUFFIXES
from tallymark.io.media import THUMBNAIL, BadMedia, Inspection, Medium, digest, read_bytes
from tallymark.io.resampling import resample, resample_blocks

if TYPE_CHECKING:
    from soundfile import SoundFile

STREAMED = {0, 0xFFFFFFFF, *range(0x7FFFF000, 0x7FFFF100)}
"""Sizes that a writer leaves in a header when it did not know the end: SoX means 2 GiB less a page, and the header."""
SPARE = 8
"""Bytes that a header may promise too many: some writers count its first eight too, or a last one that fills up."""
LONGEST = 1 << 48
"""Samples of a recording at most: more, centuries of them, are what a library makes of a length that is not stated."""
BLOCK = 1 << 17
"""Samples that are read at a time."""
WHOLE = {"PCM_16": ("int16", 2.0**-15)}
"""Samples that are read as whole numbers, which is much quicker, and what one of these is worth."""


@dataclass(frozen=True)
class Header:
    """Length and rate of a recording."""

    frames: int
    rate: int
    channels: int

    @property
    def seconds(self) -> float:
        return self.frames / self.rate


def read_header(path: Path) -> Header:
    """What the header says, without reading samples."""
    import soundfile

    try:
        info = soundfile.info(str(path))
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise BadMedia("corrupt_media", _reason(error)) from None
    if info.samplerate <= 0:
        raise BadMedia("corrupt_media", f"{info.samplerate} samples a second")
    if info.frames > LONGEST:
        raise BadMedia("corrupt_media", "a header that does not state the length", "write it again: ffmpeg -i OLD NEW")
    return Header(info.frames, info.samplerate, info.channels)


def read_audio(path: Path, start: float = 0.0, stop: float | None = None, rate: int | None = None) -> np.ndarray:
    """Samples between two moments (seconds) as float32 in -1..1, channels averaged, at `rate` if given."""
    import soundfile

    try:
        with soundfile.SoundFile(str(path)) as file:
            own = file.samplerate
            first = max(0, round(start * own))
            last = file.frames if stop is None else min(file.frames, round(stop * own))
            file.seek(min(first, file.frames))
            samples = file.read(max(0, last - first), dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise BadMedia("corrupt_media", _reason(error)) from None
    mono = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1)
    return resample(mono, own, rate) if rate else np.ascontiguousarray(mono)


def resample_stream(path: Path, rate: int) -> Iterator[np.ndarray]:
    """The samples of a recording at another rate, channels averaged, in pieces of a few seconds."""
    import soundfile

    try:
        with soundfile.SoundFile(str(path)) as file:
            kind, unit = WHOLE.get(file.subtype, ("float32", 1.0))
            for piece in resample_blocks(_pieces(file, kind), file.samplerate, rate):
                yield piece * np.float32(unit)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise BadMedia("corrupt_media", _reason(error)) from None
    with path.open("rb") as start:
        _refuse_cut(start.read(8), path.stat().st_size)


def _pieces(file: SoundFile, kind: str) -> Iterator[np.ndarray]:
    """The samples of an open file as they are, channels averaged; what is no number is silence.

    One piece may take the place of another: fresh memory for each would cost more than reading them.
    """
    import soundfile

    room, read = np.zeros((BLOCK, file.channels), kind), 0
    try:
        for block in file.blocks(out=room, dtype=kind, always_2d=True):
            read += len(block)
            yield _mono(block)
            room.fill(0)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        good = np.trim_zeros(_mono(room), "b")  # how much was decoded before the fault, nobody says
        yield good
        found = f"{_reason(error)} after {read + len(good)} of {file.frames} samples"
        raise BadMedia("corrupt_media", found) from None
    if read < file.frames:
        raise BadMedia("truncated_media", f"{read} of {file.frames} samples")


def _mono(block: np.ndarray) -> np.ndarray:
    mono = block[:, 0] if block.shape[1] == 1 else block.mean(axis=1, dtype=np.float32)
    return np.nan_to_num(mono, posinf=0, neginf=0) if mono.dtype.kind == "f" else mono


def inspect_recording(path: Path) -> Inspection:
    """Decode a recording to its end; the thumbnail is a coarse spectrogram of all of it."""
    import soundfile

    data = read_bytes(path)
    header = read_header(path)
    _refuse_cut(data, len(data))
    sums, loudest, bad, read = [], 0.0, 0, 0
    try:
        with soundfile.SoundFile(str(path)) as file:
            for block in file.blocks(blocksize=BLOCK, dtype="float32", always_2d=True):
                read += len(block)
                bad += int(np.count_nonzero(~np.isfinite(block)))
                loudest = max(loudest, float(np.abs(block).max(initial=0)))
                sums.append(_bands(block[:, 0]))
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise BadMedia("truncated_media", f"{_reason(error)} after {read} of {header.frames} samples") from None
    if read < header.frames:
        raise BadMedia("truncated_media", f"{read} of {header.frames} samples")
    faults = []
    if not header.frames:
        faults.append(("empty_recording", "no sample", "a recording with samples", "exclude it"))
    elif bad:
        faults.append(("not_finite", f"{bad} samples", "finite samples", "write the recording again"))
    elif not loudest:
        faults.append(("silent_recording", "every sample is 0", "sound", "check the recorder, or exclude it"))
    return Inspection((header.seconds, header.rate), _thumbnail(sums), digest(data), tuple(faults))


def total_hours(recordings: Sequence[Path], problems: Problems) -> float:
    """The length of all recordings together, from their headers."""
    seconds = 0.0
    for path in recordings:
        try:
            seconds += read_header(path).seconds
        except BadMedia as bad:
            remedy = "replace the file, or give --hours"
            problems.add(Problem("corrupt_audio", str(path), bad.found, "a readable recording", remedy))
    return seconds / 3600


def _refuse_cut(data: bytes, size: int) -> None:
    """A file that ends before it should, of which libraries say nothing."""
    whole = _declared_size(data)
    if whole is not None and whole > size + SPARE:
        raise BadMedia("truncated_media", f"{size} bytes of the {whole} that the header promises")


def _declared_size(data: bytes) -> int | None:
    """How long a WAV or AIFF file says that it is."""
    order = {b"RIFF": "little", b"FORM": "big"}.get(data[:4])
    if order is None:
        return None
    size = int.from_bytes(data[4:8], order)  # type: ignore[arg-type]  # one of the two words
    return None if size in STREAMED else size + 8


def _bands(samples: np.ndarray) -> np.ndarray:
    """Energy of a block in 48 bands of equal width."""
    if len(samples) < 4 * THUMBNAIL:
        return np.zeros(THUMBNAIL)
    step = 2 * THUMBNAIL
    frames = samples[: len(samples) // step * step].reshape(-1, step).astype(float)  # squares of floats may overflow
    return (np.abs(np.fft.rfft(np.nan_to_num(frames, posinf=0, neginf=0), axis=1)[:, 1:]) ** 2).mean(axis=0)


def _thumbnail(bands: list[np.ndarray]) -> np.ndarray:
    """The spectrogram as a small picture: loudness against the recording's median in each band."""
    if not bands:
        return np.zeros((THUMBNAIL, THUMBNAIL), np.uint8)
    level = np.log10(np.stack(bands, axis=1) + 1e-12)
    level -= np.median(level, axis=1, keepdims=True)
    at = np.linspace(0, level.shape[1], THUMBNAIL + 1).astype(int)[:-1]
    return np.clip(128 + 100 * level[:, at], 0, 255).astype(np.uint8)


def _reason(error: Exception) -> str:
    return str(getattr(error, "error_string", error)).rstrip(".")


RECORDING = Medium("audio", "recording", frozenset(AUDIO_SUFFIXES), inspect_recording)
