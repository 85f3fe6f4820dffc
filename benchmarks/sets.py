"""Data folders of realistic size for the benchmarks, from a seed."""

from __future__ import annotations

import gzip
import json
import os
import struct
from pathlib import Path

import numpy as np

from benchmarks import files

SENSORS = [*(f"CAM_{n}" for n in range(7)), "LIDAR_TOP", "LIDAR_FRONT_LEFT", "LIDAR_FRONT_RIGHT"]
CATEGORIES = files.CLASSES


def wheat(folder: Path) -> None:
    """The real truth where TALLYMARK_DATA has it (118,187 boxes), else one of the real size."""
    real = Path(os.environ.get("TALLYMARK_DATA", "")) / "wheat" / "train.all_but_heldout.csv.gz"
    if real.is_file():
        (folder / "train.csv").write_bytes(gzip.decompress(real.read_bytes()))
        return
    files.wheat(folder, photographs=3_373, boxes=44)


def ships(folder: Path) -> None:
    """Some 236,000 rows, one for each ship or empty chip."""
    truth, _ = files.ships(folder, chips=85_000)
    truth.rename(folder / "train_ship_segmentations_v2.csv")
    (folder / "submission.csv").unlink()


def lyft(folder: Path, samples: int = 2_000) -> None:
    """Tables of a drive: ten images or sweeps and 28 cuboids a sample, scenes of 126; no media."""
    rng = np.random.default_rng(0)

    def tokens(count: int) -> list[str]:
        return [row.tobytes().hex() for row in rng.integers(0, 256, (count, 32), np.uint8)]

    scenes, boxes = max(1, samples // 126), 28 * samples
    log, scene, sample, shot, pose = (tokens(n) for n in (scenes, scenes, samples, 10 * samples, 10 * samples))
    sensor, calibrated, category = tokens(10), tokens(10), tokens(9)
    instance, box = tokens(boxes // 50), tokens(boxes)
    place = rng.uniform(0, 3000, (boxes, 3)).round(6).tolist()
    at = [k * scenes // samples for k in range(samples)]
    rows = {
        "attribute": [], "visibility": [], "map": [],
        "log": [{"token": t, "date_captured": "2019-01-01", "vehicle": "a101", "logfile": ""} for t in log],
        "scene": [{"token": t, "log_token": log[k], "name": t[:8], "nbr_samples": 126} for k, t in enumerate(scene)],
        "sample": [{"token": t, "scene_token": scene[at[k]], "timestamp": k * 2e5, "prev": "", "next": ""}
                   for k, t in enumerate(sample)],
        "sensor": [{"token": t, "channel": SENSORS[k], "modality": "camera" if k < 7 else "lidar"}
                   for k, t in enumerate(sensor)],
        "calibrated_sensor": [{"token": t, "sensor_token": sensor[k], "rotation": [1, 0, 0, 0],
                               "translation": [0, 0, 1], "camera_intrinsic": []} for k, t in enumerate(calibrated)],
        "ego_pose": [{"token": t, "rotation": [1, 0, 0, 0.1], "translation": [k, 0, 0], "timestamp": k * 2e4}
                     for k, t in enumerate(pose)],
        "sample_data": [{"token": t, "sample_token": sample[k // 10], "ego_pose_token": pose[k], "is_key_frame": True,
                         "calibrated_sensor_token": calibrated[k % 10], "timestamp": k * 2e4, "fileformat": "bin",
                         "filename": f"lidar/host-a101_lidar{k % 10}_{k}.bin", "prev": "", "next": ""}
                        for k, t in enumerate(shot)],
        "category": [{"token": t, "name": CATEGORIES[k], "description": ""} for k, t in enumerate(category)],
        "instance": [{"token": t, "category_token": category[k % 9]} for k, t in enumerate(instance)],
        "sample_annotation": [{"token": t, "sample_token": sample[k // 28], "translation": place[k],
                               "instance_token": instance[k % len(instance)], "size": [2, 4.5, 1.6],
                               "rotation": [1, 0, 0, 0.2], "prev": "", "next": "", "attribute_tokens": [],
                               "visibility_token": "", "num_lidar_pts": -1} for k, t in enumerate(box)],
    }  # fmt: skip
    tables = folder / "train_data"
    tables.mkdir(exist_ok=True)
    for name, table in rows.items():
        (tables / f"{name}.json").write_text(json.dumps(table))


def lyft_whole(folder: Path) -> None:
    """As many samples as the whole training set."""
    lyft(folder, 22_680)


def upcalls(folder: Path, recordings: int = 100, seconds: int = 900, rate: int = 2000) -> None:
    """Headers of 25 hours of recordings: the samples are holes in sparse files."""
    size = 2 * seconds * rate
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    for number in range(recordings):
        with (folder / f"{number:03d}.wav").open("wb") as file:
            file.write(struct.pack("<4sI4s", b"RIFF", 36 + size, b"WAVE") + form + struct.pack("<4sI", b"data", size))
            file.truncate(44 + size)
