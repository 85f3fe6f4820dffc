"""Peak memory of `tallymark score`: it grows by less than four times the size of the files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RATIO = 4
CODE = """
from pathlib import Path
from tallymark.cli.main import main
try:
    main()
finally:
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    Path("peak.txt").write_text(peak)
"""


def wheat(items: int) -> tuple[str, str]:
    box = "{} {} {} 56"
    names = [f"{number:09x}" for number in range(items)]
    places = [[(x * 90, y * 180, 40 + (x + y) % 30) for y in range(5)] for x in range(10)]
    rows = [box.format(*place) for column in places for place in column]
    strings = " ".join(f"0.{at + 10} {row}" for at, row in enumerate(rows))
    truth = [f'{name},1024,1024,"[{row.replace(" ", ", ")}]",a\n' for name in names for row in rows]
    submission = [f"{name},{strings}\n" for name in names]
    return "image_id,width,height,bbox,source\n" + "".join(truth), "image_id,PredictionString\n" + "".join(submission)


def ships(items: int) -> tuple[str, str]:
    masks = [
        " ".join(f"{(column + x * 30) * 768 + 1 + y * 100} 60" for column in range(25))
        for x in range(3)
        for y in (0, 5)
    ]
    rows = "ImageId,EncodedPixels\n" + "".join(f"{name:09x}.jpg,{mask}\n" for name in range(items) for mask in masks)
    return rows, rows


def food(items: int) -> tuple[str, str]:
    names = [f"img_{number:07}.jpg" for number in range(items)]
    truth = [f"{name},{at * 7 % 211}\n" for at, name in enumerate(names)]
    submission = [f"{name},{at % 211},{at * 3 % 211},{at * 5 % 211}\n" for at, name in enumerate(names)]
    return "image_name,label\n" + "".join(truth), "image_name,pred1,pred2,pred3\n" + "".join(submission)


def peak(challenge: str, files: tuple[str, str], folder: Path) -> int:
    """Bytes; `ru_maxrss` would count what this process had when it started the other."""
    paths = [folder / "truth.csv", folder / "submission.csv"]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text)
    command = [sys.executable, "-c", CODE, "score", challenge, *map(str, paths)]
    environment = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return 1024 * int((folder / "peak.txt").read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("challenge", "make", "items"), [("wheat", wheat, 12_000), ("ships", ships, 12_500), ("food", food, 700_000)]
)
def test_score_takes_four_times_the_files(
    challenge: str, make: Callable[[int], tuple[str, str]], items: int, tmp_path: Path
) -> None:
    files = make(items)
    size = sum(map(len, files))
    assert size > 30_000_000
    grown = peak(challenge, files, tmp_path) - peak(challenge, make(10), tmp_path)
    assert grown < RATIO * size


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_labels_of_66_megabytes_are_scored_within_300_megabytes(tmp_path: Path) -> None:
    files = food(1_440_000)
    assert sum(map(len, files)) > 66_000_000
    assert peak("food", files, tmp_path) < 300_000_000
