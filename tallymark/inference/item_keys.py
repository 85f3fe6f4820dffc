"""Keys of items in a journal; apart from it, since workers need the keys only."""

from __future__ import annotations

import hashlib
import json

from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.io.media import BadMedia
from tallymark.modalities import modality_of
from tallymark.modalities.base import InputPlan


def item_key(catalog: Catalog, item: int, recipe: Recipe, plan: InputPlan) -> str | None:
    """What stands for an item and its files as they are now; None if they are out of reach."""
    try:
        shown = recipe if plan.recipes is None else plan.recipes[item]
        return digest(modality_of(recipe).fingerprint(catalog, item, shown))
    except BadMedia:
        return None


def digest(value: object) -> str:
    """A short text that stands for a value."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]
