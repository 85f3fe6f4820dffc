"""ONNX Runtime: its providers."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tallymark.inference.execution import Execution
from tallymark.inference.runtimes.base import ModelFile
from tallymark.inference.runtimes.onnxruntime import OnnxRuntime, open_session

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


class FakeSession:
    """An `InferenceSession` on the providers that it was asked for."""

    def __init__(self, data: bytes, options: object, providers: list[str]) -> None:
        self.providers = providers

    def get_providers(self) -> list[str]:
        return self.providers

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="input")]

    def run(self, names: list[str], inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [inputs["input"] for _ in names]


@pytest.mark.parametrize(
    ("available", "used"),
    [
        (["TensorrtExecutionProvider", CUDA, CPU], [CUDA, CPU]),
        (["AzureExecutionProvider", CPU], [CPU]),
    ],
)
def test_the_gpu_is_used_where_the_installed_build_has_one(
    available: list[str], used: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SimpleNamespace(add_session_config_entry=lambda name, value: None)
    fake = SimpleNamespace(
        SessionOptions=lambda: options, InferenceSession=FakeSession, get_available_providers=lambda: available
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", fake)
    plan = Execution(tile_threads=3, concurrent_tiles=1)
    session = open_session(b"", plan)
    assert session.get_providers() == used
    assert options.intra_op_num_threads == 3
    opened = OnnxRuntime().open(ModelFile(b"", session, ("heat",), (1, 1, 1)), lambda: plan)
    assert opened.runtime_id.endswith(" cuda") == (CUDA in used)
    assert opened.run(np.ones(1))["heat"] == 1
