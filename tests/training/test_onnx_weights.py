"""Weights in ONNX files: what is read and written again stays the same."""

import hashlib
import tomllib
from pathlib import Path

import numpy as np
import onnx
import pytest
from training.quantise import averaged, trained

from memolith.retrieval.embedding.judge import JUDGE_DIGEST, JUDGE_FILE
from memolith.retrieval.embedding.minilm import (
    MODEL_DIGEST,
    MODEL_FILE,
    MODEL_FOLDER,
    OnnxModel,
)
from memolith.retrieval.embedding.network import verify
from training import onnx_weights

EMBEDDER = MODEL_FOLDER / MODEL_FILE
SOURCES = Path(__file__).parents[2] / "training" / "sources.toml"


@pytest.fixture(scope="module")
def weights() -> onnx_weights.Weights:
    return onnx_weights.read(EMBEDDER)


def test_the_shipped_embedder_is_read_and_written_byte_for_byte(
    weights: onnx_weights.Weights, tmp_path: Path
) -> None:
    onnx_weights.write(EMBEDDER, weights, tmp_path / MODEL_FILE)
    verify(tmp_path / MODEL_FILE, MODEL_DIGEST)


def test_the_shipped_judge_is_read_and_written_byte_for_byte(tmp_path: Path) -> None:
    shipped = MODEL_FOLDER / JUDGE_FILE
    onnx_weights.write(shipped, onnx_weights.read(shipped), tmp_path / JUDGE_FILE)
    verify(tmp_path / JUDGE_FILE, JUDGE_DIGEST)


def test_a_judge_is_made_of_the_graph_of_the_embedder(
    weights: onnx_weights.Weights, tmp_path: Path
) -> None:
    head = {
        "head.weight": np.ones((1, 384), np.float32),
        "head.bias": np.zeros(1, np.float32),
    }
    onnx_weights.write_judge(EMBEDDER, {**weights, **head}, tmp_path / JUDGE_FILE)
    graph = onnx.load(tmp_path / JUDGE_FILE).graph
    shipped = onnx.load(MODEL_FOLDER / JUDGE_FILE).graph
    assert [node.op_type for node in graph.node] == [node.op_type for node in shipped.node]
    assert [output.name for output in graph.output] == ["relevance"]
    written = onnx_weights.read(tmp_path / JUDGE_FILE)
    assert all(np.array_equal(written[name], weights[name]) for name in weights)


def test_other_weights_change_the_vectors(
    weights: onnx_weights.Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "encoder.layer.5.output.dense.weight"
    onnx_weights.write(EMBEDDER, {**weights, name: -weights[name]}, tmp_path / MODEL_FILE)
    written = onnx_weights.read(tmp_path / MODEL_FILE)
    assert np.allclose(written[name], -weights[name], atol=0.01)
    shipped = OnnxModel(MODEL_FOLDER).embed(["tea"])
    (tmp_path / "vocab.txt").write_bytes((MODEL_FOLDER / "vocab.txt").read_bytes())
    monkeypatch.setattr("memolith.retrieval.embedding.minilm.MODEL_DIGEST", _digest(tmp_path))
    assert OnnxModel(tmp_path).embed(["tea"]) != shipped


def test_weights_of_another_shape_are_refused(
    weights: onnx_weights.Weights, tmp_path: Path
) -> None:
    name = "embeddings.LayerNorm.bias"
    with pytest.raises(ValueError, match=r"LayerNorm\.bias has the shape \(3,\), not \[384\]"):
        onnx_weights.write(EMBEDDER, {**weights, name: weights[name][:3]}, tmp_path / MODEL_FILE)


def test_parts_of_a_trained_network_are_put_together_and_averaged(tmp_path: Path) -> None:
    np.savez(tmp_path / "bi.0.npz", kept=np.array([2.0], np.float16))
    np.savez(tmp_path / "bi.1.npz", added=np.array([8.0], np.float16))
    new = trained(tmp_path, "bi")
    base = {"kept": np.array([1.0], np.float32), "table": np.array([5.0], np.float32)}
    mixed = averaged(base, new, 0.75)
    assert {name: float(array[0]) for name, array in mixed.items()} == {"kept": 1.75, "added": 8.0}


def test_the_notice_names_the_shipped_files_and_every_source() -> None:
    notice = (MODEL_FOLDER / "NOTICE").read_text(encoding="utf-8")
    assert MODEL_DIGEST in notice
    assert JUDGE_DIGEST in notice
    for source in tomllib.loads(SOURCES.read_text(encoding="utf-8"))["source"]:
        assert f"{source['name']:<19}" in notice
        assert source.get("repository", "memolith") in notice
        assert source["licence"].split(" (")[0] in notice


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / MODEL_FILE).read_bytes()).hexdigest()
