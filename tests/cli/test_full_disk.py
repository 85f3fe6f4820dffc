"""Commands on a disk that is almost full, where the system allows to mount one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.sets import contents
from tests.training.test_train import QUICK
from tests.untrained import untrained

SIZE = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount here")
    words = [mount, "-t", "tmpfs", "-o", f"size={SIZE}", "tallymark-test", str(folder)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run([umount, "--lazy", str(folder)], check=True)


def leave(disk: Path, room: int) -> None:
    """Fill the disk up to so many bytes."""
    (disk / "filler").unlink(missing_ok=True)
    used = sum(path.stat().st_size + 4096 for path in disk.rglob("*") if path.is_file())
    (disk / "filler").write_bytes(bytes(SIZE - used - room))


def test_synth_leaves_no_half_data_set(disk: Path) -> None:
    words = ("synth", "wheat", disk / "data", "size=256", "--items")
    leave(disk, 100_000)
    printed = run(*words, 40, code=2)
    assert "cannot_write" in printed
    assert "no space left on device" in printed
    assert str(disk / "data") in printed
    assert contents(disk).keys() == {"filler"}
    run(*words, 2)


@pytest.mark.parametrize(
    ("option", "room"), [("--clips", 200_000), ("--raven", 9_000), ("--audacity", 9_000), ("--plot", 9_000)]
)
def test_exports_are_whole_or_not_there(option: str, room: int, disk: Path, sets: Path, tmp_path: Path) -> None:
    words = ("predict", untrained("upcalls", tmp_path / "model.onnx"), sets / "upcalls", "score_threshold=0")
    leave(disk, room)
    printed = run(*words, "--split", "all", option, disk / "exported", code=2)
    assert "cannot_write" in printed
    assert "no space left on device" in printed
    assert "unfinished" not in printed
    left = contents(disk).keys() - {"filler"}
    assert all(name.startswith(".exported.journal/") for name in left), "only what the same command resumes from"
    assert not (disk / "exported").exists()


def test_a_training_that_ran_out_of_space_is_resumed(disk: Path, sets: Path) -> None:
    fields = [f"{name}={value}" for name, value in (QUICK | {"epochs": 2, "evaluations": 2}).items()]
    words = ("train", "wheat", sets / "wheat", *fields, "--preset", "tiny", "--out", disk / "run")
    leave(disk, 100_000)
    printed = run(*words, code=2)
    assert "cannot_write" in printed
    assert "checkpoint.pt" in printed
    assert "the same command with --resume" in printed
    before = contents(disk / "run")
    assert {"recipe.toml", "environment.json"} <= before.keys()
    assert not [name for name in before if "unfinished" in name]
    (disk / "filler").unlink()
    run(*words, "--resume")
    assert (disk / "run" / "model.onnx").exists()
    assert len((disk / "run" / "log.jsonl").read_text().splitlines()) == 2
