"""Model files, run by ONNX Runtime, or by OpenVINO where that is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tallymark.predicting.card import KEY, Card
from tallymark.predicting.raw import Maps
from tallymark.problems import BadInput, Problem

Runtime = Literal["onnxruntime", "openvino"]


class Session:
    """A model file that is open: pictures (n, height, width, 3) as bytes in, maps out."""

    def __init__(self, path: Path, runtime: Runtime = "onnxruntime", threads: int | None = None) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or os.cpu_count() or 1
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=_providers(onnxruntime))
        except Exception as error:  # its own exceptions have no common base
            found, remedy = str(error).split("\n")[0], "use a model.onnx that training wrote"
            raise BadInput(Problem("bad_model", str(path), found, "a model", remedy)) from None
        self.card = Card.read(session.get_modelmeta().custom_metadata_map.get(KEY, ""), path)
        self.names = [output.name for output in session.get_outputs()]
        self._run = _openvino(path, self.names, threads) if runtime == "openvino" else _onnx(session, self.names)

    def __call__(self, pictures: np.ndarray) -> Maps:
        maps: Maps = self._run(pictures)
        return maps


def _providers(onnxruntime: Any) -> list[str]:
    """The GPU where the installed build knows one, and the CPU."""
    return [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider")
            if name in onnxruntime.get_available_providers()]  # fmt: skip


def _onnx(session: Any, names: list[str]) -> Any:
    shown = session.get_inputs()[0].name

    def run(pictures: np.ndarray) -> Maps:
        return dict(zip(names, session.run(names, {shown: pictures}), strict=True))

    return run


def _openvino(path: Path, names: list[str], threads: int | None) -> Any:
    try:
        import openvino
    except ImportError:
        remedy = "pip install 'tallymark[fast]', or leave out the runtime"
        found = "the package openvino is not installed"
        raise BadInput(Problem("no_runtime", "runtime=openvino", found, "openvino", remedy)) from None
    settings = {"INFERENCE_NUM_THREADS": threads} if threads else {}
    compiled = openvino.Core().compile_model(str(path), "CPU", {"PERFORMANCE_HINT": "LATENCY", **settings})

    def run(pictures: np.ndarray) -> Maps:
        told = compiled(pictures)
        return {name: np.asarray(told[name]) for name in names}

    return run
