"""Writing Pascal VOC: an XML file for each image in `Annotations/`, the images in `JPEGImages/`, and lists of splits in
`ImageSets/Main/`.

Images keep their paths below the media folder. They are linked, and copied only where they are in an archive.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from xml.sax.saxutils import escape

from tallymark.core.outputs import make_folder, write_text
from tallymark.formats.export_source import ExportSource
from tallymark.formats.placed_images import place_image
from tallymark.geometry import Boxes
from tallymark.io.names import UNUSABLE, output_paths

ANNOTATIONS, IMAGES = "Annotations", "JPEGImages"


def export_voc(source: ExportSource[Boxes], folder: Path) -> None:
    """Write boxes with corners in pixels: a box is xmax - xmin wide. `<score>` is an addition for predictions.

    `<filename>` is the path of the image below its folder, as CVAT writes it.
    """
    objects, names = source.annotations, source.names
    boxes = objects.shapes
    corners = (boxes.x, boxes.y, boxes.x + boxes.width, boxes.y + boxes.height)
    rows = list(zip(*(side.tolist() for side in corners), strict=True))
    labels, offsets = objects.labels.tolist(), objects.offsets.tolist()
    scores = None if objects.score is None else objects.score.tolist()
    suffixes = [PurePosixPath(name).suffix for name in names]
    paths = output_paths(folder / ANNOTATIONS, names, ".xml", reserved=max(map(len, suffixes), default=0))
    for place in dict.fromkeys(path.parent for path in paths):
        make_folder(place)
        make_folder(folder / IMAGES / place.relative_to(folder / ANNOTATIONS))
    lists: dict[str, list[str]] = {}
    for item, (name, path) in enumerate(zip(names, paths, strict=True)):
        width, height = source.size[item].astype(int).tolist()
        of_item = range(offsets[item], offsets[item + 1])
        texts = [
            _object(source.classes[labels[at]], rows[at], None if scores is None else scores[at]) for at in of_item
        ]
        write_text(path, _annotation(name, width, height, texts), sync=False)
        stem = path.relative_to(folder / ANNOTATIONS).with_suffix("").as_posix()
        lists.setdefault(source.catalog.split[item], []).append(f'"{stem}"' if " " in stem else stem)
        if (file := source.catalog.path(item)) is not None:
            place_image(file, folder / IMAGES / (stem.removesuffix(suffixes[item]) + suffixes[item]))
    make_folder(folder / "ImageSets" / "Main")
    for split, stems in lists.items():
        write_text(folder / "ImageSets" / "Main" / f"{split}.txt", "".join(f"{stem}\n" for stem in stems))


def _annotation(name: str, width: int, height: int, objects: list[str]) -> str:
    size = f"<width>{width}</width><height>{height}</height><depth>3</depth>"
    folder = PurePosixPath(name).parent.as_posix()
    return (
        f"<annotation>\n  <folder>{_text('' if folder == '.' else folder)}</folder>\n"
        f"  <filename>{_text(name)}</filename>\n  <size>{size}</size>\n  <segmented>0</segmented>\n"
        f"{''.join(objects)}</annotation>\n"
    )


def _object(name: str, corners: tuple[float, ...], score: float | None) -> str:
    tags = zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True)
    box = "".join(f"<{tag}>{value:.15g}</{tag}>" for tag, value in tags)
    stated = "" if score is None else f"<score>{score:.6g}</score>"
    flags = "<pose>Unspecified</pose><truncated>0</truncated><difficult>0</difficult>"
    return f"  <object><name>{_text(name)}</name>{flags}{stated}<bndbox>{box}</bndbox></object>\n"


def _text(text: str) -> str:
    return escape(UNUSABLE.sub("_", text))
