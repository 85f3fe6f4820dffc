"""Data sets: read them, make folds, explore them on a page, and generate synthetic ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.options import SceneOptions, parse_options
from tallymark.core.outputs import filling, holds_files, writing_to
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import EVERY, UNREADABLE, BadInput, Problem, Problems
from tallymark.core.registry import Challenge, challenge
from tallymark.data.catalog import Catalog
from tallymark.data.exclusions import read_exclusions
from tallymark.data.usable_ids import with_usable_ids
from tallymark.formats.unread import find_unread
from tallymark.io import recent_listings
from tallymark.io.folders import UNLISTED, Folder, open_folder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from tallymark.data.folds import Folds

PathLike = str | Path
MAX_ITEMS = 1_000_000
"""Items of a synthetic data set, at most."""


def read(name: str, folder: PathLike, *, exclude: PathLike | None = None, **rule_options: object) -> Catalog:
    """Read the data set in a folder: items, media, splits and truth.

    Annotations that cannot be read raise `BadInput`; missing and corrupt media are reported by `check`.

    Parameters
    ----------
    name: the challenge.
    folder: the data set, unpacked or in zip archives.
    exclude: a CSV list of items and objects to ignore, as `check` writes it.

    Examples
    --------
    >>> tallymark.read("wheat", "global-wheat-detection").in_split("train").truth  # doctest: +SKIP
    """
    what = challenge(name)
    problems = Problems()
    chosen = parse_options(what.rule_options, rule_options)
    return problems.checked(read_folder(what, Path(folder), chosen, exclude, problems))


def read_folder(
    what: Challenge, folder: Path, rule_options: DataclassInstance, exclude: PathLike | None, problems: Problems
) -> Catalog | None:
    """The data set without excluded items, whose problems do not count; None if it cannot be used."""
    exclusions = None if exclude is None else read_exclusions(exclude, problems)
    found = Problems(EVERY)
    reader = what.module("read")
    with recent_listings.hold():
        catalog: Catalog | None = reader.read(folder, rule_options, found)
        listed = open_folder(folder, Problems())
    catalog = None if catalog is None else with_usable_ids(catalog)
    if listed is not None:
        catalog = _with_remarks(catalog, listed, getattr(reader, "FORMATS", ""), found)
    if exclusions is None:
        problems.merge(found)
        return catalog
    problems.merge(found.without(exclusions.covers))
    return None if catalog is None else exclusions.apply(catalog, found)


def _with_remarks(catalog: Catalog | None, listed: Folder, formats: str, problems: Problems) -> Catalog | None:
    """A catalog with what is to be said about archives and files of other kinds in its folder."""
    notes = problems if catalog is None else catalog.notes
    for note in listed.notes:
        notes.add(note)
    notes.merge(find_unread(listed, catalog, formats, problems))
    if catalog is None or not listed.remarks:
        return catalog
    return replace(catalog, remarks=(*catalog.remarks, *listed.remarks))


def folds(
    name: str,
    folder: PathLike,
    *,
    folds: int = 5,
    seed: int = 0,
    leave_one_out: bool = False,
    exclude: PathLike | None = None,
    **rule_options: object,
) -> Folds:
    """Create leakage-free cross-validation folds: groups (source, day, drive, near-duplicates) stay together.

    Parameters
    ----------
    name, folder, exclude, rule_options: as for `read`.
    folds: the number of folds, stratified by the content of the items. seed: of the assignment of groups to folds.
    leave_one_out: every group is a fold of its own.
    """
    from tallymark.data.folds import make_folds

    catalog = read(name, folder, exclude=exclude, **rule_options).with_media()
    made = make_folds(catalog, folds, seed, leave_one_out=leave_one_out)
    return replace(made, notes=catalog.notes)


def explore(
    name: str,
    folder: PathLike,
    out: PathLike,
    *,
    exclude: PathLike | None = None,
    predictions: PathLike | None = None,
    seed: int = 0,
    engine: EngineChoice | None = None,
    **rule_options: object,
) -> Problems:
    """Write an HTML page about a data folder: counts, sizes, groups, and typical and unusual items.

    Unreadable files are listed on the page; `BadInput` is raised only if nothing can be read.

    Parameters
    ----------
    name, folder, exclude, rule_options: as for `read`.
    out: the page to write. seed: of the choice of items that are shown.
    predictions: a submission or candidates, to be shown beside the truth.
    engine: where the files are opened: by default on all cores of this machine.

    Returns
    -------
    The tables and folders that the system could not read, without which the page is not about the whole data set.
    """
    from tallymark.reporting.explore import write_page

    refuse_outputs([out], force=True)
    what = challenge(name)
    problems = Problems(EVERY)
    catalog = read_folder(what, Path(folder), parse_options(what.rule_options, rule_options), exclude, problems)
    if catalog is None:
        raise BadInput(problems)
    catalog = catalog.with_media()
    problems.merge(catalog.notes)
    shown = None
    if predictions is not None:
        from tallymark.api.report import subject_of

        shown = subject_of(what, predictions, catalog, None, rule_options)
    write_page(
        catalog,
        f"{what.title}: {folder}",
        Path(out),
        problems=problems,
        predictions=shown,
        seed=seed,
        engine=engine or BY_DEFAULT,
    )
    return problems.without(lambda problem: problem.kind not in (UNREADABLE, UNLISTED))


def synth(
    name: str,
    folder: PathLike,
    *,
    items: int = 50,
    seed: int = 0,
    zipped: bool = False,
    engine: EngineChoice | None = None,
    **scene_options: object,
) -> dict[str, str]:
    """Write a synthetic data set in the challenge's official formats.

    Parameters
    ----------
    name: the challenge.
    folder: a new or empty folder.
    items: images, recordings or sweeps in all, one in five of them in the test split.
    seed: the same seed gives the same bytes.
    zipped: in zip archives, as the official data sets are published; every command reads them as they are.
    engine: where the items are made: by default on all cores of this machine.
    scene_options: how the data look, e.g. `size=1024`; `tallymark list CHALLENGE` lists them.

    Returns
    -------
    The rule options that the data set needs, where it differs from the official one.
    """
    from tallymark.synthetic.packing import pack
    from tallymark.synthetic.streams import made_by

    scenes = parse_scene_options(name, scene_options)
    path = Path(folder)
    if path.exists() and (not path.is_dir() or holds_files(path)):
        remedy = "name a new folder: two data sets in one folder would be read as one"
        raise BadInput(Problem("not_empty", str(path), "files", "a new or empty folder", remedy))
    if not 1 <= items <= MAX_ITEMS or seed < 0:
        found, expected = f"items={items}, seed={seed}", f"items from 1 to {MAX_ITEMS} and a seed from 0 on"
        raise BadInput(Problem("bad_option", "synth", found, expected, "give e.g. items=50, seed=0"))
    with filling(path) as unfinished, writing_to(unfinished), made_by(engine or BY_DEFAULT):
        challenge(name).module("synth").write(unfinished, items, seed, scenes)
        if zipped:
            pack(unfinished, scenes.package)
    return scenes.rule_options


def parse_scene_options(name: str, given: Mapping[str, object]) -> SceneOptions:
    """The options of a challenge's synthetic data, with these values."""
    kind: type[SceneOptions] = challenge(name).module("synth").SceneOptions
    return parse_options(kind, given)
