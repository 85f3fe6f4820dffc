"""Model files that nobody should predict with: cut, foreign, of other shapes, with weights that are no numbers."""

from __future__ import annotations

import os
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.inference.odd_metadata import Make, edit, odd_metadata

OUTPUTS = ("heat", "values", "quality", "presence")
INPUT = ["count", "down", "across", 3]


def hostile_models() -> dict[str, Make]:
    """Each by a name for the tests; the good model is one of wheat heads."""
    return {name: make for family in (_files, _weights, _graphs, _signatures, odd_metadata) for name, make in family()}


def _bytes(change: Callable[[bytes], bytes]) -> Make:
    return lambda good, path: void(path.write_bytes(change(good.read_bytes())))


def void(_: object) -> None:
    """Nothing, of something."""


def _files() -> Iterator[tuple[str, Make]]:
    """What is no whole file of a model."""
    for quarter in range(4):
        yield f"cut-{quarter}", _bytes(lambda data, quarter=quarter: data[: len(data) * quarter // 4])
    yield "cut-end", _bytes(lambda data: data[:-1])
    yield "zeros", _bytes(lambda data: bytes(len(data)))
    yield "shifted", _bytes(lambda data: data[1:])
    yield "twice", _bytes(lambda data: data[: len(data) // 2] * 2)
    yield "text", _bytes(lambda data: b"a model\n" * 100)
    yield "json", _bytes(lambda data: b'{"challenge": "wheat"}')
    yield "png", _bytes(lambda data: b"\x89PNG\r\n\x1a\n" + bytes(100))
    yield "deep", _bytes(lambda data: _nested(3000))
    yield "zip", lambda good, path: _zip(good, path)
    yield "folder", lambda good, path: path.mkdir()
    yield "pipe", lambda good, path: os.mkfifo(path)
    yield "socket", lambda good, path: _socket(path)
    yield "device", lambda good, path: path.symlink_to("/dev/zero")
    yield "dangling", lambda good, path: path.symlink_to("nowhere.onnx")
    yield "loop-of-links", lambda good, path: path.symlink_to(path.name)


def _zip(good: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(good, "model.onnx")


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(before)


def _nested(depth: int) -> bytes:
    """Graphs within attributes of nodes within graphs."""
    data = b""
    for _ in range(depth):
        for field in (6, 5, 1):  # graph of an attribute, attribute of a node, node of a graph
            data = bytes([field << 3 | 2]) + _varint(len(data)) + data
    return bytes([7 << 3 | 2]) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    low, high = number & 127, number >> 7
    return bytes([low]) if not high else bytes([low | 128]) + _varint(high)


def _weights() -> Iterator[tuple[str, Make]]:
    """Weights that are no numbers, or are somewhere else."""
    for name, value in (("nan", np.nan), ("inf", np.inf), ("minus-inf", -np.inf)):
        yield f"all-{name}", edit(lambda proto, value=value: _set_weights(proto, value, every=True))
        yield f"one-{name}", edit(lambda proto, value=value: _set_weights(proto, value, every=False))
    yield "nan-half", edit(lambda proto: _set_weights(proto, np.nan, every=False, dtype=np.float16))
    yield "nan-float-data", edit(lambda proto: _set_weights(proto, np.nan, every=False, raw=False))
    yield "huge-weights", edit(lambda proto: _set_weights(proto, 3e38, every=True))
    for number, place in enumerate(("../../etc/passwd", "/etc/passwd", "weights.bin", "../secret.bin")):
        yield f"external-{number}", edit(lambda proto, place=place: _external(proto.graph.initializer[0], place))
    yield "external-constant", edit(_external_constant)


def _largest(proto: onnx.ModelProto) -> TensorProto:
    return max(proto.graph.initializer, key=lambda one: int(np.prod(one.dims)))


def _set_weights(
    proto: onnx.ModelProto, value: float, *, every: bool, dtype: Any = np.float32, raw: bool = True
) -> None:
    chosen = [one for one in proto.graph.initializer if one.data_type == TensorProto.FLOAT]
    for one in chosen if every else [_largest(proto)]:
        array = numpy_helper.to_array(one).astype(dtype)
        array[(...) if every else (0,) * array.ndim] = value
        if raw:
            one.CopyFrom(numpy_helper.from_array(array, one.name))
        else:
            one.ClearField("raw_data")
            one.float_data.extend(array.ravel().tolist())


def _external(tensor: TensorProto, place: str) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value=place))


def _external_constant(proto: onnx.ModelProto) -> None:
    node = next(one for one in proto.graph.node if one.op_type == "Constant")
    _external(node.attribute[0].t, "../../etc/passwd")


def _graphs() -> Iterator[tuple[str, Make]]:
    """Graphs that cannot be run, or would run for ever."""
    yield "no-graph", edit(lambda proto: proto.ClearField("graph"))
    yield "no-nodes", edit(lambda proto: proto.graph.ClearField("node"))
    yield "no-weights", edit(lambda proto: proto.graph.ClearField("initializer"))
    yield "no-outputs", edit(lambda proto: proto.graph.ClearField("output"))
    yield "no-inputs", edit(lambda proto: proto.graph.ClearField("input"))
    yield "future-opset", edit(lambda proto: setattr(proto.opset_import[0], "version", 999))
    yield "old-opset", edit(lambda proto: setattr(proto.opset_import[0], "version", 1))
    yield "future-ir", edit(lambda proto: setattr(proto, "ir_version", 999))
    yield "custom-operator", edit(_custom_operator)
    yield "unknown-operator", edit(lambda proto: setattr(proto.graph.node[0], "op_type", "Summon"))
    yield "cycle", edit(_cycle)
    yield "huge-shape", edit(lambda proto: _largest(proto).dims.__setitem__(0, 1 << 40))
    yield "negative-shape", edit(lambda proto: _largest(proto).dims.__setitem__(0, -1))
    yield "transposed", edit(_transposed)
    yield "huge-constant", _built(_huge_constant)
    yield "endless-loop", _built(_endless_loop)
    yield "overflow", _built(_overflowing)


def _custom_operator(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].domain = "com.example"
    proto.opset_import.append(helper.make_opsetid("com.example", 1))


def _cycle(proto: onnx.ModelProto) -> None:
    first, second = [one for one in proto.graph.node if one.op_type == "Conv"][:2]
    first.input[0] = second.output[0]


def _transposed(proto: onnx.ModelProto) -> None:
    one = _largest(proto)
    one.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(one).T), one.name))


