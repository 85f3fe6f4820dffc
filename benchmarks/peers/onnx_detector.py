"""Any YOLO-style ONNX detector, from files to boxes: letterbox, normalise, run, decode, NMS.

Nothing of such a detector is a part of this project: its file is given on the command line. The network gets
(1, 3, size, size) floats from 0 to 1, and gives (1, 4 + classes, anchors): centre, width and height in pixels of the
input, then a score for each class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np

from benchmarks.models import bare_model

GRAY = 114
MIN_SCORE = 0.25
NMS_IOU = 0.7

Run = Callable[[np.ndarray], object]


class OnnxDetector:
    """A detector in one runtime: one image after the other with all threads, or several side by side, one thread each.

    size: side of the input in pixels.
    """

    def __init__(self, path: Path, size: int, runtime: str, threads: int, *, concurrent: bool) -> None:
        self.size = size
        self.at_once = threads if concurrent else 1
        self._run = bare_model(path, runtime, 1 if concurrent else threads, streams=self.at_once)

    def predict(self, files: Sequence[Path]) -> list[np.ndarray]:
        """The boxes (n, 4) of each image: left, top, width and height in its own pixels."""
        if self.at_once == 1:
            return [self.detect(path) for path in files]
        with ThreadPoolExecutor(self.at_once) as pool:
            return list(pool.map(self.detect, files))

    def detect(self, path: Path) -> np.ndarray:
        image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
        inputs, scale, left, top = letterbox(image, self.size)
        [outputs] = self._run(inputs)  # type: ignore[misc]
        found = np.asarray(outputs)[0].T
        score = found[:, 4:].max(axis=1)
        found, score = found[score >= MIN_SCORE], score[score >= MIN_SCORE]
        boxes = np.column_stack([found[:, :2] - found[:, 2:4] / 2, found[:, 2:4]])
        kept = np.asarray(cv2.dnn.NMSBoxes(boxes.tolist(), score.tolist(), MIN_SCORE, NMS_IOU), int).ravel()
        return (boxes[kept] - (left, top, 0, 0)) / scale


def letterbox(image: np.ndarray, size: int) -> tuple[np.ndarray, float, int, int]:
    """An image in the middle of a gray square as the network is given it, its scale, and where it begins."""
    height, width = image.shape[:2]
    scale = size / max(height, width)
    across, down = round(width * scale), round(height * scale)
    left, top = (size - across) // 2, (size - down) // 2
    square = np.full((size, size, 3), GRAY, np.uint8)
    square[top : top + down, left : left + across] = cv2.resize(image, (across, down))
    planes = np.ascontiguousarray(square.transpose(2, 0, 1))[None]
    return planes.astype(np.float32) / 255, scale, left, top
