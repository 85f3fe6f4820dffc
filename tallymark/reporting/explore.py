"""The page of a data set: what it contains, how much, how large, where, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.problems import Problems
from tallymark.data.catalog import Catalog
from tallymark.modalities.render import renderer_of
from tallymark.modalities.survey import Survey, survey
from tallymark.reporting.blocks import Block, Legend, Paragraph, Section, SideBySide, Tile, charts, figure, gallery
from tallymark.reporting.gallery import make_tiles
from tallymark.reporting.page import write_html
from tallymark.reporting.report.subject import Subject
from tallymark.reporting.report.write import live_report
from tallymark.reporting.summary_tables import (
    class_balance,
    count_table,
    facts,
    group_chart,
    lead,
    object_count_chart,
    object_nouns,
    problem_tables,
)

GALLERY = 24
"""Items that the gallery shows at most."""


@np.errstate(over="ignore", invalid="ignore")  # of objects larger than any image
def write_page(
    catalog: Catalog,
    title: str,
    out: Path,
    *,
    problems: Problems | None = None,
    predictions: Subject | None = None,
    gallery: int = GALLERY,
    seed: int = 0,
    engine: EngineChoice = BY_DEFAULT,
) -> None:
    """Write one self-contained HTML file about a data set.

    Parameters
    ----------
    problems: what a check of the folder found; by default, what was noted when the catalog was read. Files that cannot
        be opened are added.
    predictions: to be shown beside the truth, with the score where there is one.
    gallery: how many items are drawn at most.
    seed: of the random choice among similar items.
    engine: opens the files.
    """
    surveyed = survey(catalog, renderer_of(catalog).measure, seed, engine)
    sections = _sections(catalog, surveyed, problems, gallery, seed)
    if predictions is not None:
        sections.insert(0, Section("Predictions", [live_report(predictions, gallery, seed, Problems())]))
    remarks = "".join(f" {remark[:1].upper()}{remark[1:]}." for remark in catalog.remarks)
    write_html(out, title, lead(catalog, surveyed) + remarks, facts(catalog, surveyed), sections)


def _sections(
    catalog: Catalog, surveyed: Survey, problems: Problems | None, gallery_size: int, seed: int
) -> list[Section]:
    """Everything below the header of the page."""
    problem_section = _problem_section(catalog, surveyed, problems)
    if not len(catalog):
        return [problem_section]
    renderer = renderer_of(catalog)
    _, nouns = object_nouns(catalog)
    objects = charts([object_count_chart(catalog), *renderer.object_charts(catalog, surveyed)])
    return [
        Section("Splits", count_table(catalog, surveyed, catalog.split, "split")),
        problem_section,
        _group_section(catalog, surveyed),
        Section("Classes", class_balance(catalog)),
        Section("Gallery", _gallery(catalog, surveyed, gallery_size, seed), renderer.gallery_note(catalog)),
        Section(nouns.capitalize(), objects, renderer.objects_note),
        Section(f"{catalog.medium.noun.capitalize()} files", charts(renderer.media_charts(surveyed))),
    ]


def _group_section(catalog: Catalog, surveyed: Survey) -> Section:
    blocks: list[Block] = []
    if catalog.group.n_unique() > 1:
        table = count_table(catalog, surveyed, catalog.group, "group")
        blocks = [SideBySide([*table, *figure(group_chart(catalog))])]
    note = "Items of one source, day or log. Keep a group on one side of a train/validation split."
    return Section("Groups", blocks, note)


def _problem_section(catalog: Catalog, surveyed: Survey, given: Problems | None) -> Section:
    """The problems of a check or of reading, and of files that cannot be opened; each item once."""
    problems = Problems()
    problems.merge(catalog.notes if given is None else given)
    listed = {problem.item for problem in problems}
    for problem in surveyed.problems(catalog):
        if problem.item not in listed:
            problems.add(problem)
    return Section("Problems", problem_tables(problems), "What is wrong with the files, and what to do about it.")


def _gallery(catalog: Catalog, surveyed: Survey, most: int, seed: int) -> list[Block]:
    if not catalog.files.is_not_null().any():
        return [Paragraph("No file of this data set is present, so there is nothing to draw.")]
    if most < 1:
        return []
    renderer = renderer_of(catalog)
    legend = renderer.legend(catalog)
    blocks: list[Block] = [Legend(legend)] if legend else []
    for heading, items in renderer.gallery(catalog, surveyed, most, seed).items():
        blocks += gallery(heading, make_tiles(catalog, items, f"drawing {heading.lower()}"), wide=renderer.wide)
    cameras = [
        Tile.make(drawn.image, catalog.items.ids[drawn.item], [catalog.group[drawn.item], drawn.camera])
        for drawn in renderer.camera_images(catalog, surveyed, seed)
    ]
    return blocks + gallery("Camera images", cameras, wide=True)
