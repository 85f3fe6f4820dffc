"""Sessions: model files, run by ONNX Runtime, or by OpenVINO on request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.core.resources import free_cores, usable_cores
from tallymark.inference.execution import Execution, plan_execution
from tallymark.inference.metadata import KEY, ModelMetadata
from tallymark.io.regular import require_regular
from tallymark.modalities import modality_of

Runtime = Literal["onnxruntime", "openvino"]
Run = Callable[[np.ndarray], dict[str, np.ndarray]]


class Session:
    """An open model file: inputs (n, height, width, channels) to outputs by name, safe to call from several threads."""

    def __init__(self, path: Path, runtime: Runtime = "onnxruntime", threads: int | None = None) -> None:
        self.path = path
        self.runtime = runtime
        cores = threads or free_cores()
        opened = _open(path, cores)
        self.metadata = ModelMetadata.read(opened.get_modelmeta().custom_metadata_map.get(KEY, ""), path)
        self.execution = plan_execution(modality_of(self.metadata.recipe), cores)
        names = [output.name for output in opened.get_outputs()]
        if runtime == "openvino":
            self._run = _openvino(path, names, threads, self.execution)
        else:
            own = opened if self.execution.tile_threads == cores else _open(path, self.execution.tile_threads)
            self._run = _onnxruntime(own, names)

    def __call__(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        return self._run(inputs)


def _open(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Threads that spin while they wait for each other starve beside another busy process: on two cores with one of them
    # busy, prediction took 1.38 times as long with spinning as without. On quiet cores a tiny network is 1.15 times as
    # fast with spinning, a small one the same within 1 %.
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(threads == usable_cores())))
    try:
        require_regular(path)
        return onnxruntime.InferenceSession(str(path), options, providers=_providers(onnxruntime))
    except Exception as error:  # its own exceptions have no common base
        found = getattr(error, "strerror", None) or str(error).split("\n")[0]
        remedy = "use a model.onnx that training wrote"
        raise BadInput(Problem("bad_model", str(path), found, "a model", remedy)) from None


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
