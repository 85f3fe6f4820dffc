"""What a guess is, for every geometry that has one."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Cuboids, RotatedBoxes
from tallymark.inference.baseline import baseline

ITEMS = Items.of(["a", "b"])


def test_nobody_guesses_volumes() -> None:
    known = Annotations.from_rows(
        Items.of(["k"]), np.zeros(1, int), Cuboids.of(np.ones((1, 7))), label=np.ones(1, int), classes=("car", "bus")
    )
    guessed = baseline(known, ITEMS, np.full((2, 2), 128.0))
    assert guessed.counts.tolist() == [0, 0]
    assert guessed.classes == ("car", "bus")
    assert isinstance(guessed.shapes, Cuboids)


def test_without_a_way_to_guess() -> None:
    known = Annotations.empty(ITEMS, RotatedBoxes.of(np.empty((0, 5))))
    with pytest.raises(ValueError, match="RotatedBoxes"):
        baseline(known, ITEMS, np.full((2, 2), 128.0))
