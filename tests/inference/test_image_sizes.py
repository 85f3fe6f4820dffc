"""Images of other sizes, which one file of masks cannot hold, are refused before inference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tallymark.api import data as api_data
from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog
from tallymark.inference.image_sizes import refuse_sizes


def chips(folder: Path, *sizes: tuple[int, int]) -> Catalog:
    """Chips of these widths and heights, and a file that is not an image."""
    for number, (width, height) in enumerate(sizes):
        Image.fromarray(np.zeros((height, width, 3), np.uint8)).save(folder / f"{number}.png")
    (folder / "none.png").write_bytes(b"not an image")
    return api_data.read("ships", folder)


def problems_of(catalog: Catalog, shape: tuple[int, int] | None) -> list[Problem]:
    with pytest.raises(BadInput) as caught:
        refuse_sizes(catalog, shape)
    return list(caught.value.problems)


def test_every_chip_of_another_size_is_listed(tmp_path: Path) -> None:
    found = problems_of(chips(tmp_path, (40, 30), (64, 30), (40, 30), (30, 40), (40, 30)), None)
    assert [(problem.kind, problem.item) for problem in found] == [("other_size", "1.png"), ("other_size", "3.png")]
    assert "64 x 30 px" in found[0].found
    assert "40 x 30 px" in found[0].expected


def test_masks_must_have_the_shape_of_the_chips(tmp_path: Path) -> None:
    catalog = chips(tmp_path, (40, 30), (40, 30))
    refuse_sizes(catalog, None)
    refuse_sizes(catalog, (30, 40))
    [problem] = problems_of(catalog, (768, 768))
    assert problem.kind == "other_size"
    assert problem.remedy == "give --rule shape=30x40"


def test_unreadable_images_have_no_size(tmp_path: Path) -> None:
    refuse_sizes(chips(tmp_path), (768, 768))
