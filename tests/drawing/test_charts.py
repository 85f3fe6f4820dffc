"""Charts count correctly, stay readable with many bars, and escape names."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from tallymark.drawing.axes import Axis
from tallymark.drawing.charts import Chart, bars, columns, heat_map, histogram, line, small_multiples


def tooltips(chart: Chart | None) -> list[str]:
    """The tooltips of a chart, after checking that its drawings are well-formed."""
    assert chart is not None
    for drawing in re.findall(r"<svg.*?</svg>", chart.svg, re.DOTALL):
        ElementTree.fromstring(drawing)
    return re.findall(r"<title>(.*?)</title>", chart.svg)


def test_few_whole_numbers_have_a_bin_each() -> None:
    assert tooltips(histogram(np.array([0, 1, 1, 3]), "Objects", "objects")) == [
        "0 objects: 1",
        "1 objects: 2",
        "3 objects: 1",
    ]


@pytest.mark.parametrize(
    "values", [[5], [5, 5], [0, 0, 0], [1e-9, 1e9], [-3.5, 2], [np.nan, 1, 2], list(range(1000)), [0.1, 0.1, 0.3]]
)
def test_every_value_is_in_a_bin(values: list[float]) -> None:
    finite = [value for value in values if np.isfinite(value)]
    amounts = [int(tooltip.rsplit(" ", 1)[1]) for tooltip in tooltips(histogram(np.array(values), "t", "m"))]
    assert sum(amounts) == len(finite)


def test_there_is_no_chart_without_values() -> None:
    assert histogram(np.empty(0), "t") is None
    assert bars({}, "t") is None
    assert columns([], [], "t") is None
    assert small_multiples({}, "t") is None
    assert heat_map(np.zeros((3, 3)), "t") is None
    assert line(np.ones(1), np.ones(1), "t", ("x", "y")) is None


def test_a_long_tail_has_a_logarithmic_axis() -> None:
    assert Axis.fit(np.array([1.0, 2, 3, 900])).log
    assert not Axis.fit(np.array([1.5, 2, 3, 9])).log
    assert not Axis.fit(np.array([0.0, 2, 3, 900])).log


@pytest.mark.parametrize("ends", [(1e-4, 1e5), (2.1, 4.9), (1, 300), (0.7, 1.2)])
def test_a_logarithmic_axis_of_any_length_has_ticks(ends: tuple[float, float]) -> None:
    ticks = Axis(np.array(ends), log=True).ticks()
    assert 2 <= len(ticks) <= 7
    assert all(ends[0] <= tick <= ends[1] for tick in ticks)


def test_of_many_bars_both_ends_are_drawn_and_all_are_listed() -> None:
    chart = bars({f"class <{at}>": at + 1 for at in range(300)}, "Classes", "objects")
    assert chart is not None
    drawn = tooltips(chart)
    assert len(drawn) == 30
    assert drawn[0] == "class &lt;299&gt;: 300 objects"
    assert drawn[-1] == "class &lt;0&gt;: 1 objects"
    assert "270 between them" in chart.svg
    assert chart.table is not None
    assert len(chart.table.rows) == 300
    assert "<299>" not in chart.svg


def test_a_heat_map_is_shaded_by_count() -> None:
    chart = heat_map(np.array([[0, 1], [2, 4]]), "t")
    assert chart is not None
    shades = re.findall(r'fill-opacity="([\d.]+)"', chart.svg)
    assert [float(shade) for shade in shades] == [0.25, 0.5, 1.0]


def test_the_tooltips_of_a_heat_map_are_counts_whatever_its_shades() -> None:
    chart = heat_map(np.array([[0, 1], [4, 16]]), "t", power=0.5)
    assert chart is not None
    assert tooltips(chart) == ["1", "4", "16"]
    assert re.findall(r'fill-opacity="([\d.]+)"', chart.svg) == ["0.25", "0.50", "1.00"]


def test_a_heat_map_of_many_rows_keeps_its_width() -> None:
    chart = heat_map(np.ones((200, 24)), "t")
    assert chart is not None
    assert set(re.findall(r'width="([\d.]+)" height="([\d.]+)" fill-op', chart.svg)) == {("12.50", "1.50")}


def test_cells_to_show_are_drawn_even_if_their_count_is_0() -> None:
    shown = np.array([[True, False], [False, True]])
    assert tooltips(heat_map(np.array([[0, 0], [0, 3]]), "t", shown=shown)) == ["0", "3"]


def test_unknown_values_have_no_column() -> None:
    assert tooltips(columns(["a", "b", "c"], [None, 0, 2.5], "t", "m")) == ["b: 0 m", "c: 2.5 m"]
    assert columns(["a", "b"], [None, None], "t") is None
    assert columns(["a"], [0], "t") is None


def test_whole_numbers_with_a_long_tail_have_no_empty_bins_between() -> None:
    assert tooltips(histogram(np.array([1] * 5 + [2] * 3 + [3] * 2 + [40]), "t", "m")) == [
        "1 m: 5", "2 m: 3", "3 m: 2", "35 to 40 m: 1",
    ]  # fmt: skip


def test_small_multiples_share_an_axis() -> None:
    chart = small_multiples({"a": np.array([1.0, 2.0]), "b": np.array([100.0])}, "t", "m")
    assert tooltips(chart)[-1] == "76 to 100 m: 1"


def labels_of(chart: Chart | None) -> list[str]:
    assert chart is not None
    return re.findall(r'text-anchor="middle">(.*?)</text>', chart.svg)


def test_columns_are_labelled_where_there_is_room() -> None:
    bands = ["below 68.9", "68.9 to 86.3", "86.3 and more"]
    assert labels_of(columns(bands, [1, 2, 3], "t")) == bands
    hours = [str(hour) for hour in range(24)]
    assert labels_of(columns(hours, [1] * 24, "t")) == hours[::2]
    days = [f"2009-03-{day:02}" for day in range(1, 29)]
    assert labels_of(columns(days, [1] * 28, "t")) == days[::7]
