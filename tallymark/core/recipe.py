"""Recipes: every number that decides how a model is trained and used, in one flat list.

A challenge names presets of it in its `recipe.py`; `train CHALLENGE FOLDER key=value` replaces any of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Self

from tallymark.core.options import Amount, Level, Share, Whole, parse_options
from tallymark.core.problems import BadInput, Problem, nearest

Task = Literal["boxes", "masks", "labels", "events", "cuboids"]


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

    task: Task = "boxes"
    backbone: Literal["mini_resnet", "efficientnet_lite0"] = "mini_resnet"
    weights: str = "none"
    width: int = 16
    depth: int = 1
    neck: int = 48
    frozen_stages: Whole = Whole(0)
    stride: Literal[2, 4, 8, 16] = 4
    head_groups: str = ""

    label_smoothing: Share = Share(0.0)
    loss_trim: Share = Share(0.0)
    train_on_val: bool = False

    folds: int = 10
    train_folds: int = 1
    fold_by: Literal["groups", "items"] = "groups"
    epochs: int = 30
    batch_size: int = 8
    accumulate: int = 1
    learning_rate: float = 2e-3
    backbone_lr_scale: Share = Share(1.0)
    weight_decay: Amount = Amount(0.01)
    warmup: Share = Share(0.05)
    ema_decay: Share = Share(0.998)
    weight_interpolation: Share = Share(0.0)
    grad_clip: float = 5.0
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    mix_off: Share = Share(0.1)
    evaluations: int = 8
    seed: Whole = Whole(0)

    tta: Literal[1, 2, 4, 8] = 1
    fusion: Literal["nms", "soft_nms", "wbf"] = "nms"
    nms_iou: Share = Share(0.5)
    score_threshold: Share = Share(0.3)
    class_thresholds: str = ""
    image_threshold: Share = Share(0.0)
    quality_weight: Share = Share(0.5)
    mask_scale: float = 1.0

    def replace(self, /, **given: object) -> Self:
        """The same with some fields replaced; an unknown field or a value that it cannot have is a `BadInput`."""
        return parse_options(type(self), asdict(self) | given)

    def save(self, path: Path) -> None:
        """Write it as TOML."""
        path.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in asdict(self).items()))


@dataclass(frozen=True)
class ImageRecipe(Recipe):
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

    image_size: int = 512
    crop_size: int = 384
    positive_crops: Share = Share(0.0)
    scale_jitter: float = 1.4
    hflip: Share = Share(0.5)
    vflip: Share = Share(0.5)
    rot90: Share = Share(0.75)
    rotate_degrees: Amount = Amount(0.0)
    color_jitter: Share = Share(0.4)
    grayscale: Share = Share(0.05)
    blur: Share = Share(0.1)
    noise: Share = Share(0.1)
    jpeg: Share = Share(0.1)
    mosaic: Share = Share(0.0)
    mixup: Share = Share(0.0)
    cutmix: Share = Share(0.0)


@dataclass(frozen=True)
class AudioRecipe(Recipe):
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

    task: Task = "events"
    stride: Literal[2, 4, 8, 16] = 2
    neck: int = 32

    sample_rate: int = 1000
    window_seconds: float = 0.256
    hop_seconds: float = 0.032
    fmin: float = 40.0
    n_bins: int = 96
    background_norm: bool = True
    norm_block: int = 320
    norm_context: Whole = Whole(3)

    clip_seconds: float = 8.192
    positive_crops: Share = Share(0.5)
    hard_negatives: Share = Share(0.5)
    call_mix: Share = Share(0.3)
    mix_gain_high_db: Level = Level(6.0)
    mix_gain_low_db: Level = Level(-10.0)
    spectral_tilt_db: Amount = Amount(6.0)
    spec_augment: Share = Share(0.3)
    min_event_gap: float = 1.0


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

    task: Task = "cuboids"
    nms_iou: Share = Share(0.2)

    bev_encoder: Literal["bins", "pillars"] = "bins"
    bev_range: float = 64.0
    z_min: Level = Level(-2.0)
    z_max: Level = Level(4.0)
    voxel_size: float = 0.25
    height_bins: int = 12
    sweeps: int = 1
    max_points: int = 60_000
    fov_degrees: float = 180.0

    rotate_degrees: Amount = Amount(22.5)
    scale_jitter: float = 1.05
    hflip: Share = Share(0.5)
    vflip: Share = Share(0.5)
    point_dropout: Share = Share(0.1)
    gt_paste: Whole = Whole(8)
    class_balance: Share = Share(0.5)


RECIPE_TYPES: dict[str, type[Recipe]] = {
    "boxes": ImageRecipe, "masks": ImageRecipe, "labels": ImageRecipe, "events": AudioRecipe,
    "cuboids": LidarRecipe,
}  # fmt: skip
"""The kind of recipe by what is found."""


def make_recipe(given: Mapping[str, object]) -> Recipe:
    """A recipe from the values of some fields; what it finds says of which kind it is."""
    return RECIPE_TYPES.get(str(given.get("task", "boxes")), Recipe)().replace(**given)


def read_recipe(path: Path) -> Recipe:
    """A recipe as `Recipe.save` wrote it; fields that are not in it have their default."""
    try:
        return make_recipe(tomllib.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        remedy = "name a recipe.toml that training wrote"
        raise BadInput(Problem("bad_recipe", str(path), str(error), "a recipe", remedy)) from None


def head_groups_of(recipe: Recipe, classes: Sequence[str]) -> list[int]:
    """The group of each class: those that the recipe names in their order, then one for the rest."""
    named = [[name.strip() for name in group.split(",")] for group in recipe.head_groups.split("|") if group.strip()]
    listed = [name for names in named for name in names]
    for at, name in enumerate(listed):
        if name not in classes or name in listed[:at]:
            expected, remedy = "each class once at most", nearest(name, list(classes))
            raise BadInput(
                Problem("bad_option", "recipe", f"'{name}' in head_groups={recipe.head_groups}", expected, remedy)
            )
    group = {name: number for number, names in enumerate(named) for name in names}
    return [group.get(name, len(named)) for name in classes]


def class_thresholds_of(recipe: Recipe, classes: Sequence[str]) -> list[float]:
    """The cut of each class."""
    cuts = dict.fromkeys(classes, float(recipe.score_threshold))
    for pair in filter(None, map(str.strip, recipe.class_thresholds.split(","))):
        name, _, text = (part.strip() for part in pair.rpartition(" "))
        try:
            cut = parse_options(Recipe, {"score_threshold": text}).score_threshold
        except BadInput:
            cut = None
        if cut is None or name not in cuts:
            expected, remedy = "a class and a number from 0 to 1", nearest(name, list(classes))
            raise BadInput(Problem("bad_option", "recipe", f"'{pair}' in class_thresholds", expected, remedy))
        cuts[name] = cut
    return [cuts[name] for name in classes]


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)
