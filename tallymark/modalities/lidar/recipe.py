"""The recipe of lidar sweeps: the bird's-eye view (BEV) and augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tallymark.core.options import AnyFloat, Fraction, NonNegativeFloat, NonNegativeInt
from tallymark.core.recipe import Recipe, Task, model, postprocessing, prediction, training


@dataclass(frozen=True)
class LidarRecipe(Recipe):
    """What trainings on lidar sweeps have too.

    Bird's-eye view
    ---------------
    bev_encoder: `bins` (points per height bin of each cell), or `pillars` (PointPillars: learned from the points).
    bev_range: metres to each side of the vehicle. z_min, z_max: metres above the vehicle's ground.
    voxel_size: metres per cell. height_bins: of `bins`. max_points: of a sample, for `pillars`.
    point_painting: what points are given besides their position: `map` (road or sidewalk), `camera` (the colour in the
        image of a camera) or `both`; `none` by default.
    sweeps: of a sample: its own and those before it. fov_degrees: field of view to each side of straight ahead, for
        data that are labelled only where a camera looks; 180 is all around.

    Augmentation
    ------------
    crop_size: side of training crops in cells, which are placed on objects; 0 is the whole view. For `bins`.
    rotate_degrees: maximum rotation about the vehicle. scale_jitter: maximum scale factor, down or up.
    hflip, vflip: probability of swapping left and right, front and back. point_dropout: maximum share of dropped
    points. gt_paste: maximum number of objects pasted from other samples.
    class_balance: how much more often samples with rare classes are drawn: 0 not at all, 1 as if all were as common.
    """

    modality: ClassVar[str] = "lidar"

    task: Task = model("cuboids")
    nms_iou: Fraction = postprocessing(0.2)

    bev_encoder: Literal["bins", "pillars"] = model("bins")
    bev_range: float = model(64.0, most=1_000)
    z_min: AnyFloat = model(-2.0, least=-1000, most=1_000)
    z_max: AnyFloat = model(4.0, least=-1000, most=1_000)
    voxel_size: float = model(0.25, least=0.01, most=100)
    height_bins: int = model(12, most=256)
    point_painting: Literal["none", "map", "camera", "both"] = model("none")
    sweeps: int = prediction(1, most=1_000)
    max_points: int = prediction(60_000, most=10_000_000)
    fov_degrees: float = prediction(180.0, most=360)

    crop_size: NonNegativeInt = training(0, most=4_096)
    rotate_degrees: NonNegativeFloat = training(22.5, most=360)
    scale_jitter: float = training(1.05, most=100)
    hflip: Fraction = training(0.5)
    vflip: Fraction = training(0.5)
    point_dropout: Fraction = training(0.1)
    gt_paste: NonNegativeInt = training(8, most=10_000)
    class_balance: Fraction = training(0.5)