def _signatures() -> Iterator[tuple[str, Make]]:
    """Models that run, but take or give something else."""
    uint8 = TensorProto.UINT8
    for name, kind, shape in (
        ("input-double", TensorProto.DOUBLE, INPUT),
        ("input-text", TensorProto.STRING, INPUT),
        ("input-three", uint8, INPUT[1:]),
        ("input-five", uint8, [*INPUT, 2]),
        ("input-one-channel", uint8, [*INPUT[:3], 1]),
        ("input-fixed", uint8, [1, 48, 48, 3]),
        ("input-channels-first", uint8, ["count", 3, "down", "across"]),
    ):
        yield name, _built(lambda kind=kind, shape=shape: _constant_model(input_type=kind, shape=shape))
    yield "two-inputs", _built(lambda: _constant_model(more_inputs=("another",)))
    for left_out in OUTPUTS:
        yield f"without-{left_out}", _built(lambda one=left_out: _constant_model(without=one))
    yield "other-names", _built(lambda: _constant_model(rename={"heat": "warmth"}))
    yield "double-outputs", _built(lambda: _constant_model(output_type=TensorProto.DOUBLE))
    yield "integer-outputs", _built(lambda: _constant_model(output_type=TensorProto.INT64))
    yield "flat-outputs", _built(lambda: _constant_model(cells=None))
    yield "other-grid", _built(lambda: _constant_model(cells=(7, 5)))
    yield "many-classes", _built(lambda: _constant_model(channels={"heat": 9}))
    yield "few-values", _built(lambda: _constant_model(channels={"values": 3}))
    yield "two-groups", _built(lambda: _constant_model(channels={"quality": 2}))
    yield "nan-outputs", _built(lambda: _constant_model(value=np.nan))
    yield "inf-outputs", _built(lambda: _constant_model(value=np.inf))
    yield "a-classifier", _built(lambda: _constant_model(cells=None, rename={"heat": "classes"}))


