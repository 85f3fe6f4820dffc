"""Recipe: every setting that decides how a model is trained and used, in one flat list.

A challenge names presets in its `recipe.py`; `train CHALLENGE FOLDER key=value` replaces any field. Each modality adds
the fields of its own medium. The stage of a field says when it acts, and so when it may still be changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import ClassVar, Literal, Self, TypeVar

from tallymark.core.options import Fraction, NonNegativeFloat, NonNegativeInt, parse_options
from tallymark.core.outputs import write_text
from tallymark.core.problems import BadInput, Problem, nearest

Task = Literal["boxes", "masks", "labels", "events", "cuboids"]
Backbone = Literal[
    "mini_resnet", "efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2", "efficientnet_lite012"
]
Stage = Literal["training", "model", "prediction", "postprocessing"]
T = TypeVar("T")


def _field(stage: Stage, default: T, least: float | None, most: float | None) -> T:
    made: T = field(default=default, metadata={"stage": stage, "least": least, "most": most})
    return made


def training(default: T, *, least: float | None = None, most: float | None = None) -> T:
    """A field that acts during training only."""
    return _field("training", default, least, most)


def model(default: T, *, least: float | None = None, most: float | None = None) -> T:
    """A field that shapes what the network is given, or what its outputs mean: models with another value differ."""
    return _field("model", default, least, most)


def prediction(default: T, *, least: float | None = None, most: float | None = None) -> T:
    """A field that may change from one prediction to the next, and changes the candidates."""
    return _field("prediction", default, least, most)


def postprocessing(default: T, *, least: float | None = None, most: float | None = None) -> T:
    """A field that decides only which candidates become predictions: changing it needs no inference."""
    return _field("postprocessing", default, least, most)


@dataclass(frozen=True)
class Recipe:
    """What the recipes of all modalities have in common.

    Network
    -------
    task: what is predicted: `boxes`, `masks`, `labels` of whole images, `events` in recordings, or `cuboids` in lidar
        sweeps. It belongs to the challenge: `train` does not change it.
    backbone: `mini_resnet` (residual blocks), or `efficientnet_lite0`, `_lite1` or `_lite2`, each larger than the one
        before, for which `weights=imagenet` exists; `efficientnet_lite012` is all three side by side.
    weights: initial weights: `none` (random), `imagenet`, `pretrained` (the pretrained model of the challenge), a model
        file, a state dict, or a run. From a model or run of the same architecture, neck and head are loaded too.
    width: channels of the first stage of `mini_resnet`. depth: its blocks per stage.
    neck: channels of the feature pyramid. frozen_stages: backbone stages that are not trained.
    stride: pixels per cell of the output grid.
    head_groups: groups of classes with a regression head each, as `car | bus, truck`; other classes share one more.

    Labels
    ------
    head_stages: the head sees pooled features of so many of the last stages of the backbone.
    label_smoothing: probability given to all classes. loss_trim: share of each batch, those with the largest loss,
        that is ignored. All for the task `labels` only. train_on_val: train on the official validation split too.

    Optimisation
    ------------
    folds: cross-validation folds. train_folds: how many of them are held out in turn, with a model each.
    fold_by: what stays together in a fold: `groups` (source, day, drive, near-duplicates), the files of one of the
        `folders`, such as those of one site, or single `items`.
    leave_one_out: hold out every group in turn, with a model each, and score each group by itself, at thresholds tuned
        on the others.
    epochs: passes over the training set; 0 keeps the initial weights as they are. batch_size: crops per batch;
        accumulate: batches per optimiser step.
    learning_rate: peak of the schedule; backbone_lr_scale: factor for the backbone. weight_decay: of AdamW.
    warmup: share of the training in which the rate rises. ema_decay: decay of the weights' moving average.
    weight_interpolation: share of the initial weights in the final ones (WiSE-FT).
    grad_clip: maximum gradient norm. precision: `auto` takes bf16 where this machine computes it faster.
    mix_off: last share of the training without mosaic, mixup and pasting.
    evaluations: how often the EMA weights are evaluated by the official rule; the best checkpoint is kept.
    seed: of all random numbers.

    Prediction
    ----------
    tta: test-time augmentation: mean over 1, 2 (mirrored), 4 (flipped) or 8 (rotated) views. Recordings have one.
    fusion: of overlapping candidates: `nms`, `soft_nms` or `wbf`. nms_iou: IoU above which they overlap.
    score_threshold: minimum confidence; class_thresholds: those of single classes, as `bus 0.2, truck 0.4`.
    image_threshold: minimum probability that an item has any object at all.
    quality_weight: weight of the predicted IoU in the confidence, against the heatmap (as a geometric mean).
    mask_scale: factor on the sides of masks. Predicted masks are biased small, since their edges are uncertain.
    temperature: (labels) probabilities are raised to 1 / temperature and normalised: below 1 they become more certain,
        above 1 less. It changes no ranking.
    """

    modality: ClassVar[str] = ""

    task: Task = model("boxes")
    backbone: Backbone = training("mini_resnet")
    weights: str = training("none")
    width: int = training(16, most=1_024)
    depth: int = training(1, most=64)
    neck: int = training(48, most=4_096)
    frozen_stages: NonNegativeInt = training(0, most=100)
    stride: Literal[2, 4, 8, 16] = model(4)
    head_groups: str = model("")

    head_stages: Literal[1, 2, 3, 4] = training(1)
    label_smoothing: Fraction = training(0.0)
    loss_trim: Fraction = training(0.0)
    train_on_val: bool = training(False)

    folds: int = training(10, most=1_000)
    train_folds: int = training(1, most=1_000)
    fold_by: Literal["groups", "folders", "items"] = training("groups")
    leave_one_out: bool = training(False)
    epochs: NonNegativeInt = training(30, most=100_000)
    batch_size: int = training(8, most=4_096)
    accumulate: int = training(1, most=4_096)
    learning_rate: float = training(2e-3, most=10)
    backbone_lr_scale: Fraction = training(1.0)
    weight_decay: NonNegativeFloat = training(0.01, most=10)
    warmup: Fraction = training(0.05)
    ema_decay: Fraction = training(0.998)
    weight_interpolation: Fraction = training(0.0)
    grad_clip: float = training(5.0, most=1_000_000)
    precision: Literal["auto", "fp32", "bf16", "fp16"] = training("auto")
    mix_off: Fraction = training(0.1)
    evaluations: int = training(8, most=10_000)
    seed: NonNegativeInt = training(0)

    tta: Literal[1, 2, 4, 8] = prediction(1)
    fusion: Literal["nms", "soft_nms", "wbf"] = postprocessing("nms")
    nms_iou: Fraction = postprocessing(0.5)
    score_threshold: Fraction = postprocessing(0.3)
    class_thresholds: str = postprocessing("")
    image_threshold: Fraction = postprocessing(0.0)
    quality_weight: Fraction = prediction(0.5)
    mask_scale: float = postprocessing(1.0, most=10)
    temperature: float = postprocessing(1.0, least=0.05, most=20)

    def replace(self, /, **given: object) -> Self:
        """The same with some fields replaced; an unknown field or a value that it cannot have is a `BadInput`."""
        return parse_options(type(self), asdict(self) | given)

    @property
    def tta_passes(self) -> float:
        """How often test-time augmentation runs the network, in passes over the item at its usual size."""
        return self.tta

    @property
    def tta_settings(self) -> str:
        """The settings of test-time augmentation, as they are given on the command line."""
        return f"tta={self.tta}"

    def without_tta(self) -> Self:
        """The same without any test-time augmentation."""
        return self.replace(tta=1)

    def less_tta(self) -> Self:
        """The same with about half of the test-time augmentation, if there is any."""
        return self.replace(tta=max(self.tta // 2, 1))

    def save(self, path: Path) -> None:
        """Write it as TOML."""
        import tomli_w

        write_text(path, tomli_w.dumps(asdict(self)))

    @classmethod
    def names_at(cls, *stages: Stage) -> list[str]:
        """The fields that act at these stages."""
        return [one.name for one in fields(cls) if one.metadata["stage"] in stages]

    def at(self, *stages: Stage) -> dict[str, object]:
        """The values of the fields that act at these stages."""
        return {name: getattr(self, name) for name in self.names_at(*stages)}


def head_groups_of(recipe: Recipe, classes: Sequence[str]) -> list[int]:
    """The head group of each class: those that the recipe names in their order, then one for the rest."""
    named = [[name.strip() for name in group.split(",")] for group in recipe.head_groups.split("|") if group.strip()]
    listed = [name for names in named for name in names]
    for at, name in enumerate(listed):
        if name not in classes or name in listed[:at]:
            found, expected = f"'{name}' in head_groups={recipe.head_groups}", "each class once at most"
            raise BadInput(Problem("bad_option", "recipe", found, expected, nearest(name, list(classes))))
    group = {name: number for number, names in enumerate(named) for name in names}
    return [group.get(name, len(named)) for name in classes]


def thresholds_by_class(recipe: Recipe, classes: Sequence[str]) -> list[float]:
    """The score threshold of each class. A name may have commas in it, so that the known ones are looked for."""
    thresholds = dict.fromkeys(classes, float(recipe.score_threshold))
    names = "|".join(re.escape(name) for name in sorted(classes, key=len, reverse=True))
    pair = re.compile(rf"[\s,]*({names})\s+([^\s,]+)\s*(?:,|$)")
    text, at = recipe.class_thresholds.rstrip(" ,"), 0
    while at < len(text):
        found = pair.match(text, at)
        try:
            threshold = None if found is None else parse_options(Recipe, {"score_threshold": found[2]}).score_threshold
        except BadInput:
            threshold = None
        if found is None or threshold is None:
            wrong = text[at:].lstrip(" ,").partition(",")[0]
            expected, remedy = "a class and a number from 0 to 1", nearest(wrong.rpartition(" ")[0], list(classes))
            raise BadInput(Problem("bad_option", "recipe", f"'{wrong}' in class_thresholds", expected, remedy))
        thresholds[found[1]] = threshold
        at = found.end()
    return [thresholds[name] for name in classes]
