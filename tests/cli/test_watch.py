"""The command `watch`: once, as a service that is ended softly or killed, and twice on one folder."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.cli.running import run
from tests.untrained import untrained

TABLES = ("objects.csv", "counts.csv", "problems.csv")
LOW = "score_threshold=0.1"
PATIENCE = 60.0
"""Seconds that a busy machine may take to do anything."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained("wheat", tmp_path_factory.mktemp("model") / "model.onnx")


def take(folder: Path, number: int) -> None:
    """A photograph as a camera writes it: under its name from the first byte on. Every seventh is damaged."""
    pixels = np.random.default_rng(number).integers(0, 255, (48, 48, 3), np.uint8)
    data = cv2.imencode(".png", pixels)[1].tobytes()
    (folder / f"{number:03}.png").write_bytes(data[: 400 if number % 7 == 6 else None])


def start(model: Path, folder: Path, out: Path) -> subprocess.Popen[str]:
    words = ["watch", model, folder, LOW, "--out", out, "--settle", "0.1", "--poll", "0.02", "--threads", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "tallymark", *map(str, words)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_once_prints_a_summary_and_appends(model: Path, tmp_path: Path) -> None:
    (tmp_path / "camera").mkdir()
    for number in range(7):
        take(tmp_path / "camera", number)
    words = ("watch", model, tmp_path / "camera", LOW, "--out", tmp_path / "out", "--once", "--settle", 0)
    printed = run(*words)
    assert "6 images predicted" in printed
    assert "predicted 6, objects" in printed
    assert "damaged 1, touched 0, waiting 0, unread 0, known 7" in printed
    take(tmp_path / "camera", 7)
    found = json.loads(run(*words, "--json"))
    assert (found["predicted"], found["known"]) == (1, 8)
    assert "other_settings" in run(*words, "tta=2", code=2)
    assert "--settle" in run(*words, "settle=3", code=2)
    assert "no_folder" in run("watch", model, tmp_path / "nothing", "--once", code=2)


def test_once_ends_with_code_2_if_a_file_could_not_be_read(model: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (tmp_path / "camera").mkdir()
    take(tmp_path / "camera", 0)
    (tmp_path / "camera" / "000.png").chmod(0)
    words = ("watch", model, tmp_path / "camera", LOW, "--out", tmp_path / "out", "--once", "--settle", 0)
    assert "permission denied; it will be tried again" in run(*words, code=2)
    (tmp_path / "camera" / "000.png").chmod(0o600)
    assert "1 image predicted" in run(*words)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_softly_and_a_second_watch_is_refused(model: Path, tmp_path: Path, ending: int) -> None:
    camera, out = tmp_path / "camera", tmp_path / "out"
    camera.mkdir()
    take(camera, 0)
    service = start(model, camera, out)
    try:
        assert service.stdout is not None
        assert service.stdout.readline() == f"watching {camera}; 0 files known in {out}\n"  # at once, into a pipe
        wait_for(lambda: lines_of(out / "counts.csv") == 2)
        refused = run("watch", model, camera, LOW, "--out", out, "--once", code=2)
        assert f"in use by process {service.pid}" in refused
        service.send_signal(ending)
        printed, _ = service.communicate(timeout=PATIENCE)
    finally:
        service.kill()
    assert service.returncode == 0
    assert "predicted 1, objects" in printed
    assert (out / "report.html").exists()


@pytest.mark.slow
def test_kills_at_any_moment_lose_no_row_and_repeat_none(model: Path, tmp_path: Path) -> None:
    camera, out = tmp_path / "camera", tmp_path / "out"
    camera.mkdir()
    rng = random.Random(0)
    number = 0
    for _ in range(6):
        service = start(model, camera, out)
        try:
            known = lines_of(out / "state.jsonl")
            for _ in range(5):
                take(camera, number)
                number += 1
                time.sleep(rng.uniform(0, 0.1))
            wait_for(lambda known=known: lines_of(out / "state.jsonl") > known)  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.3))
        finally:
            service.kill()
            service.communicate()
    run("watch", model, camera, LOW, "--out", out, "--once", "--settle", 0, "--threads", 1)
    run("watch", model, camera, LOW, "--out", tmp_path / "calm", "--once", "--settle", 0, "--threads", 1)
    for name in TABLES:
        disturbed, calm = ((folder / name).read_text().splitlines() for folder in (out, tmp_path / "calm"))
        assert disturbed[0] == calm[0]
        assert sorted(disturbed) == sorted(calm)
    items = [line.split(",")[0] for line in (out / "counts.csv").read_text().splitlines()[1:]]
    assert len(items) == len(set(items)) == number - number // 7
