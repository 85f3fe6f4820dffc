"""Recordings: headers, samples at any rate, and inspection of a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Concatenate, ParamSpec, TypeVar

import numpy as np

from tallymark.core.problems import Problem, Problems
from tallymark.io.archives import is_inside, open_file, read_blocks
from tallymark.io.completeness import check_complete
from tallymark.io.media import (
    THUMBNAIL,
    BadMedia,
    Inspection,
    Medium,
    check_start,
    digest,
    read_failed,
    unreadable,
)
from tallymark.io.resampling import PASSBAND, resample, resample_blocks
from tallymark.io.retries import retry
from tallymark.io.suffixes import AUDIO_SUFFIXES
from tallymark.io.watched import WatchedFile

if TYPE_CHECKING:
    from soundfile import SoundFile

P = ParamSpec("P")
T = TypeVar("T")
MAX_FRAMES = 1 << 48
"""More samples, centuries of them, are what the library returns for an unknown length."""
MIN_RATE, MAX_RATE = 10, 10_000_000
"""Samples per second of any recorder; from others, resampling would make sound of any length."""
LARGEST_SAMPLE = 1e12
"""Full scale is 1, or 32,768 where whole numbers were written as floats: anything larger than this is no sound."""
BLOCK, BLOCK_VALUES = 1 << 18, 1 << 20
"""Samples of each channel that are read at once, and of all channels, of which a header may promise a thousand."""
SYSTEM_ERROR = 2
"""The library's code for a failure of the system: the file may be as it should."""
INSPECTED = 1 << 16
"""Samples of each channel of a block that is inspected: what is computed from it stays in the processor's cache."""
INTEGER_FORMATS = {"PCM_16": ("int16", 2.0**-15)}
"""Formats whose samples are read as integers, which is much faster, and the value of one unit."""


