"""The networks: a centre detector for everything that has a position, and a classifier of whole images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.detector.backbones import Backbone, make_backbone
from tallymark.detector.batch_targets import CenterTargets
from tallymark.detector.encoders import Encoder
from tallymark.detector.heads import FPN, CenterHead, ClassificationHead
from tallymark.detector.losses import REGRESSION_LOSSES, bce_dice, focal, soft_cross_entropy, trimmed_mean
from tallymark.detector.strides import PLANE_STRIDES, TIME_STRIDES

if TYPE_CHECKING:
    from tallymark.detector.center_coder import CenterCoder

REGRESSION_WEIGHTS = {"giou": 5.0, "smooth_l1": 0.5, "kld": 2.0, "cuboid": 2.0}
"""Weight of each regression loss against that of the heatmap."""
PRESENCE_WEIGHT = 0.25

T = TypeVar("T", CenterTargets, Tensor)


class Network(nn.Module, Generic[T]):
    """Encoder, backbone and head. T: the targets of a batch.

    head_fitted: whether neck and head come from an earlier run or a linear probe, not only the backbone from elsewhere.
    batch_norm_folded: whether batch norm has no statistics, because the weights come from a model file.
    """

    encoder: Encoder
    backbone: Backbone
    head_fitted: bool = False
    batch_norm_folded: bool = False

    def init_from_targets(self, targets: T) -> None:
        """Start from what the targets of a first batch tell, before any training."""

    def predict(self, inputs: Tensor) -> dict[str, Tensor]:
        """Outputs as probabilities, and values as the coder decodes them: the outputs of the model file."""
        raise NotImplementedError

    def loss(self, outputs: dict[str, Tensor], targets: T, trim: float = 0.0) -> dict[str, Tensor]:
        """The terms of the loss by name. trim: share of items with the largest loss that is ignored."""
        raise NotImplementedError


class CenterDetector(Network[CenterTargets]):
    """Detects objects by their centres on a regular grid, and regresses their shapes (Zhou et al. 2019: CenterNet).

    classes: how many there are. groups: the head group of each class; one for all unless given.
    """

    def __init__(
        self, recipe: Recipe, coder: CenterCoder, encoder: Encoder, classes: int, groups: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self.coder = coder
        self.encoder = encoder
        one_dimensional = coder.one_dimensional
        strides = TIME_STRIDES if one_dimensional else PLANE_STRIDES
        if recipe.stride not in strides:
            expected = " or ".join(map(str, strides))
            remedy = f"give e.g. stride={strides[0]}"
            raise BadInput(Problem("bad_option", "recipe", f"stride={recipe.stride}", expected, remedy))
        self.backbone = make_backbone(
            recipe.backbone,
            recipe.width,
            recipe.depth,
            in_channels=encoder.channels,
            one_dimensional=one_dimensional,
        )
        channels = self.backbone.channels
        self.neck = FPN(channels[strides.index(recipe.stride) :], recipe.neck, one_dimensional=one_dimensional)
        group = torch.tensor(groups or [0] * classes)
        self.register_buffer("group", group, persistent=False)
        self.group: Tensor
        self.head = CenterHead(
            recipe.neck,
            classes,
            coder.values,
            channels[-1],
            coverage=coder.predicts_coverage,
            groups=int(group.max()) + 1,
        )

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        features = self.backbone(self.encoder(inputs))
        outputs: dict[str, Tensor] = self.head(self.neck(features[-len(self.neck.lateral) :]), features[-1])
        return outputs

    def predict(self, inputs: Tensor) -> dict[str, Tensor]:
        outputs = self(inputs)
        return {name: part if name == "values" else part.sigmoid() for name, part in outputs.items()}

    def loss(self, outputs: dict[str, Tensor], targets: CenterTargets, trim: float = 0.0) -> dict[str, Tensor]:
        group = self.group[targets.label]
        channel = group[:, None] * self.coder.values + torch.arange(self.coder.values, device=group.device)
        values = outputs["values"][targets.image[:, None], channel, targets.y[:, None], targets.x[:, None]].float()
        quality = outputs["quality"][targets.image, group, targets.y, targets.x].float()
        count = targets.weight.sum().clamp(min=1)
        shape_loss = REGRESSION_LOSSES[self.coder.loss](values, targets.values)
        iou = self._iou(values, targets)
        quality_loss = functional.binary_cross_entropy_with_logits(quality, iou, reduction="none")
        presence = outputs["presence"].float()
        terms = {
            "heat": focal(outputs["heat"].float(), targets.heatmap),
            "shape": REGRESSION_WEIGHTS[self.coder.loss] * (shape_loss * targets.weight).sum() / count,
            "quality": (quality_loss * targets.weight).sum() / count,
            "presence": PRESENCE_WEIGHT * functional.binary_cross_entropy_with_logits(presence, targets.presence),
        }
        if targets.coverage is None or targets.balance is None:
            return terms
        return terms | {"cover": bce_dice(outputs["cover"].float(), targets.coverage, targets.balance)}

    @torch.no_grad()
    def init_from_targets(self, targets: CenterTargets) -> None:
        """Set the bias of the regression to the mean of the targets, which takes long to get to by small steps."""
        bias = cast(Tensor, self.head.regression.bias).view(self.head.groups, -1)
        group = self.group[targets.label]
        for number in range(self.head.groups):
            own = targets.values[group == number]
            own = own if len(own) else targets.values
            if len(own):
                bias[number, : self.coder.values] = own.mean(0)

    def _iou(self, values: Tensor, targets: CenterTargets) -> Tensor:
        """IoU of each regressed shape with the true one: the target of the quality."""
        x = (targets.x + 0.5).numpy(force=True)
        y = (targets.y + 0.5).numpy(force=True)
        shapes = self.coder.decode(x, y, values.detach().numpy(force=True).astype(float))
        return torch.from_numpy(self.coder.iou(shapes, targets.shapes)).to(values)


class Classifier(Network[Tensor]):
    """Predicts the class of whole images. Targets are class probabilities (n, classes)."""

    def __init__(self, recipe: Recipe, encoder: Encoder, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.backbone = make_backbone(recipe.backbone, recipe.width, recipe.depth, last=recipe.head_stages)
        self.head = ClassificationHead(self.backbone.channels, classes)

    def forward(self, inputs: Tensor) -> dict[str, Tensor]:
        return {"classes": self.head(self.backbone(self.encoder(inputs)))}

    def predict(self, inputs: Tensor) -> dict[str, Tensor]:
        return {"classes": self(inputs)["classes"].softmax(1)}

    def loss(self, outputs: dict[str, Tensor], targets: Tensor, trim: float = 0.0) -> dict[str, Tensor]:
        losses = soft_cross_entropy(outputs["classes"].float(), targets)
        return {"classes": trimmed_mean(losses, trim)}
