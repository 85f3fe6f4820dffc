"""Copies: media files with the same bytes as another one, which would be counted twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from pathlib import Path

from tallymark.core.humanize import plural
from tallymark.data.catalog import SHOWN, Catalog
from tallymark.io.archives import file_status, open_file, read_blocks
from tallymark.io.media import digest

BEGINNING = 1 << 16
"""Bytes that tell most files of one size apart, such as recordings of one length."""
MOST = 20_000
"""Items up to which copies are looked for: of millions, most have the size of another one."""


def copies_note(catalog: Catalog) -> list[str]:
    """A sentence about items that are copies of others; none without a copy, and of more than `MOST` items."""
    pairs = find_copies(catalog) if len(catalog) <= MOST else []
    if not pairs:
        return []
    ids, noun = catalog.items.ids, catalog.medium.noun
    listed = ", ".join(f"{ids[copy]} (as {ids[first]})" for first, copy in pairs[:SHOWN])
    more = ", …" if len(pairs) > SHOWN else ""
    single = len(pairs) == 1
    counted = "has the same bytes as another, and counts too" if single else "have the bytes of others, and count too"
    return [f"{plural(len(pairs), noun)} {counted}: {listed}{more}"]


def find_copies(catalog: Catalog) -> list[tuple[int, int]]:
    """Pairs of items whose files have the same bytes: the first of them, and each later one.

    Only files of one size are read, and only those that begin alike to their ends.
    """
    alike: list[list[int]] = [[item for item in range(len(catalog)) if catalog.path(item) is not None]]
    for key in (lambda path: file_status(path)[0], _beginning, lambda path: digest(read_blocks(path))):
        alike = [group for one in alike for group in _grouped(catalog, one, key)]
    return sorted(((group[0], item) for group in alike for item in group[1:]), key=lambda pair: pair[1])


def _beginning(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read(BEGINNING)


def _grouped(catalog: Catalog, items: Iterable[int], key: Callable[[Path], Hashable]) -> list[list[int]]:
    """The items of several that share a key; a file that cannot be read has none."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for item in items:
        path = catalog.path(item)
        with suppress(OSError):  # which inference says
            if path is not None:
                groups[key(path)].append(item)
    return [group for group in groups.values() if len(group) > 1]
