"""What an SVG path of straight lines covers."""

from __future__ import annotations

import re

import cv2
import numpy as np

SHIFT = 8
"""Fractional bits of the coordinates given to OpenCV."""


def lines_of(path: str) -> list[np.ndarray]:
    """The corners (n, 2) of each part of a path with the commands M, L, H, V and Z."""
    parts: list[list[list[float]]] = []
    assert re.fullmatch(r"([MLHVZ][-0-9. ]*)*", path), path
    for command, text in re.findall(r"([MLHVZ])([^MLHVZ]*)", path):
        numbers = [float(number) for number in text.split()]
        assert all(round(number, 1) == number for number in numbers)
        match command:
            case "M":
                parts.append([numbers])
            case "L":
                parts[-1].append(numbers)
            case "H":
                parts[-1].append([numbers[0], parts[-1][-1][1]])
            case "V":
                parts[-1].append([parts[-1][-1][0], numbers[0]])
    return [np.array(part) for part in parts]


def filled(path: str, shape: tuple[int, int]) -> np.ndarray:
    """The pixels (height, width) whose centre is inside of a path, by the rule evenodd."""
    scale = 8  # OpenCV also fills the pixels that the outline runs through, so they should be small
    canvas = np.zeros((shape[0] * scale, shape[1] * scale), np.uint8)
    outlines = [np.round((part * scale - 0.5) * (1 << SHIFT)).astype(np.int32) for part in lines_of(path)]
    cv2.fillPoly(canvas, outlines, 1, cv2.LINE_8, SHIFT)
    return cv2.resize(canvas * 255, shape[::-1], interpolation=cv2.INTER_AREA) > 127


def iou(first: np.ndarray, second: np.ndarray) -> float:
    """The IoU of two bitmaps."""
    return float((first & second).sum() / (first | second).sum())
