"""Model files, run by ONNX Runtime, or by OpenVINO where that is asked for."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tallymark.core.problems import BadInput, Problem
from tallymark.inference.metadata import KEY, Metadata
from tallymark.inference.pipeline import Maps
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.lidar.recipe import LidarRecipe

Runtime = Literal["onnxruntime", "openvino"]
CORES = os.cpu_count() or 1
MOST = 8
"""Recordings and sweeps that are shown side by side: more are not read in the same time, and each takes memory."""


class Session:
    """A model file that is open: pictures (n, height, width, 3) as bytes in, maps out.

    at_once: how many it can be shown at a time, from as many threads. A sweep, or a window on a recording, is too
    little work to be shared out among threads, so each gets one of its own; a picture is worked on by all of them.
    """

    def __init__(self, path: Path, runtime: Runtime = "onnxruntime", threads: int | None = None) -> None:
        self.path, self.runtime = path, runtime
        session = _open(path, threads or CORES)
        self.card = Metadata.read(session.get_modelmeta().custom_metadata_map.get(KEY, ""), path)
        self.names = [output.name for output in session.get_outputs()]
        self.at_once = min(threads or CORES, MOST) if isinstance(self.card.recipe, AudioRecipe | LidarRecipe) else 1
        if runtime == "openvino":
            self._run = _openvino(path, self.names, threads, self.at_once)
        else:
            self._run = _onnx(_open(path, 1) if self.at_once > 1 else session, self.names)

    def __call__(self, pictures: np.ndarray) -> Maps:
        maps: Maps = self._run(pictures)
        return maps


def _open(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=_providers(onnxruntime))
    except Exception as error:  # its own exceptions have no common base
        found, remedy = str(error).split("\n")[0], "use a model.onnx that training wrote"
        raise BadInput(Problem("bad_model", str(path), found, "a model", remedy)) from None


def _providers(onnxruntime: Any) -> list[str]:
    """The GPU where the installed build knows one, and the CPU."""
    return [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider")
            if name in onnxruntime.get_available_providers()]  # fmt: skip


def _onnx(session: Any, names: list[str]) -> Any:
    shown = session.get_inputs()[0].name

    def run(pictures: np.ndarray) -> Maps:
        return dict(zip(names, session.run(names, {shown: pictures}), strict=True))

    return run


def _openvino(path: Path, names: list[str], threads: int | None, at_once: int) -> Any:
    try:
        import openvino
    except ImportError:
        remedy = "pip install 'tallymark[fast]', or leave out the runtime"
        found = "the package openvino is not installed"
        raise BadInput(Problem("no_runtime", "runtime=openvino", found, "openvino", remedy)) from None
    settings = {"NUM_STREAMS": at_once} | ({"INFERENCE_NUM_THREADS": threads} if threads else {})
    compiled = openvino.Core().compile_model(str(path), "CPU", {"PERFORMANCE_HINT": "LATENCY", **settings})
    own = threading.local()  # a request serves one thread at a time

    def run(pictures: np.ndarray) -> Maps:
        if not hasattr(own, "request"):
            own.request = compiled.create_infer_request()
        told = own.request.infer(pictures, share_inputs=True)
        return {name: np.array(told[name]) for name in names}

    return run
