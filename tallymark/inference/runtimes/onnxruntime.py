"""ONNX Runtime: the default, and the reference for the others; on a GPU where the installed build has CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallymark.core.resources import usable_cores
from tallymark.core.versions import version_of
from tallymark.inference.execution import Execution
from tallymark.inference.runtimes.base import ModelFile, OpenModel, Plan


class OnnxRuntime:
    name = "onnxruntime"
    package = "onnxruntime"

    def open(self, model: ModelFile, plan: Plan) -> OpenModel:
        """The session of the model itself, which `open_session` opened: a tile gets as many threads by any plan."""
        session = model.session
        names = list(model.outputs)
        input_name = session.get_inputs()[0].name

        def run(inputs: np.ndarray) -> dict[str, np.ndarray]:
            return dict(zip(names, session.run(names, {input_name: inputs}), strict=True))

        gpu = " cuda" if "CUDAExecutionProvider" in session.get_providers() else ""
        return OpenModel(run, f"{self.name} {version_of_build()}{gpu}")


def open_session(data: bytes, execution: Execution) -> Any:
    """An `InferenceSession` with the threads that one tile gets; exceptions of ONNX Runtime for what is not a model."""
    import onnxruntime

    threads = execution.tile_threads
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what goes wrong is a problem of its own
    # Threads that spin while they wait for each other starve beside another busy process: on two cores with one of them
    # busy, prediction took 1.38 times as long with spinning as without. On quiet cores a tiny network is 1.15 times as
    # fast with spinning, a small one the same within 1 %.
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(threads == usable_cores())))
    return onnxruntime.InferenceSession(data, options, providers=_providers(onnxruntime))


def version_of_build() -> str:
    """The version, whichever of the packages with this runtime is installed: that for GPUs has another name."""
    found = (version_of(name) for name in ("onnxruntime", "onnxruntime-gpu"))
    return next((one for one in found if one[0].isdigit()), "")


def _providers(onnxruntime: Any) -> list[str]:
    """The GPU where the installed build has one, and the CPU."""
    available = onnxruntime.get_available_providers()
    return [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in available]
