"""Numbers, counts and durations as people write them."""

from __future__ import annotations

import pytest

from tallymark.core.humanize import abbreviate, clock, count, number, percentage, plural


def test_numbers_have_few_digits() -> None:
    assert [count(1234567), number(1024), number(39.44), number(0.05234), number(100.01), number(float("nan"))] == [
        "1,234,567", "1,024", "39.4", "0.0523", "100", "-",
    ]  # fmt: skip
    assert [percentage(1, 0), percentage(1, 200), percentage(1, 3), percentage(0, 5)] == ["-", "0.5%", "33%", "0%"]
    assert [clock(7.5), clock(900), clock(5400), clock(59.999)] == ["7.5 s", "15:00", "1:30:00", "60 s"]
    assert [abbreviate(1500), abbreviate(2e6), abbreviate(0.1)] == ["1.5k", "2M", "0.1"]


@pytest.mark.parametrize(
    ("value", "nouns", "text"),
    [(1, ("box", "boxes"), "1 box"), (0, ("box", "boxes"), "0 boxes"), (1200, ("image",), "1,200 images")],
)
def test_nouns_agree_with_their_count(value: int, nouns: tuple[str, ...], text: str) -> None:
    assert plural(value, *nouns) == text
