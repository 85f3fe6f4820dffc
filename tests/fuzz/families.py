"""All families of files that are fuzzed, by name."""

from __future__ import annotations

from tests.fuzz.annotations import Folders
from tests.fuzz.case import Family
from tests.fuzz.drives import Drives
from tests.fuzz.lists import Lists, Options
from tests.fuzz.media import Archives, Media
from tests.fuzz.models import Journals, Models, Runs
from tests.fuzz.tables import Results, Tables

FAMILIES: dict[str, Family] = {
    "submissions": Tables("submission"),
    "truths": Tables("truth"),
    "results": Results(),
    "annotations": Folders(),
    "drives": Drives(),
    "media": Media(),
    "archives": Archives(),
    "lists": Lists(),
    "options": Options(),
    "models": Models(),
    "journals": Journals(),
    "runs": Runs(),
}
