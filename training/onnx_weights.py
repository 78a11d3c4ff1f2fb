"""The weights of the network in an ONNX file: read as floats, and written back with 8 bits.

The graph of the file stays as it is: the dense layers are MatMulNBits with blocks of 32 weights and
one scale each, the tables of embeddings have one scale for each row.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Weights = dict[str, NDArray[np.float32]]

BLOCK = 32
MIDDLE = 128
"""An 8-bit weight is stored as a number from 0 to 255; this one stands for zero."""

LARGEST = 127
TABLE_MARK = "_q8"
"""The names of the tables of embeddings end like this."""

LAST_HIDDEN = "/m/encoder/layer.5/output/LayerNorm/LayerNormalization_output_0"
POOLED = "/Div_output_0"
"""The mean of the token vectors, before it is brought to length 1."""


def read(path: Path) -> Weights:
    """Return the weights by their names in the network, as floats."""
    model = onnx.load(path)
    stored = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    weights: Weights = {}
    for name, array in stored.items():
        if name.endswith(TABLE_MARK):
            scales = stored[_scales_of_table(name)].reshape(-1, 1)
            weights[_plain(name.removesuffix(TABLE_MARK))] = array.astype(np.float32) * scales
        elif name.startswith("m.") and array.dtype == np.float32 and f"{name}_q8" not in stored:
            weights[_plain(name)] = array
    for node in _dense_layers(model):
        packed = stored[node.input[1]]
        scales = stored[node.input[2]]
        rows = packed.shape[0]
        floats = packed.astype(np.float32) - MIDDLE
        floats = floats.reshape(rows, -1, BLOCK) * scales.reshape(rows, -1, 1)
        weights[_name_of(node)] = floats.reshape(rows, -1)
    return {name: array for name, array in weights.items() if not name.endswith("_s")}


def write(base: Path, weights: Mapping[str, NDArray[np.float32]], path: Path) -> None:
    """Write the graph of the base file with other weights."""
    model = onnx.load(base)
    _replace(model, weights)
    onnx.save(model, path)


def write_with_tokens(base: Path, weights: Mapping[str, NDArray[np.float32]], path: Path) -> None:
    """The same, with a second output: a short unit vector for each token."""
    model = onnx.load(base)
    _replace(model, weights)
    projection = np.ascontiguousarray(weights["tokens.weight"].T)
    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(projection, "tokens.weight"))
    graph.node.append(
        helper.make_node("MatMul", [LAST_HIDDEN, "tokens.weight"], ["projected_tokens"])
    )
    graph.node.append(
        helper.make_node("LpNormalization", ["projected_tokens"], ["tokens"], axis=-1, p=2)
    )
    shape: list[str | int | None] = ["batch", "sequence", int(projection.shape[1])]
    graph.output.append(helper.make_tensor_value_info("tokens", onnx.TensorProto.FLOAT, shape))
    onnx.save(model, path)


def write_judge(base: Path, weights: Mapping[str, NDArray[np.float32]], path: Path) -> None:
    """The same for a network that judges a question and a passage: its output is one number."""
    model = onnx.load(base)
    _replace(model, weights)
    graph = model.graph
    graph.initializer.append(
        numpy_helper.from_array(np.ascontiguousarray(weights["head.weight"].T), "head.weight")
    )
    graph.initializer.append(numpy_helper.from_array(weights["head.bias"], "head.bias"))
    kept = []
    for node in graph.node:
        kept.append(node)
        if POOLED in node.output:
            break
    kept.append(helper.make_node("Gemm", [POOLED, "head.weight", "head.bias"], ["relevance"]))
    del graph.node[:]
    graph.node.extend(kept)
    del graph.output[:]
    shape: list[str | int | None] = ["batch", 1]
    graph.output.append(helper.make_tensor_value_info("relevance", onnx.TensorProto.FLOAT, shape))
    onnx.save(model, path)


def _replace(model: onnx.ModelProto, weights: Mapping[str, NDArray[np.float32]]) -> None:
    places = {each.name: place for place, each in enumerate(model.graph.initializer)}
    stored = model.graph.initializer

    def put(name: str, array: NDArray[np.generic]) -> None:
        old = stored[places[name]]
        if list(array.shape) != list(old.dims):
            raise ValueError(f"{name} has the shape {array.shape}, not {list(old.dims)}.")
        old.CopyFrom(numpy_helper.from_array(array, name))

    for name in list(places):
        if name.endswith(TABLE_MARK):
            table = weights.get(_plain(name.removesuffix(TABLE_MARK)))
            if table is not None:
                scales = np.abs(table).max(axis=1, keepdims=True) / LARGEST
                put(name, np.rint(table / np.maximum(scales, 1e-12)).astype(np.int8))
                old_scales = numpy_helper.to_array(stored[places[_scales_of_table(name)]])
                put(_scales_of_table(name), scales.reshape(old_scales.shape).astype(np.float32))
        elif name.startswith("m.") and _plain(name) in weights:
            put(name, weights[_plain(name)].astype(np.float32))
    for node in _dense_layers(model):
        array = weights[_name_of(node)]
        rows = array.shape[0]
        blocks = array.reshape(rows, -1, BLOCK)
        # The largest weight of a block becomes -128 or 127, whichever its sign allows.
        extreme = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=2, keepdims=True), axis=2)
        scales = extreme / -MIDDLE
        safe = np.where(scales == 0, 1, scales)
        packed = np.clip(np.rint(blocks / safe) + MIDDLE, 0, 255).astype(np.uint8)
        old_packed = stored[places[node.input[1]]]
        old_scales = stored[places[node.input[2]]]
        put(node.input[1], packed.reshape(list(old_packed.dims)))
        put(node.input[2], scales.astype(np.float32).reshape(list(old_scales.dims)))


def _dense_layers(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type == "MatMulNBits"]


def _name_of(node: onnx.NodeProto) -> str:
    name = node.name.removeprefix("/m/").removesuffix("/MatMul_Q8").replace("/", ".")
    return f"{name}.weight"


def _plain(name: str) -> str:
    return name.removeprefix("m.")


def _scales_of_table(name: str) -> str:
    return name.removesuffix(TABLE_MARK) + "_s"
