"""Charts count right, stay readable with many bars, and escape what they are told."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from tallymark.core.humanize import clock, count, number, share, short
from tallymark.drawing.charts import Axis, bars, columns, heat, histogram, multiples
from tallymark.reporting.page import table


def titles(chart: str) -> list[str]:
    for drawing in re.findall(r"<svg.*?</svg>", chart, re.DOTALL):
        ElementTree.fromstring(drawing)
    return re.findall(r"<title>(.*?)</title>", chart)


def test_a_bin_for_each_of_few_whole_numbers() -> None:
    assert titles(histogram(np.array([0, 1, 1, 3]), "Things", "things")) == [
        "0 things: 1",
        "1 things: 2",
        "3 things: 1",
    ]


@pytest.mark.parametrize(
    "values", [[5], [5, 5], [0, 0, 0], [1e-9, 1e9], [-3.5, 2], [np.nan, 1, 2], list(range(1000)), [0.1, 0.1, 0.3]]
)
def test_every_value_is_in_a_bin(values: list[float]) -> None:
    finite = [value for value in values if np.isfinite(value)]
    amounts = [int(title.rsplit(" ", 1)[1]) for title in titles(histogram(np.array(values), "t", "m"))]
    assert sum(amounts) == len(finite)


def test_nothing_gives_no_chart() -> None:
    assert histogram(np.empty(0), "t") == bars({}, "t") == columns([], [], "t") == multiples({}, "t") == ""
    assert heat(np.zeros((3, 3)), "t") == ""


def test_a_long_tail_gets_a_logarithmic_axis() -> None:
    assert Axis.of(np.array([1.0, 2, 3, 900])).log
    assert not Axis.of(np.array([1.5, 2, 3, 9])).log
    assert not Axis.of(np.array([0.0, 2, 3, 900])).log


@pytest.mark.parametrize("ends", [(1e-4, 1e5), (2.1, 4.9), (1, 300), (0.7, 1.2)])
def test_a_logarithmic_axis_has_marks_however_long_it_is(ends: tuple[float, float]) -> None:
    ticks = Axis(np.array(ends), log=True).ticks()
    assert 2 <= len(ticks) <= 7
    assert all(ends[0] <= tick <= ends[1] for tick in ticks)


def test_many_bars_show_both_ends_and_fold_the_whole() -> None:
    chart = bars({f"class <{at}>": at + 1 for at in range(300)}, "Classes", "objects")
    shown = titles(chart)
    assert len(shown) == 30
    assert shown[0] == "class &lt;299&gt;: 300 objects"
    assert shown[-1] == "class &lt;0&gt;: 1 objects"
    assert "270 between them" in chart
    assert chart.count("<tr>") >= 300
    assert "<299>" not in chart


def test_a_heat_map_is_shaded_by_number() -> None:
    shades = re.findall(r'fill-opacity="([\d.]+)"', heat(np.array([[0, 1], [2, 4]]), "t"))
    assert [float(shade) for shade in shades] == [0.25, 0.5, 1.0]


def test_a_heat_map_tells_numbers_whatever_its_shades() -> None:
    drawn = heat(np.array([[0, 1], [4, 16]]), "t", power=0.5)
    assert titles(drawn) == ["1", "4", "16"]
    assert re.findall(r'fill-opacity="([\d.]+)"', drawn) == ["0.25", "0.50", "1.00"]


def test_a_heat_map_of_many_rows_stays_as_wide() -> None:
    drawn = heat(np.ones((200, 24)), "t")
    assert set(re.findall(r'width="([\d.]+)" height="([\d.]+)" fill-op', drawn)) == {("12.50", "1.50")}


def test_cells_that_were_looked_at_are_drawn_without_anything_in_them() -> None:
    looked = np.array([[True, False], [False, True]])
    assert titles(heat(np.array([[0, 0], [0, 3]]), "t", drawn=looked)) == ["0", "3"]


def test_what_is_not_known_has_no_column() -> None:
    assert titles(columns(["a", "b", "c"], [None, 0, 2.5], "t", "m")) == ["b: 0 m", "c: 2.5 m"]
    assert columns(["a", "b"], [None, None], "t") == columns(["a"], [0], "t") == ""


def test_whole_numbers_with_a_long_tail_leave_no_gaps() -> None:
    assert titles(histogram(np.array([1] * 5 + [2] * 3 + [3] * 2 + [40]), "t", "m")) == [
        "1 m: 5", "2 m: 3", "3 m: 2", "35 to 40 m: 1",
    ]  # fmt: skip


def test_multiples_share_an_axis() -> None:
    chart = multiples({"a": np.array([1.0, 2.0]), "b": np.array([100.0])}, "t", "m")
    assert titles(chart)[-1] == "76 to 100 m: 1"


def test_long_tables_are_folded() -> None:
    assert "<details>" not in table(["n"], [[at] for at in range(25)])
    assert "5 more rows" in table(["n"], [[at] for at in range(30)])


def test_numbers_for_people() -> None:
    assert [count(1234567), number(1024), number(39.44), number(0.05234), number(100.01), number(float("nan"))] == [
        "1,234,567", "1,024", "39.4", "0.0523", "100", "-",
    ]  # fmt: skip
    assert [share(1, 0), share(1, 200), share(1, 3), share(0, 5)] == ["-", "0.5%", "33%", "0%"]
    assert [clock(7.5), clock(900), clock(5400), clock(59.999)] == ["7.5 s", "15:00", "1:30:00", "60 s"]
    assert [short(1500), short(2e6), short(0.1)] == ["1.5k", "2M", "0.1"]
