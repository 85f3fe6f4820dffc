"""Few places ask of which kind a geometry, recipe or medium is, and each of them is a constructor, a format or a
challenge's own."""

from __future__ import annotations

import pytest

from tools.kind_switches import ALLOWED, CEILING, PACKAGE, switches, switches_of


def test_few_places_ask_for_a_kind() -> None:
    found = [f"{one.file}:{one.line}: {one.reason}" for one in switches()]
    assert len(found) <= CEILING, "\n".join(found)


def test_every_place_that_asks_has_a_reason() -> None:
    unexplained = [f"{one.file}:{one.line}: {one.reason}" for one in switches() if one.allowed is None]
    assert not unexplained, "give the kind a method, or add the file to ALLOWED:\n" + "\n".join(unexplained)


def test_no_reason_outlives_its_file() -> None:
    files = {one.file for one in switches()}
    assert not [where for where in ALLOWED if not (PACKAGE / where).exists()]
    assert not [where for where in ALLOWED if where.endswith(".py") and where not in files]


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(shapes, Boxes)",
        "isinstance(shapes, (Masks, dict))",
        "not isinstance(truth.shapes, geometry.Labels | Events)",
        "isinstance(recipe, LidarRecipe)",
        "issubclass(kind, Cuboids)",
        "type(shapes) is RotatedBoxes",
        "shapes.__class__ == Boxes",
        "recipe.task == 'labels'",
        "'labels' != recipe.task",
        "recipe.task in ('boxes', 'masks')",
        "catalog.medium.noun == 'image'",
        "catalog.medium.noun[0] == 'image'",
        "modality == AUDIO",
        "recipe.modality.name == 'lidar'",
        "{Boxes: 1, Masks: 2}[type(shapes)]",
        "{'boxes': 1, 'masks': 2}[task]",
        "match shapes:\n    case Boxes(): ...",
        "match recipe.task:\n    case 'boxes': ...",
        "@area.register\ndef _(shapes: Boxes): ...",
        "@area.register(Boxes)\ndef _(shapes): ...",
    ],
)
def test_switches_are_counted(source: str) -> None:
    assert len(list(switches_of(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(value, int | float)",
        "shapes.clip(size)",
        "recipe.task == preset.task",
        "CODERS[recipe.task]",
        "task is None",
        "Boxes.of(rows)",
        "{'boxes': 3}",
        "{'labels': labels, 'loss': loss}",
        "f'{catalog.medium.noun}s'",
        "match value:\n    case int(): ...",
    ],
)
def test_other_code_is_not_counted(source: str) -> None:
    assert not list(switches_of(source))
