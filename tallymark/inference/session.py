"""Sessions: model files that a runtime has opened, checked before any item is read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.core.resources import keep_freed_memory, observe_cores
from tallymark.detector.coders import CODERS
from tallymark.inference.execution import Execution, plan_execution
from tallymark.inference.metadata import KEY, ModelMetadata
from tallymark.inference.onnx_file import REMEDY, metadata_text, read_model
from tallymark.inference.runtimes.base import ModelFile, first_line
from tallymark.inference.runtimes.choice import REFERENCE, Choice, choose
from tallymark.inference.runtimes.onnxruntime import open_session
from tallymark.modalities import modality_of
from tallymark.modalities.base import Tile

Runtime = Literal["auto", "onnxruntime", "openvino", "openvino-f32"]
STRUCTURED = 2
"""Inputs with structures that runtimes are compared on, besides a blank one."""


class Session:
    """An open model file: inputs (n, height, width, channels) to outputs by name, safe to call from several threads.

    runtime: the name of the one that runs it; never `auto`, so that another process can be given the same.
    runtime_id: the same with its version and precision. note: why it was chosen, where there was a choice.
    checked: whether another process has checked the file, so that no runtime but the given one needs to open it.
    """

    def __init__(
        self, path: Path, runtime: Runtime = "auto", threads: int | None = None, *, checked: bool = False
    ) -> None:
        self.path = path
        self._count_cores = observe_cores() if threads is None else lambda: threads
        keep_freed_memory()
        data = read_model(path)
        self.digest = hashlib.sha256(data).hexdigest()
        self.metadata = ModelMetadata.read(metadata_text(data, KEY), path)
        recipe = self.metadata.recipe
        tile, shapes = _trial(self.metadata)
        opened = None if checked and runtime != REFERENCE.name else self._open(data)
        model = ModelFile(data, opened, tuple(shapes), modality_of(recipe).tile_shape(recipe))
        if not checked:
            self._check_signature(opened, tile, list(shapes))
            self._run = REFERENCE.open(model, lambda: plan_execution(1)).run
            self._check_outputs(self(tile.data[None]), shapes)
        chosen = self._choose(runtime, model)
        self.runtime, self.note = cast(Runtime, chosen.name), chosen.note
        self.runtime_id = chosen.model.runtime_id
        self._run = chosen.model.run
        self._expect = chosen.model.expect

    @cached_property
    def cores(self) -> int:
        """Cores that it may use: those that are free from the opening of the file until they are needed."""
        return self._count_cores()

    @cached_property
    def execution(self) -> Execution:
        return plan_execution(self.cores)

    def expect(self, recipe: Recipe) -> None:
        """Get ready for the tiles of a recipe, which may show items at another size than the training did."""
        self._expect(modality_of(recipe).tile_shape(recipe))

    def __call__(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        try:
            outputs = self._run(inputs)
        except Exception as error:  # the runtimes' own exceptions have no common base
            raise self._bad(first_line(error), "a network that runs on this machine") from None
        for name, part in outputs.items():
            if not _is_finite(part):
                raise self._bad(f"the output {name} is not a number", "a trained network")
        return outputs

    def _open(self, data: bytes) -> Any:
        """The file as ONNX Runtime opens it, with the threads that a tile gets by any plan."""
        try:
            return open_session(data, plan_execution(1))
        except Exception as error:  # its own exceptions have no common base
            raise self._bad(first_line(error), "a model") from None

    def _choose(self, runtime: Runtime, model: ModelFile) -> Choice:
        recipe = self.metadata.recipe

        def inputs() -> list[np.ndarray]:
            rng = np.random.default_rng(0)
            structured = [modality_of(recipe).synthetic_tile(recipe, rng)[None] for _ in range(STRUCTURED)]
            return [np.zeros_like(structured[0]), *structured]

        try:
            return choose(runtime, model, lambda: self.execution, inputs)
        except BadInput:
            raise
        except Exception as error:  # as above
            raise self._bad(first_line(error), f"a network that {runtime} runs") from None

    def _check_signature(self, opened: Any, tile: Tile, names: list[str]) -> None:
        """Refuse models that take or give something else than those of this package."""
        kinds = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32}
        inputs = [(kinds.get(one.type), one.shape) for one in opened.get_inputs()]
        expected = f"one input of any height and width with {tile.data.shape[2]} channels, as {tile.data.dtype}"
        if len(inputs) != 1:
            raise self._bad(f"{len(inputs)} inputs", expected)
        (kind, shape), given = inputs[0], opened.get_inputs()[0]
        if kind != tile.data.dtype or len(shape) != 4 or any(isinstance(side, int) for side in shape[1:3]):
            raise self._bad(f"an input of {given.type} {shape}", expected)
        kinds_of = {one.name: one.type for one in opened.get_outputs()}
        for name in names:
            if kinds_of.get(name) != "tensor(float)":
                raise self._bad(f"{name}: {kinds_of.get(name, 'no such output')}", f"outputs {', '.join(names)}")

    def _check_outputs(self, outputs: dict[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
        for name, shape in shapes.items():
            if outputs[name].shape != (1, *shape):
                raise self._bad(f"{name} of shape {outputs[name].shape}", f"{(1, *shape)}, by its metadata")

    def _bad(self, found: str, expected: str) -> BadInput:
        return BadInput(Problem("bad_model", str(self.path), found, expected, REMEDY))


def _is_finite(values: np.ndarray) -> bool:
    """Whether all are: a finite sum says so in less time, and one that is not may have overflowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _trial(metadata: ModelMetadata) -> tuple[Tile, dict[str, tuple[int, ...]]]:
    """An input to try a model out with, and the shapes of the outputs that it must give."""
    recipe = metadata.recipe
    tile = modality_of(recipe).blank_tile(recipe)
    groups = max(head_groups_of(recipe, metadata.classes), default=0) + 1
    left, top, right, bottom = tile.inside
    size = bottom - top, right - left
    return tile, CODERS[recipe.task].output_shapes(recipe, max(len(metadata.classes), 1), groups, size)