def _built(build: Callable[[], onnx.GraphProto]) -> Make:
    """A model of another graph, with the metadata of the good one."""

    def make(good: Path, path: Path) -> None:
        proto = helper.make_model(build(), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        proto.metadata_props.extend(onnx.load(str(good)).metadata_props)
        path.write_bytes(proto.SerializeToString())

    return make


def _constant_model(
    *,
    input_type: int = TensorProto.UINT8,
    shape: Any = INPUT,
    more_inputs: tuple[str, ...] = (),
    without: str = "",
    rename: dict[str, str] | None = None,
    output_type: int = TensorProto.FLOAT,
    cells: tuple[int, int] | None = (16, 16),
    channels: dict[str, int] | None = None,
    value: float = 0.5,
) -> onnx.GraphProto:
    """A graph whose outputs do not depend on its input: `value` in every cell."""
    dtype = helper.tensor_dtype_to_np_dtype(output_type)
    nodes, outputs = [], []
    for name, count in {"heat": 1, "values": 4, "quality": 1, "presence": 0, **(channels or {})}.items():
        if name == without:
            continue
        dims = (1,) if name == "presence" else (1, count, *(cells or ()))
        with np.errstate(invalid="ignore"):
            array = np.full(dims, value).astype(dtype)
        own = (rename or {}).get(name, name)
        nodes.append(helper.make_node("Constant", [], [f"{own}_"], value=numpy_helper.from_array(array)))
        nodes.append(helper.make_node("Identity", [f"{own}_"], [own]))
        outputs.append(helper.make_tensor_value_info(own, output_type, dims))
    inputs = [helper.make_tensor_value_info(name, input_type, shape) for name in ("input", *more_inputs)]
    return helper.make_graph(nodes, "constant", inputs, outputs)


def _huge_constant() -> onnx.GraphProto:
    graph = _constant_model()
    shape = numpy_helper.from_array(np.array([1 << 20, 1 << 22]))
    nodes = [
        helper.make_node("Constant", [], ["shape"], value=shape),
        helper.make_node("ConstantOfShape", ["shape"], ["huge"]),
        helper.make_node("ReduceSum", ["huge"], ["sum"], keepdims=0),
        helper.make_node("Add", ["presence_", "sum"], ["presence"]),
    ]
    kept = [node for node in graph.node if node.output[0] != "presence"]
    del graph.node[:]
    graph.node.extend([*kept, *nodes])
    return graph


def _endless_loop() -> onnx.GraphProto:
    graph = _constant_model()
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["still"]), helper.make_node("Identity", ["state"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [1]),
        ],
    )
    nodes = [
        helper.make_node("Constant", [], ["true"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("Loop", ["", "true", "presence_"], ["presence"], body=body),
    ]
    kept = [node for node in graph.node if node.output[0] != "presence"]
    del graph.node[:]
    graph.node.extend([*kept, *nodes])
    return graph


def _overflowing() -> onnx.GraphProto:
    """Weights that are finite, and outputs that are not."""
    graph = _constant_model(value=3e38)
    for node in graph.node:
        if node.op_type == "Identity":
            node.op_type = "Mul"
            node.input.append(node.input[0])
    return graph
