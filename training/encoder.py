"""The network on a GPU, and texts as its tokens."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer
from torch.nn import functional
from transformers import BertConfig, BertModel

from training import onnx_weights

FOLDER = Path(__file__).parents[1] / "src" / "memolith" / "retrieval" / "embedding" / "model"
BASE = Path(os.environ.get("MEMOLITH_TRAINING_BASE", "base.onnx"))
"""all-MiniLM-L6-v2 as 8-bit ONNX, as `scripts/build_model.py` makes it."""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
"""A CPU is enough to try things out, not to train."""

FIRST_TOKEN = 101
"""Begins every text."""
LAST_TOKEN = 102
"""Ends every text."""
MAX_TOKENS = 512
"""The network has no more places."""
DIMENSIONS = 384
TOKEN_DIMENSIONS = 64
"""The length of the vector of a token, for late interaction."""

Tokens = NDArray[np.int64]


class Texts:
    """Distinct texts and their tokens, without those that begin and end a text."""

    def __init__(self) -> None:
        self._tokenizer = BertWordPieceTokenizer(str(FOLDER / "vocab.txt"), lowercase=True)
        self._tokenizer.no_truncation()
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []
        self.tokens: list[Tokens] = []

    def number(self, text: str) -> int:
        """The number of a text; `tokenise` must be called before its tokens are read."""
        found = self._numbers.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found

    def tokenise(self) -> None:
        """Make the tokens of all texts that have none yet."""
        fresh = self.texts[len(self.tokens) :]
        encoded = self._tokenizer.encode_batch(fresh, add_special_tokens=False)
        self.tokens += [np.array(each.ids[: MAX_TOKENS - 2], np.int64) for each in encoded]

    def batch(self, numbers: Sequence[int], max_tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The tokens of some texts and their mask, on the GPU."""
        rows = [self.tokens[number][: max_tokens - 2] for number in numbers]
        return padded([np.concatenate(([FIRST_TOKEN], row, [LAST_TOKEN])) for row in rows])

    def pair_batch(
        self, pairs: Sequence[tuple[int, int]], max_question: int, max_tokens: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Questions and passages, each pair as one row of tokens."""
        rows = []
        for question, passage in pairs:
            first = self.tokens[question][:max_question]
            second = self.tokens[passage][: max_tokens - 3 - len(first)]
            row = ([FIRST_TOKEN], first, [LAST_TOKEN], second, [LAST_TOKEN])
            rows.append(np.concatenate(row))
        return padded(rows)


def padded(rows: Sequence[Tokens]) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of tokens as one tensor, and the mask of what is no padding."""
    width = max(map(len, rows))
    ids = np.zeros((len(rows), width), np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return (
        torch.from_numpy(ids).to(DEVICE, non_blocking=True),
        torch.from_numpy(mask).to(DEVICE, non_blocking=True),
    )


def network() -> BertModel:
    """The network with the weights of the base model; its table of words is not trained."""
    config = BertConfig(
        vocab_size=30522,
        hidden_size=DIMENSIONS,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        attn_implementation="sdpa",
    )
    made = BertModel(config, add_pooling_layer=False)
    load(made, onnx_weights.read(BASE))
    made.embeddings.word_embeddings.weight.requires_grad_(False)
    return made.to(DEVICE)


def load(module: torch.nn.Module, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """Put weights into a network; every one of them must be there."""
    state = {name: torch.from_numpy(np.array(weight)) for name, weight in weights.items()}
    missing, unexpected = module.load_state_dict(state, strict=False)
    missing = [name for name in missing if "position_ids" not in name]
    if missing or unexpected:
        raise ValueError(f"The weights do not fit: {missing[:3]} {unexpected[:3]}")


class BiEncoder(torch.nn.Module):
    """A vector for a text, and a short vector for each of its tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.network = network()
        self.tokens = torch.nn.Linear(DIMENSIONS, TOKEN_DIMENSIONS, bias=False)
        torch.nn.init.orthogonal_(self.tokens.weight)
        self.to(DEVICE)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        shares = mask.unsqueeze(-1).float()
        mean = (hidden * shares).sum(1) / shares.sum(1).clamp(min=1e-9)
        return functional.normalize(mean, dim=1), functional.normalize(self.tokens(hidden), dim=2)


class Judge(torch.nn.Module):
    """One number for a question and a passage that were read together."""

    def __init__(self) -> None:
        super().__init__()
        self.network = network()
        self.head = torch.nn.Linear(DIMENSIONS, 1)
        self.to(DEVICE)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        shares = mask.unsqueeze(-1).float()
        return self.head((hidden * shares).sum(1) / shares.sum(1)).squeeze(-1)


def late_interaction(
    questions: torch.Tensor,
    question_mask: torch.Tensor,
    passages: torch.Tensor,
    passage_mask: torch.Tensor,
) -> torch.Tensor:
    """For each token of a question its best match in the passage; the mean of these.

    `questions` is (questions, tokens, dimensions), `passages` (questions, passages, tokens,
    dimensions). The tokens that begin and end a text do not count.
    """
    cosines = torch.einsum("qid,qpjd->qpij", questions, passages)
    cosines = cosines.masked_fill(passage_mask[:, :, None, :] == 0, -1.0)
    best = cosines.max(dim=3).values
    weights = question_mask[:, None, :].float()
    return (best * weights).sum(2) / weights.sum(2).clamp(min=1.0)


def inner_mask(mask: torch.Tensor) -> torch.Tensor:
    """A mask without the tokens that begin and end the text."""
    inner = mask.clone()
    inner[:, 0] = 0
    last = mask.sum(1) - 1
    inner.scatter_(1, last.unsqueeze(1), 0)
    return inner


@torch.no_grad()
def encode(
    model: BiEncoder, texts: Texts, numbers: Sequence[int], max_tokens: int = 192, rows: int = 1024
) -> torch.Tensor:
    """The vectors of texts, in order."""
    model.eval()
    order = sorted(range(len(numbers)), key=lambda place: len(texts.tokens[numbers[place]]))
    vectors = torch.empty((len(numbers), DIMENSIONS), device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        for start in range(0, len(order), rows):
            places = order[start : start + rows]
            made, _ = model(*texts.batch([numbers[place] for place in places], max_tokens))
            vectors[torch.tensor(places, device=DEVICE)] = made.float()
    return vectors
