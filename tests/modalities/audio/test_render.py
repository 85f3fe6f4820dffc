"""Rendering of recordings: windows of the gallery, and events by hour of the day."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.modalities.audio.gallery import event_windows
from tallymark.modalities.audio.render import RENDERER
from tallymark.modalities.render import renderer_of
from tallymark.modalities.survey import survey
from tests.reporting.sets import upcalls


def test_recordings_have_the_audio_renderer(tmp_path: Path) -> None:
    assert renderer_of(upcalls(tmp_path)) is RENDERER


def test_windows_end_with_recordings_that_the_survey_omitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = upcalls(tmp_path)
    soundfile.write(str(catalog.path(0)), np.zeros(15 * 2000), 2000)
    monkeypatch.setattr("tallymark.modalities.survey.MAX_FILES", 0)
    chosen = event_windows(catalog, survey(catalog, RENDERER.measure), 8, 0)
    windows = {item.window for items in chosen.values() for item in items if item.item == 0}
    assert windows == {(0.0, 15.0)}


def test_events_by_hour_read_dates_of_any_format(tmp_path: Path) -> None:
    catalog = upcalls(tmp_path)
    assert catalog.truth is not None
    items = Items.of(["GSC_2000-05-19_00-59-50.flac", "GSC_20000519_070000.wav", "c.wav"])
    truth = Annotations.from_rows(items, catalog.truth.item, catalog.truth.shapes)
    surveyed = survey(catalog, RENDERER.measure)
    chart = RENDERER.object_charts(replace(catalog, items=items, truth=truth), surveyed)[-1]
    assert chart is not None
    assert "2 recordings" in chart.note
    assert {tooltip for tooltip in re.findall(r"<title>(.*?)</title>", chart.svg) if ": 0 " not in tooltip} == {
        "1: 3 events", "7: 1 events",
    }  # fmt: skip


def test_the_total_is_in_hours(tmp_path: Path) -> None:
    catalog = upcalls(tmp_path)
    surveyed = survey(catalog, RENDERER.measure)
    assert RENDERER.total(surveyed) == ("0.05", "hours of recording")
    rates = RENDERER.rate_columns(surveyed)
    assert rates is not None
    np.testing.assert_allclose(rates.amount, 1 / 60)