def _twice(read: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
    """Decorate a reader: it reads again what seems damaged, since the library calls a disk that fails damage too."""

    @wraps(read)
    def run(path: Path, /, *given: P.args, **named: P.kwargs) -> T:
        try:
            return read(path, *given, **named)
        except BadMedia as bad:
            if bad.kind == "unreadable_media":
                raise
        _fingerprint(path)  # a disk that still fails is said
        return read(path, *given, **named)

    return run


@dataclass(frozen=True)
class Header:
    """Length (samples per channel), sample rate (Hz) and channels of a recording."""

    frames: int
    rate: int
    channels: int

    @property
    def seconds(self) -> float:
        return self.frames / self.rate


@_twice
def read_header(path: Path) -> Header:
    """The header of a recording, without reading samples."""
    import soundfile

    try:
        with _source(path) as source:
            info = soundfile.info(source)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise _bad_recording(error) from None
    if not MIN_RATE <= info.samplerate <= MAX_RATE:
        raise BadMedia("corrupt_media", f"{info.samplerate} samples per second, not {MIN_RATE} to {MAX_RATE}")
    _check_length(info.frames)
    return Header(info.frames, info.samplerate, info.channels)


def _check_length(frames: int) -> None:
    if frames > MAX_FRAMES:
        raise BadMedia("corrupt_media", "a header without the length", "write it again: ffmpeg -i OLD NEW")


@_twice
def read_audio(path: Path, start: float = 0.0, stop: float | None = None, rate: int | None = None) -> np.ndarray:
    """Samples from `start` to `stop` seconds as float32 in -1..1, channels averaged, resampled to `rate` if given."""
    import soundfile

    try:
        with _source(path) as source, soundfile.SoundFile(source) as file:
            _check_length(file.frames)
            own = file.samplerate
            first = max(0, round(start * own))
            last = file.frames if stop is None else min(file.frames, round(stop * own))
            file.seek(min(first, file.frames))
            samples = file.read(max(0, last - first), dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise _bad_recording(error) from None
    mono = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1)
    return resample(mono, own, rate) if rate else np.ascontiguousarray(mono)


@_twice
def read_window(path: Path, start: float, stop: float, rate: int) -> np.ndarray:
    """Samples from `start` to `stop` seconds as float32 at a rate, channels averaged; 0 where they are not finite.

    Unlike `read_audio`, this takes little memory whatever the rate and the channels of the recording.
    """
    import soundfile

    try:
        with _source(path) as source, soundfile.SoundFile(source) as file:
            first, last = (min(max(0, round(at * file.samplerate)), file.frames) for at in (start, stop))
            file.seek(first)
            blocks = resample_blocks(_window_blocks(file, last - first), file.samplerate, rate)
            return np.concatenate([np.empty(0, np.float32), *blocks])
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise _bad_recording(error) from None


def _window_blocks(file: SoundFile, frames: int) -> Iterator[np.ndarray]:
    """The next samples of an open file block by block, channels averaged; fewer where the file ends."""
    while frames > 0:
        block = file.read(min(frames, _block_size(file)), dtype="float32", always_2d=True)
        if not len(block):
            return
        frames -= len(block)
        yield _mono(block)


def resample_stream(path: Path, rate: int, passband: float = PASSBAND) -> Iterator[np.ndarray]:
    """The samples of a recording at another rate, channels averaged, in blocks of a few seconds.

    passband: see `resample_blocks`.
    """
    import soundfile

    truncated = _truncation(path)  # now: it may be gone at the end
    try:
        with _source(path) as source, soundfile.SoundFile(source) as file:
            dtype, unit = INTEGER_FORMATS.get(file.subtype, ("float32", 1.0))
            if isinstance(source, WatchedFile) and _is_plain(file):
                blocks = _plain_blocks(file, source)
            else:
                blocks = _mono_blocks(file, dtype)
            for block in resample_blocks(blocks, file.samplerate, rate, passband):
                yield block * np.float32(unit)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise _bad_recording(error) from None
    if truncated is not None:
        raise truncated


def _is_plain(file: SoundFile) -> bool:
    """Whether samples are in the file as they are in memory."""
    return (file.format, file.subtype, file.endian, sys.byteorder) == ("WAV", "PCM_16", "FILE", "little")


def _plain_blocks(file: SoundFile, source: WatchedFile) -> Iterator[np.ndarray]:
    """The samples of an open file block by block, channels averaged: without the library, in two thirds of its time."""
    file.seek(0)  # which brings the source to the first sample
    buffer = np.empty((_block_size(file), file.channels), np.int16)
    read = 0
    while read < file.frames:
        block = buffer[: file.frames - read]
        count = _fill(source, block.data.cast("B")) // (2 * file.channels)
        if not count:
            raise BadMedia("truncated_media", f"{read} of {file.frames} samples")
        read += count
        yield _mono(block[:count])


def _fill(source: WatchedFile, memory: memoryview) -> int:
    """Read until memory is full or the file ends; bytes that were read."""
    filled = 0
    while filled < len(memory) and (count := source.readinto(memory[filled:])):
        filled += count
    return filled


def _mono_blocks(file: SoundFile, dtype: str) -> Iterator[np.ndarray]:
    """The samples of an open file block by block, channels averaged; samples that are not finite are 0.

    The blocks share one buffer: allocating memory for each would take longer than reading them.
    """
    import soundfile

    buffer = np.zeros((_block_size(file), file.channels), dtype)
    read = 0
    try:
        while len(block := file.read(out=buffer, dtype=dtype, always_2d=True)):
            read += len(block)
            yield _mono(block)
            buffer.fill(0)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        decoded = np.trim_zeros(_mono(buffer), "b")  # the library does not return how much it decoded
        yield decoded
        raise _bad_recording(error, f" after {read + len(decoded)} of {file.frames} samples") from None
    if read < file.frames:
        raise BadMedia("truncated_media", f"{read} of {file.frames} samples")


def _block_size(file: SoundFile) -> int:
    return min(BLOCK, BLOCK_VALUES // file.channels)


def _mono(block: np.ndarray) -> np.ndarray:
    mono = block[:, 0] if block.shape[1] == 1 else block.mean(axis=1, dtype=np.float32)
    return finite_samples(mono) if mono.dtype.kind == "f" else mono


def finite_samples(samples: np.ndarray) -> np.ndarray:
    """Samples with 0 in place of those that are not finite, or so large that their power would not be."""
    return np.where(np.abs(samples) < LARGEST_SAMPLE, samples, samples.dtype.type(0))


@_twice
def inspect_recording(path: Path) -> Inspection:
    """Decode all of a recording; the thumbnail is its spectrogram at low resolution."""
    import soundfile

    fingerprint = _fingerprint(path)
    header = read_header(path)
    if (truncated := _truncation(path)) is not None:
        raise truncated
    energies: list[np.ndarray] = []
    silent = True
    not_finite = 0
    read = 0
    try:
        with _source(path) as source, soundfile.SoundFile(source) as file:
            _check_length(file.frames)
            dtype, unit = INTEGER_FORMATS.get(file.subtype, ("float32", 1.0))
            buffer = np.empty((min(INSPECTED, _block_size(file)), file.channels), dtype)
            while len(block := file.read(out=buffer, dtype=dtype, always_2d=True)):
                read += len(block)
                peak = max(-float(block.min()), float(block.max()))  # nan where a sample is
                silent &= peak == 0
                if not peak < LARGEST_SAMPLE:
                    not_finite += int(np.count_nonzero(~(np.abs(block) < LARGEST_SAMPLE)))
                    block = finite_samples(block)
                energies.append(_band_energies(block[:, 0], unit))
    except (soundfile.LibsndfileError, RuntimeError) as error:
        where = f" after {read} of {header.frames} samples"
        bad = _bad_recording(error, where)
        raise bad if bad.transient else BadMedia("truncated_media", bad.found) from None
    if read < header.frames:
        raise BadMedia("truncated_media", f"{read} of {header.frames} samples")
    faults = []
    if not header.frames:
        faults.append(("empty_recording", "no sample", "a recording with samples", "exclude it"))
    elif not_finite:
        faults.append(("not_finite", f"{not_finite} samples", "finite samples", "write the recording again"))
    elif silent:
        faults.append(("silent_recording", "every sample is 0", "sound", "check the recorder, or exclude it"))
    return Inspection((header.seconds, header.rate), _thumbnail(energies), fingerprint, tuple(faults))


@contextmanager
def _source(path: Path) -> Iterator[str | WatchedFile]:
    """What soundfile opens: a file whose failures are raised at the end, since the library may take them for data.

    libsndfile does not look whether a field of a header could be read: a recording then has no samples, or twice as
    many. MP3 files are opened by their names, without which it finds no MP3 behind other bytes; there it looks.
    """
    try:
        file = retry(lambda: _open(path))
    except OSError as error:
        raise unreadable(error) from None
    with file:
        if path.suffix.lower() == ".mp3" and not is_inside(path):
            yield str(path)
            return
        watched = WatchedFile(file, str(path))
        try:
            yield watched
        except (RuntimeError, BadMedia):
            if watched.failure is None:
                raise
        if watched.failure is not None:
            raise unreadable(watched.failure)


def _open(path: Path) -> BinaryIO:
    """A file whose first byte can be read."""
    source = open_file(path)
    try:
        source.read(1)
        source.seek(0)
    except OSError:
        source.close()
        raise
    return source


def _truncation(path: Path) -> BadMedia | None:
    """What is missing of a file at its end, by its header; None if it is complete, or does not say."""
    try:
        retry(lambda: check_complete(path))
    except OSError as error:
        raise unreadable(error) from None
    except BadMedia as bad:
        return bad
    return None


def _bad_recording(error: Exception, where: str = "") -> BadMedia:
    """Why a recording cannot be read on: because the system failed, or because of what is in it."""
    if getattr(error, "code", None) == SYSTEM_ERROR:
        return read_failed(f"{_reason(error).lower()}{where}")
    return BadMedia("corrupt_media", f"{_reason(error)}{where}")


def _fingerprint(path: Path) -> bytes:
    """The digest of a recording, read block by block since it may be large."""

    def read() -> bytes:
        blocks = read_blocks(path)
        start = next(blocks, b"")
        check_start(start)
        return digest(chain([start], blocks))

    try:
        return retry(read)
    except OSError as error:
        raise unreadable(error) from None


def total_hours(recordings: Sequence[Path], problems: Problems) -> float:
    """The total length of recordings in hours, from their headers."""
    seconds = 0.0
    for path in recordings:
        try:
            seconds += read_header(path).seconds
        except BadMedia as bad:
            remedy = "replace the file, or give --hours"
            problems.add(Problem("corrupt_audio", str(path), bad.found, "a readable recording", remedy))
    return seconds / 3600


def _band_energies(samples: np.ndarray, unit: float) -> np.ndarray:
    """Energy of a block in 48 frequency bands of equal width."""
    if len(samples) < 4 * THUMBNAIL:
        return np.zeros(THUMBNAIL)
    size = 2 * THUMBNAIL
    frames = samples[: len(samples) // size * size].reshape(-1, size)
    spectra = np.fft.rfft(frames.astype(np.float32) * np.float32(unit), axis=1)[:, 1:]  # squares below 1e29
    return (spectra.real**2 + spectra.imag**2).mean(axis=0, dtype=float)


def _thumbnail(energies: list[np.ndarray]) -> np.ndarray:
    """The spectrogram as a small image: level relative to the recording's median in each band."""
    if not energies:
        return np.zeros((THUMBNAIL, THUMBNAIL), np.uint8)
    level = np.log10(np.stack(energies, axis=1) + 1e-12)
    level -= np.median(level, axis=1, keepdims=True)
    at = np.linspace(0, level.shape[1], THUMBNAIL + 1).astype(int)[:-1]
    return np.clip(128 + 100 * level[:, at], 0, 255).astype(np.uint8)


def _reason(error: Exception) -> str:
    return str(getattr(error, "error_string", error)).rstrip(".")


RECORDING = Medium("audio", "recording", frozenset(AUDIO_SUFFIXES), inspect_recording)
