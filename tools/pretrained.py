"""Pretrained models: the model of a run as that of a challenge, with its weights in half precision.

    python tools/pretrained.py RUN [--real] [--sizes PIXELS ...]

Writes `model.onnx` into the folder of the challenge that the run was trained for; its card, `model.md`, is written by
hand. With `--real`, for a model of real data, the list of items that it was trained on is copied too, so that no
training that starts from it is evaluated on them. `--sizes` are the longer sides of images that show the objects as the
training images do, where these were reduced: theirs, and that of the original files, which comes last. Prints how far
the outputs of both models differ on a synthetic tile, so that nothing is lost unseen.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import onnx

import tallymark
from tallymark.api.train import PRETRAINED
from tallymark.inference.metadata import KEY
from tallymark.inference.run import MODEL, TRAINED_ON, Run
from tallymark.inference.session import Session
from tallymark.modalities import modality_of
from tallymark.training.export import halve_weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="PIXELS")
    options = parser.parse_args()
    [source] = Run(options.run).models
    before = Session(source, "onnxruntime")
    proto = onnx.load(source)
    halve_weights(proto)
    edit_metadata(proto, options.sizes)
    target = tallymark.challenge(before.metadata.challenge).folder / MODEL
    target.write_bytes(proto.SerializeToString())
    if options.real:
        shutil.copy(source.with_name(TRAINED_ON), target.with_name(TRAINED_ON))
    after = Session(target, "onnxruntime")
    recipe = before.metadata.recipe
    tile = modality_of(recipe).synthetic_tile(recipe, np.random.default_rng(0))[None]
    outputs = before(tile), after(tile)
    difference = max(float(np.abs(outputs[0][name] - outputs[1][name]).max()) for name in outputs[0])
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB; outputs differ by {difference:.2g} at most")


def edit_metadata(proto: onnx.ModelProto, sizes: list[int] | None) -> None:
    """Name the weights that training started from, and the longer sides of images, of original files last."""
    [entry] = [one for one in proto.metadata_props if one.key == KEY]
    metadata = json.loads(entry.value)
    if Path(metadata["recipe"]["weights"]).is_absolute():  # a path of this machine, which says nothing elsewhere
        metadata["recipe"]["weights"] = PRETRAINED
    if sizes:
        metadata["scale"] |= {"longer_sides": sizes, "pixel_scale": metadata["recipe"]["image_size"] / sizes[-1]}
    entry.value = json.dumps(metadata)


if __name__ == "__main__":
    main()
