"""Finding files in folders as people unzip them."""

from __future__ import annotations

from pathlib import Path

from tallymark.problems import Problem, Problems

PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp"}
RECORDINGS = {".wav", ".flac", ".aif", ".aiff", ".ogg"}


def media_files(folder: Path, suffixes: set[str], problems: Problems) -> list[Path]:
    """All files with these suffixes, at any depth, sorted; hidden ones aside. None at all is a problem."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in suffixes and not path.name.startswith(".") and path.is_file()
    )
    if not found:
        expected = f"files ending in {', '.join(sorted(suffixes))}"
        problems.add(Problem("empty_folder", str(folder), "none", expected, "name the folder that holds them"))
    return found


def test_part(folder: Path) -> Path:
    """The part of a data folder that a submission is about: its test folder if there is exactly one."""
    tests = [path for path in sorted(folder.glob("test*")) if path.is_dir()]
    return tests[0] if len(tests) == 1 else folder
