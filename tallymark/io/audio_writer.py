"""Sound files that are written: WAV with 16 bits per sample."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from tallymark.core.outputs import write_bytes


def write_wav(path: Path, samples: np.ndarray, rate: int) -> None:
    """Write samples between -1 and 1, whole or not at all, without waiting until they are on the disk."""
    import soundfile

    data = io.BytesIO()  # the library does not say why it could not write a file
    soundfile.write(data, samples, rate, format="WAV", subtype="PCM_16")
    write_bytes(path, data.getbuffer(), sync=False)
