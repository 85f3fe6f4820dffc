"""Acknowledgements of a run: weights, data, methods and software with their licences and citations, and its rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tallymark.core.card import MODEL_CARD, ModelCard
from tallymark.core.outputs import write_text
from tallymark.core.problems import Problem, Problems
from tallymark.core.recipe import Recipe
from tallymark.core.registry import Challenge
from tallymark.core.versions import version_of
from tallymark.detector.coders import CODERS
from tallymark.detector.published import published_backbones, published_package
from tallymark.inference.run import Run

ACKNOWLEDGEMENTS = "ACKNOWLEDGEMENTS.md"
IMAGENET = (
    "{backbone} trained on ImageNet, from the package {package} {version} (Apache-2.0). "
    "ImageNet images are for non-commercial research and education. Cite: Tan and Le, EfficientNet, ICML 2019; "
    "Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015."
)
METHODS = {
    "label_smoothing": "label smoothing: Szegedy et al., CVPR 2016",
    "mixup": "mixup: Zhang et al., ICLR 2018",
    "cutmix": "CutMix: Yun et al., ICCV 2019",
    "mosaic": "mosaic: Bochkovskiy et al., YOLOv4, 2020",
    "copy_paste": "copy-paste: Ghiasi et al., Simple Copy-Paste, CVPR 2021",
    "weight_interpolation": "weight interpolation (WiSE-FT): Wortsman et al., CVPR 2022",
    "spec_augment": "SpecAugment: Park et al., Interspeech 2019",
    "gt_paste": "pasting of objects: Yan et al., SECOND, Sensors 2018",
}
"""Methods with a citation, by the recipe field that turns them on."""
WITHOUT_EPOCH = {"label_smoothing"}
"""Those that a linear probe uses too, where no epoch follows."""
LOCALIZED = "centre-based detection: Zhou et al., Objects as Points, 2019"
SOFTWARE = {
    "tallymark": "Apache-2.0",
    "torch": "BSD-3-Clause",
    "onnxruntime": "MIT",
    "numpy": "BSD-3-Clause",
    "polars": "MIT",
    "opencv-python-headless": "Apache-2.0",
}
TERMS = re.compile("licen[cs]e|citation|cite|use of the data|distribution|data|models|labelling|organis", re.IGNORECASE)
"""The terms of a challenge that matter to whoever uses or publishes a model."""


def against_rules(
    what: Challenge, weights: str, extra_data: Sequence[str | Path], pseudo: str | Path | None, folder: str | Path
) -> Problems:
    """A warning for everything in a training that the official rules forbid, also in that of its initial weights."""
    problems = Problems()
    remedy = "do not submit this model, or train without it"
    rule = what.forbidden.get("extra_data", "")
    for path in extra_data if rule else ():
        problems.add(Problem("against_rules", str(path), "additional training data", rule, remedy))
    if pseudo is not None and not Path(pseudo).resolve().is_relative_to(Path(folder).resolve()) and rule:
        problems.add(Problem("against_rules", str(pseudo), "additional training data, pseudo-labelled", rule, remedy))
    if pseudo is not None and (rule := what.forbidden.get("test_annotations", "")):
        found = "pseudo-labels of unlabelled images, as those of the test set"
        problems.add(Problem("against_rules", str(pseudo), found, rule, remedy))
    before = Run(Path(weights)).facts.get("against_rules")
    for text in before if isinstance(before, list) else ():
        expected = "initial weights that keep to the rules"
        problems.add(Problem("against_rules", weights, f"weights of a run with {text}", expected, remedy))
    return problems


def write_acknowledgements(
    run: Path,
    what: Challenge,
    recipe: Recipe,
    folder: str | Path,
    extra_data: Sequence[str | Path],
    pseudo: str | Path | None,
    warnings: Problems,
) -> None:
    """Write what whoever publishes or submits the model has to acknowledge, as Markdown in the folder of the run."""
    data = [f"{folder}: training and validation data of {what.title}, unless they are your own"]
    data += [f"{path}: additional training data; add its licence and citation here" for path in extra_data]
    data += [] if pseudo is None else [f"{pseudo}: pseudo-labelled by {recipe.weights}; add its licence here"]
    terms = [f"{name}: {text}" for name, text in what.terms.items() if TERMS.search(name)]
    rules = [f"{one.found} ({one.file}); the rule: {one.expected}" for one in warnings]
    settings = asdict(recipe)
    used = METHODS.keys() if recipe.epochs else WITHOUT_EPOCH
    methods = [text for field, text in METHODS.items() if field in used and settings.get(field)]
    methods += [] if CODERS[recipe.task].whole_item else [LOCALIZED]
    sections = {
        "Pretrained weights": _weights(recipe.weights, recipe.backbone),
        "Data": data,
        f"Terms of {what.title}": terms or ["none are stated on its card"],
        "Against the rules of the challenge": rules,
        "Methods": methods or ["none with a citation"],
        "Software": [f"{name} {version_of(name)} ({licence})" for name, licence in SOFTWARE.items()],
    }
    text = "# Acknowledgements\n\nWhat to acknowledge and cite when this model or a submission from it is published.\n"
    for title, lines in sections.items():
        if lines:
            text += f"\n## {title}\n\n" + "".join(f"- {line}\n" for line in lines)
    write_text(run / ACKNOWLEDGEMENTS, text)


def _weights(source: str, backbone: str) -> list[str]:
    """The initial weights; of an earlier run, also what that began with; of a pretrained model, its licence."""
    if source == "none":
        return ["none: trained from random weights"]
    if source == "imagenet":
        packages = {name: published_package(name) for name in published_backbones(backbone)}
        return [
            IMAGENET.format(backbone=name, package=package, version=version_of(package))
            for name, package in packages.items()
        ]
    earlier = Path(source) / ACKNOWLEDGEMENTS
    kind = "weights of an earlier run" if Path(source).is_dir() else "add its licence and citation"
    if licence := ModelCard.read(Path(source).parent).licence:  # a pretrained model
        kind = f"{licence}; see {MODEL_CARD} beside it"
    text = earlier.read_text(encoding="utf-8") if earlier.is_file() else ""
    found = re.search(r"^## Pretrained weights\n\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return [f"{source}: {kind}", *(re.findall(r"^- (.+)$", found[1], re.M) if found else [])]
