"""Model files for benchmarks: with random weights, and as a runtime alone runs them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tallymark.core.recipe import Recipe, head_groups_of
from tallymark.inference.metadata import ModelMetadata


def write_untrained(name: str, recipe: Recipe, classes: tuple[str, ...], path: Path) -> None:
    """Write a model with random weights: training changes nothing but the predictions."""
    from tallymark.training.export import export
    from tallymark.training.network import make_network

    network = make_network(recipe.replace(weights="none"), max(len(classes), 1), head_groups_of(recipe, classes))
    export(network.eval(), ModelMetadata(name, recipe, classes), path)


def bare_model(path: Path, runtime: str, threads: int, *, streams: int = 1) -> Callable[[np.ndarray], Sequence[object]]:
    """A model file as its runtime opens it. streams: calls side by side, with so many threads each."""
    if runtime == "openvino":
        import openvino

        settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": streams, "INFERENCE_NUM_THREADS": threads * streams}
        compiled = openvino.Core().compile_model(str(path), "CPU", settings)
        own = threading.local()  # a request serves one thread at a time

        def infer(inputs: np.ndarray) -> Sequence[object]:
            if not hasattr(own, "request"):
                own.request = compiled.create_infer_request()
            return list(own.request.infer(inputs, share_inputs=True).values())

        return infer
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda inputs: session.run(None, {name: inputs})
