"""Sessions: model files, run by ONNX Runtime, or by OpenVINO on request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tallymark.core.problems import BadInput, Problem, shorten
from tallymark.core.recipe import head_groups_of
from tallymark.core.resources import free_cores, usable_cores
from tallymark.detector.coders import CODERS
from tallymark.inference.execution import Execution, plan_execution
from tallymark.inference.metadata import KEY, ModelMetadata
from tallymark.inference.onnx_file import REMEDY, read_model
from tallymark.modalities import modality_of
from tallymark.modalities.base import Tile

Runtime = Literal["onnxruntime", "openvino"]
Run = Callable[[np.ndarray], dict[str, np.ndarray]]


class Session:
    """An open model file: inputs (n, height, width, channels) to outputs by name, safe to call from several threads."""

    def __init__(self, path: Path, runtime: Runtime = "onnxruntime", threads: int | None = None) -> None:
        self.path = path
        self.runtime = runtime
        cores = threads or free_cores()
        data = read_model(path)
        opened = _open(path, data, cores)
        self.metadata = ModelMetadata.read(_metadata_text(opened), path)
        self.execution = plan_execution(modality_of(self.metadata.recipe), cores)
        tile, shapes = _trial(self.metadata)
        self._check_signature(opened, tile, list(shapes))
        if runtime == "openvino":
            self._run = _openvino(path, list(shapes), threads, self.execution)
        else:
            own = opened if self.execution.tile_threads == cores else _open(path, data, self.execution.tile_threads)
            self._run = _onnxruntime(own, list(shapes))
        self._check_outputs(self(tile.data[None]), shapes)

    def __call__(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        try:
            outputs = self._run(inputs)
        except Exception as error:  # the runtimes' own exceptions have no common base
            raise self._bad(_first_line(error), "a network that runs on this machine") from None
        for name, part in outputs.items():
            if not np.isfinite(part).all():
                raise self._bad(f"the output {name} is not a number", "a trained network")
        return outputs

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


def _trial(metadata: ModelMetadata) -> tuple[Tile, dict[str, tuple[int, ...]]]:
    """An input to try a model out with, and the shapes of the outputs that it must give."""
    recipe = metadata.recipe
    tile = modality_of(recipe).blank_tile(recipe)
    groups = max(head_groups_of(recipe, metadata.classes), default=0) + 1
    left, top, right, bottom = tile.inside
    size = bottom - top, right - left
    return tile, CODERS[recipe.task].output_shapes(recipe, max(len(metadata.classes), 1), groups, size)


def _metadata_text(opened: Any) -> str:
    try:
        return str(opened.get_modelmeta().custom_metadata_map.get(KEY, ""))
    except UnicodeDecodeError:
        return "?"  # as unreadable as it is


def _first_line(error: Exception) -> str:
    return shorten(str(error).split("\n")[0], 200)


def _open(path: Path, data: bytes, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what goes wrong is a problem of its own
    # Threads that spin while they wait for each other starve beside another busy process: on two cores with one of them
    # busy, prediction took 1.38 times as long with spinning as without. On quiet cores a tiny network is 1.15 times as
    # fast with spinning, a small one the same within 1 %.
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(threads == usable_cores())))
    try:
        return onnxruntime.InferenceSession(data, options, providers=_providers(onnxruntime))
    except Exception as error:  # its own exceptions have no common base
        raise BadInput(Problem("bad_model", str(path), _first_line(error), "a model", REMEDY)) from None


def _providers(onnxruntime: Any) -> list[str]:
    """The GPU where the installed build has one, and the CPU."""
    available = onnxruntime.get_available_providers()
    return [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in available]


def _onnxruntime(session: Any, names: list[str]) -> Run:
    input_name = session.get_inputs()[0].name

    def run(inputs: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(names, session.run(names, {input_name: inputs}), strict=True))

    return run


def _openvino(path: Path, names: list[str], threads: int | None, execution: Execution) -> Run:
    try:
        import openvino
    except ImportError:
        found, remedy = (
            "the package openvino is not installed",
            "pip install 'tallymark[fast]', or leave out the runtime",
        )
        raise BadInput(Problem("no_runtime", "runtime=openvino", found, "openvino", remedy)) from None
    settings: dict[str, object] = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": execution.concurrent_tiles}
    if threads:
        settings["INFERENCE_NUM_THREADS"] = threads
    compiled = openvino.Core().compile_model(str(path), "CPU", settings)
    own = threading.local()  # a request serves one thread at a time

    def run(inputs: np.ndarray) -> dict[str, np.ndarray]:
        if not hasattr(own, "request"):
            own.request = compiled.create_infer_request()
        outputs = own.request.infer(inputs, share_inputs=True)
        return {name: np.array(outputs[name]) for name in names}

    return run
