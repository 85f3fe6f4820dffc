"""Groups of classes that are confused with each other."""

from __future__ import annotations

import numpy as np

from tallymark.scoring.by_class import Confusions
from tallymark.scoring.lookalikes import lookalikes


def confusions(pairs: dict[tuple[int, int], int], names: tuple[str, ...] = ()) -> Confusions:
    """So many items of each label that are predicted as each class."""
    rows = np.repeat(np.array(list(pairs)), list(pairs.values()), axis=0)
    return Confusions(rows[:, 0], rows[:, 1], names)


def test_groups_by_hand() -> None:
    table = lookalikes(
        confusions(
            {
                (0, 0): 80, (0, 1): 20, (1, 1): 90, (1, 0): 10,
                (2, 2): 95, (2, 3): 5, (3, 3): 93, (3, 2): 6, (3, 0): 1,
                (4, 4): 100, (-1, 4): 50, (4, -1): 7,
            },
            ("ramen", "pho", "cake", "tart", "salad"),
        )
    )  # fmt: skip
    assert table.rows() == [(["ramen", "pho"], 200, 30, 0.15), (["cake", "tart"], 200, 11, 0.055)]


def test_a_chain_of_confusions_is_not_one_group() -> None:
    chain = {(k, k): 80 for k in range(10)} | {(k, k + 1): 20 for k in range(9)}
    sizes = [len(classes) for classes in lookalikes(confusions(chain))["classes"]]
    assert sizes == [2] * 5


def test_three_classes_that_are_all_confused_are_one_group() -> None:
    rows = {(a, b): 60 if a == b else 20 for a in range(3) for b in range(3)} | {(3, 3): 9}
    assert lookalikes(confusions(rows))["classes"].to_list() == [["0", "1", "2"]]


def test_the_order_of_items_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 30, 5000)
    predicted = np.where(rng.random(5000) < 0.4, label ^ 1, label)
    order = rng.permutation(5000)
    table = lookalikes(Confusions(label, predicted))
    assert table.height == 15
    assert table.equals(lookalikes(Confusions(label[order], predicted[order])))


def test_without_confusions_there_are_no_groups() -> None:
    nothing = np.empty(0, np.int64)
    assert lookalikes(Confusions(nothing, nothing)).is_empty()
    assert lookalikes(confusions({(0, 0): 5})).is_empty()
    assert lookalikes(confusions({(0, 0): 5, (1, 1): 5})).is_empty()
    assert lookalikes(confusions({(0, -1): 5, (-1, 1): 5})).is_empty()


def test_a_class_none_of_whose_items_has_a_prediction_counts_for_no_other_class() -> None:
    rows = {(0, 0): 80, (0, 2): 20, (1, -1): 50, (2, 2): 90, (2, 0): 10, (3, -1): 7}
    assert lookalikes(confusions(rows)).rows() == [(["0", "2"], 200, 30, 0.15)]
