"""Recipes: every number that decides how a model is trained and used, in one flat list.

A challenge names presets of it in its `recipe.py`; `train CHALLENGE FOLDER key=value` replaces any of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Self

from tallymark.core.options import Amount, Level, Share, Whole, parse_reading
from tallymark.core.problems import BadInput, Problem, nearest

Finds = Literal["boxes", "masks", "labels", "instants", "cuboids"]


@dataclass(frozen=True)
class Recipe:
    """What every training has.

    The network
    finds: what is found: boxes, masks (as turned rectangles), labels of whole pictures, instants in recordings, or
    cuboids among the points of a lidar. It is the challenge's own: `train` does not change it.
    backbone: `plain` residual blocks, or `lite0`, for which `weights=imagenet` exists.
    weights: where the backbone starts: `none` (random), `imagenet`, a file of a state dict, or a run; of a run of a
    network of the same kind, all of it starts there.
    width: channels of the plain backbone's first stage. depth: its blocks per stage.
    neck: channels of the pyramid. frozen: how many stages of the backbone stay as they were loaded.
    stride: pixels to a cell of the grid of centres.
    groups: classes that a part of the network of their own tells, as `car | bus, truck`; the others are one more.

    The labels
    smoothing: share of the truth given to the other classes. trim: share of each batch, those with the largest
    loss, that is not learned from. Neither does anything unless labels are found. clean: learn from the clean
    validation set too.

    The training
    folds: parts that the training set is dealt into. models: how many of these are held out, with a model for each.
    apart: what stays together in a fold: `groups` (source, look-alikes, ...), or nothing but single `items`.
    epochs: times that every item is seen. batch: windows at a time; accumulate: batches to a step.
    rate: learning rate at its height; body: how much of it the backbone gets. decay: weight decay.
    warmup: share of the training in which the rate rises. average: how much of the averaged weights stays each step.
    anchor: how much of the weights that it began with stays in those that predict.
    clip: largest norm of the gradients. precision: `auto` takes bf16 where the machine is fast at it.
    calm: the last share of a training, without mixing. judged: how often the model is judged by the official rule on
    the way. seed: of everything random.

    The predictions
    views: 1, or the mean over 2 (mirrored), 4 (also upside down) or 8 (also turned) views of each item. Recordings have
    one.
    merge: what becomes of overlapping findings: `nms`, `soft` or `wbf`. overlap: from which overlap on.
    cut: findings below this confidence are left out; cuts: of classes that have another one, as `bus 0.2, truck 0.4`.
    gate: so are all findings of an item that seems to have none.
    quality: how much the expected overlap counts in the confidence, against the heat.
    grow: masks are made longer and wider by this factor: where they end, a network is unsure and tells too little.
    """

    finds: Finds = "boxes"
    backbone: Literal["plain", "lite0"] = "plain"
    weights: str = "none"
    width: int = 16
    depth: int = 1
    neck: int = 48
    frozen: Whole = Whole(0)
    stride: Literal[2, 4, 8, 16] = 4
    groups: str = ""

    smoothing: Share = Share(0.0)
    trim: Share = Share(0.0)
    clean: bool = False

    folds: int = 10
    models: int = 1
    apart: Literal["groups", "items"] = "groups"
    epochs: int = 30
    batch: int = 8
    accumulate: int = 1
    rate: float = 2e-3
    body: Share = Share(1.0)
    decay: Amount = Amount(0.01)
    warmup: Share = Share(0.05)
    average: Share = Share(0.998)
    anchor: Share = Share(0.0)
    clip: float = 5.0
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    calm: Share = Share(0.1)
    judged: int = 8
    seed: Whole = Whole(0)

    views: Literal[1, 2, 4, 8] = 1
    merge: Literal["nms", "soft", "wbf"] = "nms"
    overlap: Share = Share(0.5)
    cut: Share = Share(0.3)
    cuts: str = ""
    gate: Share = Share(0.0)
    quality: Share = Share(0.5)
    grow: float = 1.0

    def but(self, /, **given: object) -> Self:
        """The same with some fields replaced; an unknown field or a value that it cannot have is a `BadInput`."""
        return parse_reading(type(self), asdict(self) | given)

    def save(self, path: Path) -> None:
        """Write it as TOML."""
        path.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in asdict(self).items()))


@dataclass(frozen=True)
class PictureRecipe(Recipe):
    """What trainings on pictures have too.

    The pictures
    side: the longer side of a picture in the network's eyes. crop: side of the windows that are trained on.
    aim: share of the windows that are placed on an object, however many pictures have none.
    zoom: windows are shrunk or grown by up to this factor.
    mirror, flip: share of windows turned left to right, upside down. turn: share turned by quarters.
    tilt: largest turn in degrees by any angle (not with boxes). colour: strength of changes of colour and light.
    grey, blur, noise, jpeg: share of windows that lose their colour, focus, cleanness, detail.
    mosaic: share of windows put together from four. mixup, cutmix: share mixed with another.
    """

    side: int = 512
    crop: int = 384
    aim: Share = Share(0.0)
    zoom: float = 1.4
    mirror: Share = Share(0.5)
    flip: Share = Share(0.5)
    turn: Share = Share(0.75)
    tilt: Amount = Amount(0.0)
    colour: Share = Share(0.4)
    grey: Share = Share(0.05)
    blur: Share = Share(0.1)
    noise: Share = Share(0.1)
    jpeg: Share = Share(0.1)
    mosaic: Share = Share(0.0)
    mixup: Share = Share(0.0)
    cutmix: Share = Share(0.0)


@dataclass(frozen=True)
class SoundRecipe(Recipe):
    """What trainings on recordings have too.

    The sound
    hertz: samples a second that recordings are resampled to. window, hop: seconds of a frame, and to the next one.
    low: the lowest band in hertz. bands: how many there are. steady: whether each band is compared with what is usual
    in it; block: frames that share one estimate of that; around: such blocks on either side that it is made from.

    The windows
    seconds: length of the windows that are trained on, a multiple of 16 frames. aim: share of them placed on a call.
    hard: share of the others that are placed where an earlier stage of the training raised a false alarm.
    paste: share of windows into which calls of elsewhere are mixed. louder, fainter: by how many decibels at most.
    tilt: largest change of level between the lowest and the highest band, in decibels.
    hide: share of windows of which a stretch of time or some bands are hidden.
    gap: seconds between two calls at least.
    """

    finds: Finds = "instants"
    stride: Literal[2, 4, 8, 16] = 2
    neck: int = 32

    hertz: int = 1000
    window: float = 0.256
    hop: float = 0.032
    low: float = 40.0
    bands: int = 96
    steady: bool = True
    block: int = 320
    around: Whole = Whole(3)

    seconds: float = 8.192
    aim: Share = Share(0.5)
    hard: Share = Share(0.5)
    paste: Share = Share(0.3)
    louder: Amount = Amount(6.0)
    fainter: Amount = Amount(10.0)
    tilt: Amount = Amount(6.0)
    hide: Share = Share(0.3)
    gap: float = 1.0


@dataclass(frozen=True)
class LidarRecipe(Recipe):
    """What trainings on sweeps of a lidar have too.

    The ground, seen from above
    reader: what the network sees: `bins`, in which heights points lie over each cell; or `pillars`, the points
    themselves, of which it learns what to make. reach: metres to each side of the vehicle that are seen.
    low, high: metres above the vehicle's own ground between which points are seen. cell: metres to a cell.
    slices: heights that `bins` tells apart. points: how many of a sample `pillars` takes at most.
    sweeps: those of a sample, with the ones before it. front: degrees to each side of straight ahead beyond which
    nothing is seen, where data have labels only for what a camera saw; 180 is all around.

    The samples
    turn: largest turn about the vehicle, in degrees. scale: they grow or shrink by up to this factor.
    mirror, flip: share of samples with left and right, front and back swapped. drop: largest share of points left out.
    paste: volumes of elsewhere that are put in at most. balance: how much more often samples with rare classes are
    seen: 0 not at all, 1 as if all classes were equally common.
    """

    finds: Finds = "cuboids"
    overlap: Share = Share(0.2)

    reader: Literal["bins", "pillars"] = "bins"
    reach: float = 64.0
    low: Level = Level(-2.0)
    high: Level = Level(4.0)
    cell: float = 0.25
    slices: int = 12
    sweeps: int = 1
    points: int = 60_000
    front: float = 180.0

    turn: Amount = Amount(22.5)
    scale: float = 1.05
    mirror: Share = Share(0.5)
    flip: Share = Share(0.5)
    drop: Share = Share(0.1)
    paste: Whole = Whole(8)
    balance: Share = Share(0.5)


KINDS: dict[str, type[Recipe]] = {
    "boxes": PictureRecipe, "masks": PictureRecipe, "labels": PictureRecipe, "instants": SoundRecipe,
    "cuboids": LidarRecipe,
}  # fmt: skip
"""The kind of recipe by what is found."""


def make_recipe(given: Mapping[str, object]) -> Recipe:
    """A recipe from the values of some fields; what it finds says of which kind it is."""
    return KINDS.get(str(given.get("finds", "boxes")), Recipe)().but(**given)


def read_recipe(path: Path) -> Recipe:
    """A recipe as `Recipe.save` wrote it; fields that are not in it have their default."""
    try:
        return make_recipe(tomllib.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        remedy = "name a recipe.toml that training wrote"
        raise BadInput(Problem("bad_recipe", str(path), str(error), "a recipe", remedy)) from None


def class_groups(recipe: Recipe, classes: Sequence[str]) -> list[int]:
    """The group of each class: those that the recipe names in their order, then one for the rest."""
    named = [[name.strip() for name in group.split(",")] for group in recipe.groups.split("|") if group.strip()]
    listed = [name for names in named for name in names]
    for at, name in enumerate(listed):
        if name not in classes or name in listed[:at]:
            expected, remedy = "each class once at most", nearest(name, list(classes))
            raise BadInput(Problem("bad_option", "recipe", f"'{name}' in groups={recipe.groups}", expected, remedy))
    group = {name: number for number, names in enumerate(named) for name in names}
    return [group.get(name, len(named)) for name in classes]


def class_cuts(recipe: Recipe, classes: Sequence[str]) -> list[float]:
    """The cut of each class."""
    cuts = dict.fromkeys(classes, float(recipe.cut))
    for pair in filter(None, map(str.strip, recipe.cuts.split(","))):
        name, _, text = (part.strip() for part in pair.rpartition(" "))
        try:
            cut = parse_reading(Recipe, {"cut": text}).cut
        except BadInput:
            cut = None
        if cut is None or name not in cuts:
            expected, remedy = "a class and a number from 0 to 1", nearest(name, list(classes))
            raise BadInput(Problem("bad_option", "recipe", f"'{pair}' in cuts", expected, remedy))
        cuts[name] = cut
    return [cuts[name] for name in classes]


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)
