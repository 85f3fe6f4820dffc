"""Signs of label noise: an image unlike the others, and one whose halves differ, stand out."""

from __future__ import annotations

import numpy as np

from tallymark.training.label_noise import divided, similarity


def test_an_image_unlike_the_others_has_the_lowest_similarity() -> None:
    rng = np.random.default_rng(0)
    features = np.repeat(np.eye(3, 16), 20, axis=0) + rng.normal(0, 0.05, (60, 16))
    features[7] = np.eye(16)[15]
    assert similarity(features).argmin() == 7
    assert similarity(features[:1]).tolist() == [0]


def test_an_image_of_two_kinds_is_divided() -> None:
    rng = np.random.default_rng(0)
    features = np.repeat(np.eye(2, 16), 20, axis=0) + rng.normal(0, 0.05, (40, 16))
    halves = np.repeat(np.repeat(features[:, None, None], 2, axis=1), 2, axis=2)
    halves[5, 1, 1] = features[30]  # below the first kind is the second
    found = divided(halves, features)
    assert found[5] > 0.4  # most of its own kind are nearer
    assert (np.delete(found, 5) == 0).all()
    assert divided(halves[:1], features[:1]).tolist() == [0]
