"""Files of kinds that are not read, named with their number and what to do: nothing in a folder is ignored silently."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tallymark.core.humanize import plural
from tallymark.core.problems import EVERY, Problem, Problems
from tallymark.data.catalog import Catalog
from tallymark.formats.unread_annotations import ANNOTATION_SUFFIXES, annotation_format, is_damaged_text
from tallymark.io.folders import Folder
from tallymark.io.texts import read_text

NAMED = 3
"""Suffixes or file names that a message lists."""


@dataclass(frozen=True)
class UnreadKind:
    """A kind of media file or archive. noun: what one is called. remedy: how to make files that are read of them."""

    noun: str
    suffixes: frozenset[str]
    remedy: str


def _kind(noun: str, suffixes: str, remedy: str) -> UnreadKind:
    return UnreadKind(noun, frozenset(f".{suffix}" for suffix in suffixes.split()), remedy)


VIDEO = "mp4 mov avi mkv m4v mpg mpeg wmv webm mts 3gp"
ARCHIVES = _kind("archive", "tar tgz gz bz2 tbz2 xz txz zst 7z rar", "unpack them: only zip files are read as they are")
UNFINISHED = _kind("unfinished download", "crdownload part partial download opdownload filepart", "get them again")
MEDIA: dict[str, tuple[UnreadKind, ...]] = {
    "image": (
        _kind("HEIC photograph", "heic heif", "pip install 'tallymark[heic]', or convert them to JPEG"),
        _kind("raw photograph", "dng cr2 cr3 nef arw orf rw2 raf", "convert them to JPEG or TIFF"),
        _kind("video", VIDEO, "extract frames: ffmpeg -i VIDEO -r 1 frame-%05d.jpg"),
        _kind("image", "gif jp2 j2k avif jxl ppm pgm psd jfif jpe ecw sid", "convert them to PNG or JPEG"),
    ),
    "audio": (
        _kind("recording", "m4a aac wma amr ape wv mka caf w64 au", "convert them: ffmpeg -i OLD NEW.wav"),
        _kind("recorder file", "sud wac w4v", "decompress them to WAV with the recorder's own program"),
        _kind("video", VIDEO, "extract the sound: ffmpeg -i VIDEO SOUND.wav"),
    ),
    "lidar": (
        _kind(
            "point cloud",
            "pcd ply las laz e57 xyz pts npy npz",
            "convert each to .bin: x, y, z and intensity of every point as 32-bit floats, e.g. by open3d and "
            "numpy.ndarray.tofile",
        ),
        _kind("log of a sensor", "pcap bag mcap db3", "export its sweeps as .bin files, one for each rotation"),
    ),
}
"""For each modality the kinds of media that belong to it, but are not read."""


def find_unread(listed: Folder, catalog: Catalog | None, formats: str, reported: Problems) -> Problems:
    """One problem for each kind of file in a folder that is not read.

    catalog: what was read of the folder, if anything. formats: the annotation formats that the challenge reads.
    reported: the problems that reading it has found.
    """
    problems = Problems(EVERY)
    by_suffix: dict[str, list[Path]] = defaultdict(list)
    for path in listed.files:
        by_suffix[path.suffix.lower()].append(path)
    for suffix in () if catalog is None else catalog.medium.suffixes:
        by_suffix.pop(suffix, None)
    modalities = MEDIA if catalog is None else (catalog.medium.modality,)
    for kind in (ARCHIVES, UNFINISHED, *(kind for modality in modalities for kind in MEDIA.get(modality, ()))):
        suffixes = sorted(kind.suffixes & by_suffix.keys())
        found = [path for suffix in suffixes for path in by_suffix.pop(suffix)]  # each file under one kind
        if found:
            text = f"{plural(len(found), kind.noun)} ({', '.join(suffixes[:NAMED])}), not read: {_some(found)}"
            problems.add(Problem("unread_files", str(listed.root), text, "files of kinds that are read", kind.remedy))
    others = [path for suffix in ANNOTATION_SUFFIXES for path in by_suffix.get(suffix, ())]
    if others:
        known = {problem.file for problem in reported}
        paths = [path for path in sorted(others) if str(path) not in known]
        _report_annotations(paths, listed, catalog, formats, problems)
    return problems


def _report_annotations(
    paths: Sequence[Path], listed: Folder, catalog: Catalog | None, formats: str, problems: Problems
) -> None:
    """Annotations in formats that are not read, and files that may be some, but are no text.

    Tables of unknown columns, and texts, count only where no truth was read.
    """
    known = set() if catalog is None else {*catalog.tables.drop_nulls(), *(note.file for note in catalog.notes)}
    without_truth = catalog is None or catalog.truth is None
    stems = set()
    if without_truth:
        media = listed.files if catalog is None else listed.ending(catalog.medium.suffixes)
        stems = {path.stem for path in media}
    found: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        if str(path) not in known:
            name = annotation_format(path, stems, doubtful=without_truth)
            if name is not None:
                found[name].append(path)
            elif is_damaged_text(path, stems):
                for damage in _damage(path, stems):
                    problems.add(damage)
    for name, paths in found.items():
        text = f"{plural(len(paths), 'file')} of annotations in another format, {name}: {_some(paths)}"
        expected = f"annotations as {formats}" if formats else "annotations in the challenge's own format"
        remedy = f"convert them to {formats}" if formats else "convert them to the files on the challenge's page"
        problems.add(Problem("unread_annotations", str(listed.root), text, expected, remedy))


def _damage(path: Path, stems: set[str]) -> Iterator[Problem]:
    """Why a file that may be annotations is none; nothing if it can be read by now."""
    expected, remedy = "a text file, as annotations are", "write the file again, or remove it"
    unreadable = Problems()
    text = read_text(path, unreadable, expected=expected)
    for problem in unreadable:
        yield replace(problem, kind="unread_annotations")
    if text is not None and is_damaged_text(path, stems):
        yield Problem("unread_annotations", str(path), "no text, or cut", expected, remedy)


def _some(paths: Sequence[Path]) -> str:
    """The names of the first files."""
    return ", ".join(path.name for path in paths[:NAMED]) + (", …" if len(paths) > NAMED else "")
