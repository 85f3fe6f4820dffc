"""The page of a data set: what is in it, how much of it, how large, where, and what is odd."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.drawing.bev import colour_of
from tallymark.geometry import Cuboids, Labels
from tallymark.io.media import BadMedia
from tallymark.modalities import gallery as picks
from tallymark.modalities.audio import gallery as sounds
from tallymark.modalities.image import overlays as measures
from tallymark.modalities.survey import Survey, survey
from tallymark.reporting import summary_tables as counts
from tallymark.reporting.gallery import draw_cameras, make_tiles
from tallymark.reporting.page import Section, beside, cards, gallery, legend, page, tile

GALLERY = 24
CAMERAS = 2
"""Samples that are also shown as a camera saw them."""


@np.errstate(over="ignore", invalid="ignore")  # of objects larger than any picture
def write_page(
    catalog: Catalog,
    title: str,
    out: Path,
    *,
    problems: Problems | None = None,
    gallery: int = GALLERY,
    seed: int = 0,
) -> None:
    """Write one self-contained HTML file about a data set.

    Parameters
    ----------
    problems: what a check of the folder found; it is shown, with what reading noted and what could not be opened.
    gallery: how many items are drawn at most. seed: decides which, among those that are alike.
    """
    seen = survey(catalog, seed)
    text = page(
        title, counts.lead(catalog, seen), counts.facts(catalog, seen), sections(catalog, seen, problems, gallery, seed)
    )
    out.write_text(text, encoding="utf-8")


def sections(catalog: Catalog, seen: Survey, problems: Problems | None, most: int, seed: int) -> list[Section]:
    """All that the page shows below its header."""
    if not len(catalog):
        return [_problems(catalog, seen, problems)]
    groups = ""
    if catalog.group.n_unique() > 1:
        groups = beside(counts.count_table(catalog, seen, catalog.group, "group"), counts.group_charts(catalog))
    _, many = counts.nouns(catalog)
    return [
        Section("Parts", counts.count_table(catalog, seen, catalog.split, "part")),
        _problems(catalog, seen, problems),
        Section(
            "Groups", groups, "What was taken together: a source, a day, a log. Keep a group on one side of a split."
        ),
        Section("Classes", counts.class_balance(catalog)),
        Section("Gallery", _gallery(catalog, seen, most, seed), _gallery_note(catalog)),
        Section(
            many.capitalize(),
            cards(measures.objects_measured(catalog, seen)),
            "How many, how long, and when." if many == "calls" else "How many, how large, and where.",
        ),
        Section(f"{catalog.medium.noun.capitalize()} files", cards(measures.media_sizes(catalog, seen))),
    ]


def _problems(catalog: Catalog, seen: Survey, given: Problems | None) -> Section:
    """What a check found, what reading noted, what could not be opened; each once."""
    known = Problems()
    if given is not None:
        known.merge(given)
    else:
        known.merge(catalog.notes)
    told = {problem.item for problem in known}
    for problem in seen.problems(catalog):
        if problem.item not in told:
            known.add(problem)
    return Section(
        "Problems", counts.problem_tables(known), "What is wrong or odd in the files, and what to do about it."
    )


def _gallery_note(catalog: Catalog) -> str:
    if catalog.medium.noun == "recording":
        return "Spectrograms, each frequency against its own median. Orange brackets are the calls of the truth."
    if catalog.medium.noun == "sweep":
        return "From above, rings every 20 m. High points are bright; the line inside a volume is its heading."
    if catalog.truth is not None and isinstance(catalog.truth.shapes, Labels):
        return "Each with its label. Click a picture to enlarge it."
    return "The truth is orange; in a close-up, what it is about is blue. Click a picture to enlarge it."


def _gallery(catalog: Catalog, seen: Survey, most: int, seed: int) -> str:
    if not catalog.files.is_not_null().any():
        return counts.quiet("No file of this data set is here, so there is nothing to draw.")
    if most < 1:
        return ""
    sound = catalog.medium.noun == "recording"
    chosen = _sound_picks(catalog, seen, most, seed) if sound else _picks(catalog, seen, most, seed)
    parts = [_classes(catalog)]
    for heading, some in chosen.items():
        parts.append(gallery(heading, make_tiles(catalog, some, f"drawing {heading.lower()}"), wide=sound))
    parts.append(gallery("Seen by a camera", _cameras(catalog, seen, seed), wide=True))
    return "".join(parts)


def _picks(catalog: Catalog, seen: Survey, most: int, seed: int) -> dict[str, list[picks.Pick]]:
    """Half of the room for typical items, a third for odd ones, the rest for those without truth."""
    faulty = picks.unreadable(seen, max(1, most // 6))
    odd = picks.odd(catalog, seen, most // 3)
    plain = picks.without_truth(catalog, seen, max(1, most // 6) if catalog.labelled.any() else most // 2, seed)
    room = max(0, most - len(odd) - len(plain) - len(faulty))
    taken = {pick.item for pick in odd if pick.focus is None}
    typical = [pick for pick in picks.typical(catalog, seen, room + len(taken), seed) if pick.item not in taken]
    plain = [pick for pick in plain if pick.item not in taken]
    return {"Typical": typical[:room], "Odd": odd, "Without truth": plain, "Cannot be read": faulty}


def _sound_picks(catalog: Catalog, seen: Survey, most: int, seed: int) -> dict[str, list[picks.Pick]]:
    whole = sounds.whole_picks(catalog, seen, max(1, most // 6))
    found = {"Whole recordings": whole, **sounds.call_picks(catalog, seen, most - len(whole) - most // 4, seed)}
    found["Without a call"] = sounds.silent_picks(catalog, seen, max(1, most // 8), seed, labelled=True)
    found["Without truth"] = sounds.silent_picks(catalog, seen, max(1, most // 8), seed, labelled=False)
    found["Cannot be read"] = picks.unreadable(seen, max(1, most // 8))
    return found


def _classes(catalog: Catalog) -> str:
    """The colours of the classes of volumes that occur."""
    truth = catalog.truth
    if truth is None or not isinstance(truth.shapes, Cuboids) or not truth.classes:
        return ""
    return legend([(truth.classes[at], colour_of(at)) for at in np.unique(truth.labels).tolist()])


def _cameras(catalog: Catalog, seen: Survey, seed: int) -> list[str]:
    """Volumes in the pictures of cameras, where there are any."""
    if catalog.drive is None:
        return []
    tiles = []
    for pick in picks.typical(catalog, seen, CAMERAS, seed):
        try:
            drawn = draw_cameras(catalog, pick.item)
        except BadMedia:  # the sweep of the sample is drawn all the same
            continue
        if drawn is not None:
            tiles.append(tile(drawn[0], catalog.items.ids[pick.item], [catalog.group[pick.item], drawn[1]]))
    return tiles
