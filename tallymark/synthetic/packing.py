"""Data sets as they are published: in zip archives."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tallymark.core.outputs import replacing
from tallymark.io.regular import files_below

COMPRESSED = {".jpg", ".jpeg", ".png", ".flac"}
"""Files that would not get smaller."""
APART = ("solution", "sample_submission")
"""Tables that are not part of a package."""


def pack(folder: Path, package: str = "") -> None:
    """Replace every folder of a data set by an archive of its name, or all of it by one archive, the package."""
    if package:
        parts = [path for path in sorted(folder.iterdir()) if not path.name.startswith(APART)]
        _write(folder / package, parts, folder)
        return
    for part in sorted(path for path in folder.iterdir() if path.is_dir()):
        _write(part.with_name(f"{part.name}.zip"), [part], folder)


def _write(archive: Path, parts: Iterable[Path], root: Path) -> None:
    """Move files and folders into a new archive. The same files give the same bytes."""
    with replacing(archive) as unfinished, zipfile.ZipFile(unfinished, "w") as file:
        for part in parts:
            for path in files_below(part) if part.is_dir() else [part]:
                member = zipfile.ZipInfo(path.relative_to(root).as_posix())  # of 1980, whenever it is written
                member.external_attr = 0o644 << 16
                stored = path.suffix in COMPRESSED
                member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                with path.open("rb") as source, file.open(member, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target)
            shutil.rmtree(part) if part.is_dir() else part.unlink()
