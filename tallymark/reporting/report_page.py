"""The live part of a report: score at any threshold, gallery, viewer and review, in one block of a page."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""What could end a script element or begin another, as JSON writes it otherwise."""


@dataclass(frozen=True)
class LiveReport:
    """The page data of a report, which scripts turn into a live score, a gallery, a viewer and a review.

    data: one JSON object; numbers that are not finite are given as None.
    """

    template: ClassVar[str] = "report/report.html.jinja"
    data: Mapping[str, object]

    @property
    def json(self) -> str:
        """The data as JSON that is safe inside a script element: ASCII without `<`, `>` and `&`."""
        return json.dumps(self.data, separators=(",", ":"), allow_nan=False).translate(ESCAPED)


def packed(values: np.ndarray, dtype: str) -> str:
    """Numbers as base64 of a little-endian array, which the page reads as a typed array.

    dtype: without byte order, as in `i4`, `u4` and `f8`.
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=f"<{dtype}").tobytes()).decode()
