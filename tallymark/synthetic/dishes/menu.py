"""The dish of each class number: a class has the same appearance in every synthetic set.

Classes come in families of similar dishes, which share most of their ingredients and differ in the second
ingredient, its amount, the arrangement of the pieces, and the shade of the base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Shape = Literal["round", "ring", "square", "strip", "leaf", "crescent", "wedge", "egg"]
Pattern = Literal["scatter", "ring", "heap", "half"]
Color = tuple[int, int, int]


@dataclass(frozen=True)
class Ingredient:
    """Pieces of food: outline, colour, size (on a plate of radius 1), height (0 to 255), and pieces per portion."""

    shape: Shape
    color: Color
    size: float
    height: float
    count: int


@dataclass(frozen=True)
class Family:
    """A family of dishes: whether it is served in a bowl, the (light, dark) colours of its bases, its ingredients."""

    bowl: bool
    bases: tuple[tuple[Color, Color], ...]
    ingredients: tuple[str, ...]


@dataclass(frozen=True)
class Dish:
    """The appearance of a class. portion: amount of the second ingredient, relative to the usual one."""

    name: str
    family: str
    bowl: bool
    base: tuple[Color, Color]
    main: Ingredient
    second: Ingredient
    pattern: Pattern
    portion: float


INGREDIENTS = {
    "almond": Ingredient("leaf", (204, 160, 104), 0.06, 12, 26),
    "avocado": Ingredient("crescent", (150, 180, 80), 0.15, 16, 9),
    "bacon": Ingredient("strip", (150, 58, 44), 0.15, 9, 12),
    "basil": Ingredient("leaf", (52, 110, 38), 0.13, 10, 10),
    "bean": Ingredient("crescent", (110, 32, 30), 0.055, 14, 36),
    "blueberry": Ingredient("round", (48, 52, 98), 0.055, 20, 22),
    "carrot": Ingredient("strip", (232, 120, 30), 0.09, 10, 26),
    "cherry": Ingredient("round", (150, 14, 30), 0.075, 24, 10),
    "chocolate": Ingredient("square", (62, 36, 24), 0.05, 12, 30),
    "corn": Ingredient("round", (246, 204, 60), 0.035, 10, 60),
    "cucumber": Ingredient("ring", (120, 170, 84), 0.1, 8, 14),
    "egg": Ingredient("egg", (250, 246, 234), 0.2, 12, 3),
    "feta": Ingredient("square", (244, 240, 226), 0.065, 18, 20),
    "ham": Ingredient("wedge", (226, 140, 136), 0.13, 8, 14),
    "mango": Ingredient("square", (250, 176, 40), 0.075, 16, 20),
    "mushroom": Ingredient("crescent", (186, 158, 124), 0.1, 12, 16),
    "olive": Ingredient("ring", (44, 38, 46), 0.055, 12, 22),
    "onion": Ingredient("ring", (190, 120, 160), 0.11, 7, 12),
    "orange": Ingredient("wedge", (244, 140, 34), 0.11, 12, 12),
    "pea": Ingredient("round", (104, 168, 58), 0.036, 14, 50),
    "pepper": Ingredient("strip", (208, 46, 34), 0.12, 10, 18),
    "salami": Ingredient("round", (170, 46, 36), 0.13, 7, 13),
    "salmon": Ingredient("square", (246, 138, 100), 0.1, 14, 12),
    "seaweed": Ingredient("strip", (28, 46, 34), 0.12, 6, 20),
    "shrimp": Ingredient("crescent", (244, 154, 112), 0.12, 18, 12),
    "spinach": Ingredient("leaf", (38, 86, 36), 0.15, 8, 14),
    "strawberry": Ingredient("wedge", (214, 34, 42), 0.1, 20, 14),
    "tofu": Ingredient("square", (240, 226, 192), 0.11, 18, 12),
    "tomato": Ingredient("round", (212, 50, 34), 0.085, 16, 16),
    "walnut": Ingredient("round", (150, 104, 62), 0.055, 16, 18),
}

SWEET = ("strawberry", "blueberry", "chocolate", "almond", "cherry", "mango", "walnut", "orange")
FAMILIES = {
    "pizza": Family(
        False,
        (((246, 206, 120), (206, 92, 44)), ((250, 226, 160), (222, 150, 80)), ((236, 180, 90), (180, 60, 34))),
        ("salami", "olive", "mushroom", "pepper", "tomato", "basil", "ham", "onion"),
    ),
    "pasta": Family(
        False,
        (((246, 220, 150), (214, 160, 80)), ((240, 196, 120), (204, 110, 50)), ((236, 232, 190), (190, 190, 110))),
        ("tomato", "basil", "shrimp", "bacon", "mushroom", "pea", "olive", "spinach"),
    ),
    "soup": Family(
        True,
        (((228, 150, 60), (190, 96, 30)), ((206, 80, 40), (160, 40, 24)), ((190, 180, 90), (120, 130, 50))),
        ("carrot", "bean", "corn", "mushroom", "tofu", "pea", "shrimp", "seaweed"),
    ),
    "cake": Family(
        False,
        (((246, 238, 226), (228, 206, 180)), ((112, 66, 44), (66, 36, 26)), ((246, 200, 204), (224, 150, 160))),
        SWEET,
    ),
    "salad": Family(
        True,
        (((150, 190, 84), (60, 110, 40)), ((180, 206, 120), (96, 140, 60)), ((120, 160, 80), (84, 50, 70))),
        ("tomato", "cucumber", "feta", "olive", "onion", "egg", "avocado", "carrot"),
    ),
    "rice_bowl": Family(
        True,
        (((250, 246, 236), (226, 214, 190)), ((240, 214, 140), (206, 168, 84)), ((206, 170, 130), (150, 110, 76))),
        ("salmon", "avocado", "egg", "carrot", "spinach", "tofu", "seaweed", "corn"),
    ),
    "sushi": Family(
        False,
        (((250, 248, 242), (226, 220, 208)), ((30, 44, 34), (18, 26, 22)), ((244, 170, 90), (226, 120, 50))),
        ("salmon", "cucumber", "avocado", "shrimp", "egg", "carrot", "tofu", "mango"),
    ),
    "doughnuts": Family(
        False,
        (((240, 170, 184), (220, 120, 150)), ((104, 60, 40), (70, 38, 28)), ((248, 244, 236), (230, 220, 200))),
        SWEET,
    ),
    "curry": Family(
        True,
        (((220, 150, 50), (170, 96, 26)), ((150, 84, 40), (98, 48, 24)), ((130, 150, 70), (84, 100, 40))),
        ("carrot", "pea", "shrimp", "tofu", "bean", "spinach", "egg", "pepper"),
    ),
    "steak": Family(
        False,
        (((130, 80, 56), (70, 38, 28)), ((110, 60, 46), (48, 26, 22)), ((160, 104, 70), (96, 54, 36))),
        ("mushroom", "pea", "carrot", "onion", "tomato", "bean", "corn", "pepper"),
    ),
}
CONSECUTIVE = 3
"""Number of consecutive classes of one family in the list of classes."""
VARIETIES = 30
LARGEST = len(FAMILIES) * VARIETIES
PATTERNS: tuple[Pattern, ...] = ("scatter", "ring", "heap", "half")


def place(number: int) -> tuple[str, int]:
    """The family of a class, and the number of its variety."""
    block, within = divmod(number, CONSECUTIVE)
    cycle, family = divmod(block, len(FAMILIES))
    return list(FAMILIES)[family], cycle * CONSECUTIVE + within


def dish(number: int) -> Dish:
    """The dish of a class number from 0 to `LARGEST` - 1."""
    name, variety = place(number)
    family = FAMILIES[name]
    first, step = divmod(variety, 5)
    main = family.ingredients[first]
    second = family.ingredients[(first + 1 + step) % len(family.ingredients)]
    return Dish(
        name=f"{main}_{second}_{name}",
        family=name,
        bowl=family.bowl,
        base=family.bases[(first + step // 3) % len(family.bases)],
        main=INGREDIENTS[main],
        second=INGREDIENTS[second],
        pattern=PATTERNS[(first + step) % len(PATTERNS)],
        portion=(1.0, 0.6, 1.4)[variety % 3],
    )


def look_alikes(number: int, classes: int) -> list[int]:
    """The other classes of the same family among the first `classes`."""
    family = place(number)[0]
    return [other for other in range(classes) if other != number and place(other)[0] == family]
