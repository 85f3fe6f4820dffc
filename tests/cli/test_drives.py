"""Commands on sweeps: KITTI folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.cli.test_cli import run
from tests.formats.files import put, put_sweep
from tests.formats.test_kitti import CALIBRATION, CAR, DONT_CARE

MISC = CAR.replace("Car", "Misc")


def test_a_correct_kitti_folder_is_valid(tmp_path: Path) -> None:
    training = tmp_path / "training"
    put_sweep(training / "velodyne" / "000000.bin", np.ones((3, 4)))
    put_sweep(training / "velodyne_reduced" / "000000.bin", np.ones((2, 4)))
    put(training / "calib" / "000000.txt", CALIBRATION)
    put(training / "label_2" / "000000.txt", f"{CAR}\n{DONT_CARE}\n{DONT_CARE}\n{MISC}\n")
    printed = run("check", "lyft", tmp_path)
    assert printed.startswith("valid: 1 item, 1 object")
    assert "excluded labels of classes that the challenge does not have: 2 DontCare, 1 Misc" in printed
    assert "1 frame with two sweeps: the one in velodyne_reduced was read" in printed
    report = json.loads(run("check", "lyft", tmp_path, "--json"))
    assert report["valid"]
    assert len(report["remarks"]) == 2
