"""Images in exported folders: links to those of the data set."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tallymark.core.outputs import write_bytes, writing_to
from tallymark.io.archives import is_inside
from tallymark.io.media import read_bytes


def place_image(file: Path, image: Path) -> None:
    """Put an image in the folder: a link to it, or a copy where there can be none."""
    with writing_to(image):
        if is_inside(file):
            write_bytes(image, read_bytes(file), sync=False)
            return
        image.unlink(missing_ok=True)
        try:
            image.symlink_to(os.path.realpath(file))
        except (OSError, NotImplementedError):  # a disk without links
            shutil.copyfile(file, image)
