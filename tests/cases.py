"""The hand-computed cases in `conformance/`, written as truth and submission files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "conformance"
TOLERANCE = 1e-12


def all_cases() -> list[Any]:
    """A pytest parameter (challenge, case) for every case."""
    return [
        pytest.param(path.stem, case, id=f"{path.stem}-{case['name']}")
        for path in sorted(FOLDER.glob("*.json"))
        for case in json.loads(path.read_text())["cases"]
    ]


def write_files(case: Mapping[str, Any], folder: Path) -> tuple[Path, Path, Path | None, dict[str, Any]]:
    """The paths of the case's truth, submission and image list (None without one), and its rule options."""
    options = dict(case["options"])
    texts = {"truth": case["truth"], "prediction": case["prediction"], "images": options.pop("images", None)}
    paths = {name: folder / f"{name}.csv" for name in texts}
    for name, text in texts.items():
        if text is not None:
            paths[name].write_bytes(text.encode())
    return paths["truth"], paths["prediction"], paths["images"] if texts["images"] else None, options


def assert_values(expected: Mapping[str, Any], got: Mapping[str, Any], per_item: Mapping[str, float | None]) -> None:
    """Compare a score, as printed by `--json`, and the scores per item with the expected values of a case."""
    for name, value in expected.items():
        if name in ("exact", "per_image"):
            continue
        if value is None:
            assert got[name] is None
            assert got["note"]
        else:
            assert got[name] == pytest.approx(value, abs=TOLERANCE, rel=0), name
    exact = expected["exact"]
    for name, fraction in (exact if isinstance(exact, dict) else {"score": exact}).items():
        if fraction is not None:
            assert abs(Fraction(got[name]) - Fraction(fraction)) <= TOLERANCE, name
    for item, fraction in expected.get("per_image", {}).items():
        score = per_item[item]
        if fraction is None:
            assert score is None
        else:
            assert score is not None, item
            assert math.isclose(score, Fraction(fraction), abs_tol=TOLERANCE), item


def assert_error(expected: Mapping[str, Any], problems: list[dict[str, Any]]) -> None:
    """The expected error must be the first problem of its row or, without a row, one of the problems without one."""
    wanted = {"kind": expected["kind"]} | ({"item": expected["id"]} if "id" in expected else {})
    in_row = [problem for problem in problems if problem.get("line") == expected.get("row")]
    named = [{key: problem.get(key) for key in wanted} for problem in in_row]
    assert wanted in (named[:1] if "row" in expected else named), problems
