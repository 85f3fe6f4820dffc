"""All families of files that are fuzzed, by name."""

from __future__ import annotations

from tests.fuzz.case import Family
from tests.fuzz.tables import Results, Tables

FAMILIES: dict[str, Family] = {
    "submissions": Tables("submission"),
    "truths": Tables("truth"),
    "results": Results(),
}
