"""Sound files that are written: WAV with 16 bits per sample."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from tallymark.core.outputs import write_bytes


def wav_bytes(samples: np.ndarray, rate: int) -> bytes:
    """A WAV file of samples between -1 and 1, in memory."""
    import soundfile

    data = io.BytesIO()  # the library does not say why it could not write a file
    soundfile.write(data, samples, rate, format="WAV", subtype="PCM_16")
    return data.getvalue()


def write_wav(path: Path, samples: np.ndarray, rate: int) -> None:
    """Write samples between -1 and 1, whole or not at all, without waiting until they are on the disk."""
    write_bytes(path, wav_bytes(samples, rate), sync=False)
